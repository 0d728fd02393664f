"""NumPy's archive with `matrix`, and the terms under `terms` or in STEM.words.txt, one per line.

The names of the dimensions, if there are any, are a JSON list under `classes`. If a term occurs
twice, its first vector is used.
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

_MAX_TERMS_BYTES = 1 << 31  # of the array of terms, in which each is as large as the longest


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of some terms, or of all terms by default, from a matrix of numbers.

    Raises
    ------
    FormatError
        The archive is damaged, has no matrix, or does not have one term per row.
    """
    with files.open_for_reading(path) as stream:
        arrays = _read_arrays(path, stream)
    matrix = arrays.get("matrix", np.empty(0))
    stored_terms = arrays.get("terms")
    names = None
    is_matrix = matrix.ndim == 2 and matrix.shape[1] > 0 and matrix.dtype.kind in "fiu"
    _file.require(path, is_matrix, "no matrix of numbers under the key 'matrix'")
    are_terms = stored_terms is None or (stored_terms.ndim == 1 and stored_terms.dtype.kind == "U")
    _file.require(path, are_terms, "no text under the key 'terms'", "an array of str")
    all_terms = _read_term_file(path) if stored_terms is None else stored_terms.tolist()
    counts = f"{len(all_terms)} terms for {len(matrix)} rows of the matrix"
    _file.require(path, len(all_terms) == len(matrix), counts)
    classes = arrays.get("classes")
    if classes is not None:
        is_text = classes.size == 1 and classes.dtype.kind == "U"
        _file.require(path, is_text, "no text under the key 'classes'", "one JSON list")
        names = _file.parse_names(path, classes.item(), matrix.shape[1])
    rows = _file.find_first_rows(all_terms, terms)
    if len(rows) < len(matrix):
        matrix = matrix[list(rows.values())]
    return _file.to_vectors(path, rows, matrix, names)


def write(path: Path, vectors: WordVectors) -> None:
    """Write vectors and terms into one file. Terms may contain any characters.

    Raises
    ------
    InputError
        A term ends in NUL, or is so long that the array of terms would not fit into memory.
    """
    arrays: dict[str, Any] = {"matrix": vectors.matrix, "terms": _to_array(vectors.terms)}
    if vectors.dimension_names is not None:
        arrays["classes"] = np.array([json.dumps(vectors.dimension_names)])
    with files.replace_atomically(path) as temporary, temporary.open("wb") as out:
        np.savez(out, **arrays)


def _to_array(terms: Sequence[str]) -> NDArray[np.str_]:
    unwritable = next((term for term in terms if term.endswith("\0")), None)
    if unwritable is not None:
        raise InputError(
            f"the term {unwritable!r} ends in NUL, which NumPy's arrays of str drop",
            hint="use the format glove_text",
        )
    longest = max((len(term) for term in terms), default=0)
    if 4 * longest * len(terms) > _MAX_TERMS_BYTES:
        raise InputError(
            f"a term of {longest} characters is too long for npz", hint="use the format glove_text"
        )
    return np.array(terms, dtype=np.str_)


def _read_arrays(path: Path, stream: BinaryIO) -> dict[str, NDArray[Any]]:
    """Read the arrays of this format. Pickled arrays are refused."""
    if path.suffix.lower() in files.COMPRESSIONS:
        stream = io.BytesIO(stream.read())  # an archive is read from its end
    with files.as_format_error(path, "damaged, or not an archive of NumPy", *ARCHIVE_ERRORS):
        files.check_archive(path, stream)
        with zipfile.ZipFile(stream) as archive:
            # NumPy may miss a wrong checksum. It writes no comments, and a comment of the wrong
            # length hides the arrays after it.
            if archive.testzip() or any(member.comment for member in archive.infolist()):
                raise zipfile.BadZipFile("a checksum or the table of contents is wrong")
        stream.seek(0)
        stored_arrays = np.load(stream, allow_pickle=False)
        keys = {"matrix", "terms", "classes"}.intersection(stored_arrays.files)
        arrays = {key: np.asarray(stored_arrays[key]) for key in keys}
        for array in arrays.values():
            check_code_points(array)
        return arrays


def _read_term_file(path: Path) -> list[str]:
    term_file = path.with_name(Path(files.uncompressed_name(path)).stem + ".words.txt")
    problem = f"no terms: no key 'terms' and no file {term_file.name}"
    _file.require(path, term_file.exists(), problem)
    with files.as_format_error(term_file, "not UTF-8"):
        text = files.read_content(term_file).decode("utf-8")
    return text.removesuffix("\n").split("\n") if text else []
