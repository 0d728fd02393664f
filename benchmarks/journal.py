"""What was measured, one JSON line a row: kept as soon as it is there, never measured twice."""

import json
import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import measuring

Record = dict[str, Any]


class Journal:
    """A file of records, each with a key; the last record of a key counts.

    Parameters
    ----------
    path
        The file.
    packages
        Whose versions are told with every record.
    """

    def __init__(self, path: Path, packages: tuple[str, ...]) -> None:
        self._path = path
        self._packages = packages

    def add(self, key: str, name: str, found: Record) -> None:
        """Keep what was measured, with when and with what; it is on disk when this returns."""
        versions = [f"{package} {metadata.version(package)}" for package in self._packages]
        record = {
            "key": key,
            "name": name,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": measuring.commit(),
            "versions": ", ".join([f"Python {platform.python_version()}", *versions]),
            **found,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(record))  # first, should the line before never have ended
            file.flush()
            os.fsync(file.fileno())

    def kept(self) -> dict[str, Record]:
        """Return the last record of each key; a line that was never finished is passed over."""
        kept = {}
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        for line in text.split("\n"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            kept[record["key"]] = record
        return kept


def write_page(path: Path, text: str) -> None:
    """Replace a page as a whole."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
