"""The folder of a report: it appears when it is complete, and replaces only one of its kind."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from wordclass import storage
from wordclass.errors import InputError

PAGE, RESULT = "index.html", "result.json"


def check_replaceable(folder: Path, files: Collection[str]) -> None:
    """Refuse a place where something else is: replacing deletes what was there.

    Parameters
    ----------
    folder
        May be missing, empty or an earlier report.
    files
        The names that a report may hold; it always holds its page and result.
    """
    storage.check_folder(folder, lambda found: _check(folder, found, files))


@contextmanager
def replacing_folder(folder: Path, files: Collection[str]) -> Iterator[Path]:
    """Give a temporary folder to write to; it takes the place of `folder` when all went well."""
    with storage.replacing_folder(folder, lambda found: _check(folder, found, files)) as temporary:
        yield temporary


def _check(folder: Path, found: set[str], files: Collection[str]) -> None:
    if found >= {PAGE, RESULT} and found <= set(files):
        return
    strange = sorted(found - set(files))
    reason = f"it holds {strange[0]}" if strange else f"it has no {PAGE} or no {RESULT}"
    raise InputError(f"{folder} is no report of the demo ({reason}); choose another folder")
