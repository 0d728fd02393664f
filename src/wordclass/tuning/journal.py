"""Trials on disk: one line of JSON each, there as soon as the trial is over."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordclass import storage
from wordclass.errors import FormatError, StorageError


@dataclass
class Journal:
    """A file that trials are added to, and what it held before.

    Parameters
    ----------
    path
        The file; None: nothing is kept.
    kept
        The trials of the file by their key, which stands for data and settings: what has another
        key, of other data maybe, stays in the file and is of no concern.
    """

    path: Path | None
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path | None) -> "Journal":
        """Read a journal, if it is there; a last line that was never finished is taken off."""
        journal = cls(path)
        if path is None or not storage.is_there(path):
            return journal
        with storage.reading(path) as stream:
            content = stream.read()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), start=1):
            found = _trial(path, number, line)
            journal.kept[found["key"]] = found
        if len(whole) < len(content):
            _cut(path, len(whole))
        return journal

    def add(self, key: str, trial: Mapping[str, Any]) -> None:
        """Add a trial; it is on disk when this returns."""
        if self.path is None:
            return
        line = json.dumps({"key": key, **trial}) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as file:  # one write: whole, or cut at its end
                file.write(line.encode())
                os.fsync(file.fileno())
        except OSError as error:
            raise _not_writable(self.path, error) from error


def _trial(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    is_trial = isinstance(found, dict) and {"key", "settings", "status", "seconds"} <= found.keys()
    if not is_trial:
        raise FormatError(path, number, "no trial; choose another file for the trials")
    trial: dict[str, Any] = found
    return trial


def _cut(path: Path, n_bytes: int) -> None:
    try:
        os.truncate(path, n_bytes)
    except OSError as error:
        raise _not_writable(path, error) from error


def _not_writable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be written: {error.strerror or error}")
