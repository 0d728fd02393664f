"""Loader of the native extension. Plain Python gives the same results more slowly."""

import warnings
from contextlib import suppress
from types import ModuleType

# the submodules, or None if the extension was not built
engine: ModuleType | None = None
text_reader: ModuleType | None = None
solver: ModuleType | None = None
convolution: ModuleType | None = None
pte: ModuleType | None = None
with suppress(ImportError):
    import wordclass.native._native as _native

    engine = _native.engine
    text_reader = _native.text_reader
    solver = _native.solver
    convolution = _native.convolution
    pte = _native.pte

_has_warned = False


class SlowPathWarning(UserWarning):
    """The native extension was not built, so plain Python does its work more slowly."""


def warn_if_missing() -> None:
    """Warn once if texts and vectors are read by plain Python."""
    global _has_warned
    if (engine is None or text_reader is None) and not _has_warned:
        _has_warned = True
        warnings.warn(
            "the native extension was not built, so counting texts and reading vectors is many "
            "times slower; install wordclass with a C++ compiler",
            SlowPathWarning,
            stacklevel=3,
        )
