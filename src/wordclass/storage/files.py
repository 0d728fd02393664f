"""How files and folders are opened and replaced: none is left half-written."""

import glob
import io
import os
import platform
import select
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal
from uuid import uuid4

from wordclass.errors import FormatError, InputError, MissingDataError, StorageError, WordClassError
from wordclass.storage import compression
from wordclass.storage.addresses import Address as Address
from wordclass.storage.addresses import FileIdentity as FileIdentity
from wordclass.storage.compression import Growth as Growth

File = Path | Address

COMPRESSIONS = (".gz", ".zst")
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # also where nobody writes to a pipe
# what content that is not as it should be leads to
CONTENT_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"  # others have processes of their own
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux
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


def uncompressed_name(path: File) -> str:
    """Return the file's name without .gz or .zst: the name whose ending tells the format.

    Examples
    --------
    >>> uncompressed_name(Path("docs/news.jsonl.zst"))
    'news.jsonl'
    """
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


@contextmanager
def as_storage_error(path: File, done: str = "read", rest: str = "") -> Iterator[None]:
    """Turn what the system refuses inside the block into a `StorageError` that names the path."""
    try:
        yield
    except WordClassError:
        raise
    except OSError as error:  # a full disk, a name too long, a folder that may not be entered
        reason = error.strerror or str(error)
        raise StorageError(f"{path}: cannot be {done}: {reason}{rest}") from error


@contextmanager
def as_format_error(path: Path, problem: str, *others: type[Exception]) -> Iterator[None]:
    """Turn errors over strange content, and others, into a `FormatError` with the path."""
    try:
        yield
    except CONTENT_ERRORS + others as error:
        if isinstance(error, WordClassError) and type(error) is not InputError:
            raise
        reason = str(error).partition("\n")[0]
        raise FormatError(path, None, f"{problem}: {reason}") from error


@contextmanager
def wrap_foreign_errors(path: File, problem: str = "damaged or cut short") -> Iterator[None]:
    """Turn whatever another package raises over a file, or a folder, into a `FormatError`."""
    try:
        yield
    except (WordClassError, MemoryError):
        raise
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # where Rust gives up
        if not isinstance(error, Exception) and not is_panic:
            raise
        reason = " ".join(str(error).strip().partition("\n")[0].split())
        raise FormatError(path, None, f"{problem}: {reason or type(error).__name__}") from error


def path_exists(path: File) -> bool:
    """Return whether a file or folder has this name; a name that cannot be is refused."""
    if isinstance(path, Address):
        return path.exists()
    with as_storage_error(path):
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return False
    return True


def require_existing(path: File) -> None:
    """Refuse a path that is not there, or may not be looked at."""
    if not path_exists(path):
        raise MissingDataError(f"{path}: no such file or folder")


def is_stream(path: Path) -> bool:
    """Return whether something is there that is neither file nor folder: a pipe, a device."""
    return path_exists(path) and not path.is_file() and not path.is_dir()


@contextmanager
def open_raw(path: File, *, stream: bool = False) -> Iterator[BinaryIO]:
    """Open a file for reading its bytes as they are; see `open_for_reading`."""
    if isinstance(path, Address):
        with path.open() as remote:
            yield remote
        return
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _AT_ONCE)) as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            if not stream:
                raise FormatError(path, None, "a pipe or a device; expected a regular file")
            if stat.S_ISFIFO(mode):
                select.select([file], [], [], _PATIENCE)
            os.set_blocking(file.fileno(), True)
        yield file


@contextmanager
def open_for_reading(path: File, *, stream: bool = False) -> Iterator[BinaryIO]:
    """Open a file for reading bytes; one that ends in .gz or .zst is decompressed on the way.

    Parameters
    ----------
    path : Path
    stream : bool, default=False
        Whether it may be a pipe or a device; else these are refused. A named pipe that nobody
        writes to is empty, and not waited for.

    Raises
    ------
    MissingDataError, StorageError
        There is no such file; it cannot be read.
    FormatError
        It is no regular file; or the compressed data is damaged or cut short.
    """
    require_existing(path)
    with as_storage_error(path):
        try:
            with open_raw(path, stream=stream) as raw, _through(raw, path, "rb") as plain:
                yield plain
        except EOFError as error:
            raise FormatError(path, None, f"damaged or cut short: {error}") from error


def read_content(path: File) -> bytes:
    """Return all that `open_for_reading` reads."""
    with open_for_reading(path) as stream:
        return stream.read()


@contextmanager
def require_unchanged(*paths: File) -> Iterator[None]:
    """See to it that nobody changes files while the block reads them.

    Raises
    ------
    StorageError
        A file is not what it was; also where the block already stumbled over it.
    """
    before = [file_identity(path) for path in paths]
    try:
        yield
    finally:
        for path, state in zip(paths, before, strict=True):
            check_identity(path, state)


def check_identity(path: File, state: FileIdentity | None) -> None:
    """Refuse a file whose state is no longer this one."""
    if file_identity(path) != state:
        raise StorageError(f"{path}: changed while it was read; read it again once it is complete")


def file_identity(path: File) -> FileIdentity | None:
    """Return size, time and number of a file or folder, which tell whether it changed.

    None of a pipe, and where there is nothing.
    """
    if isinstance(path, Address):
        return path.identity()
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    is_pipe = stat.S_ISFIFO(status.st_mode)
    return None if is_pipe else (status.st_size, status.st_mtime_ns, status.st_ino)


def size_of(path: File) -> int | None:
    """Return the number of bytes of a file; None of what has none, such as a pipe."""
    if isinstance(path, Address):
        return path.size
    with as_storage_error(path):
        return path.stat().st_size if path.is_file() else None


def _through(raw: BinaryIO, path: File, mode: Literal["rb", "wb"]) -> BinaryIO:
    """Return a stream that compresses or decompresses if the name of the file ends so."""
    ending = path.suffix.lower()
    if ending not in COMPRESSIONS:
        return raw
    convert = compression.decompressing if mode == "rb" else compression.compressing
    return convert(raw, path, ending)


def growth_of(path: File, n_read: int = 0) -> Growth:
    """Return a counter for a file of a format that compresses on its own, such as .xlsx.

    `n_read` is the size of a file that does not tell its size.
    """
    size = size_of(path)
    remedy = "write it in another format first, such as .jsonl or .vec"
    return Growth(path, n_read if size is None else size, remedy)


def check_archive(path: File, content: BinaryIO) -> None:
    """Refuse a zip archive whose members together take far more bytes than the file.

    Raises
    ------
    FormatError
        The members are too large.
    zipfile.BadZipFile
        It is no archive.
    """
    import zipfile  # not needed by most who import this module

    n_read = content.seek(0, io.SEEK_END)
    with zipfile.ZipFile(content) as archive:
        n_expanded = sum(member.file_size for member in archive.infolist())
    growth_of(path, n_read).add(n_expanded)
    content.seek(0)


# --- writing --------------------------------------------------------------------------------


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it takes the place of `path` when the block ends well.

    Where the block fails, `path` is as it was and the temporary file is gone. A link stays, and
    what it points to is replaced; the new file has the permissions of the one it replaces. To a
    pipe or a device all is copied in the end.

    Raises
    ------
    StorageError
        The disk is full, the folder is missing, or the like.
    """
    goes_through = is_stream(path)
    place = Path(tempfile.gettempdir(), path.name) if goes_through else _real(path)
    with _unfinished(path, place, Path.touch, 0o666) as temporary:
        yield temporary
        if goes_through:
            with temporary.open("rb") as made, path.open("wb") as out:
                shutil.copyfileobj(made, out)
        else:
            _complete(temporary, place)
            os.replace(temporary, place)


@contextmanager
def replace_folder_atomically(folder: Path, check: Callable[[set[str]], None]) -> Iterator[Path]:
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
    place = _real(folder)
    check_folder(place, check)
    with _unfinished(folder, place, partial(Path.mkdir, parents=True), 0o777) as temporary:
        yield temporary
        _complete(temporary, place)
        check_folder(place, check)  # again: the work took a while
        _swap(temporary, place)


def check_folder(folder: Path, check: Callable[[set[str]], None]) -> None:
    """Refuse a place for a folder where something is that is read-only, or `check` refuses."""
    if not path_exists(folder):
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; expected a folder, or a new name")
    if not os.access(folder, os.W_OK):  # what cannot be emptied cannot be replaced
        raise StorageError(f"{folder}: cannot be written: it is read-only")
    with as_storage_error(folder):
        found = {path.name for path in folder.iterdir()}
    if found:
        check(found)


def check_writable(path: Path, *, is_folder: bool = False) -> None:
    """Refuse a place that cannot be written to, before there is anything to write.

    Parameters
    ----------
    path : Path
    is_folder : bool, default=False
        Whether a folder is to be written, whose parents are made where they are missing.

    Raises
    ------
    InputError
        A folder is there, and a file is to be written.
    StorageError
        Nothing may be written there.
    """
    place = _real(path)
    if is_stream(path) and os.access(path, os.W_OK):
        return
    if place.is_dir() and not is_folder:
        raise InputError(f"{path} is a folder; expected a file, or a new name")
    while is_folder and not place.parent.exists():
        place = place.parent
    with _unfinished(path, place, Path.touch, 0o666):
        pass


@contextmanager
def _unfinished(
    path: Path, place: Path, make: Callable[[Path, int], object], mode: int
) -> Iterator[Path]:
    """Make a file or folder of another name beside a place; what is left of it is removed.

    It is locked as long as this process lives, whatever ends it: whoever writes to it keeps the
    file, and does not rename another one over it. What is to replace something is private until it
    is complete. Errors name `path`.
    """
    remove_leftovers(place)
    with as_storage_error(path, "written", "; nothing was changed"), ExitStack() as stack:
        is_ours = False
        while not is_ours:
            temporary = place.parent / f".{place.name}.{_MACHINE}-{uuid4().hex[:16]}.tmp"
            make(temporary, mode & 0o700 if place.exists() else mode)
            with suppress(ImportError, OSError):  # where nothing can be locked, nothing is swept
                stack.enter_context(_locked(temporary))
            is_ours = temporary.exists()  # else it was swept before it was locked
        stack.callback(_remove, temporary)
        try:
            yield temporary
        except (WordClassError, OSError) as error:
            _rename_in_message(error, temporary, path)
            raise


def _rename_in_message(error: WordClassError | OSError, temporary: Path, path: Path) -> None:
    """Let an error name the path that the user gave wherever it names a temporary one."""

    def renamed(value: object) -> object:
        if isinstance(value, str):
            return value.replace(str(temporary), str(path))
        if isinstance(value, Path) and value.is_relative_to(temporary):
            return path / value.relative_to(temporary)
        return value

    error.args = tuple(map(renamed, error.args))
    if isinstance(error, FormatError):
        error.path, error.line, error.reason = error.args
    elif isinstance(error, OSError) and isinstance(error.strerror, str):
        error.strerror = str(renamed(error.strerror))


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """Give a new folder inside another, for what is needed while the block runs.

    It is removed in the end; what a process left that was killed is removed by the next one.
    """
    place = _real(folder) / "wordclass-scratch"
    with _unfinished(folder, place, partial(Path.mkdir, parents=True), 0o700) as temporary:
        yield temporary


def remove_leftovers(place: Path) -> None:
    """Remove unfinished files and folders that killed processes left beside a place.

    Links, pipes, sockets and devices of such a name are not ours: they are neither opened nor
    removed.
    """
    for unfinished in list(place.parent.glob(f".{glob.escape(place.name)}.{_MACHINE}-*.tmp")):
        with suppress(ImportError, OSError):
            mode = unfinished.lstat().st_mode
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                with _locked(unfinished, waits=False):
                    _remove(unfinished)


@contextmanager
def _locked(path: Path, *, waits: bool = True) -> Iterator[None]:
    """Keep other processes from locking the same; the system ends it with the process.

    Raises
    ------
    ImportError, OSError
        Nothing can be locked there; or another process has locked it, and is not waited for.
    """
    import fcntl  # not on Windows

    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it; what cannot be removed stays."""
    with suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)  # of a pipe it would wait for a writer
        else:
            path.unlink()


def _real(path: Path) -> Path:
    """Return the file or folder that a link points to."""
    return Path(os.path.realpath(path))


def _complete(new: Path, place: Path) -> None:
    """See to it that a file, or all of a folder, is on disk before it gets its name.

    It gets the owner, where that is allowed, and the permissions of what it replaces.
    """
    for each in (new, *new.rglob("*")):
        if not each.is_dir():
            with each.open("rb+") as written:
                os.fsync(written.fileno())
        with suppress(FileNotFoundError):
            before = (place / each.relative_to(new)).stat()
            with suppress(AttributeError, PermissionError):
                os.chown(each, before.st_uid, before.st_gid)
            each.chmod(stat.S_IMODE(before.st_mode))


def _swap(new: Path, place: Path) -> None:
    """Give a folder its place, in one step where the system can; what was there is removed.

    Elsewhere it takes two, and `locate_folder` finds what was there should the second never come.
    """
    if _exchange(new, place):
        return
    aside = _aside(place)
    if place.exists():
        _remove(aside)
        os.replace(place, aside)
    try:
        os.replace(new, place)
    except OSError:
        with suppress(OSError):
            os.replace(aside, place)
        raise
    _remove(aside)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders trade places; return whether they did."""
    import ctypes

    places = _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other)
    with suppress(AttributeError, OSError, TypeError):  # not Linux
        return bool(ctypes.CDLL(None).renameat2(*places, _RENAME_EXCHANGE) == 0)
    return False


def _aside(place: Path) -> Path:
    return place.parent / f".{place.name}.replaced-by-wordclass"


def locate_folder(folder: Path) -> Path:
    """Return the place of a folder, also if `replace_folder_atomically` was killed halfway."""
    aside = _aside(_real(folder))
    return aside if not path_exists(folder) and path_exists(aside) else folder


@contextmanager
def open_for_writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing bytes that replaces `path` when the block ends well.

    One that ends in .gz or .zst is compressed on the way; the same bytes give the same file.
    """
    with (
        replace_atomically(path) as place,
        place.open("wb") as raw,
        _through(raw, path, "wb") as stream,
    ):
        yield stream
