"""Import of catalogue entries by name. No other module imports by a computed name.

A catalogue is a folder with a plural name. It has one file per entry, and the file name is the
public name of the entry. A file is shared code and not an entry if its name starts with an
underscore or the package lists it in `SHARED_MODULES`.
"""

import difflib
import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType

from wordclass.errors import InputError, MissingExtraError

# packages of the catalogues that are not in the root
_EXTRAS = {  # the other packages have an extra of their own name
    "distributed": "dask",
    "matplotlib": "plots",
    "openTSNE": "plots",
    "openpyxl": "excel",
    "pyspark": "spark",
    "starlette": "serve",
    "torch": "networks",
    "uvicorn": "serve",
}
_PACKAGES = {
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
    """Return the sorted names of the entries of a catalogue.

    Parameters
    ----------
    catalogue : str
        Name of the catalogue, such as "weightings".

    Examples
    --------
    >>> names("weightings")
    ['binary', 'bm25', 'count', 'tfidf']
    """
    package = importlib.import_module(_package_name(catalogue))
    shared_modules = getattr(package, "SHARED_MODULES", ())
    modules = (module.name for module in pkgutil.iter_modules(package.__path__))
    return sorted(
        name for name in modules if not name.startswith("_") and name not in shared_modules
    )


def _package_name(catalogue: str) -> str:
    return f"wordclass.{_PACKAGES.get(catalogue, catalogue)}"


def entry(catalogue: str, name: str) -> ModuleType:
    """Import an entry of a catalogue.

    Parameters
    ----------
    catalogue : str
        Name of the catalogue, such as "weightings".
    name : str
        Name of the entry.

    Returns
    -------
    module
        The imported file.

    Raises
    ------
    InputError
        The catalogue has no entry of this name. The message lists all entries.
    MissingExtraError
        The entry needs an optional package that is not installed.
    """
    # cached, because listing a folder takes longer than predicting a text
    key = (catalogue, str(name))  # the name may be an unhashable object such as an array
    if key not in _entries:
        kind = catalogue.replace("_", " ").removesuffix("s")
        known_names = names(catalogue)
        if str(name) not in known_names:
            raise unknown_name_error(kind, name, known_names)
        _entries[key] = import_extra(
            f"{_package_name(catalogue)}.{name}", f"for the {kind} {name!r}"
        )
    return _entries[key]


def unknown_name_error(kind: str, name: object, known_names: Iterable[str]) -> InputError:
    """Return an error that lists the valid names and suggests the closest one.

    Parameters
    ----------
    kind : str
        What the names stand for, such as "weighting".
    name : object
        The unknown name.
    known_names : iterable of str
        The valid names.
    """
    sorted_names = sorted(known_names)
    matches = difflib.get_close_matches(str(name), sorted_names, n=1)
    suggestion = f" (did you mean {matches[0]!r}?)" if matches else ""
    return InputError(
        f"unknown {kind} {name!r}{suggestion}", expected=f"one of {', '.join(sorted_names)}"
    )


def extra_of(package: str) -> str:
    """Return the extra of wordclass that installs a package.

    Examples
    --------
    >>> extra_of("torch"), extra_of("fasttext")
    ('networks', 'fasttext')
    """
    return _EXTRAS.get(package, package)


def import_extra(package: str, purpose: str, extra: str | None = None) -> ModuleType:
    """Import a module that needs an optional package.

    Parameters
    ----------
    package : str
        The module to import.
    purpose : str
        The purpose of the package, as in "to read a.jsonl.zst".
    extra : str, optional
        The extra of wordclass that installs the package. By default, see `extra_of`.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    MissingExtraError
        The package is not installed. The message contains the pip command that installs it.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        module_name = error.name if package.startswith("wordclass.") else package
        top_package = (module_name or package).split(".")[0]
        if top_package == "wordclass":
            raise
        raise MissingExtraError(
            f"{top_package} is needed {purpose}",
            hint=f"install it with: pip install 'wordclass[{extra or extra_of(top_package)}]'",
        ) from error
