"""Documents kept aside to measure a model: chosen by a hash of the text, so always the same."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from wordclass.arrays import Flags
from wordclass.errors import InputError
from wordclass.folds import hash_text


@dataclass(frozen=True)
class Holdout:
    """Which documents are kept aside; equal texts are always on the same side.

    Parameters
    ----------
    share
        Of all documents, about; more than 0 and less than 1.
    seed
        Another seed keeps other documents aside.
    """

    share: float
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 < self.share < 1.0:
            raise InputError(f"holdout is {self.share:g}; expected a share between 0 and 1")

    def contains(self, texts: Iterable[str]) -> Flags:
        """Tell for each text whether it is kept aside."""
        limit = self.share * 2.0**64
        key = f"holdout {self.seed}".encode()
        return np.fromiter((hash_text(text, key) < limit for text in texts), np.bool_)
