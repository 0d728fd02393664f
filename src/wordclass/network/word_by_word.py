"""The CNN over a batch of texts, with what a word adds to each filter computed once per word.

A text repeats its words and a batch repeats them more often, but a convolution over (b, l, d)
computes every position anew, including padding. Here, the terms that a word adds at each position
of each filter are one row of a small table. Responses are sums of such rows, and only their maxima
are stored. Columns that differ from token to token, such as those with dropout, are computed per
token, and all other columns per word.
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
from wordclass.network.modules import token_mask

# The numbers of a table of words, and the tokens of a table of tokens. Both are used at once while
# they are in the cache, so the memory does not grow with the number of distinct words.
_MAX_TABLE_NUMBERS = 4_000_000
_MAX_TABLE_TOKENS = 1_000
_CHANNELS_PER_STEP = 16
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def can_encode(layer: nn.Module, encoder: nn.Module) -> bool:
    """Return True if `encode` may replace `encoder(layer(ids), lengths)`.

    It requires exactly these two classes, CPUs, float32 and the native extension. It is not used
    while torch observes the modules: during compilation, export, tracing and autocast, or with
    hooks.
    """
    is_tracing = torch.jit.is_tracing()  # type: ignore[attr-defined,no-untyped-call]
    if torch.compiler.is_compiling() or is_tracing:
        return False
    # a subclass may compute something else
    if type(layer) is not EmbeddingLayer or type(encoder) is not CnnEncoder:
        return False
    if extension.convolution is None or torch.is_autocast_enabled("cpu"):
        return False
    tensors = chain(layer.parameters(), layer.buffers(), encoder.parameters())
    modules = chain(layer.modules(), encoder.modules())
    return (
        _convolutions(encoder)[0].in_channels == layer.embedding_dim
        and all(tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in tensors)
        and not any(getattr(module, name) for module in modules for name in _HOOKS)
    )


def encode(
    layer: EmbeddingLayer, encoder: CnnEncoder, ids: Ids, lengths: Ids, shift: Shift | None = None
) -> Tensor:
    """Return the result (b, output_dim) of `encoder(layer(ids), lengths)`, with its gradients.

    The more texts a batch has, the more of their words are equal: 1,000 texts at once cost less
    than ten times 100. Dropout draws numbers from torch's generator for tokens only, while the
    layer also draws them for padding. Second derivatives are not supported.

    Parameters
    ----------
    layer : EmbeddingLayer
        The layer.
    encoder : CnnEncoder
        The encoder. `can_encode` must accept the pair.
    ids : Tensor or array of shape (b, l)
        The ids of the tokens. The padding is on the right, or on the left if the encoder is not
        masked.
    lengths : Tensor or array of shape (b,)
        The number of tokens of each text.
    shift : dict of str to Tensor, optional
        Vectors to add to the rows of some blocks before dropout, one row per token, text after
        text, without padding: {block: Tensor of shape (n_tokens, width of the block)}.

    Raises
    ------
    InputError
        If an id is not a row of E, or a shift names an unknown block or has a wrong shape.
    """
    ids = layer.checked_ids(ids)
    lengths = torch.as_tensor(lengths).long().clamp(0, ids.shape[1])
    shift = layer.checked_shift(shift, (int(lengths.sum()),))
    is_token = token_mask(lengths, ids.shape[1])
    left_padding = torch.zeros_like(lengths)
    if not encoder.masked:
        # the encoder puts zeros before a batch that is shorter than a window
        left_padding = max(ids.shape[1], *encoder.windows) - lengths
        if (ids[~is_token.flip(1)] != layer.padding_idx).any():
            # padding on the right that is read as text: only the modules themselves are exact
            encoded: Tensor = encoder(layer(ids, pad_shift(shift, is_token)), lengths)
            return encoded
        is_token = is_token.flip(1)
    tokens = ids[is_token]
    distinct, words = _number_words(tokens, layer.num_embeddings)
    texts = _Texts(
        words=words,
        ends=np.concatenate(([0], np.cumsum(lengths.numpy()))),
        left_padding=left_padding.numpy(),
    )
    convolutions = _convolutions(encoder)
    bias = torch.cat([cast(Tensor, convolution.bias) for convolution in convolutions])
    rows_and_weights = _split_by_word_and_token(layer, convolutions, distinct, tokens, shift)
    strongest: Tensor = _Strongest.apply(  # type: ignore[no-untyped-call]
        *rows_and_weights, bias, texts, encoder.windows, convolutions[0].out_channels
    )
    return strongest.relu()


def pad_shift(shift: Shift, is_token: Tensor) -> dict[str, Tensor]:
    """Return shifts (n_tokens, width) as (b, l, width), with zeros at the padding.

    Parameters
    ----------
    shift : dict of str to Tensor
        One row per token, text after text.
    is_token : Tensor of shape (b, l)
        True at the tokens.
    """
    padded = {}
    for name, rows in shift.items():
        padded[name] = rows.new_zeros((*is_token.shape, rows.shape[1]))
        padded[name][is_token] = rows
    return padded


def _convolutions(encoder: CnnEncoder) -> list[nn.Conv1d]:
    return cast("list[nn.Conv1d]", list(encoder.filters))


def _number_words(tokens: Tensor, n_ids: int) -> tuple[Tensor, NDArray[np.int32]]:
    """Return the distinct ids in ascending order and, for each token, its number among them."""
    occurs = torch.zeros(n_ids, dtype=torch.bool)
    occurs[tokens] = True
    distinct = occurs.nonzero()[:, 0]
    numbers = torch.empty(n_ids, dtype=torch.int32)
    numbers[distinct] = torch.arange(len(distinct), dtype=torch.int32)
    return distinct, numbers[tokens].numpy()


def _split_by_word_and_token(
    layer: EmbeddingLayer, filters: list[nn.Conv1d], distinct: Tensor, tokens: Tensor, shift: Shift
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the rows of words, the rows of tokens, and the weights of the filters for both.

    The columns of a block belong to the rows of tokens if they differ from token to token: if the
    block has dropout or a shift. All other columns belong to the rows of words. A row of the
    weights W (K, columns) belongs to one window, one position in it and one channel, in this order.
    """
    dropout = layer.dropout
    rates = dropout.rates if dropout.training else {}
    W = torch.cat([module.weight.permute(2, 0, 1).flatten(0, 1) for module in filters])  # (K, d)
    W = W * (1 / dropout.kept if rates else 1.0)  # dropout scales all columns
    widths = [columns.stop - columns.start for columns in layer.blocks.values()]
    word_parts = []
    token_parts = []
    for name, weights in zip(layer.blocks, torch.split(W, widths, 1), strict=True):
        if name not in rates and name not in shift:
            word_parts.append((layer.block(name)(distinct), weights))
            continue
        rows = layer.block(name)(tokens)
        if name in shift:
            is_padding = (tokens == layer.padding_idx)[:, None]
            rows = rows + shift[name].to(rows).masked_fill(is_padding, 0)
        if name in rates:
            rows = rows * torch.empty_like(rows).bernoulli_(1 - rates[name])
        token_parts.append((rows, weights))
    word_rows = _concatenate([rows for rows, _ in word_parts], len(distinct))
    token_rows = _concatenate([rows for rows, _ in token_parts], len(tokens))
    W_word = _concatenate([weights for _, weights in word_parts], len(W))
    W_token = _concatenate([weights for _, weights in token_parts], len(W))
    return word_rows, token_rows, W_word, W_token


def _concatenate(parts: list[Tensor], n_rows: int) -> Tensor:
    """Return parts (n_rows, width) side by side, which may be none."""
    if len(parts) == 1:
        return parts[0]
    return torch.cat(parts, dim=1) if parts else torch.empty(n_rows, 0)


# --- the native part and its gradients ---------------------------------------------------------


@dataclass(frozen=True)
class _Texts:
    """The tokens of a batch, text after text.

    Parameters
    ----------
    words : int32 array of shape (n_tokens,)
        The number of each token among the distinct words.
    ends : array of shape (b + 1,)
        The end of each text. The first value is 0.
    left_padding : array of shape (b,)
        The number of zeros that are read before each text.
    """

    words: NDArray[np.int32]
    ends: Ints
    left_padding: Ints

    def split(self, max_tokens: int) -> Iterator[tuple["_Texts", slice, slice]]:
        """Yield groups of texts, with the rows of their texts and of their tokens.

        A group has at most `max_tokens` tokens or one text.
        """
        start = 0
        while start < len(self.left_padding):
            stop = int(np.searchsorted(self.ends, self.ends[start] + max_tokens, side="right")) - 1
            stop = max(stop, start + 1)
            tokens = slice(int(self.ends[start]), int(self.ends[stop]))
            ends = self.ends[start : stop + 1] - tokens.start
            group = _Texts(self.words[tokens], ends, self.left_padding[start:stop])
            yield group, slice(start, stop), tokens
            start = stop


def _split_filters(
    windows: tuple[int, ...], channels: int, n_words: int
) -> Iterator[tuple[slice, Tensor]]:
    """Yield groups of filters of one width, with their outputs and rows of W (window, filters).

    A group is small enough for its table of words to fit into the cache.
    """
    rows_of_W = torch.arange(sum(windows) * channels).view(-1, channels)
    for number, rows_of_window in enumerate(torch.split(rows_of_W, list(windows))):
        n_fitting = _MAX_TABLE_NUMBERS // max(1, n_words * len(rows_of_window))
        step = max(1, n_fitting // _CHANNELS_PER_STEP) * _CHANNELS_PER_STEP
        for first in range(0, channels, step):
            rows = rows_of_window[:, first : first + step]
            start = number * channels + first
            yield slice(start, start + rows.shape[1]), rows


class _Strongest(torch.autograd.Function):
    """The largest response (b, output_dim) of each filter in each text, before ReLU.

    A response is the sum of the products of rows of W with the words below a filter. No array of
    all tokens by all filters is allocated: the forward pass treats some texts at a time, and the
    backward pass visits only the tokens below a largest response.
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
        largest = torch.empty(len(texts.left_padding), len(bias))
        positions = torch.empty(largest.shape, dtype=torch.int32)
        max_tokens = _MAX_TABLE_TOKENS if token_rows.shape[1] else max(1, len(texts.words))
        for outputs, filter_rows in _split_filters(windows, channels, len(word_rows)):
            word_table = _multiply(word_rows, W_word[filter_rows.flatten()])
            W_token_group = W_token[filter_rows.flatten()]
            group_windows = np.array([len(filter_rows)])
            group_bias = _to_array(bias[outputs])
            for group, text_rows, tokens in texts.split(max_tokens):
                token_table = _multiply(token_rows[tokens], W_token_group)
                group_largest, group_positions = _kernel().strongest(
                    word_table,
                    group.words,
                    token_table,
                    group.ends,
                    group_windows,
                    filter_rows.shape[1],
                    group_bias,
                    group.left_padding,
                    torch.get_num_threads(),
                )
                largest[text_rows, outputs] = torch.from_numpy(group_largest)
                positions[text_rows, outputs] = torch.from_numpy(group_positions)
        ctx.save_for_backward(word_rows, token_rows, W_word, W_token)
        ctx.kernel_arguments = (
            positions.numpy(),
            texts.words,
            texts.ends,
            np.array(windows),
            channels,
        )
        return largest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        needs_gradient = ctx.needs_input_grad[:5]
        W_word_slopes, W_token_slopes, word_slopes, token_slopes = map(
            torch.from_numpy,
            _kernel().gradients(
                _to_array(slopes),
                *ctx.kernel_arguments,
                *map(_to_array, ctx.saved_tensors),
                *needs_gradient[:2],
                torch.get_num_threads(),
            ),
        )
        gradients = (
            word_slopes,
            token_slopes,
            W_word_slopes,
            W_token_slopes,
            slopes.sum(dim=0),
        )
        needed = (
            gradient if is_needed else None
            for gradient, is_needed in zip(gradients, needs_gradient, strict=True)
        )
        return (*needed, None, None, None)


def _multiply(rows: Tensor, W: Tensor) -> NDArray[Any]:
    """Return the product of rows and weights. Rows without columns are returned unchanged."""
    return _to_array(rows @ W.T if rows.shape[1] else rows)


def _to_array(tensor: Tensor) -> NDArray[Any]:
    return np.ascontiguousarray(tensor.detach())


def _kernel() -> ModuleType:
    if extension.convolution is None:
        raise InputError(
            "the native convolution was not built",
            hint="call the encoder itself, or install wordclass with a C++ compiler",
        )
    return extension.convolution
