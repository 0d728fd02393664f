"""One folder a class, one file a text; or the same below the folders train, test, validation."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from wordclass import storage
from wordclass.corpus import LabelledCorpus, ReadOptions, Records
from wordclass.corpus_formats import _fields, _records
from wordclass.corpus_formats._lines import decoded
from wordclass.errors import FormatError, InputError, StorageError

ENDINGS: tuple[str, ...] = ()

_SPLITS = frozenset({"train", "test", "validation"})
_LAYOUT = "expected FOLDER/CLASS/FILE, one file a text (or FOLDER/train/CLASS/FILE)"


class _Document(NamedTuple):
    path: Path
    label: str
    split: str | None


def read(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Read every file below the folder of a class, sorted by name; hidden ones are ignored.

    Where all folders are named train, test or validation, and one of them holds folders, these
    are the splits.
    """
    _fields.refuse(options, "folders")
    storage.require(path)
    documents = list(_documents(path))
    if not documents:
        raise FormatError(path, None, f"no files in this folder; {_LAYOUT}")
    records = (
        _records.Record(
            "".join(decoded(file, options.encoding)), [] if options.texts_only else [label], split
        )
        for file, label, split in documents
    )
    return _records.in_blocks(path, records, len(documents))


def write(path: Path, corpus: LabelledCorpus) -> None:
    """Write a new folder, its files numbered in the order of the corpus.

    Reading gives them class by class.
    """
    if path.exists():
        raise StorageError(f"{path}: exists already; choose another name, or remove it first")
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        temporary.mkdir()
        for number, (text, labels) in enumerate(_records.spread_as_text(corpus), start=1):
            folder = temporary / _folder_name(number, text, labels)
            folder.mkdir(exist_ok=True)
            (folder / f"{number:08}.txt").write_bytes(text.encode())
        os.rename(temporary, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path}: cannot be written: {reason}; nothing was changed") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _folder_name(number: int, text: str, labels: list[str]) -> str:
    if len(labels) != 1:
        reason = f"it has {len(labels)} labels; folders hold texts with exactly one"
        raise _records.cannot_write(number, reason)
    label = labels[0]
    is_name = label and not label.startswith(".") and not any(sign in label for sign in "/\\\0")
    if not is_name:
        reason = f"its label {label!r} cannot be the name of a visible folder"
        raise _records.cannot_write(number, reason)
    if text.startswith("\ufeff"):
        reason = "its text begins with U+FEFF, which would be taken for a byte order mark"
        raise _records.cannot_write(number, reason)
    return label


def _documents(top: Path) -> Iterator[_Document]:
    folders = _folders_in(top)
    has_splits = {folder.name for folder in folders} <= _SPLITS and any(
        path.is_dir() for folder in folders for path in _visible(folder)
    )
    parts = (
        {folder.name: _folders_in(folder) for folder in folders} if has_splits else {None: folders}
    )
    for split, classes in parts.items():
        for folder in classes:
            for file in _files_below(folder):
                yield _Document(file, folder.name, split)


def _folders_in(folder: Path) -> list[Path]:
    """List the folders in a folder that should hold nothing else."""
    found = _visible(folder)
    for path in found:
        if not path.is_dir():
            raise FormatError(folder, None, f"the file {path.name!r} is in no class; {_LAYOUT}")
    return found


def _files_below(folder: Path) -> Iterator[Path]:
    for path in _visible(folder):
        if path.is_dir():
            yield from _files_below(path)
        else:
            yield path


def _visible(folder: Path) -> list[Path]:
    try:
        paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
    except NotADirectoryError as error:
        raise InputError(f"{folder}: a file, not a folder; {_LAYOUT}") from error
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {error.strerror or error}") from error
    return sorted(paths, key=lambda path: path.name)
