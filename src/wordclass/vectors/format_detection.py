"""Detection of the format of a file of vectors, by its ending or its content."""

from pathlib import Path
from types import ModuleType

from wordclass import catalogue
from wordclass.errors import InputError
from wordclass.storage.files import COMPRESSIONS, open_for_reading, uncompressed_name

_SAMPLE_BYTES = 1 << 16  # read to detect the format


def detect_format(path: Path) -> str:
    """Return the name of the format of a file.

    The first bytes decide if a format claims them, and otherwise the ending. The format of a text
    file follows from its first line: if it consists of two integers, the format is word2vec's.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    InputError
        Neither the bytes nor the ending belong to a known format.
    """
    with open_for_reading(path) as stream:
        sample = stream.read(_SAMPLE_BYTES)
    for name, module in _format_modules().items():
        if hasattr(module, "MAGIC") and sample.startswith(module.MAGIC):
            return name
    name_by_ending = _format_by_ending(path)
    if name_by_ending not in (None, "glove_text", "word2vec_text"):
        return name_by_ending
    if name_by_ending is None and b"\0" in sample:
        raise InputError(
            f"{path}: neither its ending nor its first bytes name a vector format",
            expected=_list_formats("read"),
            hint="name the format with format=",
        )
    fields = sample.split(b"\n", 1)[0].split()
    has_header = len(fields) == 2 and all(field.isdigit() for field in fields)
    return "word2vec_text" if has_header else "glove_text"


def format_to_write(path: Path, format: str | None) -> str:
    """Return the name of the format for a new file.

    Parameters
    ----------
    path : Path
        The new file.
    format : str or None
        Requested format. None means that the ending decides.

    Raises
    ------
    InputError
        The ending is unknown or that of a compressed file, or the format cannot be written.
    """
    if path.suffix.lower() in COMPRESSIONS:
        raise InputError(
            f"{path}: compressed files of vectors are read, not written",
            hint=f"leave out {path.suffix}",
        )
    name = format or _format_by_ending(path)
    if name is None:
        raise InputError(
            f"{path}: its ending names no vector format",
            expected=_list_formats("write"),
            hint="name the format with format=",
        )
    if not hasattr(catalogue.entry("vector_formats", name), "write"):
        raise InputError(
            f"{path}: word vectors cannot be saved as {name}", expected=_list_formats("write")
        )
    return name


def _format_modules() -> dict[str, ModuleType]:
    return {
        name: catalogue.entry("vector_formats", name) for name in catalogue.names("vector_formats")
    }


def _format_by_ending(path: Path) -> str | None:
    file_name = uncompressed_name(path).lower()
    names = (
        name for name, module in _format_modules().items() if file_name.endswith(module.ENDINGS)
    )
    return next(names, None)


def _list_formats(function: str) -> str:
    """Return the endings and names of the formats that define a function, "read" or "write"."""
    return ", ".join(
        f"{ending} ({name})"
        for name, module in _format_modules().items()
        if hasattr(module, function)
        for ending in module.ENDINGS
    )
