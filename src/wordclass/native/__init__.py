"""The compiled parts, where they were built; plain Python does the same work, only slower."""

import os
import warnings
from contextlib import suppress
from types import ModuleType

import numpy as np

from wordclass.errors import InputError

# typed here, because the extension says nothing of types
engine: ModuleType | None = None
text_reader: ModuleType | None = None
solver: ModuleType | None = None
convolution: ModuleType | None = None
with suppress(ImportError):
    import wordclass.native._native as _native

    engine, text_reader = _native.engine, _native.text_reader
    solver, convolution = _native.solver, _native.convolution

_MOST_THREADS = 256
_has_warned = False


class SlowPathWarning(UserWarning):
    """The native engine is missing, so everything works, but slowly."""


def warn_if_missing() -> None:
    """Say once that texts and vectors are read by plain Python."""
    global _has_warned
    if (engine is None or text_reader is None) and not _has_warned:
        _has_warned = True
        warnings.warn(
            "the native engine was not built (no C++ compiler?): texts are counted and vectors "
            "read by plain Python, many times slower",
            SlowPathWarning,
            stacklevel=3,
        )


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads are asked for; -1 is all cores, None one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise InputError(f"n_jobs is {n_jobs!r}; expected an int (-1 is all cores), or None")
    asked = n_jobs if n_jobs > 0 else (os.cpu_count() or 1) + 1 + n_jobs
    return int(min(max(asked, 1), _MOST_THREADS))
