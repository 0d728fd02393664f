"""E as the first layer of a network: ids of tokens in, their vectors out."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.errors import InputError
from wordclass.network.supervised_dropout import SupervisedDropout, checked_names

_PAPER = MappingProxyType({"word_class": 0.5})


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
    E
        The matrix. Its terms are not kept: texts become ids by `E.index`.
    trainable
        Whether training changes the vectors: of all blocks, or {block: bool}, where a block that
        is not named is frozen.
    dropout
        The rate of supervised dropout of each block, {block: rate}, or one rate of all columns;
        None or 0: none. By default that of the paper. A block that E does not have is ignored.

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
        trainable: bool | Mapping[str, bool] = False,
        dropout: float | Mapping[str, float] | None = _PAPER,
    ) -> None:
        super().__init__()
        if not isinstance(E, EmbeddingMatrix):
            raise InputError(f"E is a {type(E).__name__}; expected an EmbeddingMatrix")
        self.blocks = dict(E.blocks)
        self.num_embeddings, self.embedding_dim = E.matrix.shape
        self.padding_idx = E.padding
        is_trainable = _trainable(self.blocks, trainable)
        # a view keeps, and saves, all of the memory it is a part of: views of all blocks, or none
        is_shared = not any(is_trainable.values())
        rows = _shared(E.matrix)
        self.vectors = nn.ModuleDict()
        for name, place in self.blocks.items():
            weight = rows[:, place] if is_shared else rows[:, place].clone()
            self.vectors[name] = _Block(weight, is_trainable[name], self.padding_idx)
        self.dropout = SupervisedDropout(self.blocks, dropout)

    def forward(
        self, ids: Tensor | NDArray[np.integer], shift: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Return (b, l, q + r) for ids (b, l); ids of any other shape are fine too.

        Parameters
        ----------
        ids
            The tokens.
        shift
            What to add to the rows of some blocks, token by token, before dropout: {block: (b, l,
            width of the block)}. What it holds at the padding is ignored.

        Raises
        ------
        InputError
            An id is no row of E. Not checked in compiled code, where torch raises its own error.
            Or a shift is of no block, or of another shape.
        """
        ids = self.checked_ids(ids)
        shift = self.checked_shift(shift, ids.shape)
        rows = {name: block(ids) for name, block in self.vectors.items()}
        for name, added in shift.items():
            is_padding = (ids == self.padding_idx)[..., None]
            rows[name] = rows[name] + added.to(rows[name]).masked_fill(is_padding, 0)
        beside = [*rows.values()]
        E = torch.cat(beside, dim=-1) if len(beside) > 1 else beside[0]  # else a copy for nothing
        dropped: Tensor = self.dropout(E)
        return dropped

    def checked_ids(self, ids: Tensor | NDArray[np.integer]) -> Tensor:
        """Return ids as int64; refuse what `forward` refuses."""
        if not isinstance(ids, Tensor):
            ids = torch.as_tensor(np.array(ids), device=self._device)
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            raise InputError(f"the ids are {ids.dtype}; expected whole numbers, such as int64")
        if not torch.compiler.is_compiling():
            self._check_range(ids)
        return ids.long()

    def checked_shift(
        self, shift: Mapping[str, Tensor] | None, shape: Sequence[int]
    ) -> Mapping[str, Tensor]:
        """Return the shift of tokens of a shape, {} for None; refuse what `forward` refuses."""
        for name, added in (shift or {}).items():
            if name not in self.blocks:
                raise InputError(
                    f"shift names the block {name!r}; the blocks are: {', '.join(self.blocks)}"
                )
            place = self.blocks[name]
            expected = (*shape, place.stop - place.start)
            if tuple(added.shape) != expected:
                raise InputError(
                    f"the shift of {name!r} has shape {tuple(added.shape)}; expected {expected}, "
                    "one row a token"
                )
        return shift or {}

    def trained_vectors(self) -> dict[str, NDArray[Any]]:
        """Return the rows of the blocks that training may have changed, the padding zero."""
        found = {}
        for name, block in self.vectors.items():
            if isinstance(block, _Block) and block.is_trainable:
                found[name] = block.weight.detach().cpu().numpy().copy()
                found[name][self.padding_idx] = 0
        return found

    @property
    def _device(self) -> torch.device:
        return next(chain(self.parameters(), self.buffers())).device

    def _check_range(self, ids: Tensor) -> None:
        if ids.is_meta or not ids.numel():
            return
        lowest, highest = (int(end) for end in ids.aminmax())
        if lowest < 0 or highest >= self.num_embeddings:
            bad = lowest if lowest < 0 else highest
            raise InputError(
                f"the id {bad} is no row of E, which has rows 0 to {self.num_embeddings - 1}: were "
                "the texts indexed by another matrix?"
            )

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
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        *others: Any,  # noqa: ANN401
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


def _trainable(
    blocks: Mapping[str, slice], trainable: bool | Mapping[str, bool]
) -> dict[str, bool]:
    if not isinstance(trainable, Mapping):
        trainable = dict.fromkeys(blocks, trainable)
    checked_names(blocks, trainable, "trainable")
    for name, value in trainable.items():
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"trainable of {name!r} is {value!r}; expected True or False")
    return {name: bool(trainable.get(name, False)) for name in blocks}


def _shared(array: NDArray[Any]) -> Tensor:
    """Return a tensor with the memory of an array; torch warns where that is read-only."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writ", UserWarning)
        return torch.from_numpy(array)
