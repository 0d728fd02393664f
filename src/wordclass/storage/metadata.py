"""Options and classes as JSON can hold them: functions by name only, nothing executed."""

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

_NO_PART = ("n_jobs", "checkpoint", "on_epoch")  # of what is learned


class OptionError(InputError):
    """An option is missing that only the user has, or one was given that is none."""


def to_json_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Return options as JSON can hold them.

    A function or object of the user's is stored by its name, word vectors and the embeddings of
    other tasks by their size, and an estimator by its class and its own options. How many processes
    did the work, where they kept what they had done, and who watched, is no part of the result:
    such options are stored as None.
    """
    given = {name: None if name in _NO_PART else value for name, value in options.items()}
    if isinstance(ngrams := given.get("ngrams"), tuple):
        given["ngrams"] = list(ngrams)  # as it has always been, and nicer to read
    if isinstance(other := given.get("other"), Mapping):
        given["other"] = {name: _as_vectors(each) for name, each in other.items()}
    return {name: _storable(value) for name, value in given.items()}


def _as_vectors(embeddings: Any) -> Any:  # noqa: ANN401 - fitted, but for a mistake of the user's
    """Return the vectors of embeddings of another task, which are all that is used of them."""
    is_fitted = hasattr(embeddings, "vectors_")
    return WordVectors(embeddings.terms_, embeddings.vectors_) if is_fitted else embeddings


def _storable(value: Any) -> Any:  # noqa: ANN401 - any option of anybody's
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
        own = to_json_options(value.get_params(deep=False))
        return {"estimator": type(value).__name__, "options": own}
    return _storable_collection(value)


def _storable_collection(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
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


def restore_options(
    place: str | PathLike[str],
    stored: Mapping[str, Any],
    functions: Functions,
    estimators: Mapping[str, type] | None = None,
) -> dict[str, Any]:
    """Return the options that were stored.

    Parameters
    ----------
    place : str or path
        The file or folder they come from, for messages.
    stored : mapping
        What `storable` returned, in this version or an older one.
    functions : mapping
        What replaces stored options: functions, since only their names are stored. Word vectors
        that are not among these are None, and so are embeddings of other tasks, each by its name.
    estimators : mapping, default=None
        The classes that an option may be an instance of.

    Raises
    ------
    OptionError
        A function is not among the given ones; or one is given that is no option.
    """
    stored = migrate_options(stored)
    if strange := set(functions) - set(stored):
        raise OptionError(f"load does not know the option {sorted(strange)[0]!r}")
    if isinstance(functions.get("other"), Mapping) and stored["other"] is not None:
        _check_blocks(
            place, stored["other"], to_json_options({"other": functions["other"]})["other"]
        )
    options = {**functions}

    def refuse(function: str) -> NoReturn:
        raise OptionError(
            f"{place} was made with the {option} {function}, which is not in the file; "
            f"give it again: load(path, {option}=...)"
        )

    kinds: dict[str, Callable[..., Any]] = {
        **{"dict": dict, "items": dict, "tuple": tuple, "set": frozenset, "number": float},
        "vectors": lambda _: None,
        "function": refuse,
        "estimator": lambda name, own: (estimators or {})[name](**_with_tuples(own)),
    }
    for option in stored:
        if option not in functions:
            options[option] = None if option in _NO_PART else _decoded(stored[option], kinds)
    return _with_tuples(options)


def _check_blocks(place: str | PathLike[str], stored: Any, given: Any) -> None:  # noqa: ANN401
    """Refuse embeddings of other tasks that have not the names and dimensions of those stored."""
    sizes = [
        {name: each["vectors"]["n_dims"] for name, each in blocks["dict"].items()}
        for blocks in (stored, given)
        if all("vectors" in each for each in blocks["dict"].values())
    ]
    if len(sizes) == 2 and sizes[0] != sizes[1]:
        told, now = (
            " and ".join(f"{name!r} ({n_dims} dimensions)" for name, n_dims in blocks.items())
            for blocks in sizes
        )
        raise OptionError(f"{place} was made with the embeddings {told}; given are {now}")


def display_option(stored: Any) -> Any:  # noqa: ANN401
    """Return a stored option as people read it: without what only `restored` needs to know.

    Examples
    --------
    >>> stored = {"windows": (3, 5), "trainable": {"random": True}, "C": float("inf")}
    >>> options = to_json_options(stored)
    >>> {name: display_option(stored) for name, stored in options.items()}
    {'windows': [3, 5], 'trainable': {'random': True}, 'C': 'inf'}
    """
    return _decoded(stored, _SHOWN)


_SHOWN: Mapping[str, Callable[..., Any]] = {
    **{"dict": dict, "tuple": list, "set": list, "number": str, "function": str},
    "items": lambda pairs: {str(key): each for key, each in pairs},
    "vectors": lambda size: f"{size['n_terms']:,} terms by {size['n_dims']} dimensions",
    "estimator": lambda name, own: f"{name}({', '.join(f'{k}={v!r}' for k, v in own.items())})",
}


def _decoded(stored: Any, kinds: Mapping[str, Callable[..., Any]]) -> Any:  # noqa: ANN401
    """Return a stored option, its parts made by the functions of their kinds, inner ones first."""
    if isinstance(stored, list):
        return [_decoded(each, kinds) for each in stored]
    if not isinstance(stored, dict):
        return stored
    if "estimator" in stored:
        own = {name: _decoded(each, kinds) for name, each in stored["options"].items()}
        return kinds["estimator"](stored["estimator"], own)
    ((kind, inner),) = stored.items()
    if isinstance(inner, dict):
        return kinds[kind]({key: _decoded(each, kinds) for key, each in inner.items()})
    return kinds[kind](_decoded(inner, kinds))


def _with_tuples(options: dict[str, Any]) -> dict[str, Any]:
    """Return options whose pair of `ngrams`, stored as a list, is a tuple again."""
    ngrams = options.get("ngrams")
    return {**options, "ngrams": tuple(ngrams)} if isinstance(ngrams, list) else options


def restore_codeframe(
    classes: list[Any], kind: Kind, matrix_columns: list[int] | None
) -> Codeframe:
    """Return the codeframe whose three fields were stored.

    Raises
    ------
    ValueError
        They are not those of any codeframe.
    """
    types = {type(label) for label in classes}
    is_sound = (
        isinstance(classes, list)
        and len(types) <= 1
        and types <= {str, int, bool}
        and classes == sorted(set(classes))
        and kind in get_args(Kind)
        and (matrix_columns is None or {*map(type, matrix_columns)} <= {int})
        and (matrix_columns is None or sorted(matrix_columns) == list(range(len(classes))))
    )
    if not is_sound:
        raise ValueError("its classes are not a codeframe")
    columns = None if matrix_columns is None else tuple(matrix_columns)
    return Codeframe(tuple(classes), kind, columns)
