"""The options of an estimator as JSON can hold them: functions by name only, nothing executed."""

import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from wordclass.errors import InputError
from wordclass.word_vectors import WordVectors

Functions = Mapping[str, object]

_NO_PART = ("n_jobs", "checkpoint")  # of what is learned


def storable(options: Mapping[str, object]) -> dict[str, Any]:
    """Return options as JSON can hold them.

    A function or object of the user's is stored by its name, word vectors by their size, and an
    estimator by its class and its own options. How many processes did the work, and where they
    kept what they had done, is no part of the result: such options are stored as None.
    """
    given = {name: None if name in _NO_PART else value for name, value in options.items()}
    return {
        # as it has always been in .wce files, and nicer to read
        name: list(value) if name == "ngrams" and isinstance(value, tuple) else _storable(value)
        for name, value in given.items()
    }


def restored(
    place: str | PathLike[str],
    stored: Mapping[str, Any],
    functions: Functions,
    estimators: Mapping[str, type] | None = None,
) -> dict[str, Any]:
    """Return the options that were stored.

    Parameters
    ----------
    place
        The file or folder they come from, for messages.
    functions
        What replaces stored options: functions, since only their names are stored. Word vectors
        that are not among these are None.
    estimators
        The classes that an option may be an instance of.

    Raises
    ------
    InputError
        A function is not among the given ones; or one is given that is no option.
    """
    if strange := set(functions) - set(stored):
        raise InputError(f"load does not know the option {sorted(strange)[0]!r}")
    options: dict[str, Any] = {}
    for name, value in stored.items():
        if name in functions:
            options[name] = functions[name]
        elif function := _function_in(value):
            raise InputError(
                f"{place} was made with the {name} {function}, which is not in the file; "
                f"give it again: load(path, {name}=...)"
            )
        else:
            is_pair = name == "ngrams" and isinstance(value, list)
            options[name] = tuple(value) if is_pair else _restored(place, value, estimators or {})
    return options


def shown(stored: Any) -> Any:  # noqa: ANN401
    """Return a stored option as people read it: without what only `restored` needs to know.

    Examples
    --------
    >>> options = storable({"windows": (3, 5), "trainable": {"random": True}, "C": float("inf")})
    >>> {name: shown(stored) for name, stored in options.items()}
    {'windows': [3, 5], 'trainable': {'random': True}, 'C': 'inf'}
    """
    if isinstance(stored, list):
        return [shown(each) for each in stored]
    if not isinstance(stored, dict):
        return stored
    if "estimator" in stored:
        options = (f"{name}={shown(each)!r}" for name, each in stored["options"].items())
        return f"{stored['estimator']}({', '.join(options)})"
    (kind, inner), *_ = stored.items()
    if kind == "items":
        return {str(shown(key)): shown(each) for key, each in inner}
    if kind == "vectors":
        return f"{inner['n_terms']:,} terms by {inner['n_dims']} dimensions"
    if kind == "dict":
        return {name: shown(each) for name, each in inner.items()}
    return shown(inner)


def _storable(value: Any) -> Any:  # noqa: ANN401 - any option of anybody's
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, WordVectors):
        return {"vectors": {"n_terms": len(value), "n_dims": value.n_dims}}
    if hasattr(value, "get_params"):
        own = storable(value.get_params(deep=False))
        return {"estimator": type(value).__name__, "options": own}
    return _storable_collection(value)


def _storable_collection(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list | np.ndarray):
        return [_storable(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [_storable(each) for each in value]}
    if isinstance(value, set | frozenset):
        return {"set": sorted(value)}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _storable(each) for key, each in value.items()}}
    if isinstance(value, Mapping):  # of classes that are numbers, which JSON would make str
        return {"items": [[_storable(key), _storable(each)] for key, each in value.items()]}
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return {"function": f"{getattr(value, '__module__', '?')}.{name}"}


def _restored(place: str | PathLike[str], stored: Any, estimators: Mapping[str, type]) -> Any:  # noqa: ANN401
    if isinstance(stored, list):
        return [_restored(place, each, estimators) for each in stored]
    if not isinstance(stored, dict):
        return stored
    if "estimator" in stored:
        make = estimators[stored["estimator"]]
        return make(**restored(place, stored["options"], {}, estimators))
    (kind, inner), *_ = stored.items()
    if kind == "dict":
        return {key: _restored(place, each, estimators) for key, each in inner.items()}
    if kind == "items":
        return dict(_restored(place, inner, estimators))
    if kind == "vectors":
        return None
    if kind == "number":
        return float(inner)
    return {"tuple": tuple, "set": frozenset}[kind](_restored(place, inner, estimators))


def _function_in(stored: Any) -> str | None:  # noqa: ANN401
    """Return the name of the first function in an option that was stored, however deep."""
    if isinstance(stored, dict) and "function" in stored:
        return str(stored["function"])
    parts = stored
    if isinstance(stored, dict):
        parts = stored["options"] if "estimator" in stored else next(iter(stored.values()), None)
    parts = list(parts.values()) if isinstance(parts, dict) else parts
    found = map(_function_in, parts if isinstance(parts, list) else [])
    return next(filter(None, found), None)
