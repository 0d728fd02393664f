"""The last state of an LSTM."""

from torch import Tensor

from wordclass.network.modules import Lengths, LstmStatesEncoder


class LstmEncoder(LstmStatesEncoder):
    """Reads a text from its first token to its last, and hands over the state it ends in.

    One layer, one direction, as in the paper. An empty text gives zeros, the state before any
    token.

    Parameters
    ----------
    input_dim
        Of the vectors.
    hidden
        The size of the state: `output_dim`.
    masked
        False: the last of all l states, as in the paper's runs.
    seed
        Of the first weights: an int, or a generator to draw from.
    """

    def forward(self, vectors: Tensor, lengths: Lengths) -> Tensor:
        """Return (b, output_dim) for vectors (b, l, input_dim) and lengths (b,)."""
        last: Tensor = self.states(vectors, lengths)[1]
        return last


make = LstmEncoder
