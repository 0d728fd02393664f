"""The CNN over a batch of texts, with what a word adds to each filter computed once a word.

A text repeats its words, and a batch repeats them more, but a convolution over (b, l, d) looks at
every place anew, padding too. What a word adds at each place of each filter is one row of a small
table; responses are sums of such rows, and only their maxima are kept. What differs from token to
token, such as dropped-out columns, is computed token by token, and the rest still word by word.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from types import ModuleType
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from wordclass import native
from wordclass.arrays import Ints
from wordclass.encoders._masks import is_token
from wordclass.encoders.cnn import CnnEncoder
from wordclass.errors import InputError
from wordclass.network.embedding_layer import EmbeddingLayer

Shift: TypeAlias = Mapping[str, Tensor]

# what a table of words and one of tokens may take: they are used at once, while they are in the
# cache, and many distinct words need no more memory than few
_TABLE_NUMBERS = 4_000_000
_TOKENS_AT_ONCE = 1_000
_CHANNELS_TOGETHER = 16
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def serves(layer: nn.Module, encoder: nn.Module) -> bool:
    """Return whether `encode` can stand for `encoder(layer(ids), lengths)`.

    It is for these two classes themselves, on CPUs, in float32, where the compiled part was
    built; and not where torch watches the modules: compiling, exporting, tracing, autocast, hooks.
    """
    is_tracing = torch.jit.is_tracing()  # type: ignore[attr-defined,no-untyped-call]
    if torch.compiler.is_compiling() or is_tracing:
        return False
    # a class that inherits from one of them may do something else
    if type(layer) is not EmbeddingLayer or type(encoder) is not CnnEncoder:
        return False
    if native.convolution is None or torch.is_autocast_enabled("cpu"):
        return False
    tensors = chain(layer.parameters(), layer.buffers(), encoder.parameters())
    return (
        _convolutions(encoder)[0].in_channels == layer.embedding_dim
        and all(each.device.type == "cpu" and each.dtype == torch.float32 for each in tensors)
        and not any(map(_has_hooks, chain(layer.modules(), encoder.modules())))
    )


def encode(
    layer: EmbeddingLayer,
    encoder: CnnEncoder,
    ids: Tensor | NDArray[np.integer],
    lengths: Tensor | NDArray[np.integer],
    shift: Shift | None = None,
) -> Tensor:
    """Return what `encoder(layer(ids), lengths)` returns, (b, output_dim), with its gradients.

    The more texts, the more of their words are the same: 1,000 texts at once cost less than ten
    times 100. Dropout is drawn for tokens only, so it takes fewer numbers from torch's generator
    than the layer does, which draws them for padding too. Gradients have no gradients.

    Parameters
    ----------
    layer, encoder
        A pair that `serves`.
    ids, lengths
        (b, l) and (b,); the padding is on the right, and on the left if the encoder is not masked.
    shift
        What to add to the rows of some blocks, token by token, before dropout: {block: (n_tokens,
        width of the block)}, text after text, without padding.

    Raises
    ------
    InputError
        An id is no row of E; or a shift is of no block, or of another shape.
    """
    ids = layer.checked_ids(ids)
    lengths = torch.as_tensor(lengths).long().clamp(0, ids.shape[1])
    shift = layer.checked_shift(shift, (int(lengths.sum()),))
    is_text = is_token(lengths, ids.shape[1])
    left_padding = torch.zeros_like(lengths)
    if not encoder.masked:
        # the encoder puts zeros before a batch that is shorter than a window
        left_padding = max(ids.shape[1], *encoder.windows) - lengths
        if (ids[~is_text.flip(1)] != layer.padding_idx).any():
            # only the plain way is exact for padding on the right that is read as text
            encoded: Tensor = encoder(layer(ids, padded(shift, is_text)), lengths)
            return encoded
        is_text = is_text.flip(1)
    tokens = ids[is_text]
    distinct, words = _distinct(tokens, layer.num_embeddings)
    texts = _Texts(words, _ends(lengths), left_padding.numpy())
    return _strongest(layer, encoder, _Inputs(layer, distinct, tokens, shift), texts).relu()


def padded(shift: Shift, is_text: Tensor) -> dict[str, Tensor]:
    """Return shifts (n_tokens, width) as (b, l, width), zero where `is_text` (b, l) is False."""
    made = {}
    for name, rows in shift.items():
        made[name] = rows.new_zeros((*is_text.shape, rows.shape[1]))
        made[name][is_text] = rows
    return made


def _distinct(tokens: Tensor, n_ids: int) -> tuple[Tensor, NDArray[np.int32]]:
    """Return the ids there are, in order, and for each token which of them it is."""
    is_there = torch.zeros(n_ids, dtype=torch.bool)
    is_there[tokens] = True
    distinct = is_there.nonzero()[:, 0]
    numbers = torch.empty(n_ids, dtype=torch.int32)
    numbers[distinct] = torch.arange(len(distinct), dtype=torch.int32)
    return distinct, numbers[tokens].numpy()


def _ends(lengths: Tensor) -> Ints:
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths.numpy(), out=ends[1:])
    return ends


def _convolutions(encoder: CnnEncoder) -> list[nn.Conv1d]:
    return cast("list[nn.Conv1d]", list(encoder.filters))


def _has_hooks(module: nn.Module) -> bool:
    return any(getattr(module, name) for name in _HOOKS)


# --- what is known word by word, and token by token ------------------------------------------


class _Inputs:
    """The rows of a batch's words and tokens, and which blocks of columns are in which.

    Attributes
    ----------
    by_word, by_token : list of str
        The blocks. Those with dropout, or with a shift, differ from token to token.
    word_rows, token_rows : Tensor
        (distinct words, columns of `by_word`) and (n_tokens, columns of `by_token`).
    scale : float
        What supervised dropout multiplies all columns with, dropped or not.
    """

    def __init__(
        self, layer: EmbeddingLayer, distinct: Tensor, tokens: Tensor, shift: Shift
    ) -> None:
        dropout = layer.dropout
        rates = dropout.rates if dropout.training else {}
        self.by_token = [name for name in layer.blocks if name in rates or name in shift]
        self.by_word = [name for name in layer.blocks if name not in self.by_token]
        self.scale = 1 / dropout.kept if rates else 1.0
        self.word_rows = _side_by_side(
            [layer.vectors[name](distinct) for name in self.by_word], len(distinct)
        )
        of_tokens = []
        for name in self.by_token:
            rows = layer.vectors[name](tokens)
            if name in shift:
                is_padding = (tokens == layer.padding_idx)[:, None]
                rows = rows + shift[name].to(rows).masked_fill(is_padding, 0)
            if name in rates:
                rows = rows * torch.empty_like(rows).bernoulli_(1 - rates[name])
            of_tokens.append(rows)
        self.token_rows = _side_by_side(of_tokens, len(tokens))


def _side_by_side(parts: list[Tensor], n_rows: int) -> Tensor:
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts, dim=1) if parts else torch.empty(n_rows, 0)


def _strongest(
    layer: EmbeddingLayer, encoder: CnnEncoder, inputs: _Inputs, texts: "_Texts"
) -> Tensor:
    """Return the greatest responses (b, output_dim), less than 0 too."""
    convolutions = _convolutions(encoder)
    W = torch.cat([each.weight.permute(2, 0, 1).flatten(0, 1) for each in convolutions])  # (K, d)
    widths = [place.stop - place.start for place in layer.blocks.values()]
    blocks = dict(zip(layer.blocks, torch.split(W * inputs.scale, widths, 1), strict=True))
    strongest: Tensor = _Strongest.apply(  # type: ignore[no-untyped-call]
        inputs.word_rows,
        inputs.token_rows,
        _side_by_side([blocks[name] for name in inputs.by_word], len(W)),
        _side_by_side([blocks[name] for name in inputs.by_token], len(W)),
        torch.cat([cast(Tensor, each.bias) for each in convolutions]),
        texts,
        _Filters(encoder.windows, convolutions[0].out_channels),
    )
    return strongest


# --- the compiled part, and its gradients ----------------------------------------------------


@dataclass(frozen=True)
class _Texts:
    """The tokens of a batch, text after text.

    Parameters
    ----------
    words
        (n_tokens,) which of the distinct words each is.
    ends
        (b + 1,) where each text ends; the first is 0.
    left_padding
        (b,) how many zeros are read before each text.
    """

    words: NDArray[np.int32]
    ends: Ints
    left_padding: Ints

    def __len__(self) -> int:
        return len(self.left_padding)

    def parts(self, n_tokens: int) -> Iterator[tuple["_Texts", slice, slice]]:
        """Yield parts of at most so many tokens, or of one text, and their texts and tokens."""
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self.ends, self.ends[start] + n_tokens, side="right")) - 1
            stop = max(stop, start + 1)
            tokens = slice(int(self.ends[start]), int(self.ends[stop]))
            ends = self.ends[start : stop + 1] - tokens.start
            part = _Texts(self.words[tokens], ends, self.left_padding[start:stop])
            yield part, slice(start, stop), tokens
            start = stop


@dataclass(frozen=True)
class _Filters:
    """Filters of several widths, the same number of each.

    A response is the sum of what rows of W say of the words below a filter: W (K, d) has a row for
    each window, place in it and channel, in this order.
    """

    windows: tuple[int, ...]
    channels: int

    def parts(self, n_words: int) -> Iterator[tuple["_Filters", slice, Tensor]]:
        """Yield parts with small tables of words, and their outputs and rows of W."""
        places = torch.arange(sum(self.windows) * self.channels).view(-1, self.channels)
        for number, of_window in enumerate(torch.split(places, list(self.windows))):
            fitting = _TABLE_NUMBERS // max(1, n_words * len(of_window))
            step = max(1, fitting // _CHANNELS_TOGETHER) * _CHANNELS_TOGETHER
            for first in range(0, self.channels, step):
                rows = of_window[:, first : first + step]
                start = number * self.channels + first
                part = _Filters((len(rows),), rows.shape[1])
                yield part, slice(start, start + rows.shape[1]), rows.flatten()


class _Strongest(torch.autograd.Function):
    """The greatest response of each filter in each text, (b, output_dim), less than 0 too.

    No array of all tokens by all filters is made: on the way there only some texts at a time, and
    on the way back only the tokens below a greatest response are looked at.
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        word_rows: Tensor,
        token_rows: Tensor,
        W_word: Tensor,
        W_token: Tensor,
        bias: Tensor,
        texts: _Texts,
        filters: _Filters,
    ) -> Tensor:
        best = torch.empty(len(texts), len(bias))
        where = torch.empty(best.shape, dtype=torch.int32)
        for part, outputs, rows in filters.parts(len(word_rows)):
            table = _products(word_rows, W_word[rows])
            addends = (table, token_rows, W_token[rows], bias[outputs])
            _fill(best[:, outputs], where[:, outputs], addends, texts, part)
        ctx.save_for_backward(word_rows, token_rows, W_word, W_token)
        ctx.where, ctx.texts, ctx.filters = where, texts, filters
        return best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        asked = ctx.needs_input_grad[:5]
        found = _kernel().gradients(
            _array(slopes),
            ctx.where.numpy(),
            ctx.texts.words,
            ctx.texts.ends,
            np.array(ctx.filters.windows, np.int64),
            ctx.filters.channels,
            *map(_array, ctx.saved_tensors),
            *asked[:2],
            torch.get_num_threads(),
        )
        of_W_word, of_W_token, of_words, of_tokens = map(torch.from_numpy, found)
        made = (of_words, of_tokens, of_W_word, of_W_token, slopes.sum(dim=0))
        wanted = (each if is_asked else None for each, is_asked in zip(made, asked, strict=True))
        return (*wanted, None, None)


def _fill(
    best: Tensor,
    where: Tensor,
    addends: tuple[Tensor, Tensor, Tensor, Tensor],
    texts: _Texts,
    filters: _Filters,
) -> None:
    """Write the greatest responses of filters of one width, and their places."""
    table, token_rows, W_token, bias = addends
    n_tokens = _TOKENS_AT_ONCE if token_rows.shape[1] else max(1, len(texts.words))
    for part, numbers, tokens in texts.parts(n_tokens):
        found = _kernel().strongest(
            _array(table),
            part.words,
            _array(_products(token_rows[tokens], W_token)),
            part.ends,
            np.array(filters.windows, np.int64),
            filters.channels,
            _array(bias),
            part.left_padding,
            torch.get_num_threads(),
        )
        best[numbers], where[numbers] = map(torch.from_numpy, found)


def _products(rows: Tensor, W: Tensor) -> Tensor:
    """Return what each row adds to each response; rows without columns add nothing: as they are."""
    return rows @ W.T if rows.shape[1] else rows


def _array(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().contiguous().numpy()
    return array


def _kernel() -> ModuleType:
    if native.convolution is None:
        raise InputError("the native convolution was not built: call the encoder itself")
    return native.convolution
