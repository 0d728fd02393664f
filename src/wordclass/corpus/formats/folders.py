"""Folders with one subfolder per class and one file per text, possibly inside split folders."""

from collections.abc import Iterator
from pathlib import Path

from wordclass.corpus.documents import Record
from wordclass.corpus.lines import decode_lines
from wordclass.corpus.records import collect_blocks, refuse_fields
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, InputError, StorageError
from wordclass.storage import files

ENDINGS: tuple[str, ...] = ()

_SPLITS = frozenset({"train", "test", "validation"})
_LAYOUT = "FOLDER/CLASS/FILE, one file per text (or FOLDER/train/CLASS/FILE)"


def read(path: Path, options: ReadOptions) -> Iterator[list[Record]]:
    """Read all files below the folders of classes, sorted by name, without hidden files.

    If all folders are named train, test or validation, and one of them holds folders, they are
    the splits.
    """
    refuse_fields(options, "folders")
    files.require_existing(path)
    documents = list(_find_documents(path))
    if not documents:
        raise FormatError(path, None, "no files in this folder", expected=_LAYOUT)
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
    return collect_blocks(path, records, len(documents))


def _read_text(file: Path, encoding: str, growth: files.Growth) -> str:
    """Read a file and add its size to `growth`.

    All files of a folder are counted together, because many small files can fill the memory too.
    """
    text = "".join(decode_lines(file, encoding))
    growth.add(len(text), files.size_of(file) or 0)
    return text


def _find_documents(top: Path) -> Iterator[tuple[Path, str, str | None]]:
    """Yield the file of each text with its class and split."""
    folders = _visible(top, only_folders=True)
    has_splits = {folder.name for folder in folders} <= _SPLITS and any(
        path.is_dir() for folder in folders for path in _visible(folder)
    )
    for folder in folders:
        class_folders = _visible(folder, only_folders=True) if has_splits else [folder]
        for class_folder in class_folders:
            for file in _files_below(class_folder):
                yield file, class_folder.name, folder.name if has_splits else None


def _files_below(folder: Path) -> Iterator[Path]:
    for path in _visible(folder):
        if path.is_dir():
            yield from _files_below(path)
        elif path.exists() and not path.is_file():
            raise FormatError(path, None, "a pipe or a device", expected="files and folders")
        else:
            yield path


def _visible(folder: Path, only_folders: bool = False) -> list[Path]:
    """List the entries of a folder that are not hidden, sorted by name."""
    try:
        paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
    except NotADirectoryError as error:
        raise InputError(f"{folder}: a file, not a folder", expected=_LAYOUT) from error
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {error.strerror or error}") from error
    stray = next((path for path in sorted(paths) if only_folders and not path.is_dir()), None)
    if stray is not None:
        raise FormatError(folder, None, f"the file {stray.name!r} is in no class", expected=_LAYOUT)
    return sorted(paths, key=lambda path: path.name)
