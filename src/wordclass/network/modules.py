"""What encoders are made of: first weights, what is text and what is padding, an LSTM.

First weights are as in the paper's runs, from a seed and without touching torch's own state. All
matrices are drawn by Xavier's uniform rule; biases keep what torch gives them, a uniform draw whose
width the caller knows.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordclass import catalogue
from wordclass.errors import InputError
from wordclass.options import check_int

Seed: TypeAlias = int | torch.Generator
Lengths: TypeAlias = Tensor | NDArray[np.integer] | Sequence[int]
_Module = TypeVar("_Module", bound=nn.Module)


def encoder(name: str, input_dim: int, **options: Any) -> nn.Module:  # noqa: ANN401
    """Make an encoder from its name and options.

    Examples
    --------
    >>> encoder("cnn", 320, channels=128).output_dim
    384
    """
    module: nn.Module = catalogue.entry("encoders", name).make(input_dim, **options)
    return module


def make_generator(seed: Seed) -> torch.Generator:
    """Return a new generator with this seed; one that is given is drawn from as it stands."""
    if isinstance(seed, torch.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InputError(f"seed is {seed!r}; expected an int or a torch.Generator")
    return torch.Generator().manual_seed(seed)


def drawn(empty: _Module, generator: torch.Generator, bias_width: float) -> _Module:
    """Return a module that was made on the meta device with memory and first weights.

    Made there, its constructor draws nothing from the numbers all of torch shares.
    """
    module = empty.to_empty(device="cpu")
    for weight in module.parameters():
        if weight.dim() > 1:
            nn.init.xavier_uniform_(weight, generator=generator)
        else:
            nn.init.uniform_(weight, -bias_width, bias_width, generator=generator)
    return module


def is_token(lengths: Tensor, n_places: int) -> Tensor:
    """Return (b, n_places): True where a token stands, the padding being on the right."""
    return torch.arange(n_places, device=lengths.device) < lengths[:, None]


def zero_padding(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Return vectors (b, l, d) with zeros at the padding, whatever stood there, NaN too."""
    return vectors.masked_fill(~is_token(lengths, vectors.shape[1])[:, :, None], 0)


def masked_softmax(logits: Tensor, lengths: Lengths, masked: bool) -> Tensor:
    """Return the softmax of logits (b, l) over the tokens of each text; all 0 in an empty one.

    If not `masked`, over all l places.
    """
    if not masked:
        return logits.softmax(dim=1)
    tokens = is_token(torch.as_tensor(lengths, device=logits.device), logits.shape[1])
    # not -inf: the softmax of nothing but -inf is NaN
    lowest = torch.finfo(logits.dtype).min
    return logits.masked_fill(~tokens, lowest).softmax(dim=1).masked_fill(~tokens, 0)


class LstmStates(nn.Module):
    """The states of an LSTM of one layer and one direction, and the last true one of each text.

    Padding behind a text cannot reach the states before it, so the texts of a batch are run side
    by side and what lies behind each is left unused. That is exact and, where lengths differ, on
    a CPU 1.6 to 10 times faster than torch's packed sequences.
    """

    def __init__(self, input_dim: int, hidden: int, masked: bool, seed: Seed) -> None:
        super().__init__()
        check_int("input_dim", input_dim, 1)
        check_int("hidden", hidden, 1)
        empty = nn.LSTM(input_dim, hidden, batch_first=True, device="meta")
        self.lstm = drawn(empty, make_generator(seed), hidden**-0.5)
        self.masked = masked

    def forward(self, vectors: Tensor, lengths: Lengths) -> tuple[Tensor, Tensor]:
        """Return all states (b, l, hidden), and the last (b, hidden): zeros of an empty text."""
        lengths = torch.as_tensor(lengths, device=vectors.device)
        if not vectors.shape[1]:  # torch's LSTM wants one token at least
            n_texts, hidden = vectors.shape[0], self.lstm.hidden_size
            return vectors.new_zeros(n_texts, 0, hidden), vectors.new_zeros(n_texts, hidden)
        if not self.masked:
            states: Tensor = self.lstm(vectors)[0]
            return states, states[:, -1]
        # zeros, because a NaN behind the text would reach the gradients
        states = self.lstm(zero_padding(vectors, lengths))[0]
        # not len(states): exported, that is the size of the first batch
        rows = torch.arange(states.shape[0], device=states.device)
        last = states[rows, (lengths - 1).clamp(min=0)]
        return states, last.masked_fill((lengths == 0)[:, None], 0)


class LstmStatesEncoder(nn.Module):
    """An encoder that makes something of the states of an LSTM, of the size of one of them."""

    def __init__(
        self, input_dim: int, *, hidden: int = 256, masked: bool = True, seed: Seed = 0
    ) -> None:
        super().__init__()
        self.states = LstmStates(input_dim, hidden, masked, seed)
        self.output_dim = hidden
