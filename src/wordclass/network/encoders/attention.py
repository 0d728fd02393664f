"""The states of an LSTM, weighted by how much each agrees with the last one."""

import torch
from torch import Tensor

from wordclass.network.modules import Lengths, LstmStatesEncoder, masked_softmax


class AttentionEncoder(LstmStatesEncoder):
    """Sums the states with weights softmax(h_last · h_i).

    The paper calls this scaled, but its formula and its runs have no scale. An empty text gives
    zeros.

    Parameters
    ----------
    input_dim
        Of the vectors.
    hidden
        The size of a state: `output_dim`.
    masked
        False: the states of padding take part too, as in the paper's runs.
    seed
        Of the first weights: an int, or a generator to draw from.
    """

    def forward(self, vectors: Tensor, lengths: Lengths) -> Tensor:
        """Return (b, output_dim) for vectors (b, l, input_dim) and lengths (b,)."""
        states, last = self.states(vectors, lengths)
        logits = torch.bmm(states, last[:, :, None])[:, :, 0]  # (b, l)
        weights = masked_softmax(logits, lengths, self.states.masked)
        return torch.bmm(weights[:, None], states)[:, 0]


make = AttentionEncoder
