"""The mean of the vectors of a text."""

import torch
from torch import Tensor, nn

from wordclass.network.modules import Lengths, Seed, zero_padding
from wordclass.options import check_int


class MeanEncoder(nn.Module):
    """Averages the vectors; an empty text gives zeros.

    Parameters
    ----------
    input_dim
        Of the vectors, and of the output: `output_dim`.
    masked
        False: the mean of all l vectors.
    seed
        Of no effect, as nothing is drawn; all encoders take one.
    """

    def __init__(self, input_dim: int, *, masked: bool = True, seed: Seed = 0) -> None:
        super().__init__()
        check_int("input_dim", input_dim, 1)
        self.output_dim = input_dim
        self.masked = masked

    def forward(self, vectors: Tensor, lengths: Lengths) -> Tensor:
        """Return (b, output_dim) for vectors (b, l, input_dim) and lengths (b,)."""
        if not self.masked:
            return vectors.sum(dim=1) / max(1, vectors.shape[1])
        lengths = torch.as_tensor(lengths, device=vectors.device)
        return zero_padding(vectors, lengths).sum(dim=1) / lengths.clamp(min=1)[:, None]


make = MeanEncoder
