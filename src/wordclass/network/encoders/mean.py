"""The mean of the vectors of a text."""

import torch
from torch import Tensor, nn

from wordclass.network.modules import Lengths, Seed, zero_padding
from wordclass.options import check_int


class MeanEncoder(nn.Module):
    """Encoder that averages the vectors of a text. The output for an empty text is zero.

    Parameters
    ----------
    input_dim : int
        The dimension of the token vectors, which is `output_dim`.
    masked : bool, default=True
        If False, the mean is over all l vectors.
    seed : int or torch.Generator, default=0
        Ignored, because this encoder has no weights. All encoders accept a seed.
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
