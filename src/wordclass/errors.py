"""Errors that users meet. The commands catch `WordClassError` and print its message as one line."""

from collections.abc import Collection
from os import PathLike
from typing import Self

_MAX_NAMES_LISTED = 8
_MAX_NAME_CHARACTERS = 60


def _build_message(problem: object, expected: str | None, hint: str | None) -> str:
    parts = [str(problem), f"expected {expected}" if expected else None, hint]
    return "; ".join(part for part in parts if part)


class WordClassError(Exception):
    """Base class of all errors that a user can fix.

    Parameters
    ----------
    problem : str, default=""
        The invalid value, with the name of the option, file or line.
    expected : str, optional
        The values that are accepted. The message continues with "; expected ...".
    hint : str, optional
        The remedy. The message ends with it, after a semicolon.
    """

    def __init__(
        self, problem: object = "", *, expected: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(_build_message(problem, expected, hint))


class InputError(WordClassError, ValueError):
    """An argument, option or file of the user cannot be used.

    Parameters
    ----------
    problem : str, default=""
        The invalid value, with the name of the option, file or line.
    expected : str, optional
        The values that are accepted. The message continues with "; expected ...".
    hint : str, optional
        The remedy. The message ends with it, after a semicolon.

    Examples
    --------
    >>> raise InputError("n_jobs is 0", expected="an int (-1: all cores) or None")
    Traceback (most recent call last):
        ...
    wordclass.errors.InputError: n_jobs is 0; expected an int (-1: all cores) or None
    """


class NoTermError(InputError):
    """No term of the documents occurs in at least `min_docs` of them."""


class FormatError(InputError):
    """The content of a file does not follow its format.

    Parameters
    ----------
    path : str or path-like
        The file.
    line : int, str or None
        Line number, counted from 1, or a name such as "row 5". None if the format has no lines.
    problem : str
        What is wrong at this place.
    expected : str, optional
        The content that is accepted.
    hint : str, optional
        The remedy.

    Attributes
    ----------
    path, line
        The place, as given. A name of a line is part of the reason instead.
    reason : str
        Problem, expectation and hint in one string.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        line: int | str | None,
        problem: str,
        *,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        reason = _build_message(problem, expected, hint)
        if isinstance(line, str):
            reason = f"{line}: {reason}"
            line = None
        ValueError.__init__(self, path, line, reason)  # the arguments with which it is unpickled
        self.path = path
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        place = f"{self.path}, line {self.line}" if self.line is not None else f"{self.path}"
        return f"{place}: {self.reason}"


class NoRecordsError(FormatError):
    """A file has no records. This is an error unless it is one of several shards."""


class EngineError(WordClassError):
    """An engine cannot be reached or failed. The message says what to check."""


class MissingDataError(InputError, FileNotFoundError):
    """A file or corpus is missing. The message says how to get it and where to put it."""

    def __new__(cls, *args: object, **_message_parts: object) -> Self:
        """Create it as an OSError. tblib, which Dask uses to pickle errors, relies on this."""
        return OSError.__new__(cls, *args)


class StorageError(InputError, OSError):
    """A path cannot be read or written (a full disk, no permission, a folder for a file)."""

    def __new__(cls, *args: object, **_message_parts: object) -> Self:
        """Create it as an OSError. See `MissingDataError`."""
        return OSError.__new__(cls, *args)


class MissingExtraError(WordClassError, ImportError):
    """An optional package is missing. The message contains the pip command that installs it."""


def list_some(names: Collection[object]) -> str:
    """Return the first few names as a list for a message, with their total number.

    Examples
    --------
    >>> list_some(["text", "label"]), list_some(range(20_000))
    ("'text', 'label'", '0, 1, 2, 3, 4, 5, 6, 7, ... (20,000 in all)')
    """
    first = ", ".join(f"{name!r:.{_MAX_NAME_CHARACTERS}}" for name in [*names][:_MAX_NAMES_LISTED])
    return first + (f", ... ({len(names):,} in all)" if len(names) > _MAX_NAMES_LISTED else "")
