"""Random vectors of terms, which depend on the seed and the term only."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from math import sqrt

import numpy as np

from wordclass.arrays import Floats32

_BLOCK_ROWS = 16_384  # filled at a time
# constants of the generator splitmix64
_INCREMENT = 0x9E3779B97F4A7C15
_FIRST_MULTIPLIER = 0xBF58476D1CE4E5B9
_SECOND_MULTIPLIER = 0x94D049BB133111EB


def fill_random(target: Floats32, terms: Sequence[str | None], seed: int) -> None:
    """Fill rows with random vectors whose range follows Xavier's rule."""
    width = np.float32(sqrt(6 / sum(target.shape)))
    for start in range(0, len(terms), _BLOCK_ROWS):
        numbers = random_vectors(terms[start : start + _BLOCK_ROWS], target.shape[1], seed)
        target[start : start + _BLOCK_ROWS] = width * numbers


def random_vectors(terms: Iterable[str | None], n_dims: int, seed: int) -> Floats32:
    """Return numbers between -1 and 1 (len(terms), n_dims) that depend on seed and term only.

    A hash of both is the seed of the generator splitmix64. None stands for all unknown terms.

    Examples
    --------
    >>> both = random_vectors(["moon", "tax"], 3, seed=1)
    >>> single = random_vectors(["tax"], 3, seed=1)
    >>> bool((both[1] == single[0]).all())
    True
    """
    starts = np.frombuffer(b"".join(_hash(term, str(int(seed))) for term in terms), "<u8")
    steps = np.arange(1, n_dims + 1, dtype=np.uint64) * np.uint64(_INCREMENT)
    bits = starts[:, None] + steps
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(_FIRST_MULTIPLIER)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(_SECOND_MULTIPLIER)
    bits ^= bits >> np.uint64(31)
    numbers: Floats32 = (bits >> np.uint64(40)).astype(
        np.float32
    )  # 24 bits, the precision of float32
    numbers *= np.float32(2**-23)
    numbers -= np.float32(1)
    return numbers


def _hash(term: str | None, seed: str) -> bytes:
    person = b"unknown" if term is None else b""
    written = (term or "").encode("utf-8", "surrogatepass")
    return blake2b(written, digest_size=8, key=seed.encode()[:64], person=person).digest()
