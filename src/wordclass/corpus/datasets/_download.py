"""Fetch a file: checked, resumed where it was cut off, and complete or not there at all.

pooch does not resume: a break near the end of a large corpus would cost all that came.
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

_CHUNK = 1 << 17
_SECONDS = 30  # without a byte, after which a connection counts as dead
_ABANDONED = 90  # seconds without a byte, after which a part belongs to nobody
_TRIES = 3


@dataclass(frozen=True)
class Download:
    """A file that anybody may fetch.

    Parameters
    ----------
    file : str
        The name it gets.
    urls : tuple of str
        Where it is, the preferred place first.
    sha256 : str, optional
        Its checksum; None where nobody published one that we could check.
    """

    file: str
    urls: tuple[str, ...]
    sha256: str | None = None


class _FailedError(Exception):
    """A place did not give the file; the rest of it may still come, or all came and is wrong."""

    def __init__(self, reason: str, *, may_go_on: bool = False, is_wrong: bool = False) -> None:
        super().__init__(reason)
        self.may_go_on, self.is_wrong = may_go_on, is_wrong


def fetch(download: Download, folder: Path) -> Path:
    """Put the file into the folder and return its path; nothing is done where it is there.

    What came of a download that was cut off is kept beside it, and the next try goes on from
    there. Several processes may fetch the same file at once: each writes its own part, and each
    puts a complete file in place.

    Raises
    ------
    MissingDataError
        No place gave the file: no internet, not found, cut off again and again.
    FormatError
        Something else came: its checksum is wrong. It was thrown away.
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
        with _part_of(target) as part:
            for url in download.urls:
                try:
                    _fetch_from(url, download, part, version)
                except _FailedError as error:
                    failures.append((url, error))
                else:
                    os.replace(part, target)
                    version.unlink(missing_ok=True)
                    return target
    told = "; ".join(f"{url}: {error}" for url, error in failures)
    if any(error.is_wrong for _, error in failures):
        raise FormatError(target, None, f"what was fetched is not the file, nothing kept ({told})")
    raise MissingDataError(
        f"{download.file} could not be downloaded ({told}); try again, or fetch it by other means "
        f"and put it into {folder}"
    )


@contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """Claim what earlier tries left, or an empty part; what is left afterwards can be claimed.

    Renaming is atomic, so a part has one owner. One that was left by a process that was killed is
    known by its age. Of several, one is kept.
    """
    own = target.with_name(f".{target.name}.part-{uuid4().hex}")
    for left in sorted(target.parent.glob(f".{target.name}.part*")):
        with suppress(OSError):
            status = left.lstat()
            is_free = left.name.endswith(".part") or time.time() - status.st_mtime > _ABANDONED
            if is_free and stat.S_ISREG(status.st_mode):  # a pipe would be waited for
                os.replace(left, own)
    try:
        yield own
    finally:
        with suppress(OSError):
            os.replace(own, target.with_name(f".{target.name}.part"))


@contextmanager
def _network() -> Iterator[None]:
    """Tell trouble with the net from trouble with the disk: both are OSError."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise _FailedError(f"the server says {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise _FailedError(f"not reached: {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise _FailedError(str(error) or type(error).__name__, may_go_on=True) from error


def _fetch_from(url: str, download: Download, part: Path, version: Path) -> None:
    """Fill the part from one place, going on where the connection breaks, and check it.

    `version` is the file that keeps what the server calls the version of the part. A server that
    was silent until the connection counted as dead is not asked again unless something came.
    """
    for remaining in reversed(range(_TRIES)):
        size_before = _size_of(part)
        try:
            _continue(url, download, part, version)
            break
        except _FailedError as error:
            is_silent = isinstance(error.__cause__, TimeoutError) and _size_of(part) == size_before
            if is_silent or not (error.may_go_on and remaining):
                raise
    with part.open("rb+") as file:
        os.fsync(file.fileno())
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if download.sha256 not in (None, found):
        part.unlink()
        version.unlink(missing_ok=True)
        raise _FailedError(f"its sha256 is {found}, expected {download.sha256}", is_wrong=True)


def _size_of(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _continue(url: str, download: Download, part: Path, version: Path) -> None:
    """Ask for what the part lacks, and append it; or for all, and begin anew."""
    start, headers = _what_to_ask(download, part, version)
    request = urllib.request.Request(url, headers=headers)
    try:
        with _network():
            response = urllib.request.urlopen(request, timeout=_SECONDS)
    except _FailedError as error:
        cause = error.__cause__
        if not (start and isinstance(cause, urllib.error.HTTPError) and cause.code == 416):
            raise
        if cause.headers.get("Content-Range", "").endswith(f"/{start}"):
            return  # there is no more, because all is here
        part.unlink()
        raise _FailedError("what came before is no part of the file", may_go_on=True) from error
    with response:
        content_range = response.headers.get("Content-Range", "")
        if response.status != 206 or not content_range.startswith(f"bytes {start}-"):
            start = 0
            # a weak tag, W/"...", does not promise the same bytes
            tag, date = (response.headers.get(each, "") for each in ("ETag", "Last-Modified"))
            version.write_text(tag if tag.startswith('"') else date)
        _append(response, part, start, f"downloading {download.file}")


def _what_to_ask(download: Download, part: Path, version: Path) -> tuple[int, dict[str, str]]:
    """Return where to go on, and the headers that ask for it.

    The checksum tells in the end whether two halves are of one file. Where there is none, the
    server has to promise that they are, by what it calls the version of the file.
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
    """Write what comes behind the bytes that are there already."""
    length = response.headers.get("Content-Length", "")
    total = done + int(length) if length.isdecimal() else None
    read = _network()(partial(response.read, _CHUNK))
    with part.open("ab" if done else "wb") as file:
        progress.report(step, done, total)
        for chunk in iter(read, b""):
            file.write(chunk)
            done += len(chunk)
            progress.report(step, done, total)
    if total is not None and done < total:
        reason = f"the connection broke after {done:,} of {total:,} bytes"
        raise _FailedError(reason, may_go_on=True)
