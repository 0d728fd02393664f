"""Which format a file of vectors has: by its first bytes, its ending, or its first line."""

import codecs
from pathlib import Path

from wordclass import naming
from wordclass.errors import InputError
from wordclass.storage import COMPRESSIONS, reading, uncompressed_name

_SAMPLE = 1 << 16  # bytes looked at where the ending does not tell


def format_to_read(path: Path) -> str:
    """Find the format of a file that is there.

    The first bytes decide where a format claims them; then the ending. Text files are told apart
    by their first line, whatever their ending: two integers and nothing else are the header of
    word2vec's format.
    """
    by_ending = _format_by_ending(path)
    with reading(path) as stream:
        sample = stream.read(_SAMPLE)
    if (by_start := _format_by_start(sample)) is not None:
        return by_start
    if by_ending not in (None, "glove_text", "word2vec_text"):
        return by_ending
    if by_ending is None and not _is_text(sample):
        raise InputError(f"{path}: neither its ending nor its bytes tell; {_known_formats()}")
    fields = sample.split(b"\n", 1)[0].split()
    has_header = len(fields) == 2 and all(field.isdigit() for field in fields)
    return "word2vec_text" if has_header else "glove_text"


def format_to_write(path: Path, format: str | None) -> str:
    """Find the format for a new file, and refuse what cannot be written."""
    if path.suffix.lower() in COMPRESSIONS:
        raise InputError(
            f"{path}: compressed files are read, but not written; leave out {path.suffix}"
        )
    name = format or _format_by_ending(path)
    if name is None:
        raise InputError(f"{path}: its ending names no vector format; {_known_formats(True)}")
    if not _is_written(name):
        raise InputError(f"{path}: word vectors cannot be saved as {name}; {_known_formats(True)}")
    return name


def _is_text(sample: bytes) -> bool:
    try:
        # the last character may be cut in two
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return bool(sample) and b"\0" not in sample


def _endings() -> dict[str, str]:
    """Return the format that claims each ending."""
    formats = naming.names("vector_formats")
    return {end: name for name in formats for end in naming.entry("vector_formats", name).ENDINGS}


def _format_by_ending(path: Path) -> str | None:
    name = uncompressed_name(path).lower()
    return next((format for ending, format in _endings().items() if name.endswith(ending)), None)


def _format_by_start(sample: bytes) -> str | None:
    for name in naming.names("vector_formats"):
        magic: bytes | None = getattr(naming.entry("vector_formats", name), "MAGIC", None)
        if magic is not None and sample.startswith(magic):
            return name
    return None


def _is_written(name: str) -> bool:
    return hasattr(naming.entry("vector_formats", name), "write")


def _known_formats(only_written: bool = False) -> str:
    endings = {
        end: name for end, name in _endings().items() if not only_written or _is_written(name)
    }
    known = ", ".join(f"{ending} ({name})" for ending, name in endings.items())
    return f"known: {known}; format= decides otherwise"
