"""The errors a user can meet. The commands catch `WordClassError` and print its one line."""

from collections.abc import Collection
from os import PathLike
from typing import Self

_MOST_NAMES, _MOST_CHARACTERS = 8, 60  # to be told in a message


class WordClassError(Exception):
    """Anything that went wrong and that the user can do something about."""


class InputError(WordClassError, ValueError):
    """Something the user gave cannot be used; the message says what came and what to do."""


class NoTermError(InputError):
    """Documents have terms, but none that occurs in as many of them as it should."""


class FormatError(InputError):
    """A file does not hold what its format promises.

    Parameters
    ----------
    path
        The file.
    line
        Where in it, counted from 1, or a name such as "row 5"; None where the format has no lines.
    reason
        What is wrong there, and what was expected.
    """

    def __init__(self, path: str | PathLike[str], line: int | str | None, reason: str) -> None:
        if isinstance(line, str):
            line, reason = None, f"{line}: {reason}"
        super().__init__(path, line, reason)
        self.path, self.line, self.reason = path, line, reason

    def __str__(self) -> str:
        place = f"{self.path}, line {self.line}" if self.line is not None else f"{self.path}"
        return f"{place}: {self.reason}"


class NoRecordsError(FormatError):
    """A file holds no records: an error, unless it is one of many."""


class EngineError(WordClassError):
    """An engine cannot be reached, or cannot do its work; the message says what to look at."""


class MissingDataError(InputError, FileNotFoundError):
    """A file or corpus is not there; the message says how to get it and where to put it."""

    def __new__(cls, *args: object) -> Self:
        """Make it as an OSError: tblib, with which Dask pickles errors, would not."""
        return OSError.__new__(cls, *args)


class StorageError(InputError, OSError):
    """A path cannot be read or written (a full disk, no permission, a folder for a file)."""

    def __new__(cls, *args: object) -> Self:
        """Make it as an OSError; see `MissingDataError`."""
        return OSError.__new__(cls, *args)


class MissingExtraError(WordClassError, ImportError):
    """An optional package is needed; the message holds the pip command that brings it."""


def some_of(names: Collection[object]) -> str:
    """List names for a message: the first few, none longer than a line, and how many there are.

    Examples
    --------
    >>> some_of(["text", "label"]), some_of(range(20_000))
    ("'text', 'label'", '0, 1, 2, 3, 4, 5, 6, 7, ... (20,000 in all)')
    """
    first = ", ".join(f"{name!r:.{_MOST_CHARACTERS}}" for name in [*names][:_MOST_NAMES])
    return first + (f", ... ({len(names):,} in all)" if len(names) > _MOST_NAMES else "")
