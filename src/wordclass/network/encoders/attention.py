"""Attention: the sum of the states of an LSTM, weighted by their agreement with the last state."""

import torch
from torch import Tensor

from wordclass.network.modules import Lengths, LstmStatesEncoder, masked_softmax


class AttentionEncoder(LstmStatesEncoder):
    """Encoder that sums the states of an LSTM with the weights softmax(h_last · h_i).

    The paper calls the attention scaled, but neither its formula nor its runs have a scale. The
    output for an empty text is zero.

    Parameters
    ----------
    input_dim : int
        The dimension of the token vectors.
    hidden : int, default=256
        The size of a state, which is `output_dim`.
    masked : bool, default=True
        If False, the states of the padding take part, as in the paper's runs.
    seed : int or torch.Generator, default=0
        The source of the first weights.
    """

    def forward(self, vectors: Tensor, lengths: Lengths) -> Tensor:
        """Return (b, output_dim) for vectors (b, l, input_dim) and lengths (b,)."""
        states, last = self.states(vectors, lengths)
        logits = torch.bmm(states, last[:, :, None])[:, :, 0]  # (b, l)
        weights = masked_softmax(logits, lengths, self.states.masked)
        return torch.bmm(weights[:, None], states)[:, 0]


make = AttentionEncoder
