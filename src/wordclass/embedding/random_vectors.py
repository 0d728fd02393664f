"""Random vectors that belong to their terms: other terms around them change nothing."""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from wordclass.arrays import Floats32

_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def random_vectors(terms: Iterable[str | None], n_dims: int, seed: int) -> Floats32:
    """Return numbers between -1 and 1 (len(terms), n_dims) that only seed and term decide.

    A hash of both starts the generator splitmix64. None stands for all unknown terms together.

    Examples
    --------
    >>> together, alone = random_vectors(["moon", "tax"], 3, seed=1), random_vectors(["tax"], 3, 1)
    >>> bool((together[1] == alone[0]).all())
    True
    """
    starts = np.frombuffer(b"".join(_hashed(term, str(int(seed))) for term in terms), "<u8")
    steps = np.arange(1, n_dims + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
    bits = starts[:, None] + steps
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(_FIRST)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(_SECOND)
    bits ^= bits >> np.uint64(31)
    drawn: Floats32 = (bits >> np.uint64(40)).astype(np.float32)  # all that float32 holds
    drawn *= np.float32(2**-23)
    drawn -= np.float32(1)
    return drawn


def _hashed(term: str | None, seed: str) -> bytes:
    person = b"unknown" if term is None else b""
    written = (term or "").encode("utf-8", "surrogatepass")
    return blake2b(written, digest_size=8, key=seed.encode()[:64], person=person).digest()
