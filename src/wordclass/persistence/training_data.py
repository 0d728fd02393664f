"""Which texts a model was trained on, without the texts."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from wordclass.folds import fingerprint_texts


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Fingerprints of the training texts: enough to recognize them.

    Parameters
    ----------
    n_docs
        How many.
    fingerprint
        One hexadecimal digest of all of them, whatever their order.
    fingerprints
        (n,) a 64-bit hash of each, sorted.
    """

    n_docs: int
    fingerprint: str
    fingerprints: NDArray[np.uint64]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "TrainingData":
        """Take the fingerprints of texts."""
        return cls.of_hashes(fingerprint_texts(texts))

    @classmethod
    def of_hashes(cls, hashes: NDArray[np.uint64]) -> "TrainingData":
        """Put together what the hashes (n,) of texts tell, in any order."""
        ordered = np.sort(hashes)
        digest = blake2b(ordered.astype("<u8").tobytes(), digest_size=16).hexdigest()
        return cls(len(ordered), digest, ordered)

    def n_shared(self, texts: Iterable[str]) -> int:
        """Count the given texts that are among the training texts; blank ones do not count."""
        hashes = fingerprint_texts(text for text in texts if text.strip())
        return int(np.isin(hashes, self.fingerprints).sum())
