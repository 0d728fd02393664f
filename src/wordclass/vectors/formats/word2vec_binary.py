"""word2vec's binary format: a header `n q`, then each term, a space, and q little-endian float32.

Some programs put a newline behind every vector, some do not; both are read. Of a term that occurs
twice the first vector counts.
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

_REPORT_EVERY = 10_000


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of these terms, or of all.

    Raises
    ------
    FormatError
        The file is cut short, holds more than its header says, or has a number that is not finite
        or a term that is not UTF-8.
    """
    rows: dict[str, int] = {}  # of the file, counted from 1
    values = bytearray()
    with open_for_reading(path) as stream:
        n_terms, n_dims = _file.read_sizes(path, stream)
        source = _file.Bytes(stream)
        for row in range(1, n_terms + 1):
            try:
                raw, vector = source.read_until(b" ").lstrip(b"\n"), source.read(4 * n_dims)
                term = raw.decode("utf-8")
            except EOFError as error:
                reason = f"the header says {n_terms} vectors, but {row - 1} are complete"
                raise EOFError(reason) from error
            except UnicodeDecodeError as error:
                reason = f"the term of vector {row}, {raw!r}, is not UTF-8: {error.reason}"
                raise FormatError(path, None, reason) from error
            if (terms is None or term in terms) and rows.setdefault(term, row) == row:
                values += vector
            if row % _REPORT_EVERY == 0:
                progress.report(f"reading {path.name}", row, n_terms)
        too_many = f"the header says {n_terms} vectors, but more bytes follow them"
        _file.expect(path, not source.rest(2).strip(b"\n"), too_many)
    matrix = np.frombuffer(values, dtype="<f4").reshape(-1, n_dims)
    return _file.to_vectors(path, rows, matrix, _file.read_names(path, n_dims))


def write(path: Path, vectors: WordVectors) -> None:
    """Write the vectors without newlines behind them; spaces in terms become underscores."""
    terms = _file.encoded(_file.without_spaces(vectors.terms))
    header = b"%d %d\n" % vectors.matrix.shape
    rows = zip(terms, vectors.matrix.astype("<f4", copy=False), strict=True)
    pairs = (b"%s %s" % (term, row.tobytes()) for term, row in rows)
    _file.write(path, vectors, chain([header], pairs))
