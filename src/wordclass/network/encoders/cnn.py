"""The strongest response of each of many filters, wherever in the text it is."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from wordclass.errors import InputError
from wordclass.network.modules import Lengths, Seed, drawn, make_generator, zero_padding
from wordclass.options import check_int


class CnnEncoder(nn.Module):
    """Slides filters of several widths over a text, and keeps the maximum of each, or 0.

    A filter sees whole windows inside the text only. A text that is shorter than a window is
    filled up with zeros to one window; of an empty text that is what remains, so it gives the
    positive part of the biases.

    Parameters
    ----------
    input_dim
        Of the vectors.
    channels
        How many filters of each width; `output_dim` is channels times the number of widths.
    windows
        The widths, in tokens.
    masked
        False: filters see padding too, as in the paper's runs (which broke where all texts of a
        batch were shorter than a window; here zeros are put before them).
    seed
        Of the first weights: an int, or a generator to draw from.

    Notes
    -----
    The weight of a width is (channels, input_dim, width). It is drawn as the paper's runs drew
    it, where a text was an image of one channel: Xavier's rule then sees width * input_dim *
    channels outputs per weight, not width * channels, and starts with numbers about ten times
    smaller than it would for a convolution over one dimension.
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
        filters = (_filters(input_dim, channels, window, generator) for window in windows)
        self.filters = nn.ModuleList(filters)
        self.windows = tuple(windows)
        self.output_dim = channels * len(self.windows)
        self.masked = masked

    def forward(self, vectors: Tensor, lengths: Lengths) -> Tensor:
        """Return (b, output_dim) for vectors (b, l, input_dim) and lengths (b,)."""
        lengths = torch.as_tensor(lengths, device=vectors.device)
        widest, first = max(self.windows), 0
        if torch.compiler.is_compiling():
            # what torch exports must not depend on the length of a batch: all are filled up, and
            # windows with more zeros in front than there would be are left out
            missing, first = widest - 1, torch.sym_min(vectors.shape[1], widest) - 1  # type: ignore[no-untyped-call]
        else:
            missing = max(0, widest - vectors.shape[1])
        if self.masked:
            vectors = zero_padding(vectors, lengths)
        sides = (0, missing) if self.masked else (missing, 0)
        texts = functional.pad(vectors.transpose(1, 2), sides)  # (b, d, l)
        strongest = []
        for filters, window in zip(self.filters, self.windows, strict=True):
            responses = filters(texts)  # (b, channels, l - window + 1)
            places = torch.arange(responses.shape[2], device=lengths.device)
            if self.masked:
                is_outside = (places > (lengths - window).clamp(min=0)[:, None])[:, None]
            else:
                is_outside = places < first
            strongest.append(responses.masked_fill(is_outside, -torch.inf).max(dim=2).values)
        # the maximum of what ReLU leaves is what ReLU leaves of the maximum
        return torch.cat(strongest, dim=1).relu()


def check_windows(windows: object) -> None:
    """Refuse what are no widths of filters."""
    if not isinstance(windows, Sequence) or not windows:
        raise InputError(f"windows is {windows!r}; expected several widths, such as (3, 5, 7)")
    for window in windows:
        check_int("window", window, 1)


def _filters(input_dim: int, channels: int, window: int, generator: torch.Generator) -> nn.Conv1d:
    empty = nn.Conv1d(input_dim, channels, window, device="meta")
    filters = drawn(empty, generator, (input_dim * window) ** -0.5)
    with torch.no_grad():
        image = filters.weight.transpose(1, 2)[:, None]  # (channels, 1, window, d), the same memory
        nn.init.xavier_uniform_(image, generator=generator)
    return filters


make = CnnEncoder
