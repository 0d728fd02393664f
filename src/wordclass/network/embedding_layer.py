"""The embedding matrix E as the first layer of a network, with supervised dropout."""

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

CONTEXT = "context"  # the block of vectors that are not rows of E but come with each batch
_PAPER_DROPOUT = MappingProxyType({"word_class": 0.5})
_Value = TypeVar("_Value")

Ids: TypeAlias = Tensor | NDArray[np.integer]
Shift: TypeAlias = Mapping[str, Tensor]  # by block: the vectors to add to the rows of the tokens
Trainable: TypeAlias = bool | Mapping[str, bool]
Rates: TypeAlias = float | Mapping[str, float]


def resolve_trainable(blocks: Collection[str], trainable: Trainable) -> dict[str, bool]:
    """Return whether each block is trained.

    Parameters
    ----------
    blocks : collection of str
        The names of the blocks.
    trainable : bool or dict
        One answer for all blocks, or {block: bool}, where the default of a block is False.
    """
    by_block = _expand_to_blocks("trainable", blocks, trainable)
    if isinstance(trainable, Mapping) and trainable.get(CONTEXT):
        raise InputError(
            f"trainable names {CONTEXT!r}, but vectors of an encoder are not trained",
            hint=f"remove {CONTEXT!r} from trainable",
        )
    if not all(isinstance(value, bool | np.bool_) for value in by_block.values()):
        expected = "True, False or {block: True or False}"
        raise InputError(f"trainable is {trainable!r}", expected=expected)
    return {name: bool(by_block.get(name, False)) for name in blocks}


def resolve_dropout_rates(option: str, blocks: Collection[str], rates: Rates) -> dict[str, float]:
    """Return the dropout rate of each block that has one above 0.

    Parameters
    ----------
    option : str
        The name of the option, for messages.
    blocks : collection of str
        The names of the blocks.
    rates : float or dict
        One rate for all blocks, or {block: rate}, where the default of a block is 0.
    """
    by_block = _expand_to_blocks(option, blocks, rates)
    for name, rate in by_block.items():
        check_number(f"{option} of {name!r}", rate, below=1)
    return {name: float(by_block[name]) for name in blocks if by_block.get(name)}


def _expand_to_blocks(
    option: str, blocks: Collection[str], value: _Value | Mapping[str, _Value]
) -> dict[str, _Value]:
    """Return values by block. The built-in names are valid even if this layer lacks the block."""
    by_block = {**value} if isinstance(value, Mapping) else dict.fromkeys(blocks, value)
    unknown_names = [name for name in by_block if name not in blocks and name not in BLOCKS]
    if unknown_names:
        raise _unknown_block_error(option, unknown_names[0], blocks)
    return by_block


def _unknown_block_error(option: str, name: str, blocks: Collection[str]) -> InputError:
    return InputError(f"{option} names the block {name!r}", expected=f"one of {', '.join(blocks)}")


class SupervisedDropout(nn.Module):
    """Dropout that sets random elements of chosen blocks of columns to zero, in training only.

    The paper defines D(E) = [U, (1 - p) d(S)] / (1 - p r / (q + r)), where d is ordinary dropout,
    which divides the remaining elements by 1 - p. Every element of the word-class block of every
    token is zero with probability p, independently of the others. All remaining elements, of both
    blocks, are divided by 1 - p r / (q + r). With several blocks, p r becomes the sum of all
    p_k r_k. With one rate for all columns, this is ordinary dropout. The random numbers come from
    the global generator of torch, as for `nn.Dropout`.

    Parameters
    ----------
    blocks : dict of str to slice
        The columns of each block, side by side from 0, such as `EmbeddingMatrix.blocks`.
    rates : float, dict or None
        The p of each block, at least 0 and below 1, as {block: rate}. Blocks without a rate have
        0. A number is the rate of all blocks. With None or 0, nothing is dropped.

    Attributes
    ----------
    rates : dict of str to float
        The rates above 0, by block.
    n_dims : int
        The number of columns.
    kept : float
        The expected share of elements that remain, by which all elements are divided.

    Raises
    ------
    InputError
        If `rates` names an unknown block or has a rate that is not a number from 0 to below 1.

    See Also
    --------
    EmbeddingLayer : The layer that looks up rows of E and applies this dropout.

    Examples
    --------
    >>> import torch
    >>> import wordclass as wc
    >>> blocks = {"pretrained": slice(0, 3), "word_class": slice(3, 4)}
    >>> dropout = wc.torch.SupervisedDropout(blocks, {"word_class": 0.5})
    >>> dropout(torch.ones(1, 4))[0, :3]  # divided by 1 - .5 * 1 / 4
    tensor([1.1429, 1.1429, 1.1429])
    >>> dropout.eval()(torch.ones(1, 4))
    tensor([[1., 1., 1., 1.]])
    """

    def __init__(self, blocks: Mapping[str, slice], rates: Rates | None) -> None:
        super().__init__()
        self.blocks = {name: slice(columns.start, columns.stop) for name, columns in blocks.items()}
        self.rates = resolve_dropout_rates("dropout", self.blocks, 0.0 if rates is None else rates)
        self.n_dims = max((columns.stop for columns in self.blocks.values()), default=0)
        widths = {name: columns.stop - columns.start for name, columns in self.blocks.items()}
        n_dropped = sum(rate * widths[name] for name, rate in self.rates.items())
        self.kept: float = 1 - n_dropped / max(self.n_dims, 1)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return the vectors with random elements set to zero and the others scaled.

        Parameters
        ----------
        vectors : Tensor of shape (..., n_dims)
            Rows of E.

        Returns
        -------
        Tensor of shape (..., n_dims)
            New vectors. Outside training, or if all rates are 0, the same object.

        Raises
        ------
        InputError
            If the vectors have another number of columns.

        Examples
        --------
        >>> import torch
        >>> import wordclass as wc
        >>> dropout = wc.torch.SupervisedDropout({"word_class": slice(0, 2)}, None)
        >>> dropout(torch.ones(1, 2))
        tensor([[1., 1.]])
        """
        if not self.training or not self.rates:
            return vectors
        if (n_dims := vectors.shape[-1]) != self.n_dims:
            raise InputError(
                f"the vectors have {n_dims} columns", expected=f"{self.n_dims} columns"
            )
        # The scale is preserved on average over all columns, not within a block: in expectation
        # the pretrained columns grow and the word-class columns shrink.
        scaled = vectors / self.kept
        for name, rate in self.rates.items():
            columns = self.blocks[name]
            block = scaled[..., columns]
            scaled[..., columns] = block * torch.empty_like(block).bernoulli_(1 - rate)
        return scaled

    def extra_repr(self) -> str:
        """Return the rates for `repr`.

        Returns
        -------
        str
            Names and rates of the blocks with a rate above 0.

        Examples
        --------
        >>> import wordclass as wc
        >>> wc.torch.SupervisedDropout({"word_class": slice(0, 2)}, 0.5)
        SupervisedDropout(word_class 0.5)
        """
        return ", ".join(f"{name} {rate:g}" for name, rate in self.rates.items())


class EmbeddingLayer(nn.Module):
    """Layer that maps ids of tokens to rows of an `EmbeddingMatrix`, with supervised dropout.

    Each block of columns is either frozen or trainable. A frozen block is a buffer and needs no
    gradient. A trainable block is a parameter. The padding row receives no gradient and is always
    looked up as zeros, whatever the optimizer does.

    If all blocks are frozen, they share the memory of E until they are moved or converted, so do
    not write into them. Loading a state does not write into E. If a block is trainable, every
    block is copied once. The layer works in half precision, with `torch.compile` and with
    `torch.export`. It is tested on CPUs only, not with CUDA.

    Parameters
    ----------
    E : EmbeddingMatrix
        The embedding matrix. The layer does not keep its terms: use `E.index` to turn texts into
        ids.
    trainable : bool or dict, default=False
        Whether training changes the vectors: one answer for all blocks, or {block: bool}, where
        the default of a block is False.
    dropout : float or dict, default={"word_class": 0.5}
        The rate of supervised dropout per block, as {block: rate}, or one rate for all columns.
        With None or 0, nothing is dropped. The default is the paper's. Blocks of other tasks are
        not dropped by default, because their vectors never saw the labels of this task. Rates of
        the built-in blocks ("pretrained", "word_class", "random", "context") that E lacks are
        ignored.
    context : int, default=0
        The number of additional columns, in the block "context", for vectors that depend on the
        context of a token and therefore are not rows of E. Pass them as the `shift` of this block.

    Attributes
    ----------
    num_embeddings : int
        The number of rows of E, as in `nn.Embedding`.
    embedding_dim : int
        The number of columns, those of the block "context" included.
    padding_idx : int
        The id of the padding.
    blocks : dict of str to slice
        The columns of each block.

    Raises
    ------
    InputError
        If E is not an EmbeddingMatrix, or `trainable` or `dropout` names an unknown block or has
        an invalid value.

    See Also
    --------
    wordclass.EmbeddingMatrix.of : Put pretrained, word-class and random vectors side by side.
    SupervisedDropout : The dropout alone.
    TextClassifier : A complete network on top of this layer.

    Examples
    --------
    >>> import wordclass as wc
    >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]]))
    >>> layer = wc.torch.EmbeddingLayer(E)
    >>> layer(E.index(["Tax the moon", "Moon"]).ids).tolist()
    [[[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]]]
    """

    def __init__(
        self,
        E: EmbeddingMatrix,
        trainable: Trainable = False,
        dropout: Rates | None = _PAPER_DROPOUT,
        context: int = 0,
    ) -> None:
        super().__init__()
        if not isinstance(E, EmbeddingMatrix):
            raise InputError(
                f"E is a {type(E).__name__}",
                expected="an EmbeddingMatrix",
                hint="use EmbeddingMatrix.of(vectors, wce)",
            )
        check_int("context", context, 0)
        self.blocks = dict(E.blocks)
        self.num_embeddings = len(E)
        self.embedding_dim = E.n_dims + context
        self.padding_idx = E.padding
        is_trained = resolve_trainable(self.blocks, trainable)
        # A view saves all the memory that it is a view of. So either all blocks are views or none.
        is_shared = not any(is_trained.values())
        matrix = _to_shared_tensor(E.matrix)
        self.vectors = nn.ModuleDict()
        for name, columns in self.blocks.items():
            weight = matrix[:, columns] if is_shared else matrix[:, columns].clone()
            block = _Block(weight, is_trained[name], self.padding_idx)
            self.vectors[self._module_name(name)] = block
        if context:
            self.blocks[CONTEXT] = slice(E.n_dims, self.embedding_dim)
            self.vectors[CONTEXT] = _ZeroBlock(context)
        self.dropout = SupervisedDropout(self.blocks, dropout)

    def forward(self, ids: Ids, shift: Shift | None = None) -> Tensor:
        """Return the vector of each token.

        Parameters
        ----------
        ids : Tensor or array of shape (b, l)
            The ids of the tokens. Any other shape is accepted too.
        shift : dict of str to Tensor, optional
            Vectors to add to the rows of some blocks before dropout, as {block: Tensor of shape
            (b, l, width of the block)}. Values at the padding are ignored. The block "context"
            requires one.

        Returns
        -------
        Tensor of shape (b, l, embedding_dim)
            The rows of E, after dropout if the layer is in training mode.

        Raises
        ------
        InputError
            If an id is not a row of E (compiled code raises torch's own error instead), if
            `shift` names an unknown block or has a wrong shape, or if the vectors of the block
            "context" are missing.

        Examples
        --------
        >>> import wordclass as wc
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> wc.torch.EmbeddingLayer(E)([[0]]).tolist()
        [[[1.0, 2.0]]]
        """
        ids = self.checked_ids(ids)
        shift = self.checked_shift(shift, ids.shape)
        rows = {name: self.block(name)(ids) for name in self.blocks}
        for name, addend in shift.items():
            is_padding = (ids == self.padding_idx)[..., None]
            rows[name] = rows[name] + addend.to(rows[name]).masked_fill(is_padding, 0)
        parts = [*rows.values()]
        E = torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]  # cat would copy one part
        dropped: Tensor = self.dropout(E)
        return dropped

    def block(self, name: str) -> nn.Module:
        """Return the module that looks up the rows of one block.

        Parameters
        ----------
        name : str
            The name of the block.

        Returns
        -------
        nn.Module
            A module from ids (b, l) to rows (b, l, width of the block).

        Examples
        --------
        >>> import torch
        >>> import wordclass as wc
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> wc.torch.EmbeddingLayer(E).block("pretrained")(torch.tensor([0]))
        tensor([[1., 2.]])
        """
        return self.vectors[self._module_name(name)]

    def _module_name(self, name: str) -> str:
        """Return the name of a block in the state, because torch forbids some characters."""
        return name if name in BLOCKS else f"other_{[*self.blocks].index(name)}"

    def checked_ids(self, ids: Ids) -> Tensor:
        """Return valid ids as int64.

        Parameters
        ----------
        ids : Tensor or array
            Ids of tokens, of any shape.

        Returns
        -------
        Tensor
            The ids as int64, of the same shape.

        Raises
        ------
        InputError
            If the ids are not integers, or one of them is not a row of E.

        Examples
        --------
        >>> import wordclass as wc
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> wc.torch.EmbeddingLayer(E).checked_ids([0, 1])
        tensor([0, 1])
        """
        if not isinstance(ids, Tensor):
            weight = next(chain(self.parameters(), self.buffers()))
            ids = torch.as_tensor(np.array(ids), device=weight.device)
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            raise InputError(f"the ids are {ids.dtype}", expected="integers, such as int64")
        if torch.compiler.is_compiling() or ids.is_meta or not ids.numel():
            return ids.long()
        lowest, highest = (int(extreme) for extreme in ids.aminmax())
        if lowest < 0 or highest >= self.num_embeddings:
            invalid = lowest if lowest < 0 else highest
            raise InputError(
                f"the id {invalid} is not a row of E",
                expected=f"ids from 0 to {self.num_embeddings - 1}",
                hint="index the texts with the matrix that the layer was made from",
            )
        return ids.long()

    def checked_shift(self, shift: Shift | None, shape: Sequence[int]) -> Shift:
        """Return a valid shift, which is empty if there is none.

        Parameters
        ----------
        shift : dict of str to Tensor, or None
            Vectors to add to the rows of some blocks.
        shape : sequence of int
            The shape of the ids.

        Returns
        -------
        dict of str to Tensor
            The shift.

        Raises
        ------
        InputError
            If it names an unknown block or has a wrong shape, or if the vectors of the block
            "context" are missing.

        Examples
        --------
        >>> import wordclass as wc
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> wc.torch.EmbeddingLayer(E).checked_shift(None, (1, 1))
        {}
        """
        if CONTEXT in self.blocks and CONTEXT not in (shift or {}):
            raise InputError(
                f"the vectors of the block {CONTEXT!r} are missing",
                hint=f"pass them with the batch, as shift={{{CONTEXT!r}: vectors}}",
            )
        for name, addend in (shift or {}).items():
            if name not in self.blocks:
                raise _unknown_block_error("shift", name, self.blocks)
            expected = (*shape, self.blocks[name].stop - self.blocks[name].start)
            if tuple(addend.shape) != expected:
                raise InputError(
                    f"the shift of {name!r} has shape {tuple(addend.shape)}",
                    expected=f"{expected}, one row per token",
                )
        return shift or {}

    def trained_vectors(self) -> dict[str, NDArray[Any]]:
        """Return copies of the trainable blocks.

        Returns
        -------
        dict of str to array
            The rows of each trainable block, with zeros at the padding.

        Examples
        --------
        >>> import wordclass as wc
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> wc.torch.EmbeddingLayer(E, trainable=True).trained_vectors()["pretrained"][0]
        array([1., 2.], dtype=float32)
        """
        vectors = {}
        for name in self.blocks:
            block = self.block(name)
            if isinstance(block, _Block) and block.is_trainable:
                vectors[name] = block.weight.detach().cpu().numpy().copy()
                vectors[name][self.padding_idx] = 0
        return vectors

    def extra_repr(self) -> str:
        """Return the sizes for `repr`, in the format of `nn.Embedding`.

        Returns
        -------
        str
            The number of rows, the number of columns and the id of the padding.

        Examples
        --------
        >>> import wordclass as wc
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> wc.torch.EmbeddingLayer(E).extra_repr()
        '3, 2, padding_idx=2'
        """
        return f"{self.num_embeddings}, {self.embedding_dim}, padding_idx={self.padding_idx}"


class _Block(nn.Module):
    """The rows of one block.

    `weight` is a parameter or a buffer. Its name in the state is the same in both cases.
    """

    weight: Tensor

    def __init__(self, weight: Tensor, is_trainable: bool, padding: int) -> None:
        super().__init__()
        if is_trainable:
            self.weight = nn.Parameter(weight)
        else:
            self.register_buffer("weight", weight)
        self.is_trainable = is_trainable
        self.padding = padding

    def forward(self, ids: Tensor) -> Tensor:
        # Optimizers that add noise or decay move rows without a gradient too.
        can_read_weight = not torch.compiler.is_compiling() and self.weight.device.type == "cpu"
        if self.is_trainable and can_read_weight:  # on a GPU, reading would wait for all kernels
            self._clear_padding()
        rows = functional.embedding(ids, self.weight, self.padding)
        if not self.is_trainable or can_read_weight:
            return rows
        return rows.masked_fill((ids == self.padding)[..., None], 0)

    def _clear_padding(self) -> None:
        with torch.no_grad():
            if self.weight[self.padding].any():
                self.weight[self.padding] = 0

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, *arguments: object
    ) -> None:
        weight = state_dict.get(f"{prefix}weight")
        is_loaded = weight is not None and weight.shape == self.weight.shape
        if is_loaded and not self.is_trainable:
            # loading copies in place, which must not change a matrix whose memory is shared
            self.weight = torch.empty_like(self.weight, memory_format=torch.contiguous_format)
        super()._load_from_state_dict(state_dict, prefix, *arguments)
        if is_loaded:
            self._clear_padding()

    def extra_repr(self) -> str:
        kind = "trainable" if self.is_trainable else "frozen"
        return f"{self.weight.shape[1]} columns, {kind}"


class _ZeroBlock(nn.Module):
    """A block of zeros, to which each batch adds its vectors."""

    zeros: Tensor

    def __init__(self, n_dims: int) -> None:
        super().__init__()
        self.register_buffer("zeros", torch.zeros(n_dims), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.zeros.expand(*ids.shape, -1)


def _to_shared_tensor(array: NDArray[Any]) -> Tensor:
    """Return a tensor that shares the memory of an array, without torch's read-only warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writ", UserWarning)
        return torch.from_numpy(array)
