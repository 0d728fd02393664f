"""Files that are reached through fsspec: s3://, gs://, hdfs://, http://, memory:// and others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from wordclass import naming
from wordclass.errors import MissingDataError, MissingExtraError, StorageError, WordClassError

State = tuple[Any, ...]

_TOLD = ("size", "ETag", "etag", "mtime", "LastModified", "last_modified", "created")


@dataclass(frozen=True)
class Address:
    """The address of one file; as far as readers ask, it looks like a `Path`."""

    url: str

    @classmethod
    def matches(cls, given: str) -> bool:
        """Whether a name is an address, not a path."""
        return "://" in given

    @property
    def name(self) -> str:
        """The last part of it."""
        return PurePosixPath(self.url.partition("://")[2]).name

    @property
    def suffix(self) -> str:
        """The ending of the name."""
        return PurePosixPath(self.name).suffix

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return PurePosixPath(self.name).stem

    def __str__(self) -> str:
        return self.url

    def __fspath__(self) -> str:
        return self.url

    def is_file(self) -> bool:
        """Tell whether there is a file; a folder is none."""
        with self._asking() as (system, path):
            return bool(system.isfile(path))

    def is_dir(self) -> bool:
        """Tell whether it is a folder."""
        with self._asking() as (system, path):
            return bool(system.isdir(path))

    def exists(self) -> bool:
        """Tell whether anything is there."""
        with self._asking() as (system, path):
            return bool(system.exists(path))

    def state(self) -> State | None:
        """Return what tells whether the file changed; None where there is none."""
        with self._asking() as (system, path):
            if not system.exists(path):
                return None
            info = system.info(path)
            return tuple(str(info.get(name)) for name in _TOLD)

    @property
    def size(self) -> int | None:
        """Number of bytes; None where nobody knows."""
        with self._asking() as (system, path):
            size: int | None = system.info(path).get("size")
            return size

    def files(self) -> list["Address"]:
        """List the files of a folder, or those that a pattern with * matches, sorted by name."""
        with self._asking() as (system, path):
            is_pattern = any(sign in path for sign in "*?[")
            found = system.glob(path) if is_pattern else system.ls(path, detail=False)
            urls = sorted(system.unstrip_protocol(each) for each in found)
        return [Address(url) for url in urls]

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the file for reading bytes, a block at a time."""
        with self._asking() as (system, path):
            try:
                stream = system.open(path, "rb")
            except FileNotFoundError as error:
                raise MissingDataError(f"{self}: no such file") from error
            with stream:
                yield stream

    @contextmanager
    def _asking(self) -> Iterator[tuple[Any, str]]:
        """Give the file system and the path in it; what goes wrong there is told in one line."""
        fsspec = naming.extra("fsspec.core", f"to read {self}")
        try:
            yield fsspec.url_to_fs(self.url)
        except (WordClassError, MissingDataError):
            raise
        except ImportError as error:  # of s3fs, gcsfs, aiohttp and their like
            raise MissingExtraError(f"{self}: {error}") from error
        except Exception as error:  # each file system has errors of its own
            reason = " ".join(str(error).split()) or type(error).__name__
            raise StorageError(f"{self}: cannot be read: {reason:.200}") from error
