"""From a public name to the file that defines it: the only dynamic import of the code base.

A folder with a plural name is a catalogue: one file per entry, its name the public name. Files
whose names start with an underscore serve the entries and are none themselves.
"""

import difflib
import importlib
import pkgutil
import sys
from collections.abc import Iterable
from types import ModuleType

from wordclass.errors import InputError, MissingExtraError


def names(catalogue: str) -> list[str]:
    """List the entries of a catalogue, sorted.

    Examples
    --------
    >>> names("weightings")
    ['binary', 'bm25', 'count', 'tf_chi', 'tf_conf_weight', 'tf_ig', 'tf_rf', 'tfidf']
    """
    package = importlib.import_module(f"wordclass.{catalogue}")
    found = (module.name for module in pkgutil.iter_modules(package.__path__))
    return sorted(name for name in found if not name.startswith("_"))


def entry(catalogue: str, name: str) -> ModuleType:
    """Import the file of a catalogue that has this name.

    Raises
    ------
    InputError
        Where there is none; the message lists those there are.
    """
    module = f"wordclass.{catalogue}.{name}"
    # what was found before is found at once: listing a folder takes longer than predicting a text
    if module in sys.modules and str(name).isidentifier() and not str(name).startswith("_"):
        return sys.modules[module]
    known = names(catalogue)
    if str(name) not in known:  # of an array, `in` would ask every element
        raise unknown(catalogue.replace("_", " ").removesuffix("s"), name, known)
    return importlib.import_module(module)


def unknown(kind: str, name: object, known: Iterable[str]) -> InputError:
    """Return the error that tells of a wrong name, of which was meant, and of those there are."""
    listed = sorted(known)
    close = difflib.get_close_matches(str(name), listed, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return InputError(f"unknown {kind} {name!r}{hint}; known: {', '.join(listed)}")


def extra(package: str, purpose: str, brought_by: str | None = None) -> ModuleType:
    """Import an optional package, or say which pip command brings it.

    Parameters
    ----------
    package
        The name to import.
    purpose
        What it is needed for, as in "to read a.jsonl.zst".
    brought_by
        The extra that brings it; None: it has the name of the top-level package.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        top = package.split(".")[0]
        raise MissingExtraError(
            f"{top} is needed {purpose}: pip install 'wordclass[{brought_by or top}]'"
        ) from error
