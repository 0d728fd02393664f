"""What is text and what is padding, from the lengths of right-padded texts."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Lengths = Tensor | NDArray[np.integer] | Sequence[int]


def as_tensor(lengths: Lengths, device: torch.device) -> Tensor:
    """Return lengths (b,) as they are needed; an `IdBatch` has them as an array."""
    return torch.as_tensor(lengths, device=device)


def is_token(lengths: Tensor, n_places: int) -> Tensor:
    """Return (b, n_places): True where a token stands."""
    places = torch.arange(n_places, device=lengths.device)
    return places < lengths[:, None]


def zero_padding(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Return vectors (b, l, d) with zeros at the padding, whatever stood there, NaN too."""
    return vectors.masked_fill(~is_token(lengths, vectors.shape[1])[:, :, None], 0)


def softmax_of_tokens(logits: Tensor, lengths: Tensor) -> Tensor:
    """Return the softmax of logits (b, l) over the tokens of each text; all 0 in an empty one."""
    tokens = is_token(lengths, logits.shape[1])
    # not -inf: the softmax of nothing but -inf is NaN
    lowest = torch.finfo(logits.dtype).min
    return logits.masked_fill(~tokens, lowest).softmax(dim=1).masked_fill(~tokens, 0)
