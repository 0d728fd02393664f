"""E as the first layer of a network: ids of tokens in, their vectors out, dropped in training."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from wordclass.embedding.matrix import BLOCKS, EmbeddingMatrix
from wordclass.errors import InputError
from wordclass.options import check_int, check_number

CONTEXT = "context"  # the block of vectors that are not in a matrix: each batch brings its own
_PAPER = MappingProxyType({"word_class": 0.5})
_Value = TypeVar("_Value")

Ids: TypeAlias = Tensor | NDArray[np.integer]
Shift: TypeAlias = Mapping[str, Tensor]  # by block: what to add to rows, token by token
Trainable: TypeAlias = bool | Mapping[str, bool]
Rates: TypeAlias = float | Mapping[str, float]


def resolve_trainable(blocks: Collection[str], trainable: Trainable) -> dict[str, bool]:
    """Return for each block whether it is trained: one answer for all, or {block: answer}."""
    named = _by_block("trainable", blocks, trainable)
    if isinstance(trainable, Mapping) and trainable.get(CONTEXT):
        raise InputError(f"trainable names {CONTEXT!r}, but vectors of an encoder are not trained")
    if not all(isinstance(value, bool | np.bool_) for value in named.values()):
        expected = "True, False or {block: True or False}"
        raise InputError(f"trainable is {trainable!r}; expected {expected}")
    return {name: bool(named.get(name, False)) for name in blocks}


def resolve_dropout_rates(option: str, blocks: Collection[str], rates: Rates) -> dict[str, float]:
    """Return the rates above 0 of the blocks there are: one rate for all, or {block: rate}."""
    named = _by_block(option, blocks, rates)
    for name, rate in named.items():
        check_number(f"{option} of {name!r}", rate, below=1)
    return {name: float(named[name]) for name in blocks if named.get(name)}


def _by_block(
    option: str, blocks: Collection[str], given: _Value | Mapping[str, _Value]
) -> dict[str, _Value]:
    """Return values by block. A block of ours that this layer lacks is no mistake."""
    named = {**given} if isinstance(given, Mapping) else dict.fromkeys(blocks, given)
    if unknown := [name for name in named if name not in blocks and name not in BLOCKS]:
        raise _no_block(option, unknown[0], blocks)
    return named


def _no_block(option: str, name: str, blocks: Collection[str]) -> InputError:
    return InputError(f"{option} names the block {name!r}; the blocks are: {', '.join(blocks)}")


class SupervisedDropout(nn.Module):
    """Sets random elements of chosen blocks of columns to zero, in training only.

    The paper's D(E) = [U, (1 - p) d(S)] / (1 - p r / (q + r)), where d is ordinary dropout, which
    divides what it keeps by 1 - p. So every element of the word-class block of every token is
    zero with probability p, on its own, and all that is left, of both blocks, is divided by
    1 - p r / (q + r). With several blocks p r becomes the sum of all p_k r_k; with one rate for
    all columns this is ordinary dropout. The numbers come from torch's own generator, as those of
    `nn.Dropout` do.

    Parameters
    ----------
    blocks : dict of slices
        The columns of each block, side by side from 0, such as `EmbeddingMatrix.blocks`.
    rates : float or dict, or None
        The p of each block, at least 0 and below 1; a block that is not named has 0. A number is
        the p of all blocks. None or 0: nothing is dropped.

    Examples
    --------
    >>> drop = SupervisedDropout({"pretrained": slice(0, 3), "word_class": slice(3, 4)},
    ...                          {"word_class": 0.5})
    >>> drop(torch.ones(1, 4))[0, :3]  # divided by 1 - .5 * 1 / 4
    tensor([1.1429, 1.1429, 1.1429])
    >>> drop.eval()(torch.ones(1, 4))
    tensor([[1., 1., 1., 1.]])
    """

    def __init__(self, blocks: Mapping[str, slice], rates: Rates | None) -> None:
        super().__init__()
        self.blocks = {name: slice(place.start, place.stop) for name, place in blocks.items()}
        self.rates = resolve_dropout_rates("dropout", self.blocks, 0.0 if rates is None else rates)
        self.n_dims = max((place.stop for place in self.blocks.values()), default=0)
        widths = {name: place.stop - place.start for name, place in self.blocks.items()}
        n_dropped = sum(rate * widths[name] for name, rate in self.rates.items())
        self.kept: float = 1 - n_dropped / max(self.n_dims, 1)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return vectors (..., q + r) of the same shape; the same object where none is dropped."""
        if not self.training or not self.rates:
            return vectors
        if (n_dims := vectors.shape[-1]) != self.n_dims:
            raise InputError(f"the vectors have {n_dims} columns; expected {self.n_dims}")
        # the scale is kept on average over all columns, not within a block: in expectation the
        # pretrained columns grow and the word-class columns shrink
        scaled = vectors / self.kept
        for name, rate in self.rates.items():
            place = self.blocks[name]
            block = scaled[..., place]
            scaled[..., place] = block * torch.empty_like(block).bernoulli_(1 - rate)
        return scaled

    def extra_repr(self) -> str:
        """Show the rates."""
        return ", ".join(f"{name} {rate:g}" for name, rate in self.rates.items())


class EmbeddingLayer(nn.Module):
    """Looks up the rows of an `EmbeddingMatrix`; in training, drops parts of chosen blocks.

    Each block of columns is frozen, then it is a buffer and costs no gradient, or trainable, then
    it is a parameter. The padding is zero whatever an optimizer does: its row gets no gradient,
    and is zero where it is looked up.

    Where all blocks are frozen, they share the memory of E until they are moved or converted, so
    do not write into them; loading a state does not write into E. Otherwise each block is copied
    once. Works in half precision, with `torch.compile` and with `torch.export`; tested on CPUs
    only, not with CUDA.

    Parameters
    ----------
    E : EmbeddingMatrix
        The matrix. Its terms are not kept: texts become ids by `E.index`.
    trainable : bool or dict, default=False
        Whether training changes the vectors: of all blocks, or {block: bool}, where a block that
        is not named is frozen.
    dropout : float or dict, optional
        The rate of supervised dropout of each block, {block: rate}, or one rate of all columns;
        None or 0: none. By default that of the paper, of "word_class" alone: the blocks of other
        tasks have none, as their vectors never saw these labels. A block of ours ("pretrained",
        "word_class", "random", "context") that E does not have is ignored.
    context : int, default=0
        How many columns of vectors that depend on a token's context, and so are no rows of E, there
        are beside it: the block "context". They come as the `shift` of this block.

    Attributes
    ----------
    num_embeddings, embedding_dim, padding_idx : int
        As `nn.Embedding` has them.
    blocks : dict of slices
        The columns of each block.

    Examples
    --------
    >>> from wordclass import EmbeddingMatrix, WordVectors
    >>> E = EmbeddingMatrix.of(WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]]))
    >>> layer = EmbeddingLayer(E)
    >>> layer(E.index(["Tax the moon", "Moon"]).ids).tolist()
    [[[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]]]
    """

    def __init__(
        self,
        E: EmbeddingMatrix,
        trainable: Trainable = False,
        dropout: Rates | None = _PAPER,
        context: int = 0,
    ) -> None:
        super().__init__()
        if not isinstance(E, EmbeddingMatrix):
            raise InputError(f"E is a {type(E).__name__}; expected an EmbeddingMatrix")
        check_int("context", context, 0)
        self.blocks = dict(E.blocks)
        self.num_embeddings, self.embedding_dim = len(E), E.n_dims + context
        self.padding_idx = E.padding
        is_trained = resolve_trainable(self.blocks, trainable)
        # a view keeps, and saves, all of the memory it is a part of: views of all blocks, or none
        is_shared = not any(is_trained.values())
        rows = _shared(E.matrix)
        self.vectors = nn.ModuleDict()
        for name, place in self.blocks.items():
            weight = rows[:, place] if is_shared else rows[:, place].clone()
            made = _Block(weight, is_trained[name], self.padding_idx)
            self.vectors[self._module_name(name)] = made
        if context:
            self.blocks[CONTEXT] = slice(E.n_dims, self.embedding_dim)
            self.vectors[CONTEXT] = _NoRows(context)
        self.dropout = SupervisedDropout(self.blocks, dropout)

    def forward(self, ids: Ids, shift: Shift | None = None) -> Tensor:
        """Return (b, l, q + r) for ids (b, l); ids of any other shape are fine too.

        Parameters
        ----------
        ids : Tensor or array
            The tokens.
        shift : dict of Tensor, optional
            What to add to the rows of some blocks, token by token, before dropout: {block: (b, l,
            width of the block)}. What it holds at the padding is ignored.

        Raises
        ------
        InputError
            An id is no row of E. Not checked in compiled code, where torch raises its own error.
            Or a shift is of no block, or of another shape, or that of the context is missing.
        """
        ids = self.checked_ids(ids)
        shift = self.checked_shift(shift, ids.shape)
        rows = {name: self.block(name)(ids) for name in self.blocks}
        for name, added in shift.items():
            is_padding = (ids == self.padding_idx)[..., None]
            rows[name] = rows[name] + added.to(rows[name]).masked_fill(is_padding, 0)
        beside = [*rows.values()]
        E = torch.cat(beside, dim=-1) if len(beside) > 1 else beside[0]  # else a copy for nothing
        dropped: Tensor = self.dropout(E)
        return dropped

    def block(self, name: str) -> nn.Module:
        """Return what looks up the rows of one block."""
        return self.vectors[self._module_name(name)]

    def _module_name(self, name: str) -> str:
        """Return the name that a block has in the state: torch has no use for all of the users'."""
        return name if name in BLOCKS else f"other_{[*self.blocks].index(name)}"

    def checked_ids(self, ids: Ids) -> Tensor:
        """Return ids as int64; refuse what `forward` refuses."""
        if not isinstance(ids, Tensor):
            weight = next(chain(self.parameters(), self.buffers()))
            ids = torch.as_tensor(np.array(ids), device=weight.device)
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            raise InputError(f"the ids are {ids.dtype}; expected whole numbers, such as int64")
        if torch.compiler.is_compiling() or ids.is_meta or not ids.numel():
            return ids.long()
        lowest, highest = (int(end) for end in ids.aminmax())
        if lowest < 0 or highest >= self.num_embeddings:
            bad = lowest if lowest < 0 else highest
            raise InputError(
                f"the id {bad} is no row of E, which has rows 0 to {self.num_embeddings - 1}: were "
                "the texts indexed by another matrix?"
            )
        return ids.long()

    def checked_shift(self, shift: Shift | None, shape: Sequence[int]) -> Shift:
        """Return the shift of tokens of a shape, {} for None; refuse what `forward` refuses."""
        if CONTEXT in self.blocks and CONTEXT not in (shift or {}):
            raise InputError(f"the vectors of {CONTEXT!r} come with the texts: give them as shift")
        for name, added in (shift or {}).items():
            if name not in self.blocks:
                raise _no_block("shift", name, self.blocks)
            expected = (*shape, self.blocks[name].stop - self.blocks[name].start)
            if tuple(added.shape) != expected:
                raise InputError(
                    f"the shift of {name!r} has shape {tuple(added.shape)}; expected {expected}, "
                    "one row per token"
                )
        return shift or {}

    def trained_vectors(self) -> dict[str, NDArray[Any]]:
        """Return the rows of the blocks that training may have changed, the padding zero."""
        found = {}
        for name in self.blocks:
            block = self.block(name)
            if isinstance(block, _Block) and block.is_trainable:
                found[name] = block.weight.detach().cpu().numpy().copy()
                found[name][self.padding_idx] = 0
        return found

    def extra_repr(self) -> str:
        """Show sizes as nn.Embedding does."""
        return f"{self.num_embeddings}, {self.embedding_dim}, padding_idx={self.padding_idx}"


class _Block(nn.Module):
    """The rows of one block; `weight` is a parameter or a buffer, saved under the same name."""

    weight: Tensor

    def __init__(self, weight: Tensor, is_trainable: bool, padding: int) -> None:
        super().__init__()
        if is_trainable:
            self.weight = nn.Parameter(weight)
        else:
            self.register_buffer("weight", weight)
        self.is_trainable, self.padding = is_trainable, padding

    def forward(self, ids: Tensor) -> Tensor:
        # an optimizer can move a row that has no gradient, such as one that adds noise
        is_looked_at = not torch.compiler.is_compiling() and self.weight.device.type == "cpu"
        if self.is_trainable and is_looked_at:  # on a GPU a look would be a wait
            self._clear_padding()
        rows = functional.embedding(ids, self.weight, self.padding)
        if not self.is_trainable or is_looked_at:
            return rows
        return rows.masked_fill((ids == self.padding)[..., None], 0)

    def _clear_padding(self) -> None:
        with torch.no_grad():
            if self.weight[self.padding].any():
                self.weight[self.padding] = 0

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, *others: object
    ) -> None:
        given = state_dict.get(f"{prefix}weight")
        is_loaded = given is not None and given.shape == self.weight.shape
        if is_loaded and not self.is_trainable:
            # loading copies in place, which must not reach a matrix that is shared
            self.weight = torch.empty_like(self.weight, memory_format=torch.contiguous_format)
        super()._load_from_state_dict(state_dict, prefix, *others)
        if is_loaded:
            self._clear_padding()

    def extra_repr(self) -> str:
        kind = "trainable" if self.is_trainable else "frozen"
        return f"{self.weight.shape[1]} columns, {kind}"


class _NoRows(nn.Module):
    """A block without rows of its own: zeros, to which a batch adds its vectors."""

    zeros: Tensor

    def __init__(self, n_dims: int) -> None:
        super().__init__()
        self.register_buffer("zeros", torch.zeros(n_dims), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.zeros.expand(*ids.shape, -1)


def _shared(array: NDArray[Any]) -> Tensor:
    """Return a tensor with the memory of an array; torch warns where that is read-only."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writ", UserWarning)
        return torch.from_numpy(array)
