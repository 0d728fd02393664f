"""Fetch a file: checked, resumed where it was cut off, and complete or not there at all."""

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from wordclass import progress
from wordclass.errors import FormatError, MissingDataError, StorageError

_CHUNK = 1 << 17
_SECONDS = 30  # without a byte, after which a connection counts as dead
_ABANDONED = 90  # seconds without a byte, after which a part belongs to nobody
_TRIES = 3


@dataclass(frozen=True)
class Download:
    """A file that anybody may fetch.

    Parameters
    ----------
    file
        The name it gets.
    urls
        Where it is, the preferred place first.
    sha256
        Its checksum; None where nobody published one that we could check.
    """

    file: str
    urls: tuple[str, ...]
    sha256: str | None = None


class _CutError(Exception):
    """The connection broke; what came is good, and the rest may still come."""


class _WrongFileError(Exception):
    """All came, but it is not the file that was promised."""


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
    if target.is_file():
        return target
    with _storing(target):
        folder.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    is_wrong = False
    for url in download.urls:
        try:
            with _part_of(target) as part:
                _fetch_from(url, download, part)
                with _storing(target):
                    _put_in_place(part, target)
            return target
        except _WrongFileError as error:
            is_wrong = True
            failures.append(f"{url}: {error}")
        except (OSError, http.client.HTTPException, _CutError) as error:
            if isinstance(error, StorageError):
                raise
            failures.append(f"{url}: {_reason(error)}")
    told = "; ".join(failures)
    if is_wrong:
        raise FormatError(target, None, f"what was fetched is not the file, nothing kept ({told})")
    raise MissingDataError(
        f"{download.file} could not be downloaded ({told}); try again, or fetch it by other means "
        f"and put it into {folder}"
    )


@contextmanager
def _part_of(target: Path) -> Iterator[Path]:
    """Claim what an earlier try left, or an empty part; what is left afterwards can be claimed.

    Renaming is atomic, so a part has one owner. One that was left by a process that was killed is
    known by its age.
    """
    own = target.with_name(f".{target.name}.part-{uuid4().hex}")
    for left in sorted(target.parent.glob(f".{target.name}.part*")):
        with suppress(OSError):
            is_free = left.name.endswith(".part")
            if is_free or time.time() - left.stat().st_mtime > _ABANDONED:
                os.replace(left, own)
                break
    try:
        yield own
    finally:
        with suppress(OSError):
            os.replace(own, target.with_name(f".{target.name}.part"))


def _put_in_place(part: Path, target: Path) -> None:
    with part.open("rb+") as written:
        os.fsync(written.fileno())
    os.replace(part, target)
    target.with_name(f".{target.name}.version").unlink(missing_ok=True)


def _fetch_from(url: str, download: Download, part: Path) -> None:
    """Fill the part from one place, going on where the connection breaks."""
    for remaining in reversed(range(_TRIES)):
        try:
            _continue(url, download, part)
            break
        except (_CutError, http.client.HTTPException, TimeoutError, ConnectionError):
            if not remaining:
                raise
    if download.sha256 is not None and (found := _sha256(part)) != download.sha256:
        for useless in (part, part.with_name(f".{download.file}.version")):
            useless.unlink(missing_ok=True)
        raise _WrongFileError(f"its sha256 is {found}, expected {download.sha256}")


def _continue(url: str, download: Download, part: Path) -> None:
    """Ask for what the part lacks, and append it; or for all, and begin anew."""
    version_file = part.with_name(f".{download.file}.version")
    start, headers = _what_to_ask(download, part, version_file)
    try:
        response = urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=_SECONDS
        )
    except urllib.error.HTTPError as error:
        error.close()
        if not start or error.code != 416:
            raise
        if error.headers.get("Content-Range", "").endswith(f"/{start}"):
            return  # there is no more, because all is here
        part.unlink()
        raise _CutError("what came before is no part of the file") from error
    with response:
        content_range = response.headers.get("Content-Range", "")
        is_continued = response.status == 206 and content_range.startswith(f"bytes {start}-")
        with _storing(part):
            if not is_continued:
                start = 0
                version_file.write_text(_version_of(response))
            file = part.open("ab" if start else "wb")
        with file:
            _copy(response, file, start, f"downloading {download.file}")


def _what_to_ask(download: Download, part: Path, version_file: Path) -> tuple[int, dict[str, str]]:
    """Return where to go on, and the headers that ask for it.

    The checksum tells in the end whether two halves are of one file. Where there is none, the
    server has to promise that they are, by what it calls the version of the file.
    """
    headers = {"User-Agent": "wordclass", "Accept-Encoding": "identity"}
    start = part.stat().st_size if part.is_file() else 0
    if start and download.sha256 is None:
        version = version_file.read_text() if version_file.is_file() else ""
        if not version:
            return 0, headers
        headers["If-Range"] = version
    if start:
        headers["Range"] = f"bytes={start}-"
    return start, headers


def _version_of(response: http.client.HTTPResponse) -> str:
    tag: str = response.headers.get("ETag", "")
    # a weak tag does not promise the same bytes
    return tag if tag.startswith('"') else response.headers.get("Last-Modified", "")


def _copy(response: http.client.HTTPResponse, file: BinaryIO, done: int, step: str) -> None:
    length = response.headers.get("Content-Length", "")
    total = done + int(length) if length.isdecimal() else None
    progress.report(step, done, total)
    while chunk := response.read(_CHUNK):
        with _storing(Path(file.name)):
            file.write(chunk)
        done += len(chunk)
        progress.report(step, done, total)
    if total is not None and done < total:
        raise _CutError(f"the connection broke after {done:,} of {total:,} bytes")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _storing(path: Path) -> Iterator[None]:
    """Tell trouble with the disk from trouble with the net: both are OSError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{path}: cannot be written: {reason}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server says {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return f"not reached: {error.reason}"
    return str(error) or type(error).__name__
