"""Download of a file with resumption, a checksum and an atomic rename.

pooch does not resume, so a lost connection near the end of a large corpus would cost everything.
"""

import hashlib
import http.client
import os
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

from wordclass import progress
from wordclass.errors import FormatError, MissingDataError
from wordclass.storage.files import as_storage_error

_CHUNK_BYTES = 1 << 17
_TIMEOUT_SECONDS = 30
_ABANDONED_SECONDS = 90  # age after which the partial file of another process can be claimed
_MAX_TRIES = 3


@dataclass(frozen=True)
class Download:
    """A file that anybody may download.

    Parameters
    ----------
    file : str
        Name of the local file.
    urls : tuple of str
        Addresses of the file, the preferred one first.
    sha256 : str, optional
        Checksum of the file. None if no checksum is published.
    """

    file: str
    urls: tuple[str, ...]
    sha256: str | None = None


class _FailedError(Exception):
    """An address did not deliver the file. It can be resumed, or has the wrong content."""

    def __init__(
        self, reason: str, *, can_resume: bool = False, is_wrong_file: bool = False
    ) -> None:
        super().__init__(reason)
        self.can_resume = can_resume
        self.is_wrong_file = is_wrong_file


def fetch(download: Download, folder: Path) -> Path:
    """Download a file into a folder, unless it is there, and return its path.

    An interrupted download leaves a partial file, from which the next attempt resumes. Several
    processes may download the same file at the same time. Each writes its own partial file and
    renames it when it is complete.

    Raises
    ------
    MissingDataError
        No address delivered the file: no internet, not found, or interrupted again and again.
    FormatError
        The checksum of the downloaded file is wrong. The file is deleted.
    StorageError
        The folder cannot be written.
    """
    target = folder / download.file
    failures: list[tuple[str, _FailedError]] = []
    if target.is_file():
        return target
    with as_storage_error(target, "written"):
        folder.mkdir(parents=True, exist_ok=True)
        version = folder / f".{download.file}.version"
        with _partial_file(target) as part:
            for url in download.urls:
                try:
                    _fetch_from(url, download, part, version)
                except _FailedError as error:
                    failures.append((url, error))
                else:
                    os.replace(part, target)
                    version.unlink(missing_ok=True)
                    return target
    reasons = "; ".join(f"{url}: {error}" for url, error in failures)
    if any(error.is_wrong_file for _, error in failures):
        problem = f"the downloaded file has a wrong checksum and was deleted ({reasons})"
        raise FormatError(target, None, problem, hint="try again later")
    raise MissingDataError(
        f"{download.file} could not be downloaded ({reasons})",
        hint=f"try again, or get it by other means and put it into {folder}",
    )


@contextmanager
def _partial_file(target: Path) -> Iterator[Path]:
    """Claim the partial file of an earlier attempt, or a new name, and release it at the end.

    Renaming is atomic, so a partial file has one owner. The partial file of a killed process is
    recognized by its age. Only one of several is kept.
    """
    claimed = target.with_name(f".{target.name}.part-{uuid4().hex}")
    for path in sorted(target.parent.glob(f".{target.name}.part*")):
        with suppress(OSError):
            status = path.lstat()
            is_free = (
                path.name.endswith(".part") or time.time() - status.st_mtime > _ABANDONED_SECONDS
            )
            if is_free and stat.S_ISREG(status.st_mode):  # opening a pipe would block
                os.replace(path, claimed)
    try:
        yield claimed
    finally:
        with suppress(OSError):
            os.replace(claimed, target.with_name(f".{target.name}.part"))


@contextmanager
def _network() -> Iterator[None]:
    """Convert network errors, as errors of the network and of the disk are both OSError."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise _FailedError(f"the server answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise _FailedError(f"cannot be reached: {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise _FailedError(str(error) or type(error).__name__, can_resume=True) from error


def _fetch_from(url: str, download: Download, part: Path, version: Path) -> None:
    """Complete the partial file from one address, resuming lost connections, and check it.

    `version` is the file with the server's version tag of the partial file. After a timeout the
    server is asked again only if some bytes arrived.
    """
    for remaining in reversed(range(_MAX_TRIES)):
        size_before = _size_of(part)
        try:
            _resume(url, download, part, version)
            break
        except _FailedError as error:
            is_silent = isinstance(error.__cause__, TimeoutError) and _size_of(part) == size_before
            if is_silent or not (error.can_resume and remaining):
                raise
    with part.open("rb+") as file:
        os.fsync(file.fileno())
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if download.sha256 not in (None, sha256):
        part.unlink()
        version.unlink(missing_ok=True)
        raise _FailedError(
            f"its sha256 is {sha256}, expected {download.sha256}", is_wrong_file=True
        )


def _size_of(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _resume(url: str, download: Download, part: Path, version: Path) -> None:
    """Request the missing bytes and append them, or request the whole file and start again."""
    start, headers = _range_request(download, part, version)
    request = urllib.request.Request(url, headers=headers)
    try:
        with _network():
            response = urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS)
    except _FailedError as error:
        cause = error.__cause__
        if not (start and isinstance(cause, urllib.error.HTTPError) and cause.code == 416):
            raise
        if cause.headers.get("Content-Range", "").endswith(f"/{start}"):
            return  # the partial file is complete
        part.unlink()
        raise _FailedError(
            "the partial file does not belong to this file", can_resume=True
        ) from error
    with response:
        content_range = response.headers.get("Content-Range", "")
        if response.status != 206 or not content_range.startswith(f"bytes {start}-"):
            start = 0
            # a weak tag, W/"...", does not guarantee the same bytes
            tag = response.headers.get("ETag", "")
            date = response.headers.get("Last-Modified", "")
            version.write_text(tag if tag.startswith('"') else date)
        _append(response, part, start, f"downloading {download.file}")


def _range_request(download: Download, part: Path, version: Path) -> tuple[int, dict[str, str]]:
    """Return the first missing byte and the headers that request it.

    The checksum proves at the end that both halves belong to the same file. Without a checksum
    the version tag of the server must be unchanged.
    """
    headers = {"User-Agent": "wordclass", "Accept-Encoding": "identity"}
    start = _size_of(part)
    if start and download.sha256 is None:
        known = version.read_text() if version.is_file() else ""
        if not known:
            return 0, headers
        headers["If-Range"] = known
    if start:
        headers["Range"] = f"bytes={start}-"
    return start, headers


def _append(response: http.client.HTTPResponse, part: Path, done: int, step: str) -> None:
    """Append the bytes of a response to the partial file."""
    length = response.headers.get("Content-Length", "")
    total = done + int(length) if length.isdecimal() else None
    read = _network()(partial(response.read, _CHUNK_BYTES))
    with part.open("ab" if done else "wb") as file:
        progress.report(step, done, total)
        for chunk in iter(read, b""):
            file.write(chunk)
            done += len(chunk)
            progress.report(step, done, total)
    if total is not None and done < total:
        reason = f"the connection was lost after {done:,} of {total:,} bytes"
        raise _FailedError(reason, can_resume=True)
