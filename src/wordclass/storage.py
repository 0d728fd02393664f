"""How files and folders are opened and replaced: none is left half-written."""

import gzip
import io
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast
from uuid import uuid4

from wordclass import naming
from wordclass.errors import FormatError, InputError, MissingDataError, StorageError, WordClassError

COMPRESSIONS = (".gz", ".zst")
_CHUNK = 1 << 20


def data_home() -> Path:
    """Return the folder for downloads and caches: `WORDCLASS_HOME`, or the platform's own."""
    if chosen := os.environ.get("WORDCLASS_HOME"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "wordclass"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "wordclass"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "wordclass"


def uncompressed_name(path: Path) -> str:
    """Return the file's name without .gz or .zst: the name whose ending tells the format.

    Examples
    --------
    >>> uncompressed_name(Path("docs/news.jsonl.zst"))
    'news.jsonl'
    """
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


def require(path: Path) -> None:
    """Refuse a path that is not there, or may not be looked at."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise MissingDataError(f"{path}: no such file or folder") from error
    except OSError as error:  # a name too long, a folder that may not be entered
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error


def is_there(path: Path) -> bool:
    """Return whether a file or folder has this name; a name that cannot be is refused."""
    try:
        return path.exists()
    except OSError as error:  # a name too long, a folder that may not be entered
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def reading(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes; one that ends in .gz or .zst is decompressed on the way.

    Raises
    ------
    MissingDataError, StorageError
        There is no such file; it cannot be read.
    FormatError
        The compressed data is damaged or cut short.
    """
    require(path)
    try:
        with path.open("rb") as raw, _decompressed(raw, path) as stream:
            yield stream
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError(path, None, f"damaged or cut short: {error}") from error
    except OSError as error:
        if isinstance(error, MissingDataError | StorageError):
            raise
        raise StorageError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def unchanged(*paths: Path) -> Iterator[None]:
    """See to it that nobody changes files while the block reads them.

    Raises
    ------
    StorageError
        Size or time of a file is not what it was; also where the block already stumbled over it.
    """
    before = [state_of(path) for path in paths]
    try:
        yield
    finally:
        for path, state in zip(paths, before, strict=True):
            check_state(path, state)


def check_state(path: Path, state: tuple[int, int] | None) -> None:
    """Refuse a file whose state is no longer this one."""
    if state_of(path) != state:
        raise StorageError(f"{path}: changed while it was read; read it again once it is complete")


def state_of(path: Path) -> tuple[int, int] | None:
    """Return size and time of a file, which tell whether it changed; None where there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


def _decompressed(raw: BinaryIO, path: Path) -> BinaryIO:
    ending = path.suffix.lower()
    if ending == ".gz":
        return cast("BinaryIO", gzip.GzipFile(fileobj=raw, mode="rb"))
    if ending == ".zst":
        return cast("BinaryIO", io.BufferedReader(_ZstdStream(raw, path), _CHUNK))
    return raw


class _ZstdStream(io.RawIOBase):
    """The decompressed bytes of a zstd file; a file cut short is an error, not a short file.

    (`zstandard.stream_reader` ends silently where the data does.)
    """

    def __init__(self, raw: BinaryIO, path: Path) -> None:
        self._zstandard = naming.extra("zstandard", f"to read {path}")
        self._raw, self._path = raw, path
        self._frame = self._zstandard.ZstdDecompressor().decompressobj()
        self._ready = memoryview(b"")
        self._frame_is_empty = True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        target = memoryview(cast("bytearray", buffer)).cast("B")
        while not self._ready:
            if not self._advance():
                return 0
        n_bytes = min(len(target), len(self._ready))
        target[:n_bytes] = self._ready[:n_bytes]
        self._ready = self._ready[n_bytes:]
        return n_bytes

    def _advance(self) -> bool:
        """Decompress some more; False at the end of the file."""
        chunk = self._raw.read(_CHUNK) if not self._frame.eof else self._frame.unused_data
        if self._frame.eof:
            chunk = chunk or self._raw.read(_CHUNK)
            self._frame = self._zstandard.ZstdDecompressor().decompressobj()
            self._frame_is_empty = True
        if not chunk:
            if not self._frame_is_empty:
                raise FormatError(self._path, None, "damaged or cut short: a zstd frame has no end")
            return False
        self._frame_is_empty = False
        try:
            self._ready = memoryview(self._frame.decompress(chunk))
        except self._zstandard.ZstdError as error:
            raise FormatError(self._path, None, f"damaged zstd data: {error}") from error
        return True


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it takes the place of `path` when the block ends well.

    Where the block fails, `path` is as it was and the temporary file is gone.

    Raises
    ------
    StorageError
        The disk is full, the folder is missing, or the like.
    """
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    try:
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if isinstance(error, MissingDataError | StorageError):
            raise
        reason = error.strerror or str(error)
        raise StorageError(f"{path}: cannot be written: {reason}; nothing was changed") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(folder: Path, check: Callable[[set[str]], None]) -> Iterator[Path]:
    """Give a temporary folder to write to; it takes the place of `folder` when all went well.

    Where the block fails, `folder` is as it was and the temporary one is gone.

    Parameters
    ----------
    folder
        Its parents are made where they are missing.
    check
        Is given the names that a folder of this name holds already, if there are any, and refuses
        what is not to be replaced: replacing deletes what was there.

    Raises
    ------
    InputError
        A file has that name; or the check refused.
    StorageError
        The disk is full, or the like.
    """
    place = Path(os.path.realpath(folder))  # of a link, the folder that it points to
    check_folder(place, check)
    mark = uuid4().hex
    temporary = place.with_name(f".{place.name}.{mark}.tmp")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        _to_disk(temporary)
        check_folder(place, check)  # again: the work took a while
        _swap(temporary, place, place.with_name(f".{place.name}.{mark}.old"))
    except OSError as error:
        if isinstance(error, StorageError):  # tell of a place that the user knows
            raise StorageError(str(error).replace(str(temporary), str(folder))) from error
        if isinstance(error, WordClassError):
            raise
        reason = error.strerror or str(error)
        raise StorageError(f"{folder}: cannot be written: {reason}; nothing was changed") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_folder(folder: Path, check: Callable[[set[str]], None]) -> None:
    """Refuse a place for a folder where something is that `check` does not let go."""
    if not is_there(folder):
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; expected a folder, or a new name")
    try:
        found = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {error.strerror or error}") from error
    if found:
        check(found)


def _to_disk(folder: Path) -> None:
    """See to it that the files of a folder are on disk before the folder gets its name."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as written:
                os.fsync(written.fileno())


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


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing bytes that replaces `path` when the block ends well.

    One that ends in .gz or .zst is compressed on the way; the same bytes give the same file.
    """
    with (
        replacing(path) as temporary,
        temporary.open("wb") as raw,
        _compressed(raw, path) as stream,
    ):
        yield stream


def _compressed(raw: BinaryIO, path: Path) -> BinaryIO:
    ending = path.suffix.lower()
    if ending == ".gz":
        return cast("BinaryIO", gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
    if ending == ".zst":
        zstandard = naming.extra("zstandard", f"to write {path}")
        compressor = zstandard.ZstdCompressor(write_checksum=True)
        return cast("BinaryIO", compressor.stream_writer(raw, closefd=False))
    return raw
