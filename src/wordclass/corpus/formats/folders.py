"""One folder per class, one file per text; or the same below folders train, test, validation."""

from collections.abc import Iterator
from pathlib import Path

from wordclass.corpus.lines import decode_lines
from wordclass.corpus.reader import ReadOptions, Record
from wordclass.corpus.records import in_blocks, refuse_fields
from wordclass.errors import FormatError, InputError, StorageError
from wordclass.storage import files

ENDINGS: tuple[str, ...] = ()

_SPLITS = frozenset({"train", "test", "validation"})
_LAYOUT = "expected FOLDER/CLASS/FILE, one file per text (or FOLDER/train/CLASS/FILE)"


def read(path: Path, options: ReadOptions) -> Iterator[list[Record]]:
    """Read every file below the folder of a class, sorted by name; hidden ones are ignored.

    Where all folders are named train, test or validation, and one of them holds folders, these
    are the splits.
    """
    refuse_fields(options, "folders")
    files.require_existing(path)
    documents = list(_documents(path))
    if not documents:
        raise FormatError(path, None, f"no files in this folder; {_LAYOUT}")
    growth = files.Growth(path)
    records = (
        Record(
            _read_text(file, options.encoding, growth),
            [] if options.texts_only else [label],
            split,
            str(file),
            {"file": file.relative_to(path).as_posix()} if options.keep_rows else None,
        )
        for file, label, split in documents
    )
    return in_blocks(path, records, len(documents))


def _read_text(file: Path, encoding: str, growth: files.Growth) -> str:
    """Read a file and count it in `growth`.

    All files of a folder are counted together, because many small ones may fill the memory too.
    """
    text = "".join(decode_lines(file, encoding))
    growth.add(len(text), files.size_of(file) or 0)
    return text


def _documents(top: Path) -> Iterator[tuple[Path, str, str | None]]:
    """Find the files of all texts, with their class and split."""
    folders = _visible(top, only_folders=True)
    has_splits = {folder.name for folder in folders} <= _SPLITS and any(
        path.is_dir() for folder in folders for path in _visible(folder)
    )
    for folder in folders:
        for place in _visible(folder, only_folders=True) if has_splits else [folder]:
            for file in _files_below(place):
                yield file, place.name, folder.name if has_splits else None


def _files_below(folder: Path) -> Iterator[Path]:
    for path in _visible(folder):
        if path.is_dir():
            yield from _files_below(path)
        elif path.exists() and not path.is_file():
            raise FormatError(path, None, "neither a file nor a folder: a pipe, or a device")
        else:
            yield path


def _visible(folder: Path, only_folders: bool = False) -> list[Path]:
    """List what is in a folder, sorted by name and without what is hidden."""
    try:
        paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
    except NotADirectoryError as error:
        raise InputError(f"{folder}: a file, not a folder; {_LAYOUT}") from error
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {error.strerror or error}") from error
    stray = next((path for path in sorted(paths) if only_folders and not path.is_dir()), None)
    if stray is not None:
        raise FormatError(folder, None, f"the file {stray.name!r} is in no class; {_LAYOUT}")
    return sorted(paths, key=lambda path: path.name)
