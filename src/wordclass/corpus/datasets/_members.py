"""The files inside archives and folders, read one at a time.

Nothing is ever extracted, so that no name in an archive can do harm; and archives are read to
their end, where the checksum is, which `tarfile` alone does not do.
"""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from wordclass import progress
from wordclass.errors import FormatError
from wordclass.storage.files import as_storage_error

_ARCHIVES = (".gz", ".tgz", ".zip", ".tar", ".xz", ".bz2")
_MAX_SIZE = 1 << 30  # of one file; larger ones are no documents but an attack, or a mistake
_CHUNK = 1 << 20
# the last one tells of a file with a password, or a compression that zipfile does not know
_NO_ARCHIVE = (tarfile.TarError, zipfile.BadZipFile, RuntimeError)
_DAMAGE = (*_NO_ARCHIVE, EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
_COMPRESSIONS = {b"\x1f\x8b": gzip, b"\xfd7zXZ": lzma, b"BZh": bz2}  # by their first bytes

Wanted = Callable[[str], bool]


@dataclass(frozen=True)
class Member:
    """A file: its name inside the archive or folder, with slashes, and what is in it."""

    name: str
    data: bytes
    origin: Path

    @property
    def place(self) -> str:
        """Name it for a message."""
        return str(self.origin / self.name)

    @property
    def parts(self) -> tuple[str, ...]:
        """The folders of its name, and its last part."""
        return PurePosixPath(self.name).parts

    @property
    def stem(self) -> str:
        """The last part of its name, without the ending."""
        return PurePosixPath(self.name).stem


def read(paths: Sequence[Path], wanted: Wanted, step: str) -> Iterator[Member]:
    """Read the wanted files of archives (tar, zip), folders and plain files.

    Names of hidden files are passed over: macOS leaves such in archives.

    Raises
    ------
    FormatError
        An archive is damaged, cut short, or none at all.
    """

    def is_wanted(name: str) -> bool:
        return not PurePosixPath(name).name.startswith(".") and wanted(name)

    for path in progress.track(paths, step):
        with as_storage_error(path):
            try:
                yield from _read_one(path, is_wanted)
            except _DAMAGE as error:
                reason = f"damaged or cut short: {error or type(error).__name__}; get it again"
                raise FormatError(path, None, reason) from error


def _read_one(path: Path, wanted: Wanted) -> Iterator[Member]:
    if path.is_dir():
        yield from _read_folder(path, wanted)
    elif not path.name.lower().endswith(_ARCHIVES):
        if wanted(path.name):
            yield Member(path.name, path.read_bytes(), path.parent)
    elif zipfile.is_zipfile(path):
        yield from _read_zip(path, path, wanted)
    else:
        yield from _read_tar(path, wanted)


def _read_folder(folder: Path, wanted: Wanted) -> Iterator[Member]:
    for place, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = Path(place, file)
            name = path.relative_to(folder.parent).as_posix()
            if wanted(name):
                yield Member(name, path.read_bytes(), folder.parent)


def _read_zip(file: Path | io.BytesIO, path: Path, wanted: Wanted) -> Iterator[Member]:
    with zipfile.ZipFile(file) as archive:
        for info in sorted(archive.infolist(), key=lambda info: info.filename):
            if not info.is_dir() and wanted(info.filename):
                _check_size(path, info.filename, info.file_size)
                yield Member(info.filename, archive.read(info), path)


def _read_tar(path: Path, wanted: Wanted) -> Iterator[Member]:
    with _decompressed(path) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for info in archive:
                is_zip = info.name.lower().endswith(".zip")
                if not info.isreg() or not (is_zip or wanted(info.name)):
                    continue
                _check_size(path, info.name, info.size)
                data = cast("BinaryIO", archive.extractfile(info)).read()
                if is_zip:
                    yield from _read_zip(io.BytesIO(data), path / info.name, wanted)
                else:
                    yield Member(info.name, data, path)
        while stream.read(_CHUNK):
            pass  # to the end, where the checksum is


def _decompressed(path: Path) -> BinaryIO:
    with path.open("rb") as raw:
        start = raw.read(6)
    found = (module for magic, module in _COMPRESSIONS.items() if start.startswith(magic))
    return cast("BinaryIO", next(found, io).open(path, "rb"))


def _check_size(path: Path, name: str, size: int) -> None:
    if size > _MAX_SIZE:
        reason = f"{size:,} bytes are too many for a document: this is not the corpus"
        raise FormatError(path / name, None, reason)
