"""Errors that users meet. The commands catch `WordClassError` and print its message as one line."""

from collections.abc import Collection
from os import PathLike
from typing import Self

_MAX_NAMES_LISTED = 8
_MAX_NAME_CHARACTERS = 60


def _build_message(problem: object, expected: str | None, hint: str | None) -> str:
    clauses = [str(problem), f"expected {expected}" if expected else None, hint]
    return "; ".join(clause for clause in clauses if clause)


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

    Examples
    --------
    >>> import wordclass as wc
    >>> try:
    ...     wc.classifier("linaer")
    ... except wc.WordClassError as error:
    ...     print(str(error).split(";")[0])
    unknown classifier 'linaer' (did you mean 'linear'?)
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

    Examples
    --------
    >>> import wordclass as wc
    >>> error = wc.FormatError("a.csv", 7, "no text", hint="name its column by text_field=")
    >>> print(error)
    a.csv, line 7: no text; name its column by text_field=
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
    """An engine cannot be reached or has failed.

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
    >>> import wordclass as wc
    >>> raise wc.EngineError("the scheduler does not answer", hint="check the address")
    Traceback (most recent call last):
        ...
    wordclass.errors.EngineError: the scheduler does not answer; check the address
    """


class MissingDataError(InputError, FileNotFoundError):
    """A file or corpus is missing.

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
    >>> import wordclass as wc
    >>> try:
    ...     wc.read_corpus("missing.csv")
    ... except wc.MissingDataError as error:
    ...     print(str(error).split(";")[0])
    missing.csv: no such file or folder
    """

    def __new__(
        cls,
        problem: object = "",
        *,
        expected: str | None = None,
        hint: str | None = None,
    ) -> Self:
        """Create it as an OSError. tblib, which Dask uses to pickle errors, relies on this."""
        return OSError.__new__(cls, problem)


class StorageError(InputError, OSError):
    """A path cannot be read or written: no permission, a full disk, a folder in place of a file.

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
    >>> import wordclass as wc
    >>> raise wc.StorageError("out.csv: cannot be written: it is read-only")
    Traceback (most recent call last):
        ...
    wordclass.errors.StorageError: out.csv: cannot be written: it is read-only
    """

    def __new__(
        cls,
        problem: object = "",
        *,
        expected: str | None = None,
        hint: str | None = None,
    ) -> Self:
        """Create it as an OSError. See `MissingDataError`."""
        return OSError.__new__(cls, problem)


class MissingExtraError(WordClassError, ImportError):
    """An optional package is missing. The message contains the pip command that installs it.

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
    >>> import wordclass as wc
    >>> raise wc.MissingExtraError("torch is needed", hint="pip install 'wordclass[networks]'")
    Traceback (most recent call last):
        ...
    wordclass.errors.MissingExtraError: torch is needed; pip install 'wordclass[networks]'
    """


def list_some(names: Collection[object]) -> str:
    """Return the first few names as a list for a message, with their total number.

    Examples
    --------
    >>> list_some(["text", "label"]), list_some(range(20_000))
    ("'text', 'label'", '0, 1, 2, 3, 4, 5, 6, 7, ... (20,000 in all)')
    """
    first = ", ".join(f"{name!r:.{_MAX_NAME_CHARACTERS}}" for name in [*names][:_MAX_NAMES_LISTED])
    return first + (f", ... ({len(names):,} in all)" if len(names) > _MAX_NAMES_LISTED else "")
