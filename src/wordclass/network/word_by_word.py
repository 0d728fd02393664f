"""The CNN over a batch of texts, with what a word adds to each filter computed once per word.

A text repeats its words, and a batch repeats them more, but a convolution over (b, l, d) looks at
every place anew, padding too. What a word adds at each place of each filter is one row of a small
table; responses are sums of such rows, and only their maxima are kept. What differs from token to
token, such as dropped-out columns, is computed token by token, and the rest still word by word.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from types import ModuleType
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from wordclass.arrays import Ints
from wordclass.errors import InputError
from wordclass.native import extension
from wordclass.network.embedding_layer import EmbeddingLayer, Ids, Shift
from wordclass.network.encoders.cnn import CnnEncoder
from wordclass.network.modules import is_token

# what a table of words and one of tokens may take: they are used at once, while they are in the
# cache, and many distinct words need no more memory than few
_TABLE_NUMBERS = 4_000_000
_TOKENS_AT_ONCE = 1_000
_CHANNELS_TOGETHER = 16
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def can_encode(layer: nn.Module, encoder: nn.Module) -> bool:
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
    if extension.convolution is None or torch.is_autocast_enabled("cpu"):
        return False
    tensors = chain(layer.parameters(), layer.buffers(), encoder.parameters())
    modules = chain(layer.modules(), encoder.modules())
    return (
        _convolutions(encoder)[0].in_channels == layer.embedding_dim
        and all(each.device.type == "cpu" and each.dtype == torch.float32 for each in tensors)
        and not any(getattr(module, name) for module in modules for name in _HOOKS)
    )


def encode(
    layer: EmbeddingLayer, encoder: CnnEncoder, ids: Ids, lengths: Ids, shift: Shift | None = None
) -> Tensor:
    """Return what `encoder(layer(ids), lengths)` returns, (b, output_dim), with its gradients.

    The more texts, the more of their words are the same: 1,000 texts at once cost less than ten
    times 100. Dropout is drawn for tokens only, so it takes fewer numbers from torch's generator
    than the layer does, which draws them for padding too. Gradients have no gradients.

    Parameters
    ----------
    layer, encoder : EmbeddingLayer, CnnEncoder
        A pair that `serves`.
    ids, lengths : Tensor or array
        (b, l) and (b,); the padding is on the right, and on the left if the encoder is not masked.
    shift : dict of Tensor, optional
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
    texts = _Texts(words, np.concatenate(([0], np.cumsum(lengths.numpy()))), left_padding.numpy())
    convolutions = _convolutions(encoder)
    bias = torch.cat([cast(Tensor, each.bias) for each in convolutions])
    rows_and_weights = _by_word_and_by_token(layer, convolutions, distinct, tokens, shift)
    strongest: Tensor = _Strongest.apply(  # type: ignore[no-untyped-call]
        *rows_and_weights, bias, texts, encoder.windows, convolutions[0].out_channels
    )
    return strongest.relu()


def padded(shift: Shift, is_text: Tensor) -> dict[str, Tensor]:
    """Return shifts (n_tokens, width) as (b, l, width), zero where `is_text` (b, l) is False."""
    made = {}
    for name, rows in shift.items():
        made[name] = rows.new_zeros((*is_text.shape, rows.shape[1]))
        made[name][is_text] = rows
    return made


def _convolutions(encoder: CnnEncoder) -> list[nn.Conv1d]:
    return cast("list[nn.Conv1d]", list(encoder.filters))


def _distinct(tokens: Tensor, n_ids: int) -> tuple[Tensor, NDArray[np.int32]]:
    """Return the ids there are, in order, and for each token which of them it is."""
    is_there = torch.zeros(n_ids, dtype=torch.bool)
    is_there[tokens] = True
    distinct = is_there.nonzero()[:, 0]
    numbers = torch.empty(n_ids, dtype=torch.int32)
    numbers[distinct] = torch.arange(len(distinct), dtype=torch.int32)
    return distinct, numbers[tokens].numpy()


def _by_word_and_by_token(
    layer: EmbeddingLayer, filters: list[nn.Conv1d], distinct: Tensor, tokens: Tensor, shift: Shift
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return rows of words and rows of tokens, and the weights of the filters for either.

    The columns of a block are in the rows of tokens where they differ from token to token: those
    with dropout, or with a shift. All others are in the rows of words. A row of the weights W
    (K, columns) is for one window, place in it and channel, in this order.
    """
    dropout = layer.dropout
    rates = dropout.rates if dropout.training else {}
    W = torch.cat([each.weight.permute(2, 0, 1).flatten(0, 1) for each in filters])  # (K, d)
    W = W * (1 / dropout.kept if rates else 1.0)  # dropout scales all columns, dropped or not
    widths = [place.stop - place.start for place in layer.blocks.values()]
    of_words, of_tokens = [], []
    for name, weights in zip(layer.blocks, torch.split(W, widths, 1), strict=True):
        if name not in rates and name not in shift:
            of_words.append((layer.block(name)(distinct), weights))
            continue
        rows = layer.block(name)(tokens)
        if name in shift:
            is_padding = (tokens == layer.padding_idx)[:, None]
            rows = rows + shift[name].to(rows).masked_fill(is_padding, 0)
        if name in rates:
            rows = rows * torch.empty_like(rows).bernoulli_(1 - rates[name])
        of_tokens.append((rows, weights))
    word_rows = _side_by_side([rows for rows, _ in of_words], len(distinct))
    token_rows = _side_by_side([rows for rows, _ in of_tokens], len(tokens))
    W_word = _side_by_side([weights for _, weights in of_words], len(W))
    W_token = _side_by_side([weights for _, weights in of_tokens], len(W))
    return word_rows, token_rows, W_word, W_token


def _side_by_side(parts: list[Tensor], n_rows: int) -> Tensor:
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts, dim=1) if parts else torch.empty(n_rows, 0)


# --- the compiled part, and its gradients ----------------------------------------------------


@dataclass(frozen=True)
class _Texts:
    """The tokens of a batch, text after text."""

    words: NDArray[np.int32]  # (n_tokens,) which of the distinct words each is
    ends: Ints  # (b + 1,) where each text ends; the first is 0
    left_padding: Ints  # (b,) how many zeros are read before each text

    def parts(self, n_tokens: int) -> Iterator[tuple["_Texts", slice, slice]]:
        """Yield parts of at most so many tokens, or of one text, and their texts and tokens."""
        start = 0
        while start < len(self.left_padding):
            stop = int(np.searchsorted(self.ends, self.ends[start] + n_tokens, side="right")) - 1
            stop = max(stop, start + 1)
            tokens = slice(int(self.ends[start]), int(self.ends[stop]))
            ends = self.ends[start : stop + 1] - tokens.start
            part = _Texts(self.words[tokens], ends, self.left_padding[start:stop])
            yield part, slice(start, stop), tokens
            start = stop


def _filter_parts(
    windows: tuple[int, ...], channels: int, n_words: int
) -> Iterator[tuple[slice, Tensor]]:
    """Yield the outputs of some filters of one width, and their rows of W (window, filters).

    There are so few of them that their table of words is small.
    """
    places = torch.arange(sum(windows) * channels).view(-1, channels)
    for number, of_window in enumerate(torch.split(places, list(windows))):
        fitting = _TABLE_NUMBERS // max(1, n_words * len(of_window))
        step = max(1, fitting // _CHANNELS_TOGETHER) * _CHANNELS_TOGETHER
        for first in range(0, channels, step):
            rows = of_window[:, first : first + step]
            start = number * channels + first
            yield slice(start, start + rows.shape[1]), rows


class _Strongest(torch.autograd.Function):
    """The greatest response of each filter in each text, (b, output_dim), less than 0 too.

    A response is the sum of what rows of W say of the words below a filter. No array of all tokens
    by all filters is made: on the way there only some texts at a time, and on the way back only the
    tokens below a greatest response are looked at.
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
        windows: tuple[int, ...],
        channels: int,
    ) -> Tensor:
        best = torch.empty(len(texts.left_padding), len(bias))
        where = torch.empty(best.shape, dtype=torch.int32)
        n_tokens = _TOKENS_AT_ONCE if token_rows.shape[1] else max(1, len(texts.words))
        for outputs, rows in _filter_parts(windows, channels, len(word_rows)):
            table = _products(word_rows, W_word[rows.flatten()])
            W_part = W_token[rows.flatten()]
            filters = np.array([len(rows)]), rows.shape[1], _array(bias[outputs])
            for part, numbers, tokens in texts.parts(n_tokens):
                words = part.words, _products(token_rows[tokens], W_part), part.ends
                rest = part.left_padding, torch.get_num_threads()
                found = _kernel().strongest(table, *words, *filters, *rest)
                best[numbers, outputs], where[numbers, outputs] = map(torch.from_numpy, found)
        ctx.save_for_backward(word_rows, token_rows, W_word, W_token)
        ctx.rest = where.numpy(), texts.words, texts.ends, np.array(windows), channels
        return best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        asked = ctx.needs_input_grad[:5]
        rows_and_weights = map(_array, ctx.saved_tensors)
        found = _kernel().gradients(
            _array(slopes), *ctx.rest, *rows_and_weights, *asked[:2], torch.get_num_threads()
        )
        of_W_word, of_W_token, of_words, of_tokens = map(torch.from_numpy, found)
        made = (of_words, of_tokens, of_W_word, of_W_token, slopes.sum(dim=0))
        wanted = (each if is_asked else None for each, is_asked in zip(made, asked, strict=True))
        return (*wanted, None, None, None)


def _products(rows: Tensor, W: Tensor) -> NDArray[Any]:
    """Return what each row adds to each response; rows without columns add nothing: as they are."""
    return _array(rows @ W.T if rows.shape[1] else rows)


def _array(tensor: Tensor) -> NDArray[Any]:
    return np.ascontiguousarray(tensor.detach())


def _kernel() -> ModuleType:
    if extension.convolution is None:
        raise InputError("the native convolution was not built: call the encoder itself")
    return extension.convolution
