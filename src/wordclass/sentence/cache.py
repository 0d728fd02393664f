"""Vectors of texts that an encoder made once, kept on disk: by a hash of the model and of the text.

One SQLite file per model in the user's cache folder. The texts themselves are not kept. A file may
be used by several processes, and killing one of them loses nothing that was finished. What cannot
be read or written is no error: the vectors are made again, and a warning says so. (Networks keep
vectors of tokens in the same folder, in files that end in `.tokens`.)
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

_MOST_BYTES = 5_000_000_000  # of all files, unless WORDCLASS_CACHE_BYTES says otherwise
_KEPT_SHARE = 0.8  # of a file's vectors, each time that it is too large: those used last
_OVERHEAD = 3  # times its numbers, what a vector takes at most; an empty file has 24 kB
_DAY = 86_400
_AT_ONCE = 500  # keys of a query
_PATIENCE = 30.0  # seconds for other processes to finish writing
_CHECKSUM = 8  # bytes before the numbers of a vector
TOKENS = ".tokens"  # the ending of files that `wordclass.token_vectors` keeps here
_ENDINGS = (".sqlite", TOKENS)
_SETUP = """
    PRAGMA synchronous = OFF;
    BEGIN;
    PRAGMA auto_vacuum = FULL;
    CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB, used INTEGER);
"""  # nothing waits for the disk: a file that was damaged when the power failed is made again.
# auto_vacuum writes the head of a new file: inside the transaction, as a file with a head and no
# tables would look damaged to another process
# what tells of the disk, of permissions or of other processes; all else is damage
_NO_DAMAGE = {
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH,
}  # fmt: skip

_Done = TypeVar("_Done")


class CacheWarning(UserWarning):
    """The cache of vectors cannot be used, or a part of it was damaged."""


def cache_folder() -> Path:
    """Return the folder of the caches: below `WORDCLASS_HOME`, or in the user's cache folder."""
    if chosen := os.environ.get("WORDCLASS_HOME"):
        return Path(chosen).expanduser() / "cache"
    if sys.platform == "win32":
        local = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local"))
        return local / "wordclass" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "wordclass"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wordclass"


def max_cache_bytes() -> int:
    """Return how large all caches together may become."""
    given = os.environ.get("WORDCLASS_CACHE_BYTES", "").strip()
    if not given:
        return _MOST_BYTES
    if not given.isdecimal():
        raise InputError(f"WORDCLASS_CACHE_BYTES is {given!r}; expected a number of bytes")
    return int(given)


def cache_files() -> list[Path]:
    """Return the files of all caches, the one that was used last at the end."""
    found = []
    with suppress(OSError):  # a folder that may not be looked at
        for path in cache_folder().iterdir():
            if path.suffix in _ENDINGS:
                with suppress(FileNotFoundError):  # cleared meanwhile
                    found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found)]


def describe_files() -> list[dict[str, Any]]:
    """Tell of each file its encoder, how many vectors it has, its size, and when it was used last.

    Files are only looked at; what a damaged one, or one of tokens, does not tell is None.
    """
    told = []
    for path in cache_files():
        encoder = n_vectors = None
        with suppress(sqlite3.Error), closing(_opened_to_read(path)) as file:
            (n_vectors,) = file.execute("SELECT COUNT(*) FROM vectors").fetchone()
            (encoder,) = file.execute("SELECT value FROM facts WHERE name = 'encoder'").fetchone()
        with suppress(FileNotFoundError):
            used = datetime.fromtimestamp(int(path.stat().st_mtime)).astimezone().isoformat()
            told.append(
                {
                    "file": path.name,
                    "encoder": encoder,
                    "n_vectors": n_vectors,
                    "n_bytes": _size(path),
                    "last_use": used,
                }
            )
    return told


def clear() -> int:
    """Remove all caches; return how many bytes they had."""
    return sum(_removed(path) for path in cache_files())


def make_room(kept: Path) -> int:
    """Remove the files that were not used for longest, but not this one, while all are too large.

    Returns how many bytes too many are left.
    """
    others = [path for path in cache_files() if path != kept]
    excess = sum(_size(path) for path in [*others, kept]) - max_cache_bytes()
    for path in others:
        if excess > 0:
            excess -= _removed(path)
    return excess


def key_of(text: str) -> bytes:
    """Return the hash under which a text's vector is kept."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True)
class SentenceCache:
    """The vectors that one model made.

    Parameters
    ----------
    fingerprint : str
        Of the model.
    encoder : str
        What users call it.
    """

    fingerprint: str
    encoder: str = ""

    @property
    def path(self) -> Path:
        """The file."""
        return cache_folder() / f"{self.fingerprint}.sqlite"

    def __len__(self) -> int:
        if not _size(self.path):
            return 0
        counted = self._within(lambda file: file.execute("SELECT COUNT(*) FROM vectors").fetchone())
        return counted[0] if counted else 0

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Floats32]:
        """Return those vectors that are there; each is as it was kept, or it is not returned."""
        if not _size(self.path):
            return {}
        parts = [keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE)]
        rows = self._within(lambda file: [row for part in parts for row in _rows(file, part)]) or []
        found = {key: _numbers(key, kept) for key, kept, _ in rows}
        sound = {key: each for key, each in found.items() if each is not None}
        if n_damaged := len(found) - len(sound):
            _warn(f"{self.path}: {n_damaged} vectors are damaged; they are made again")
        self._note_use([key for key, _, used in rows if not _is_recent(used)])
        return sound

    def keep(self, keys: Sequence[bytes], vectors: Floats32) -> bool:
        """Keep some vectors, all of them or none; return whether that was possible."""
        if _OVERHEAD * vectors.nbytes > max_cache_bytes():
            return False
        now = int(time.time())
        numbers = [np.ascontiguousarray(each, "<f4").tobytes() for each in vectors]
        rows = [
            (key, _seal(key, each) + each, now) for key, each in zip(keys, numbers, strict=True)
        ]

        def insert(file: sqlite3.Connection) -> bool:
            file.executescript(_SETUP)
            file.execute("INSERT OR REPLACE INTO facts VALUES ('encoder', ?)", [self.encoder])
            file.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            return True

        is_kept = self._within(insert) or False
        self._make_room()
        return is_kept

    def _within(self, work: Callable[[sqlite3.Connection], _Done]) -> _Done | None:
        """Do something with the file in one transaction; what goes wrong is a warning.

        A damaged file is removed.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as file, file:
                return work(file)
        except (OSError, sqlite3.Error, OverflowError, UnicodeError) as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if isinstance(error, OSError) or code in _NO_DAMAGE:
                _warn(f"{self.path} cannot be used ({error}); vectors are made, but not kept")
            else:
                _removed(self.path)
                _warn(f"{self.path} was damaged ({error}): removed, its vectors are made again")
        return None

    def _note_use(self, keys: Sequence[bytes]) -> None:
        """Note that the file was used, and once a day which vectors were; or let it be."""
        now = int(time.time())
        with suppress(OSError):
            os.utime(self.path)
        if keys:
            update, rows = "UPDATE vectors SET used = ? WHERE key = ?", [(now, key) for key in keys]
            with (
                suppress(sqlite3.Error),
                closing(sqlite3.connect(self.path, timeout=_PATIENCE)) as file,
                file,
            ):
                file.executemany(update, rows)

    def _make_room(self) -> None:
        """Remove what was not used for longest: other models' files, then vectors of this one."""
        make_room(self.path)
        limit = max_cache_bytes()
        oldest = "SELECT key FROM vectors ORDER BY used LIMIT ?"
        remove = f"DELETE FROM vectors WHERE key IN ({oldest})"
        while _size(self.path) > limit:
            n_oldest = [len(self) - int(len(self) * _KEPT_SHARE)]
            if not self._within(partial(_n_changed, remove, n_oldest)):
                _removed(self.path)
                return


def _n_changed(statement: str, values: list[int], file: sqlite3.Connection) -> int:
    return file.execute(statement, values).rowcount


def _opened_to_read(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)


def _rows(file: sqlite3.Connection, keys: Sequence[bytes]) -> list[tuple[bytes, object, object]]:
    """Return the keys that are there with what is kept under them, and when it was used."""
    marks = ",".join("?" * len(keys))
    found = f"SELECT key, vector, used FROM vectors WHERE key IN ({marks})"
    return file.execute(found, keys).fetchall()


def _is_recent(used: object) -> bool:
    return isinstance(used, int) and used > time.time() - _DAY


def _numbers(key: bytes, kept: object) -> Floats32 | None:
    """Return the vector that is kept under a key; None where it is not as it was kept."""
    if not isinstance(kept, bytes):
        return None
    numbers = kept[_CHECKSUM:]
    if not numbers or len(numbers) % 4 or kept[:_CHECKSUM] != _seal(key, numbers):
        return None
    return np.frombuffer(numbers, "<f4")


def _seal(key: bytes, numbers: bytes) -> bytes:
    return blake2b(numbers, digest_size=_CHECKSUM, key=key).digest()


def _size(path: Path) -> int:
    """Return the size of a file; 0 where there is none."""
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _removed(path: Path) -> int:
    """Remove a file of the cache and what SQLite wrote beside it; return its size."""
    n_bytes = _size(path)
    for suffix in ("", "-journal", "-wal", "-shm"):
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()
    return n_bytes - _size(path)


def _warn(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=4)
