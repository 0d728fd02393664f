"""Whether a network fits into the memory of the machine, before it is made."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.errors import InputError

_BYTES = 4
_COPIES = 4  # of a weight in training: itself, its gradient, and Adam's two means
_BEST = 1  # and the best so far


def free_bytes() -> int | None:
    """Return how much memory there is to take; None where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = {line.split(":")[0]: int(line.split()[1]) for line in lines}
        return found["MemAvailable"] * 1024
    except (OSError, KeyError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


@dataclass(frozen=True)
class Need:
    """What an encoder and the layer above it need.

    Parameters
    ----------
    size, value
        The option that decides about it, and its value.
    n_weights
        How many numbers are trained.
    n_numbers
        How many a batch makes on the way.
    """

    size: str
    value: int
    n_weights: int
    n_numbers: int

    @property
    def n_bytes(self) -> int:
        """All of it, in training."""
        return _BYTES * (self.n_weights * (_COPIES + _BEST) + self.n_numbers)


def _bytes_of_vectors(E: EmbeddingMatrix, trainable: bool | Mapping[str, bool]) -> int:
    """Return what training needs for the vectors, about."""
    rows, total = len(E.matrix), 0
    for name, place in E.blocks.items():
        is_trained = trainable.get(name, False) if isinstance(trainable, Mapping) else trainable
        copies = _COPIES + _BEST if is_trained else 0
        total += rows * (place.stop - place.start) * _BYTES * copies
    return total


def check(E: EmbeddingMatrix, trainable: bool | Mapping[str, bool], need: Need) -> None:
    """Refuse a network that is too large, and tell what would fit."""
    free, vectors = free_bytes(), _bytes_of_vectors(E, trainable)
    needed = vectors + need.n_bytes
    if free is None or needed <= free:
        return
    told = f"the network needs {needed / 1e9:,.1f} GB to be trained; {free / 1e9:,.1f} GB are free"
    # what is needed grows with the size, or faster
    fitting = int((free - vectors) / need.n_bytes * need.value)
    if fitting < 1:
        raise InputError(
            f"{told}: its vectors alone need {vectors / 1e9:,.1f} GB; use trainable=False, or a "
            "higher min_docs"
        )
    raise InputError(f"{told}; {need.size}={fitting} would fit")
