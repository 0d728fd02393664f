"""The corpus format of a file, by its ending and its content."""

import re
from pathlib import Path

from wordclass import catalogue
from wordclass.corpus.cells import detect_delimiter
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, InputError
from wordclass.storage import files as storage
from wordclass.storage.addresses import Address

_ALIASES = {"json": "jsonl"}
_SAMPLE_BYTES = 1 << 16
_MIN_SHARE_OF_LINES = 0.9  # that must look like a format
_ANNIF_LINE = re.compile(r"[^\n]*\t(<[^<>\s]+>( +<[^<>\s]+>)*)?\s*")
_FIRST_BYTES = {b"PAR1": "parquet", b"PK\x03\x04": "xlsx"}
_JSON_START = re.compile(r'\s*(\{\s*"|\[\s*[{\[])')
_CERTAIN = ("jsonl", "parquet", "xlsx", "annif")  # content that no other format has


def choose_format(path: Path | Address, options: ReadOptions) -> str:
    """Return the name of the format of a file or folder.

    The option `format` decides, else the ending, unless the content is clearly of another format.
    """
    if options.format is not None:
        return _ALIASES.get(options.format, options.format)
    if path.is_dir():
        return "annif" if is_annif_folder(path) else "folders"
    by_ending = _format_by_ending(path)
    by_content = None
    if isinstance(path, Path) and path.is_file() and by_ending != "parquet":
        by_content = _format_by_content(path)
    if by_ending is None:
        if by_content is None:
            raise _unknown_ending(path)
        return by_content
    is_text = by_ending in ("csv", "tsv") or (by_ending == "fasttext" and not options.texts_only)
    if is_text and by_content in _CERTAIN:
        return str(by_content)
    if by_ending == "fasttext" and is_text and by_content == "tsv":
        return "tsv"
    return by_ending


def format_of(path: Path | Address) -> str:
    """Return the name of the format of a file or folder, with default options."""
    return choose_format(path, ReadOptions())


def is_annif_folder(path: Path | Address) -> bool:
    """Return True for a folder of Annif's full-text documents: FILE.txt with FILE.key or .tsv."""
    if not isinstance(path, Path) or not path.is_dir():
        return False
    with storage.as_storage_error(path):
        names = {file.name for file in path.iterdir()}
    stems = [name.removesuffix(".txt") for name in names if name.endswith(".txt")]
    return any(f"{stem}{ending}" in names for stem in stems for ending in (".key", ".tsv"))


def _format_by_ending(path: Path | Address) -> str | None:
    name = storage.uncompressed_name(path).lower()
    for format in catalogue.names("corpus_formats"):
        if name.endswith(catalogue.entry("corpus_formats", format).ENDINGS or ("/",)):
            return format
    return None


def _format_by_content(path: Path) -> str | None:
    """Return the format that the first bytes of a file show, or None."""
    try:
        with storage.open_for_reading(path) as stream:
            content = stream.read(_SAMPLE_BYTES)
    except FormatError:
        return None  # reading the file names the damage
    for start, format in _FIRST_BYTES.items():
        if content.startswith(start):
            return format
    if content.startswith(b"SQLite format 3\0"):
        raise InputError(f"{path}: an SQLite database", hint="export its table as a .csv file")
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = text.split("\n")
    if len(content) == _SAMPLE_BYTES:
        lines.pop()  # cut off
    lines = [line for line in lines if line.strip()]
    return None if b"\0" in content or not lines else _format_of_lines(lines)


def _format_of_lines(lines: list[str]) -> str | None:
    if _JSON_START.match(lines[0]) or lines[0].strip() in ("{", "["):
        return "jsonl"
    if any(line.lstrip().startswith("__label__") for line in lines):
        return "fasttext"
    n_matches = sum(_ANNIF_LINE.fullmatch(line) is not None for line in lines)
    if n_matches >= _MIN_SHARE_OF_LINES * len(lines) and any("\t<" in line for line in lines):
        return "annif"
    counts = {line.count("\t") for line in lines}
    if len(lines) > 1 and len(counts) == 1 and counts != {0}:
        return "tsv"
    delimiter = detect_delimiter([f"{line}\n" for line in lines[:64]])
    return "csv" if len(lines) > 1 and delimiter in lines[0] else None


def _unknown_ending(path: Path | Address) -> InputError:
    endings = [
        ending
        for format in catalogue.names("corpus_formats")
        for ending in catalogue.entry("corpus_formats", format).ENDINGS
    ]
    return InputError(
        f"{path}: neither its ending nor its content shows a corpus format",
        expected=f"{', '.join(sorted(endings))}, each also with .gz or .zst, "
        "or a folder with one folder per class",
        hint="use format= (--format) to name the format",
    )
