"""The folder of a report: it appears when it is complete, and replaces only one of its kind."""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from wordclass.errors import InputError, StorageError, WordClassError

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
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; expected a folder, or a new name")
    try:
        found = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {error.strerror or error}") from error
    if not found or (found >= {PAGE, RESULT} and found <= set(files)):
        return
    strange = sorted(found - set(files))
    reason = f"it holds {strange[0]}" if strange else f"it has no {PAGE} or no {RESULT}"
    raise InputError(f"{folder} is no report of the demo ({reason}); choose another folder")


@contextmanager
def replacing_folder(folder: Path, files: Collection[str]) -> Iterator[Path]:
    """Give a temporary folder to write to; it takes the place of `folder` when all went well.

    Where the block fails, `folder` is as it was and the temporary one is gone.
    """
    place = Path(os.path.realpath(folder))  # of a link, the folder that it points to
    check_replaceable(place, files)
    mark = uuid4().hex
    temporary = place.with_name(f".{place.name}.{mark}.tmp")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        check_replaceable(place, files)  # again: the work took a while
        _swap(temporary, place, place.with_name(f".{place.name}.{mark}.old"))
    except OSError as error:
        if isinstance(error, WordClassError):
            raise
        reason = error.strerror or str(error)
        raise StorageError(f"{folder}: cannot be written: {reason}; nothing was changed") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _swap(new: Path, place: Path, aside: Path) -> None:
    """Rename twice, which takes no time; should the second fail, undo the first."""
    if not place.exists():
        os.replace(new, place)
        return
    os.replace(place, aside)
    try:
        os.replace(new, place)
    except OSError:
        with suppress(OSError):
            os.replace(aside, place)
        raise
    shutil.rmtree(aside, ignore_errors=True)
