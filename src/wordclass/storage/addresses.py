"""Files that are reached through fsspec: s3://, gs://, hdfs://, http://, memory:// and others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from wordclass import catalogue
from wordclass.errors import MissingDataError, MissingExtraError, StorageError, WordClassError

FileIdentity = tuple[Any, ...]

_MAX_SILENCE_SECONDS = 25.0  # of a server; fsspec asks it twice what a file is
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
            return (_info_of(system, path) or {}).get("type") == "file"

    def is_dir(self) -> bool:
        """Tell whether it is a folder."""
        with self._asking() as (system, path):
            return bool(system.isdir(path))

    def exists(self) -> bool:
        """Tell whether anything is there."""
        with self._asking() as (system, path):
            return _info_of(system, path) is not None

    def identity(self) -> FileIdentity | None:
        """Return what tells whether the file changed; None where there is none."""
        with self._asking() as (system, path):
            info = _info_of(system, path)
            return None if info is None else tuple(str(info.get(name)) for name in _TOLD)

    @property
    def size(self) -> int | None:
        """Number of bytes; None where nobody knows."""
        with self._asking() as (system, path):
            info = _info_of(system, path)
            if info is None:
                raise MissingDataError(f"{self}: no such file")
            size: int | None = info.get("size")
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
        fsspec = catalogue.import_extra("fsspec.core", f"to read {self}")
        try:
            yield fsspec.url_to_fs(self.url, **self._options())
        except (WordClassError, MissingDataError):
            raise
        except ImportError as error:  # of s3fs, gcsfs, aiohttp and their like
            raise MissingExtraError(f"{self}: {error}") from error
        except Exception as error:  # each file system has errors of its own
            reason = " ".join(str(error).split()) or type(error).__name__
            if isinstance(error, TimeoutError):
                reason = f"no answer within {_MAX_SILENCE_SECONDS:g} seconds; try again later"
            raise StorageError(f"{self}: cannot be read: {reason:.200}") from error

    def _options(self) -> dict[str, Any]:
        """Return options of the file system that limit how long a web server may be silent.

        The default of aiohttp is five minutes for a whole request, also for a long download.
        """
        if not self.url.startswith(("http://", "https://")):
            return {}
        from aiohttp import ClientTimeout

        silence = _MAX_SILENCE_SECONDS
        timeout = ClientTimeout(total=None, sock_connect=silence, sock_read=silence)
        return {"client_kwargs": {"timeout": timeout}}


def _info_of(system: Any, path: str) -> dict[str, Any] | None:  # noqa: ANN401 - of fsspec
    """Return the metadata of a file or folder, or None if it does not exist."""
    try:
        info: dict[str, Any] = system.info(path)
    except FileNotFoundError as error:
        # a server that is not reached, or does not answer, is no missing file
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from error
        return None
    return info
