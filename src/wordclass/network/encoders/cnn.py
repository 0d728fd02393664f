"""A convolutional network: the strongest response of each filter anywhere in the text."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from wordclass.errors import InputError
from wordclass.network.modules import Lengths, Seed, initialize, make_generator, zero_padding
from wordclass.options import check_int


class CnnEncoder(nn.Module):
    """Encoder with filters of several widths, each followed by ReLU and the maximum over the text.

    Only windows that lie completely inside the text count. A text that is shorter than a window is
    padded with zeros to one window. The output for an empty text is the positive part of the
    biases.

    Parameters
    ----------
    input_dim : int
        The dimension of the token vectors.
    channels : int, default=128
        The number of filters per width. `output_dim` is `channels` times the number of widths.
    windows : sequence of int, default=(3, 5, 7)
        The widths of the filters, in tokens.
    masked : bool, default=True
        If False, filters see padding too, as in the paper's runs. (Those failed if all texts of a
        batch were shorter than a window. Here zeros are put before such texts.)
    seed : int or torch.Generator, default=0
        The source of the first weights.

    Notes
    -----
    The weight of a width has the shape (channels, input_dim, width). It is drawn as in the paper's
    runs, which treated a text as an image with one channel. Xavier's rule then counts width *
    input_dim * channels outputs per weight instead of width * channels, so the first weights are
    about ten times smaller than those of a one-dimensional convolution.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        channels: int = 128,
        windows: Sequence[int] = (3, 5, 7),
        masked: bool = True,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        check_int("input_dim", input_dim, 1)
        check_int("channels", channels, 1)
        check_windows(windows)
        generator = make_generator(seed)
        filters = (_make_filters(input_dim, channels, window, generator) for window in windows)
        self.filters = nn.ModuleList(filters)
        self.windows = tuple(windows)
        self.output_dim = channels * len(self.windows)
        self.masked = masked

    def forward(self, vectors: Tensor, lengths: Lengths) -> Tensor:
        """Return (b, output_dim) for vectors (b, l, input_dim) and lengths (b,)."""
        lengths = torch.as_tensor(lengths, device=vectors.device)
        widest = max(self.windows)
        if torch.compiler.is_compiling():
            # An exported network must not depend on the length of a batch. So every batch gets the
            # same number of zeros, and windows with more of them in front than usual are masked.
            n_zeros = widest - 1
            first = torch.sym_min(vectors.shape[1], widest) - 1  # type: ignore[no-untyped-call]
        else:
            n_zeros = max(0, widest - vectors.shape[1])
            first = 0
        if self.masked:
            vectors = zero_padding(vectors, lengths)
        sides = (0, n_zeros) if self.masked else (n_zeros, 0)
        texts = functional.pad(vectors.transpose(1, 2), sides)  # (b, d, l)
        strongest = []
        for filters, window in zip(self.filters, self.windows, strict=True):
            responses = filters(texts)  # (b, channels, l - window + 1)
            positions = torch.arange(responses.shape[2], device=lengths.device)
            if self.masked:
                is_outside = (positions > (lengths - window).clamp(min=0)[:, None])[:, None]
            else:
                is_outside = positions < first
            strongest.append(responses.masked_fill(is_outside, -torch.inf).max(dim=2).values)
        # ReLU after the maximum equals ReLU before it and costs less
        return torch.cat(strongest, dim=1).relu()


def check_windows(windows: object) -> None:
    """Raise an InputError unless the widths of filters are a non-empty sequence of ints from 1."""
    if not isinstance(windows, Sequence) or not windows:
        raise InputError(f"windows is {windows!r}", expected="several widths, such as (3, 5, 7)")
    for window in windows:
        check_int("window", window, 1)


def _make_filters(
    input_dim: int, channels: int, window: int, generator: torch.Generator
) -> nn.Conv1d:
    empty = nn.Conv1d(input_dim, channels, window, device="meta")
    filters = initialize(empty, generator, (input_dim * window) ** -0.5)
    with torch.no_grad():
        image = filters.weight.transpose(1, 2)[:, None]  # (channels, 1, window, d), the same memory
        nn.init.xavier_uniform_(image, generator=generator)
    return filters


make = CnnEncoder
