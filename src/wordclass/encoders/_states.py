"""The states of an LSTM of one layer and one direction, and the last true one of each text."""

import torch
from torch import Tensor, nn

from wordclass.encoders._initialization import Seed, check_sizes, drawn, generator_of
from wordclass.encoders._masks import Lengths, as_tensor, zero_padding


class States(nn.Module):
    """Runs an LSTM over texts.

    Padding behind a text cannot reach the states before it, so the texts of a batch are run side
    by side and what lies behind each is left unused. That is exact and, where lengths differ, on
    a CPU 1.6 to 10 times faster than torch's packed sequences.
    """

    def __init__(self, input_dim: int, hidden: int, masked: bool, seed: Seed) -> None:
        super().__init__()
        check_sizes(input_dim=input_dim, hidden=hidden)
        empty = nn.LSTM(input_dim, hidden, batch_first=True, device="meta")
        self.lstm = drawn(empty, generator_of(seed), hidden**-0.5)
        self.masked = masked

    def forward(self, vectors: Tensor, lengths: Lengths) -> tuple[Tensor, Tensor]:
        """Return all states (b, l, hidden), and the last (b, hidden): zeros of an empty text."""
        lengths = as_tensor(lengths, vectors.device)
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
