"""The compiled parts, where they were built; plain Python does the same work, only slower."""

import warnings
from contextlib import suppress
from types import ModuleType

# typed here, because the extension says nothing of types
engine: ModuleType | None = None
text_reader: ModuleType | None = None
solver: ModuleType | None = None
convolution: ModuleType | None = None
pte: ModuleType | None = None
with suppress(ImportError):
    import wordclass.native._native as _native

    engine, text_reader = _native.engine, _native.text_reader
    solver, convolution, pte = _native.solver, _native.convolution, _native.pte

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
