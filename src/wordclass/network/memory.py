"""Whether a network fits into the memory of the machine, before it is made."""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.errors import InputError

_BYTES = 4
_COPIES = 4  # of a weight in training: itself, its gradient, and Adam's two means
_KEPT = 2  # and the best so far, and a mean


def free_bytes() -> int | None:
    """Return how much memory there is to take; None where the system does not tell."""
    left = [*_machine_bytes(), *control_group_bytes()]
    return max(0, min(left)) if left else None


def _machine_bytes() -> Iterator[int]:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found = {line.split(":")[0]: int(line.split()[1]) for line in lines}
        yield found["MemAvailable"] * 1024
    except (OSError, KeyError, ValueError, IndexError):
        with suppress(AttributeError, OSError, ValueError):
            yield os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def control_group_bytes(
    groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")
) -> Iterator[int]:
    """Return what each control group of this process leaves it: a container's limit, say."""
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            top, names = mounted, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            top = mounted / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        own = Path(path.lstrip("/"))
        for group in (own, *own.parents):  # each is bound by those above it
            with suppress(OSError, ValueError, KeyError):  # not here, or without a limit
                yield _left(top / group, *names)


def _left(group: Path, limit: str, usage: str, cached: str) -> int:
    statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    used = int((group / usage).read_text()) - int(statistics[cached])  # files read: given back
    return int((group / limit).read_text()) - used


@dataclass(frozen=True)
class Need:
    """What an encoder and the layer above it need.

    Parameters
    ----------
    size, value
        The option that decides about it, and its value.
    numbers
        For a value of this option, how many numbers are trained, and how many a batch makes on the
        way. With a larger value neither is less.
    """

    size: str
    value: int
    numbers: Callable[[int], tuple[int, int]]

    def n_bytes(self, value: int) -> int:
        """Return all of it, in training."""
        n_weights, n_numbers = self.numbers(value)
        return _BYTES * (n_weights * (_COPIES + _KEPT) + n_numbers)

    def fitting(self, free: int) -> int:
        """Return the largest value that needs no more than this; 0 where none does."""
        return bisect_right(range(1, self.value + 1), free, key=self.n_bytes)


def _bytes_of_vectors(E: EmbeddingMatrix, trainable: bool | Mapping[str, bool]) -> int:
    """Return what training needs for the vectors, about."""
    rows, total = len(E.matrix), 0
    for name, place in E.blocks.items():
        is_trained = trainable.get(name, False) if isinstance(trainable, Mapping) else trainable
        copies = _COPIES + _KEPT if is_trained else 0
        total += rows * (place.stop - place.start) * _BYTES * copies
    return total


def check(E: EmbeddingMatrix, trainable: bool | Mapping[str, bool], need: Need) -> None:
    """Refuse a network that is too large, and tell what would fit."""
    free, vectors = free_bytes(), _bytes_of_vectors(E, trainable)
    needed = vectors + need.n_bytes(need.value)
    if free is None or needed <= free:
        return
    told = f"the network needs {_shown(needed)} to be trained; {_shown(free)} are free"
    if fitting := need.fitting(free - vectors):
        raise InputError(f"{told}; {need.size}={fitting} would fit")
    smaller = "max_length" if need.size == "batch_size" else "batch_size"
    if vectors:
        told += f": training its vectors alone needs {_shown(vectors)}; use trainable=False,"
    else:
        told += f": no {need.size} would fit; use"
    raise InputError(f"{told} a lower {smaller}, or a higher min_docs")


def check_rows(n_rows: int, n_dims: int, n_random: int) -> None:
    """Refuse vectors that are too many, before they are made.

    Parameters
    ----------
    n_rows, n_dims
        Of all vectors.
    n_random
        How many of the dimensions are random ones.
    """
    free, needed = free_bytes(), n_rows * n_dims * _BYTES
    if free is None or needed <= free:
        return
    told = (
        f"the vectors of {n_rows:,} words by {n_dims:,} dimensions need {_shown(needed)}; "
        f"{_shown(free)} are free"
    )
    fitting = n_random - (n_dims - free // (n_rows * _BYTES))
    if n_random and fitting >= 0:
        raise InputError(f"{told}; random_dims={fitting} would fit")
    raise InputError(f"{told}; use keep_unseen=False, or a higher min_docs")


def _shown(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:,.1f} MB"
