"""How files and folders are opened and replaced: none is left half-written."""

import gzip
import io
import os
import select
import shutil
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal, cast
from uuid import uuid4

from wordclass import naming
from wordclass.errors import FormatError, InputError, MissingDataError, StorageError, WordClassError

COMPRESSIONS = (".gz", ".zst")
_CHUNK = 1 << 20
_ZSTD_CHUNK = 1 << 12  # which may become 100 MB
_MOST_GROWTH, _HARMLESS = 1000, 64 << 20  # of compressed data; bytes that may come of any
_PATIENCE = 1.0  # seconds that whoever writes to a pipe has to open it


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


@contextmanager
def accessing(path: Path, done: str = "read", rest: str = "") -> Iterator[None]:
    """Turn what the system refuses inside the block into a `StorageError` that names the path."""
    try:
        yield
    except WordClassError:
        raise
    except OSError as error:  # a full disk, a name too long, a folder that may not be entered
        reason = error.strerror or str(error)
        raise StorageError(f"{path}: cannot be {done}: {reason}{rest}") from error


@contextmanager
def understanding(path: Path, problem: str) -> Iterator[None]:
    """Turn errors over strange content inside the block into a `FormatError` with the path."""
    try:
        yield
    except WordClassError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise FormatError(path, None, f"{problem}: {error}") from error


def is_there(path: Path) -> bool:
    """Return whether a file or folder has this name; a name that cannot be is refused."""
    with accessing(path):
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return False
    return True


def require(path: Path) -> None:
    """Refuse a path that is not there, or may not be looked at."""
    if not is_there(path):
        raise MissingDataError(f"{path}: no such file or folder")


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
    with accessing(path):
        try:
            with open(path, "rb", opener=_opened) as raw, _through(raw, path, "rb") as stream:
                yield stream
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(path, None, f"damaged or cut short: {error}") from error


def _opened(name: str, flags: int) -> int:
    """Open a file; a named pipe that nobody writes to is empty, and not waited for."""
    descriptor = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            select.select([descriptor], [], [], _PATIENCE)
        os.set_blocking(descriptor, True)
    return descriptor


def content_of(path: Path) -> bytes:
    """Return all that `reading` reads."""
    with reading(path) as stream:
        return stream.read()


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
    """Return size and time of a file, which tell whether it changed; None of a pipe, or nothing."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return None if stat.S_ISFIFO(status.st_mode) else (status.st_size, status.st_mtime_ns)


def _through(raw: BinaryIO, path: Path, mode: Literal["rb", "wb"]) -> BinaryIO:
    """Return a stream that decompresses or compresses on the way, where the name asks for it."""
    ending = path.suffix.lower()
    if ending == ".gz":
        zipped = gzip.GzipFile(filename="", fileobj=raw, mode=mode, mtime=0)
        return cast("BinaryIO", zipped)
    if ending != ".zst":
        return raw
    if mode == "rb":
        return cast("BinaryIO", io.BufferedReader(_Pieces(_zstd_pieces(raw, path)), _CHUNK))
    compressor = naming.extra("zstandard", f"to write {path}").ZstdCompressor(write_checksum=True)
    return cast("BinaryIO", compressor.stream_writer(raw, closefd=False))


def _zstd_pieces(raw: BinaryIO, path: Path) -> Iterator[bytes]:
    """Give the decompressed bytes of a zstd file; one cut short is an error, not a short file.

    (`zstandard.stream_reader` ends silently where the data does.)
    """
    zstandard = naming.extra("zstandard", f"to read {path}")
    frame, rest, n_bytes = None, b"", 0
    while chunk := rest or raw.read(_ZSTD_CHUNK):
        frame = frame or zstandard.ZstdDecompressor().decompressobj()
        try:
            piece = frame.decompress(chunk)
        except zstandard.ZstdError as error:
            raise FormatError(path, None, f"damaged zstd data: {error}") from error
        yield piece
        n_bytes += len(piece)
        if n_bytes > max(_HARMLESS, _MOST_GROWTH * raw.tell()):
            told = f"more than {_MOST_GROWTH:,} times its size when decompressed"
            raise FormatError(path, None, f"{told}; decompress it first if it is meant to be")
        frame, rest = (None, frame.unused_data) if frame.eof else (frame, b"")
    if frame is not None:
        raise FormatError(path, None, "damaged or cut short: a zstd frame has no end")


class _Pieces(io.RawIOBase):
    """A stream of bytes that come piece by piece."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = filter(None, pieces)
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        target = memoryview(cast("bytearray", buffer)).cast("B")
        self._ready = self._ready or memoryview(next(self._pieces, b""))
        n_bytes = min(len(target), len(self._ready))
        target[:n_bytes], self._ready = self._ready[:n_bytes], self._ready[n_bytes:]
        return n_bytes


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it takes the place of `path` when the block ends well.

    Where the block fails, `path` is as it was and the temporary file is gone.

    Raises
    ------
    StorageError
        The disk is full, the folder is missing, or the like.
    """
    temporary = _beside(path)
    try:
        with accessing(path, "written", "; nothing was changed"):
            yield temporary
            _to_disk(temporary)
            os.replace(temporary, path)
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
    temporary = _beside(place)
    try:
        with accessing(folder, "written", "; nothing was changed"):
            temporary.mkdir(parents=True)
            yield temporary
            _to_disk(temporary)
            check_folder(place, check)  # again: the work took a while
            _swap(temporary, place)
    except StorageError as error:  # tell of a place that the user knows
        raise StorageError(str(error).replace(str(temporary), str(folder))) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_folder(folder: Path, check: Callable[[set[str]], None]) -> None:
    """Refuse a place for a folder where something is that `check` does not let go."""
    if not is_there(folder):
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; expected a folder, or a new name")
    with accessing(folder):
        found = {path.name for path in folder.iterdir()}
    if found:
        check(found)


def _beside(path: Path) -> Path:
    """Return a new name in the same folder, for what is not complete yet."""
    return path.with_name(f".{path.name}.{uuid4().hex}.tmp")


def _to_disk(path: Path) -> None:
    """See to it that a file, or all files of a folder, are on disk before it gets its name."""
    for each in (path, *path.rglob("*")):
        if not each.is_dir():
            with each.open("rb+") as written:
                os.fsync(written.fileno())


def _swap(new: Path, place: Path) -> None:
    """Rename twice, which takes no time; should the second fail, undo the first."""
    if not place.exists():
        os.replace(new, place)
        return
    aside = new.with_suffix(".old")
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
    with replacing(path) as place, place.open("wb") as raw, _through(raw, path, "wb") as stream:
        yield stream
