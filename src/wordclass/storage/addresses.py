"""Remote files that are read with fsspec: s3://, gs://, hdfs://, http://, memory:// and others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from wordclass import catalogue
from wordclass.errors import MissingDataError, MissingExtraError, StorageError, WordClassError

FileIdentity = tuple[Any, ...]

_MAX_SILENCE_SECONDS = 25.0  # of a server; fsspec asks it twice for the metadata of a file
_IDENTITY_FIELDS = ("size", "ETag", "etag", "mtime", "LastModified", "last_modified", "created")


@dataclass(frozen=True)
class Address:
    """The address of a remote file. Readers use it like a `Path`."""

    url: str

    @classmethod
    def matches(cls, name: str) -> bool:
        """Return True if a name is an address rather than a path."""
        return "://" in name

    @property
    def name(self) -> str:
        """The last component of the address."""
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
        """Return True if the address is that of an existing file."""
        with self._connection() as (system, path):
            return (_info_of(system, path) or {}).get("type") == "file"

    def is_dir(self) -> bool:
        """Return True if the address is that of an existing folder."""
        with self._connection() as (system, path):
            return bool(system.isdir(path))

    def exists(self) -> bool:
        """Return True if a file or folder exists at the address."""
        with self._connection() as (system, path):
            return _info_of(system, path) is not None

    def identity(self) -> FileIdentity | None:
        """Return values that differ once the file has changed, or None if there is no file."""
        with self._connection() as (system, path):
            info = _info_of(system, path)
            return None if info is None else tuple(str(info.get(key)) for key in _IDENTITY_FIELDS)

    @property
    def size(self) -> int | None:
        """The number of bytes, or None if the server does not tell it."""
        with self._connection() as (system, path):
            info = _info_of(system, path)
            if info is None:
                raise MissingDataError(f"{self}: no such file")
            size: int | None = info.get("size")
            return size

    def files(self) -> list["Address"]:
        """List the files of a folder, or the files that match a pattern with *, sorted by name."""
        with self._connection() as (system, path):
            is_pattern = any(sign in path for sign in "*?[")
            paths = system.glob(path) if is_pattern else system.ls(path, detail=False)
            urls = sorted(system.unstrip_protocol(path) for path in paths)
        return [Address(url) for url in urls]

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the file for reading bytes. Its content is fetched in blocks."""
        with self._connection() as (system, path):
            try:
                stream = system.open(path, "rb")
            except FileNotFoundError as error:
                raise MissingDataError(f"{self}: no such file") from error
            with stream:
                yield stream

    @contextmanager
    def _connection(self) -> Iterator[tuple[Any, str]]:
        """Yield the file system and the path in it. Errors become one line with the address."""
        fsspec = catalogue.import_extra("fsspec.core", f"to read {self}")
        try:
            yield fsspec.url_to_fs(self.url, **self._options())
        except WordClassError:
            raise
        except ImportError as error:  # of s3fs, gcsfs, aiohttp and similar packages
            raise MissingExtraError(f"{self}: {error}") from error
        except Exception as error:  # each file system has errors of its own
            reason = " ".join(str(error).split()) or type(error).__name__
            hint = None
            if isinstance(error, TimeoutError):
                reason = f"no answer within {_MAX_SILENCE_SECONDS:g} seconds"
                hint = "try again later"
            raise StorageError(f"{self}: cannot be read: {reason:.200}", hint=hint) from error

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
        # an unreachable or silent server does not mean that the file is missing
        if isinstance(error.__cause__, OSError):
            raise error.__cause__ from error
        return None
    return info
