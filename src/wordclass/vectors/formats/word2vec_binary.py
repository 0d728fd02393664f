"""word2vec's binary format: a header `n q`, then each term, a space, and q little-endian float32.

Some programs write a newline after every vector, and some do not. Both variants can be read. If a
term occurs twice, its first vector is used.
"""

from itertools import chain
from pathlib import Path

import numpy as np

from wordclass import progress
from wordclass.errors import FormatError
from wordclass.storage.files import open_for_reading
from wordclass.vectors.formats import _file
from wordclass.vectors.word_vectors import WordVectors

ENDINGS = (".bin",)

_TERMS_PER_REPORT = 10_000


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of some terms, or of all terms by default.

    Raises
    ------
    FormatError
        The file is too short or too long for its header, or contains a number that is not finite
        or a term that is not UTF-8.
    """
    rows: dict[str, int] = {}  # rows of the file, counted from 1
    numbers = bytearray()
    with open_for_reading(path) as stream:
        n_terms, n_dims = _file.read_sizes(path, stream)
        reader = _file.ByteReader(stream)
        for row in range(1, n_terms + 1):
            try:
                term_bytes = reader.read_until(b" ").lstrip(b"\n")
                vector = reader.read(4 * n_dims)
                term = term_bytes.decode("utf-8")
            except EOFError as error:
                problem = f"the header says {n_terms} vectors, but {row - 1} are complete"
                raise EOFError(problem) from error
            except UnicodeDecodeError as error:
                problem = f"the term of vector {row}, {term_bytes!r}, is not UTF-8: {error.reason}"
                raise FormatError(path, None, problem) from error
            if (terms is None or term in terms) and rows.setdefault(term, row) == row:
                numbers += vector
            if row % _TERMS_PER_REPORT == 0:
                progress.report(f"reading {path.name}", row, n_terms)
        too_many = f"the header says {n_terms} vectors, but more bytes follow them"
        _file.require(path, not reader.peek(2).strip(b"\n"), too_many)
    matrix = np.frombuffer(numbers, dtype="<f4").reshape(-1, n_dims)
    return _file.to_vectors(path, rows, matrix, _file.read_names(path, n_dims))


def write(path: Path, vectors: WordVectors) -> None:
    """Write vectors without newlines after them. Spaces in terms become underscores."""
    terms = _file.encode_terms(_file.replace_spaces(vectors.terms))
    header = b"%d %d\n" % vectors.matrix.shape
    rows = zip(terms, vectors.matrix.astype("<f4", copy=False), strict=True)
    records = (b"%s %s" % (term, row.tobytes()) for term, row in rows)
    _file.write(path, vectors, chain([header], records))
