"""The corpus format of a file."""

from pathlib import Path

from wordclass import catalogue
from wordclass.errors import InputError
from wordclass.storage import files as storage
from wordclass.storage.addresses import Address


def format_of(path: Path | Address) -> str:
    """Return the name of the corpus format that has the ending of a path."""
    if path.is_dir():
        return "folders"
    name = storage.uncompressed_name(path).lower()
    all_endings: list[str] = []
    for format in catalogue.names("corpus_formats"):
        endings = catalogue.entry("corpus_formats", format).ENDINGS
        if name.endswith(endings):
            return format
        all_endings += endings
    raise InputError(
        f"{path}: its ending names no corpus format",
        expected=f"{', '.join(sorted(all_endings))}, each also with .gz or .zst, "
        "or a folder with one folder per class",
        hint="use format= to name the format",
    )
