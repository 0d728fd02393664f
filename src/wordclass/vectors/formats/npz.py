"""numpy's archive: `matrix`, and the terms under `terms` or as lines of STEM.words.txt beside it.

The names of the dimensions, where there are any, are a JSON list under `classes`. Of a term that
occurs twice the first vector counts.
"""

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from wordclass.arrays import check_code_points
from wordclass.errors import InputError
from wordclass.storage import files
from wordclass.storage.compression import ARCHIVE_ERRORS
from wordclass.vectors.formats import _file
from wordclass.vectors.word_vectors import WordVectors

ENDINGS = (".npz",)
IS_QUICK = True

_MOST_BYTES = 1 << 31  # of the array of terms, where each takes as much room as the longest


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of these terms, or of all, from a matrix of any float type.

    Raises
    ------
    FormatError
        The archive is damaged; it has no matrix, or not one term per row.
    """
    with files.open_for_reading(path) as stream:
        arrays = _read_arrays(path, stream)
    matrix, stored, names = arrays.get("matrix", np.empty(0)), arrays.get("terms"), None
    is_matrix = matrix.ndim == 2 and matrix.shape[1] > 0 and matrix.dtype.kind in "fiu"
    _file.expect(path, is_matrix, "expected a matrix of numbers under the key 'matrix'")
    are_terms = stored is None or (stored.ndim == 1 and stored.dtype.kind == "U")
    _file.expect(path, are_terms, "expected an array of str under the key 'terms'")
    listed = _terms_beside(path) if stored is None else stored.tolist()
    counts = f"{len(listed)} terms for {len(matrix)} rows of the matrix"
    _file.expect(path, len(listed) == len(matrix), counts)
    if (classes := arrays.get("classes")) is not None:
        is_text = classes.size == 1 and classes.dtype.kind == "U"
        _file.expect(path, is_text, "expected one JSON list under the key 'classes'")
        names = _file.names_from_json(path, classes.item(), matrix.shape[1])
    kept = _file.first_rows(listed, terms)
    if len(kept) < len(matrix):
        matrix = matrix[list(kept.values())]
    return _file.to_vectors(path, kept, matrix, names)


def write(path: Path, vectors: WordVectors) -> None:
    """Write the vectors and their terms, whatever these hold, into one file.

    Raises
    ------
    InputError
        A term ends in NUL, or is so long that the array of terms would not fit into memory.
    """
    arrays: dict[str, Any] = {"matrix": vectors.matrix, "terms": _as_array(vectors.terms)}
    if vectors.dimension_names is not None:
        arrays["classes"] = np.array([json.dumps(vectors.dimension_names)])
    with files.replace_atomically(path) as temporary, temporary.open("wb") as out:
        np.savez(out, **arrays)


def _as_array(terms: Sequence[str]) -> NDArray[np.str_]:
    if (bad := next((term for term in terms if term.endswith("\0")), None)) is not None:
        raise InputError(f"the term {bad!r} ends in NUL, which arrays of str lose")
    longest = max((len(term) for term in terms), default=0)
    if 4 * longest * len(terms) > _MOST_BYTES:
        raise InputError(f"a term of {longest} characters is too long for npz; not for glove_text")
    return np.array(terms, dtype=np.str_)


def _read_arrays(path: Path, stream: BinaryIO) -> dict[str, NDArray[Any]]:
    """Read the arrays this format knows, and no pickled ones."""
    if path.suffix.lower() in files.COMPRESSIONS:
        stream = io.BytesIO(stream.read())  # archives are read from their end
    with files.as_format_error(path, "damaged, or no archive of numpy's", *ARCHIVE_ERRORS):
        files.check_archive(path, stream)
        with zipfile.ZipFile(stream) as archive:
            # numpy itself may miss a wrong checksum; and it writes no comments, but a comment of
            # the wrong length hides the arrays that follow
            if archive.testzip() or any(member.comment for member in archive.infolist()):
                raise zipfile.BadZipFile("a checksum or the table of contents is bad")
        stream.seek(0)
        arrays = np.load(stream, allow_pickle=False)
        keys = {"matrix", "terms", "classes"}.intersection(arrays.files)
        known = {key: np.asarray(arrays[key]) for key in keys}
        for array in known.values():
            check_code_points(array)
        return known


def _terms_beside(path: Path) -> list[str]:
    words = path.with_name(Path(files.uncompressed_name(path)).stem + ".words.txt")
    _file.expect(path, words.exists(), f"no terms: no key 'terms' and no file {words.name}")
    with files.as_format_error(words, "not UTF-8"):
        text = files.read_content(words).decode("utf-8")
    return text.removesuffix("\n").split("\n") if text else []
