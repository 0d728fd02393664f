"""The compiled engine, where it was built; plain Python does the same work, only slower."""

import warnings
from types import ModuleType

engine: ModuleType | None
try:
    from wordclass.text import _engine as engine
except ImportError:
    engine = None

_has_warned = False


class SlowPathWarning(UserWarning):
    """The native engine is missing, so everything works, but slowly."""


def warn_if_missing() -> None:
    """Say once that texts are read by plain Python."""
    global _has_warned
    if engine is None and not _has_warned:
        _has_warned = True
        warnings.warn(
            "the native engine was not built (no C++ compiler?): texts are counted by plain "
            "Python, more than ten times slower",
            SlowPathWarning,
            stacklevel=3,
        )
