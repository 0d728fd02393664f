"""Trials on disk: one line of JSON each, there as soon as the trial is over."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wordclass import storage
from wordclass.errors import FormatError


@dataclass
class Journal:
    """A file that trials are added to, and what it held before.

    Parameters
    ----------
    path : Path or None
        The file; None: nothing is kept.
    kept : dict
        The trials of the file by their key, which stands for data and settings: what has another
        key, of other data maybe, stays in the file and is of no concern.
    """

    path: Path | None
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path | None) -> "Journal":
        """Read a journal, if it is there; a last line that was never finished is taken off."""
        if path is None or not storage.is_there(path):
            return cls(path)
        content = storage.content_of(path)
        whole = content[: content.rfind(b"\n") + 1]
        trials = [_trial(path, k, line) for k, line in enumerate(whole.splitlines(), start=1)]
        if len(whole) < len(content):
            with storage.accessing(path, "written"):
                os.truncate(path, len(whole))
        return cls(path, {trial["key"]: trial for trial in trials})

    def add(self, key: str, trial: Mapping[str, Any]) -> None:
        """Add a trial; it is on disk when this returns."""
        if self.path is None:
            return
        line = json.dumps({"key": key, **trial}) + "\n"
        with storage.accessing(self.path, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as file:  # one write: whole, or cut at its end
                file.write(line.encode())
                os.fsync(file.fileno())


def _trial(path: Path, number: int, line: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        found = json.loads(line)
        needed = {"key", "settings", "status", "seconds"}
        if isinstance(found, dict) and needed <= found.keys():
            return found
    raise FormatError(path, number, "no trial; choose another file for the trials")
