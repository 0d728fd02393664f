"""Open files, and replace files and folders atomically: none is ever half-written."""

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
# these follow from untrusted content of an unexpected form
CONTENT_ERRORS = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
)  # fmt: skip
_O_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # opens a pipe even if nobody writes to it
# part of temporary names: locks of processes on other machines cannot be checked
_MACHINE_ID = f"{zlib.crc32(platform.node().encode()):08x}"
_AT_FDCWD = -100  # of Linux
_RENAME_EXCHANGE = 2  # of Linux
_PIPE_WAIT_SECONDS = 1.0  # for a process to open a pipe for writing


def data_home() -> Path:
    """Return the folder for downloads and caches: `WORDCLASS_HOME`, or that of the platform."""
    if folder := os.environ.get("WORDCLASS_HOME"):
        return Path(folder).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "wordclass"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "wordclass"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "wordclass"


def uncompressed_name(path: File) -> str:
    """Return the file's name without .gz or .zst, so that its ending is that of the format.

    Examples
    --------
    >>> uncompressed_name(Path("docs/news.jsonl.zst"))
    'news.jsonl'
    """
    return path.stem if path.suffix.lower() in COMPRESSIONS else path.name


@contextmanager
def as_storage_error(path: File, action: str = "read", suffix: str = "") -> Iterator[None]:
    """Turn an OSError inside the block into a `StorageError` that names the path.

    Parameters
    ----------
    path : Path or Address
        The path to name.
    action : str, default="read"
        A participle that follows "cannot be" in the message.
    suffix : str, default=""
        The end of the message.
    """
    try:
        yield
    except WordClassError:
        raise
    except OSError as error:  # a full disk, a name too long, a folder without permission
        reason = error.strerror or str(error)
        raise StorageError(f"{path}: cannot be {action}: {reason}{suffix}") from error


@contextmanager
def as_format_error(path: Path, problem: str, *error_types: type[Exception]) -> Iterator[None]:
    """Turn `CONTENT_ERRORS` and errors of the given types into a `FormatError` with the path."""
    try:
        yield
    except CONTENT_ERRORS + error_types as error:
        if isinstance(error, WordClassError) and type(error) is not InputError:
            raise
        reason = str(error).partition("\n")[0]
        raise FormatError(path, None, f"{problem}: {reason}") from error


@contextmanager
def wrap_foreign_errors(path: File, problem: str = "damaged or cut short") -> Iterator[None]:
    """Turn any error that another package raises about a file or folder into a `FormatError`."""
    try:
        yield
    except (WordClassError, MemoryError):
        raise
    except BaseException as error:
        is_panic = type(error).__name__ == "PanicException"  # of packages written in Rust
        if not isinstance(error, Exception) and not is_panic:
            raise
        reason = " ".join(str(error).strip().partition("\n")[0].split())
        raise FormatError(path, None, f"{problem}: {reason or type(error).__name__}") from error


def path_exists(path: File) -> bool:
    """Return True if a file or folder has this name.

    Raises
    ------
    StorageError
        The name is too long, or a folder in it may not be entered.
    """
    if isinstance(path, Address):
        return path.exists()
    with as_storage_error(path):
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return False
    return True


def require_existing(path: File) -> None:
    """Raise a MissingDataError unless the path exists."""
    if not path_exists(path):
        raise MissingDataError(f"{path}: no such file or folder")


def is_stream(path: Path) -> bool:
    """Return True if the path is a pipe or a device: neither a file nor a folder."""
    return path_exists(path) and not path.is_file() and not path.is_dir()


@contextmanager
def open_raw(path: File, *, stream: bool = False) -> Iterator[BinaryIO]:
    """Open a file for reading bytes without decompression. See `open_for_reading`."""
    if isinstance(path, Address):
        with path.open() as remote:
            yield remote
        return
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _O_NONBLOCK)) as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            if not stream:
                raise FormatError(path, None, "a pipe or a device", expected="a regular file")
            if stat.S_ISFIFO(mode):
                select.select([file], [], [], _PIPE_WAIT_SECONDS)
            os.set_blocking(file.fileno(), True)
        yield file


@contextmanager
def open_for_reading(path: File, *, stream: bool = False) -> Iterator[BinaryIO]:
    """Open a file for reading bytes. A file that ends in .gz or .zst is decompressed.

    Parameters
    ----------
    path : Path or Address
        The file.
    stream : bool, default=False
        Whether the file may be a pipe or a device. A named pipe that nobody writes to counts as
        empty after a second.

    Raises
    ------
    MissingDataError, StorageError
        The file does not exist or cannot be read.
    FormatError
        The file is not a regular file, or its compressed data is damaged or cut short.
    """
    require_existing(path)
    with as_storage_error(path):
        try:
            with open_raw(path, stream=stream) as raw, _apply_codec(raw, path, "rb") as plain:
                yield plain
        except EOFError as error:
            raise FormatError(path, None, f"damaged or cut short: {error}") from error


def read_content(path: File) -> bytes:
    """Return the whole content of a file, decompressed if its name ends in .gz or .zst."""
    with open_for_reading(path) as stream:
        return stream.read()


@contextmanager
def require_unchanged(*paths: File) -> Iterator[None]:
    """Raise a StorageError if a file changes while the block reads it.

    This error replaces one that the block raised because of the change.
    """
    identities = [file_identity(path) for path in paths]
    try:
        yield
    finally:
        for path, identity in zip(paths, identities, strict=True):
            check_identity(path, identity)


def check_identity(path: File, identity: FileIdentity | None) -> None:
    """Raise a StorageError unless the file still has this identity."""
    if file_identity(path) != identity:
        problem = f"{path}: changed while it was read"
        raise StorageError(problem, hint="read it again once it is complete")


def file_identity(path: File) -> FileIdentity | None:
    """Return size, time and inode of a file or folder, which differ once it has changed.

    A pipe or a missing file has the identity None.
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
    """Return the number of bytes of a file, or None if it has no size, such as a pipe."""
    if isinstance(path, Address):
        return path.size
    with as_storage_error(path):
        return path.stat().st_size if path.is_file() else None


def _apply_codec(raw: BinaryIO, path: File, mode: Literal["rb", "wb"]) -> BinaryIO:
    """Return a stream that compresses or decompresses if the file name ends in .gz or .zst."""
    ending = path.suffix.lower()
    if ending not in COMPRESSIONS:
        return raw
    apply = compression.decompress_stream if mode == "rb" else compression.compress_stream
    return apply(raw, path, ending)


def growth_of(path: File, n_read: int = 0) -> Growth:
    """Return a counter for a file of a format with internal compression, such as .xlsx.

    `n_read` is used as the size of a file that does not tell its size.
    """
    size = size_of(path)
    remedy = "write it in another format first, such as .jsonl or .vec"
    return Growth(path, n_read if size is None else size, remedy)


def check_archive(path: File, content: BinaryIO) -> None:
    """Refuse a zip archive whose members together are far larger than the file.

    Raises
    ------
    FormatError
        The members are too large.
    zipfile.BadZipFile
        The content is not a zip archive.
    """
    import zipfile  # rarely needed, so not imported with this module

    n_read = content.seek(0, io.SEEK_END)
    with zipfile.ZipFile(content) as archive:
        n_expanded = sum(member.file_size for member in archive.infolist())
    growth_of(path, n_read).add(n_expanded)
    content.seek(0)


# --- writing --------------------------------------------------------------------------------


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces `path` when the block succeeds.

    If the block fails, `path` is unchanged and the temporary file is removed. A symbolic link
    stays, and its target is replaced. The new file has the permissions of the replaced file. The
    content for a pipe or a device is copied at the end.

    Raises
    ------
    StorageError
        The file cannot be written, for example because the disk is full.
    """
    is_pipe_or_device = is_stream(path)
    target = Path(tempfile.gettempdir(), path.name) if is_pipe_or_device else _resolve(path)
    with _temporary_path(path, target, Path.touch, 0o666) as temporary:
        yield temporary
        if is_pipe_or_device:
            with temporary.open("rb") as source, path.open("wb") as sink:
                shutil.copyfileobj(source, sink)
        else:
            _finish(temporary, target)
            os.replace(temporary, target)


@contextmanager
def replace_folder_atomically(folder: Path, check: Callable[[set[str]], None]) -> Iterator[Path]:
    """Yield a temporary folder that replaces `folder` when the block succeeds.

    If the block fails, `folder` is unchanged and the temporary folder is removed.

    Parameters
    ----------
    folder : Path
        The folder to create or replace. Missing parents are created.
    check : callable
        A function of the names in an existing folder. It raises an InputError if the folder must
        not be replaced, because replacing deletes its content.

    Raises
    ------
    InputError
        The path is a file, or `check` refused.
    StorageError
        The folder cannot be written, for example because the disk is full.
    """
    target = _resolve(folder)
    check_folder(target, check)
    with _temporary_path(folder, target, partial(Path.mkdir, parents=True), 0o777) as temporary:
        yield temporary
        _finish(temporary, target)
        check_folder(target, check)  # the folder may have changed during the block
        _replace_folder(temporary, target)


def check_folder(folder: Path, check: Callable[[set[str]], None]) -> None:
    """Raise an error if the folder exists and is read-only or refused by `check`."""
    if not path_exists(folder):
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file", expected="a folder, or a new name")
    if not os.access(folder, os.W_OK):  # a folder that cannot be emptied cannot be replaced
        raise StorageError(f"{folder}: cannot be written: it is read-only")
    with as_storage_error(folder):
        names = {path.name for path in folder.iterdir()}
    if names:
        check(names)


def check_writable(path: Path, *, is_folder: bool = False) -> None:
    """Raise an error if a path cannot be written to. Call this before long computations.

    Parameters
    ----------
    path : Path
        The path of the output.
    is_folder : bool, default=False
        Whether the output is a folder, whose missing parents are created.

    Raises
    ------
    InputError
        The path is a folder, and the output is a file.
    StorageError
        The path cannot be written.
    """
    target = _resolve(path)
    if is_stream(path) and os.access(path, os.W_OK):
        return
    if target.is_dir() and not is_folder:
        raise InputError(f"{path} is a folder", expected="a file, or a new name")
    while is_folder and not target.parent.exists():
        target = target.parent
    with _temporary_path(path, target, Path.touch, 0o666):
        pass


@contextmanager
def _temporary_path(
    path: Path, target: Path, create: Callable[[Path, int], object], mode: int
) -> Iterator[Path]:
    """Create a temporary file or folder beside the target, and remove it at the end.

    It is locked until this process ends, so that other processes do not remove it as a leftover.
    The block must write into it and not rename another file over it. If it replaces something, it
    is private until it is complete. Errors name `path`.
    """
    remove_leftovers(target)
    with as_storage_error(path, "written", "; nothing was changed"), ExitStack() as stack:
        is_locked = False
        while not is_locked:
            temporary = target.parent / f".{target.name}.{_MACHINE_ID}-{uuid4().hex[:16]}.tmp"
            create(temporary, mode & 0o700 if target.exists() else mode)
            with suppress(ImportError, OSError):  # without locks, leftovers are not removed
                stack.enter_context(_lock(temporary))
            is_locked = temporary.exists()  # else it was removed before it was locked
        stack.callback(_remove, temporary)
        try:
            yield temporary
        except (WordClassError, OSError) as error:
            _rename_in_message(error, temporary, path)
            raise


def _rename_in_message(error: WordClassError | OSError, temporary: Path, path: Path) -> None:
    """Replace the temporary path in an error by the path that the user gave."""

    def rename(value: object) -> object:
        if isinstance(value, str):
            return value.replace(str(temporary), str(path))
        if isinstance(value, Path) and value.is_relative_to(temporary):
            return path / value.relative_to(temporary)
        return value

    error.args = tuple(map(rename, error.args))
    if isinstance(error, FormatError):
        error.path, error.line, error.reason = error.args
    elif isinstance(error, OSError) and isinstance(error.strerror, str):
        error.strerror = str(rename(error.strerror))


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder inside another one, and remove it when the block ends.

    The next call removes the folders of processes that were killed.
    """
    target = _resolve(folder) / "wordclass-scratch"
    with _temporary_path(folder, target, partial(Path.mkdir, parents=True), 0o700) as temporary:
        yield temporary


def remove_leftovers(target: Path) -> None:
    """Remove temporary files and folders that killed processes left beside a target.

    Links, pipes, sockets and devices of such a name are neither opened nor removed, because this
    package does not create them.
    """
    pattern = f".{glob.escape(target.name)}.{_MACHINE_ID}-*.tmp"
    for temporary in list(target.parent.glob(pattern)):
        with suppress(ImportError, OSError):
            mode = temporary.lstat().st_mode
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                with _lock(temporary, is_blocking=False):
                    _remove(temporary)


@contextmanager
def _lock(path: Path, *, is_blocking: bool = True) -> Iterator[None]:
    """Lock a path against other processes. The system releases the lock when the process ends.

    Raises
    ------
    ImportError, OSError
        The path cannot be locked, or another process holds the lock and `is_blocking` is False.
    """
    import fcntl  # not on Windows

    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if is_blocking else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    """Remove a file, or a folder with its content. Errors are ignored."""
    with suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)  # would block on a pipe without a writer
        else:
            path.unlink()


def _resolve(path: Path) -> Path:
    """Return the target of a symbolic link, or the path itself."""
    return Path(os.path.realpath(path))


def _finish(temporary: Path, target: Path) -> None:
    """Flush a file, or all files of a folder, to disk before it replaces the target.

    It gets the permissions of the target and, if the system allows, its owner.
    """
    for path in (temporary, *temporary.rglob("*")):
        if not path.is_dir():
            with path.open("rb+") as stream:
                os.fsync(stream.fileno())
        with suppress(FileNotFoundError):
            status = (target / path.relative_to(temporary)).stat()
            with suppress(AttributeError, PermissionError):
                os.chown(path, status.st_uid, status.st_gid)
            path.chmod(stat.S_IMODE(status.st_mode))


def _replace_folder(temporary: Path, target: Path) -> None:
    """Replace a folder by another one, in a single step if the system supports it.

    Otherwise it takes two steps. If the process is killed between them, `locate_folder` finds the
    old folder.
    """
    if _exchange(temporary, target):
        return
    backup = _backup_of(target)
    if target.exists():
        _remove(backup)
        os.replace(target, backup)
    try:
        os.replace(temporary, target)
    except OSError:
        with suppress(OSError):
            os.replace(backup, target)
        raise
    _remove(backup)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange the names of two folders. Return True if the system supports it."""
    import ctypes

    paths = (_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second))
    with suppress(AttributeError, OSError, TypeError):  # not Linux
        return bool(ctypes.CDLL(None).renameat2(*paths, _RENAME_EXCHANGE) == 0)
    return False


def _backup_of(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.replaced-by-wordclass"


def locate_folder(folder: Path) -> Path:
    """Return the path of a folder, also if `replace_folder_atomically` was killed halfway."""
    backup = _backup_of(_resolve(folder))
    return backup if not path_exists(folder) and path_exists(backup) else folder


@contextmanager
def open_for_writing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing bytes. It replaces `path` when the block succeeds.

    A file that ends in .gz or .zst is compressed. The same bytes give the same file.
    """
    with (
        replace_atomically(path) as temporary,
        temporary.open("wb") as raw,
        _apply_codec(raw, path, "wb") as stream,
    ):
        yield stream
