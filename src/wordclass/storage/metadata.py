"""Convert options and classes to JSON and back. Functions are stored by name only."""

import math
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, NoReturn, get_args

import numpy as np

from wordclass.corpus.labels import Codeframe, Kind
from wordclass.errors import InputError
from wordclass.storage.migrations import migrate_options
from wordclass.vectors.word_vectors import WordVectors

Functions = Mapping[str, object]

_RUNTIME_OPTIONS = ("n_jobs", "checkpoint", "on_epoch")  # do not affect the fitted model


class OptionError(InputError):
    """A required option is missing, or an unknown option was passed."""


def to_json_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Convert options to values that JSON can hold.

    A user-defined function or object is stored by its name, word vectors and the embeddings of
    other tasks by their size, and an estimator by its class and its own options. Options that do
    not affect the fitted model, such as `n_jobs`, are stored as None.
    """
    values = {name: None if name in _RUNTIME_OPTIONS else value for name, value in options.items()}
    if isinstance(ngrams := values.get("ngrams"), tuple):
        values["ngrams"] = list(ngrams)
    if isinstance(other := values.get("other"), Mapping):
        values["other"] = {name: _to_vectors(embeddings) for name, embeddings in other.items()}
    return {name: _to_json(value) for name, value in values.items()}


def _to_vectors(embeddings: Any) -> Any:  # noqa: ANN401 - an invalid option may be anything
    """Return the vectors of fitted embeddings of another task. Nothing else of them is used."""
    is_fitted = hasattr(embeddings, "vectors_")
    return WordVectors(embeddings.terms_, embeddings.vectors_) if is_fitted else embeddings


def _to_json(value: Any) -> Any:  # noqa: ANN401 - any option
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, WordVectors):
        return {"vectors": {"n_terms": len(value), "n_dims": value.n_dims}}
    if hasattr(value, "get_params"):
        options = to_json_options(value.get_params(deep=False))
        return {"estimator": type(value).__name__, "options": options}
    return _collection_to_json(value)


def _collection_to_json(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_to_json(item) for item in value]}
    if isinstance(value, set | frozenset):
        return {"set": sorted(value)}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _to_json(item) for key, item in value.items()}}
    if isinstance(value, Mapping):  # JSON would turn keys that are numbers into strings
        return {"items": [[_to_json(key), _to_json(item)] for key, item in value.items()]}
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return {"function": f"{getattr(value, '__module__', '?')}.{name}"}


def restore_options(
    place: str | PathLike[str],
    stored: Mapping[str, Any],
    functions: Functions,
    estimators: Mapping[str, type] | None = None,
) -> dict[str, Any]:
    """Restore options that `to_json_options` converted.

    Parameters
    ----------
    place : str or path
        The file or folder of the options, for messages.
    stored : mapping
        The result of `to_json_options`, in this version or an older one.
    functions : mapping
        Values that replace stored options, such as functions, of which only the names are stored.
        Word vectors and embeddings of other tasks that are not among them become None.
    estimators : mapping, default=None
        The classes that an option may be an instance of, by name.

    Raises
    ------
    OptionError
        A required function is missing, or a name in `functions` is not an option.
    """
    stored = migrate_options(stored)
    if unknown := sorted(set(functions) - set(stored)):
        raise OptionError(
            f"load: unknown option {unknown[0]!r}",
            expected=f"options of the saved object: {', '.join(sorted(stored))}",
        )
    if isinstance(functions.get("other"), Mapping) and stored["other"] is not None:
        other = to_json_options({"other": functions["other"]})["other"]
        _check_other_tasks(place, stored["other"], other)
    options = {**functions}

    def refuse(function: str) -> NoReturn:
        raise OptionError(
            f"{place} was saved with {option}={function}, a function that the file does not hold",
            hint=f"pass it again: load(path, {option}=...)",
        )

    kinds: dict[str, Callable[..., Any]] = {
        **{"dict": dict, "items": dict, "tuple": tuple, "set": frozenset, "number": float},
        "vectors": lambda _: None,
        "function": refuse,
        "estimator": lambda name, nested_options: (estimators or {})[name](
            **_restore_ngrams(nested_options)
        ),
    }
    for option in stored:
        if option not in functions:
            options[option] = None if option in _RUNTIME_OPTIONS else _decode(stored[option], kinds)
    return _restore_ngrams(options)


def _check_other_tasks(
    place: str | PathLike[str],
    stored: Any,  # noqa: ANN401
    passed: Any,  # noqa: ANN401
) -> None:
    """Refuse embeddings of other tasks whose names or dimensions differ from the stored ones."""
    sizes = [
        {name: vectors["vectors"]["n_dims"] for name, vectors in tasks["dict"].items()}
        for tasks in (stored, passed)
        if all("vectors" in vectors for vectors in tasks["dict"].values())
    ]
    if len(sizes) == 2 and sizes[0] != sizes[1]:
        expected, actual = (
            " and ".join(f"{name!r} ({n_dims} dimensions)" for name, n_dims in tasks.items())
            for tasks in sizes
        )
        raise OptionError(f"other: {place} was saved with {expected}, but got {actual}")


def display_option(stored: Any) -> Any:  # noqa: ANN401
    """Return a stored option in a form for people, without the markers of types.

    Examples
    --------
    >>> stored = {"windows": (3, 5), "trainable": {"random": True}, "C": float("inf")}
    >>> options = to_json_options(stored)
    >>> {name: display_option(stored) for name, stored in options.items()}
    {'windows': [3, 5], 'trainable': {'random': True}, 'C': 'inf'}
    """
    return _decode(stored, _DISPLAY_FUNCTIONS)


def _display_estimator(name: str, options: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{option}={value!r}' for option, value in options.items())})"


_DISPLAY_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{"dict": dict, "tuple": list, "set": list, "number": str, "function": str},
    "items": lambda pairs: {str(key): value for key, value in pairs},
    "vectors": lambda size: f"{size['n_terms']:,} terms by {size['n_dims']} dimensions",
    "estimator": _display_estimator,
}


def _decode(stored: Any, kinds: Mapping[str, Callable[..., Any]]) -> Any:  # noqa: ANN401
    """Decode a stored option from the inside out, with one function per kind of value."""
    if isinstance(stored, list):
        return [_decode(item, kinds) for item in stored]
    if not isinstance(stored, dict):
        return stored
    if "estimator" in stored:
        options = {name: _decode(value, kinds) for name, value in stored["options"].items()}
        return kinds["estimator"](stored["estimator"], options)
    ((kind, content),) = stored.items()
    if isinstance(content, dict):
        return kinds[kind]({key: _decode(value, kinds) for key, value in content.items()})
    return kinds[kind](_decode(content, kinds))


def _restore_ngrams(options: dict[str, Any]) -> dict[str, Any]:
    """Return options in which `ngrams` is a tuple again (it is stored as a list)."""
    ngrams = options.get("ngrams")
    return {**options, "ngrams": tuple(ngrams)} if isinstance(ngrams, list) else options


def restore_codeframe(
    classes: list[Any], kind: Kind, matrix_columns: list[int] | None
) -> Codeframe:
    """Restore a codeframe from its three stored fields.

    Raises
    ------
    ValueError
        The fields are not those of a codeframe.
    """
    types = {type(label) for label in classes}
    is_valid = (
        isinstance(classes, list)
        and len(types) <= 1
        and types <= {str, int, bool}
        and classes == sorted(set(classes))
        and kind in get_args(Kind)
        and (matrix_columns is None or {*map(type, matrix_columns)} <= {int})
        and (matrix_columns is None or sorted(matrix_columns) == list(range(len(classes))))
    )
    if not is_valid:
        raise ValueError("its classes are not a valid codeframe")
    columns = None if matrix_columns is None else tuple(matrix_columns)
    return Codeframe(tuple(classes), kind, columns)
