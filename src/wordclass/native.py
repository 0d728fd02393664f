"""The compiled parts, where they were built; plain Python does the same work, only slower."""

import os
import warnings
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from wordclass.errors import InputError

engine: ModuleType | None
try:
    from wordclass.text import _engine as engine
except ImportError:
    engine = None

text_reader: ModuleType | None
try:
    from wordclass.vector_formats import _text_reader as text_reader
except ImportError:
    text_reader = None

solver: ModuleType | None
try:
    from wordclass.linear_solver import _solver as solver
except ImportError:
    solver = None

if TYPE_CHECKING:
    convolution: ModuleType | None
else:

    def __getattr__(name: str) -> ModuleType | None:
        """Import `convolution` on first use: it stands beside the networks, which import torch."""
        if name != "convolution":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        global convolution
        try:
            from wordclass.network import _convolution as convolution
        except ImportError:
            convolution = None
        return convolution


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
