"""The last state of an LSTM."""

from torch import Tensor

from wordclass.network.modules import Lengths, LstmStatesEncoder


class LstmEncoder(LstmStatesEncoder):
    """Encoder that reads a text from its first token to its last and returns the last state.

    It has one layer and one direction, as in the paper. The output for an empty text is zero.

    Parameters
    ----------
    input_dim : int
        The dimension of the token vectors.
    hidden : int, default=256
        The size of a state, which is `output_dim`.
    masked : bool, default=True
        If False, the output is the last of all l states, as in the paper's runs.
    seed : int or torch.Generator, default=0
        The source of the first weights.
    """

    def forward(self, vectors: Tensor, lengths: Lengths) -> Tensor:
        """Return (b, output_dim) for vectors (b, l, input_dim) and lengths (b,)."""
        last: Tensor = self.states(vectors, lengths)[1]
        return last


make = LstmEncoder
