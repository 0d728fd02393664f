"""The errors a user can meet. The commands catch `WordClassError` and print its one line."""

from os import PathLike


class WordClassError(Exception):
    """Anything that went wrong and that the user can do something about."""


class InputError(WordClassError, ValueError):
    """Something the user gave cannot be used; the message says what came and what to do."""


class FormatError(InputError):
    """A file does not hold what its format promises.

    Parameters
    ----------
    path
        The file.
    line
        Where in it, counted from 1; None where the format has no lines.
    reason
        What is wrong there, and what was expected.
    """

    def __init__(self, path: str | PathLike[str], line: int | None, reason: str) -> None:
        super().__init__(path, line, reason)
        self.path, self.line, self.reason = path, line, reason

    def __str__(self) -> str:
        place = f"{self.path}, line {self.line}" if self.line is not None else f"{self.path}"
        return f"{place}: {self.reason}"


class MissingDataError(InputError, FileNotFoundError):
    """A file or corpus is not there; the message says how to get it and where to put it."""


class StorageError(InputError, OSError):
    """A path cannot be read or written (a full disk, no permission, a folder for a file)."""


class MissingExtraError(WordClassError, ImportError):
    """An optional package is needed; the message holds the pip command that brings it."""
