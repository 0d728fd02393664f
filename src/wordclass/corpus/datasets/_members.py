"""Readers of the files inside archives and folders, one at a time.

Nothing is extracted, so that no name in an archive can do harm. Archives are read to their end to
verify the checksum, which `tarfile` alone does not do.
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
_MAX_MEMBER_BYTES = 1 << 30  # no document is larger
_CHUNK_BYTES = 1 << 20
# RuntimeError stands for a password, or a compression that zipfile does not support
_NO_ARCHIVE = (tarfile.TarError, zipfile.BadZipFile, RuntimeError)
_DAMAGE = (*_NO_ARCHIVE, EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
_COMPRESSIONS = {b"\x1f\x8b": gzip, b"\xfd7zXZ": lzma, b"BZh": bz2}  # by their first bytes

NameFilter = Callable[[str], bool]


@dataclass(frozen=True)
class Member:
    """A file with its name inside an archive or folder, in which slashes separate folders."""

    name: str
    data: bytes
    origin: Path

    @property
    def place(self) -> str:
        """Path of the file for messages."""
        return str(self.origin / self.name)

    @property
    def parts(self) -> tuple[str, ...]:
        """Folders and last part of the name."""
        return PurePosixPath(self.name).parts

    @property
    def stem(self) -> str:
        """Last part of the name without its ending."""
        return PurePosixPath(self.name).stem


def read(paths: Sequence[Path], accepts: NameFilter, step: str) -> Iterator[Member]:
    """Read the accepted files of archives (tar, zip), folders and plain files.

    Hidden files, which macOS leaves in archives, are skipped.

    Raises
    ------
    FormatError
        A file is not an archive, or is damaged or cut short.
    """

    def is_accepted(name: str) -> bool:
        return not PurePosixPath(name).name.startswith(".") and accepts(name)

    for path in progress.track(paths, step):
        with as_storage_error(path):
            try:
                yield from _read_path(path, is_accepted)
            except _DAMAGE as error:
                problem = f"damaged or cut short: {error or type(error).__name__}"
                raise FormatError(path, None, problem, hint="get it again") from error


def _read_path(path: Path, accepts: NameFilter) -> Iterator[Member]:
    if path.is_dir():
        yield from _read_folder(path, accepts)
    elif not path.name.lower().endswith(_ARCHIVES):
        if accepts(path.name):
            yield Member(path.name, path.read_bytes(), path.parent)
    elif zipfile.is_zipfile(path):
        yield from _read_zip(path, path, accepts)
    else:
        yield from _read_tar(path, accepts)


def _read_folder(folder: Path, accepts: NameFilter) -> Iterator[Member]:
    for place, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = Path(place, file)
            name = path.relative_to(folder.parent).as_posix()
            if accepts(name):
                yield Member(name, path.read_bytes(), folder.parent)


def _read_zip(file: Path | io.BytesIO, path: Path, accepts: NameFilter) -> Iterator[Member]:
    with zipfile.ZipFile(file) as archive:
        for info in sorted(archive.infolist(), key=lambda info: info.filename):
            if not info.is_dir() and accepts(info.filename):
                _check_size(path, info.filename, info.file_size)
                yield Member(info.filename, archive.read(info), path)


def _read_tar(path: Path, accepts: NameFilter) -> Iterator[Member]:
    with _decompressed(path) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for info in archive:
                is_zip = info.name.lower().endswith(".zip")
                if not info.isreg() or not (is_zip or accepts(info.name)):
                    continue
                _check_size(path, info.name, info.size)
                data = cast("BinaryIO", archive.extractfile(info)).read()
                if is_zip:
                    yield from _read_zip(io.BytesIO(data), path / info.name, accepts)
                else:
                    yield Member(info.name, data, path)
        while stream.read(_CHUNK_BYTES):
            pass  # the checksum is at the end


def _decompressed(path: Path) -> BinaryIO:
    with path.open("rb") as raw:
        start = raw.read(6)
    matches = (module for magic, module in _COMPRESSIONS.items() if start.startswith(magic))
    return cast("BinaryIO", next(matches, io).open(path, "rb"))


def _check_size(path: Path, name: str, size: int) -> None:
    if size > _MAX_MEMBER_BYTES:
        problem = f"{size:,} bytes are too many for a document"
        raise FormatError(path / name, None, problem, hint="check that this is the corpus")
