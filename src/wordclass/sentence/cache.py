"""Cache of text vectors on disk, by a hash of the encoder and of the text.

The user's cache folder has one SQLite file per encoder. The files do not contain the texts. Several
processes may use a file, and killing one of them loses no finished work. Files that cannot be read
or written are not an error: the vectors are computed again, with a warning. (Networks store vectors
of tokens in the same folder, in files with the ending `.tokens`.)
"""

import os
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wordclass.arrays import Floats32
from wordclass.errors import InputError

_DEFAULT_MAX_BYTES = 5_000_000_000  # of all files together, unless WORDCLASS_CACHE_BYTES is set
_SHARE_AFTER_REMOVAL = 0.8  # of the vectors of a file that is too large: those used last
_MAX_OVERHEAD = 3  # a stored vector takes at most this many times its bytes
_DAY_SECONDS = 86_400
_KEYS_PER_QUERY = 500
_LOCK_TIMEOUT_SECONDS = 30.0  # while other processes write
_CHECKSUM_BYTES = 8  # in front of each vector
TOKENS = ".tokens"  # the ending of the files of `wordclass.sentence.tokens`
_ENDINGS = (".sqlite", TOKENS)
# Nothing is flushed to disk: a file that is damaged by a power failure is built again. auto_vacuum
# writes the header of a new file. Therefore it is set inside the transaction: another process would
# take a file with a header and no tables for damaged.
_SETUP = """
    PRAGMA synchronous = OFF;
    BEGIN;
    PRAGMA auto_vacuum = FULL;
    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB, used INTEGER);
"""
# errors caused by the disk, permissions or other processes; all others mean a damaged file
_ENVIRONMENT_ERRORS = {
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH,
}  # fmt: skip

_Result = TypeVar("_Result")


class CacheWarning(UserWarning):
    """The cache of vectors cannot be used, or a part of it was damaged."""


def cache_folder() -> Path:
    """Return the folder of the caches: in `WORDCLASS_HOME`, or in the user's cache folder."""
    if home := os.environ.get("WORDCLASS_HOME"):
        return Path(home).expanduser() / "cache"
    if sys.platform == "win32":
        local = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local"))
        return local / "wordclass" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "wordclass"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wordclass"


def max_cache_bytes() -> int:
    """Return the maximum size of all caches together."""
    setting = os.environ.get("WORDCLASS_CACHE_BYTES", "").strip()
    if not setting:
        return _DEFAULT_MAX_BYTES
    if not setting.isdecimal():
        raise InputError(
            f"the environment variable WORDCLASS_CACHE_BYTES is {setting!r}",
            expected="a number of bytes",
        )
    return int(setting)


def cache_files() -> list[Path]:
    """Return the files of all caches, ordered by their last use."""
    files = []
    with suppress(OSError):  # the folder is missing or cannot be read
        for path in cache_folder().iterdir():
            if path.suffix in _ENDINGS:
                with suppress(FileNotFoundError):  # removed by another process
                    files.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(files)]


def describe_files() -> list[dict[str, Any]]:
    """Return the name, encoder, number of vectors, size and last use of each file.

    The files are opened for reading only. Values that a file does not contain are None, for
    example if it is damaged or holds vectors of tokens.
    """
    descriptions = []
    for path in cache_files():
        encoder = n_vectors = None
        with suppress(sqlite3.Error), closing(_open_for_reading(path)) as file:
            (n_vectors,) = file.execute("SELECT COUNT(*) FROM vectors").fetchone()
            (encoder,) = file.execute("SELECT value FROM facts WHERE name = 'encoder'").fetchone()
        with suppress(FileNotFoundError):
            last_use = datetime.fromtimestamp(int(path.stat().st_mtime)).astimezone()
            descriptions.append(
                {
                    "file": path.name,
                    "encoder": encoder,
                    "n_vectors": n_vectors,
                    "n_bytes": _count_bytes(path),
                    "last_use": last_use.isoformat(),
                }
            )
    return descriptions


def clear() -> int:
    """Remove all caches and return their total size in bytes."""
    return sum(_remove_file(path) for path in cache_files())


def make_room(in_use: Path) -> int:
    """Remove the least recently used files until the caches are small enough.

    Parameters
    ----------
    in_use : Path
        A file that is not removed.

    Returns
    -------
    int
        The number of bytes by which the remaining files exceed the limit, if it is positive.
    """
    removable = [path for path in cache_files() if path != in_use]
    excess = sum(_count_bytes(path) for path in [*removable, in_use]) - max_cache_bytes()
    for path in removable:
        if excess > 0:
            excess -= _remove_file(path)
    return excess


def hash_text(text: str) -> bytes:
    """Return the hash of a text, which is the key of its vector."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True)
class SentenceCache:
    """The stored vectors of one encoder.

    Parameters
    ----------
    fingerprint : str
        The checksum of the encoder's files.
    encoder : str, default=""
        The name of the encoder, for users.
    """

    fingerprint: str
    encoder: str = ""

    @property
    def path(self) -> Path:
        """The file."""
        return cache_folder() / f"{self.fingerprint}.sqlite"

    def __len__(self) -> int:
        if not _count_bytes(self.path):
            return 0
        row = self._run(lambda file: file.execute("SELECT COUNT(*) FROM vectors").fetchone())
        return row[0] if row else 0

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Floats32]:
        """Return the stored vectors of some keys. Damaged vectors count as missing."""
        if not _count_bytes(self.path):
            return {}
        starts = range(0, len(keys), _KEYS_PER_QUERY)
        queries = [keys[start : start + _KEYS_PER_QUERY] for start in starts]
        rows = self._run(lambda file: [row for query in queries for row in _select(file, query)])
        rows = rows or []
        decoded = {key: _decode(key, content) for key, content, _ in rows}
        vectors = {key: vector for key, vector in decoded.items() if vector is not None}
        if n_damaged := len(decoded) - len(vectors):
            _warn(f"{self.path}: {n_damaged} vectors are damaged and are computed again")
        self._record_use([key for key, _, used in rows if not _is_recent(used)])
        return vectors

    def keep(self, keys: Sequence[bytes], vectors: Floats32) -> bool:
        """Store vectors, all or none of them, and return whether they were stored."""
        if _MAX_OVERHEAD * vectors.nbytes > max_cache_bytes():
            return False
        now = int(time.time())
        contents = [np.ascontiguousarray(vector, "<f4").tobytes() for vector in vectors]
        rows = [
            (key, _checksum(key, content) + content, now)
            for key, content in zip(keys, contents, strict=True)
        ]

        def insert(file: sqlite3.Connection) -> bool:
            file.executescript(_SETUP)
            file.execute("INSERT OR REPLACE INTO facts VALUES ('encoder', ?)", [self.encoder])
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            return True

        is_stored = self._run(insert) or False
        self._make_room()
        return is_stored

    def _run(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result | None:
        """Return the result of some work with the file in one transaction.

        An error becomes a warning, and the result is None. A damaged file is removed.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_LOCK_TIMEOUT_SECONDS)) as file, file:
                return work(file)
        except (OSError, sqlite3.Error, OverflowError, UnicodeError) as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if isinstance(error, OSError) or code in _ENVIRONMENT_ERRORS:
                _warn(f"{self.path} cannot be used ({error}); vectors are not cached")
            else:
                _remove_file(self.path)
                _warn(
                    f"{self.path} was damaged ({error}) and is removed; its vectors are computed "
                    "again"
                )
        return None

    def _record_use(self, keys: Sequence[bytes]) -> None:
        """Record the use of the file and of some vectors. Errors are ignored."""
        now = int(time.time())
        with suppress(OSError):
            os.utime(self.path)
        if keys:
            update = "UPDATE vectors SET used = ? WHERE key = ?"
            with (
                suppress(sqlite3.Error),
                closing(sqlite3.connect(self.path, timeout=_LOCK_TIMEOUT_SECONDS)) as file,
                file,
            ):
                file.executemany(update, [(now, key) for key in keys])

    def _make_room(self) -> None:
        """Remove the least recently used files of other encoders, then vectors of this one."""
        make_room(self.path)
        limit = max_cache_bytes()
        oldest = "SELECT key FROM vectors ORDER BY used LIMIT ?"
        remove = f"DELETE FROM vectors WHERE key IN ({oldest})"
        while _count_bytes(self.path) > limit:
            n_vectors = len(self)
            n_removed = n_vectors - int(n_vectors * _SHARE_AFTER_REMOVAL)
            if not self._run(partial(_count_changes, remove, [n_removed])):
                _remove_file(self.path)
                return


def _count_changes(statement: str, values: list[int], file: sqlite3.Connection) -> int:
    return file.execute(statement, values).rowcount


def _open_for_reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)


def _select(file: sqlite3.Connection, keys: Sequence[bytes]) -> list[tuple[bytes, object, object]]:
    """Return the stored keys with the content and the last use of their vectors."""
    marks = ",".join("?" * len(keys))
    query = f"SELECT key, vector, used FROM vectors WHERE key IN ({marks})"
    return file.execute(query, keys).fetchall()


def _is_recent(used: object) -> bool:
    return isinstance(used, int) and used > time.time() - _DAY_SECONDS


def _decode(key: bytes, content: object) -> Floats32 | None:
    """Return the vector that is stored under a key, or None if it is damaged."""
    if not isinstance(content, bytes):
        return None
    numbers = content[_CHECKSUM_BYTES:]
    is_sound = numbers and len(numbers) % 4 == 0
    if not is_sound or content[:_CHECKSUM_BYTES] != _checksum(key, numbers):
        return None
    return np.frombuffer(numbers, "<f4")


def _checksum(key: bytes, numbers: bytes) -> bytes:
    return blake2b(numbers, digest_size=_CHECKSUM_BYTES, key=key).digest()


def _count_bytes(path: Path) -> int:
    """Return the size of a file, or 0 if it does not exist."""
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _remove_file(path: Path) -> int:
    """Remove a cache file with SQLite's temporary files and return its size if that succeeds."""
    n_bytes = _count_bytes(path)
    for suffix in ("", "-journal", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()
    return n_bytes - _count_bytes(path)


def _warn(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=4)
