"""From a public name to the file that defines it: the only dynamic import of the code base.

A folder with a plural name is a catalogue: one file per entry, its name the public name. Files
whose names start with an underscore, and those that the package lists in `SHARED_MODULES`, serve
the entries and are not entries themselves.
"""

import difflib
import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType

from wordclass.errors import InputError, MissingExtraError

# the room of each catalogue that is not in the root
_ROOMS = {
    "corpus_formats": "corpus.formats",
    "correlations": "embedding.correlations",
    "datasets": "corpus.datasets",
    "encoders": "network.encoders",
    "projectors": "embedding.projectors",
    "regressors": "embedding.regressors",
    "sentence_encoders": "sentence.kinds",
    "vector_formats": "vectors.formats",
    "weightings": "text.weightings",
}


_entries: dict[tuple[str, str], ModuleType] = {}


def names(catalogue: str) -> list[str]:
    """List the entries of a catalogue, sorted.

    Examples
    --------
    >>> names("weightings")
    ['binary', 'bm25', 'count', 'tfidf']
    """
    package = importlib.import_module(_package_name(catalogue))
    shared = getattr(package, "SHARED_MODULES", ())
    modules = (module.name for module in pkgutil.iter_modules(package.__path__))
    return sorted(name for name in modules if not name.startswith("_") and name not in shared)


def _package_name(catalogue: str) -> str:
    return f"wordclass.{_ROOMS.get(catalogue, catalogue)}"


def entry(catalogue: str, name: str) -> ModuleType:
    """Import the file of a catalogue that has this name.

    Raises
    ------
    InputError
        Where there is none; the message lists those there are.
    """
    # cached: listing a folder takes longer than predicting a text
    key = (catalogue, str(name))  # an array has no hash
    if key not in _entries:
        kind = catalogue.replace("_", " ").removesuffix("s")
        known = names(catalogue)
        if str(name) not in known:
            raise unknown_name_error(kind, name, known)
        _entries[key] = import_extra(
            f"{_package_name(catalogue)}.{name}", f"for the {kind} {name!r}"
        )
    return _entries[key]


def unknown_name_error(kind: str, name: object, known: Iterable[str]) -> InputError:
    """Return the error that tells of a wrong name, of which was meant, and of those there are."""
    listed = sorted(known)
    close = difflib.get_close_matches(str(name), listed, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    return InputError(f"unknown {kind} {name!r}{hint}; known: {', '.join(listed)}")


def import_extra(package: str, purpose: str, brought_by: str | None = None) -> ModuleType:
    """Import a module that needs an optional package, or say which pip command installs it.

    Parameters
    ----------
    package : str
        The module to import.
    purpose : str
        What it is needed for, as in "to read a.jsonl.zst".
    brought_by : str, optional
        The extra that installs the package. By default it has the name of the top-level package.

    Raises
    ------
    MissingExtraError
        The package is not installed.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        top = (error.name if package.startswith("wordclass.") else package) or package
        top = top.split(".")[0]
        if top == "wordclass":
            raise
        raise MissingExtraError(
            f"{top} is needed {purpose}: pip install 'wordclass[{brought_by or top}]'"
        ) from error
