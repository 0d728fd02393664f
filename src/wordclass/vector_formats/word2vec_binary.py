"""word2vec's binary format: a header `n q`, then each term, a space, and q little-endian float32.

Some programs put a newline behind every vector, some do not; both are read. Of a term that occurs
twice the first vector counts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats32
from wordclass.errors import FormatError
from wordclass.storage import reading
from wordclass.vector_formats import _dimension_names, _header, _terms
from wordclass.vector_formats._selection import Selection
from wordclass.word_vectors import WordVectors

ENDINGS = (".bin",)
sources = _dimension_names.sources

_CHUNK = 1 << 22
_REPORT_EVERY = 10_000


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of these terms, or of all.

    Raises
    ------
    FormatError
        The file is cut short, holds more than its header says, or has a number that is not finite
        or a term that is not UTF-8.
    """
    selection = Selection(path, terms)
    values = bytearray()
    with reading(path) as stream:
        n_terms, n_dims = _header.parse(path, stream.readline(100))
        for row, (raw, vector) in enumerate(_pairs(path, stream, n_terms, 4 * n_dims), start=1):
            if selection.takes(_terms.decoded(path, None, raw, row), row):
                values += vector
            if row % _REPORT_EVERY == 0:
                progress.report(f"reading {path.name}", row, n_terms)
    matrix = np.frombuffer(values, dtype="<f4").reshape(-1, n_dims)
    return selection.to_vectors(matrix, _dimension_names.read_beside(path, n_dims))


def write(path: Path, vectors: WordVectors) -> None:
    """Write the vectors without newlines behind them; spaces in terms become underscores."""
    _header.write(path, vectors, _written)


def _written(terms: list[bytes], matrix: Floats32) -> Iterator[bytes]:
    for term, vector in zip(terms, matrix, strict=True):
        yield b"%s %s" % (term, vector.astype("<f4").tobytes())


def _pairs(
    path: Path, stream: BinaryIO, n_terms: int, n_bytes: int
) -> Iterator[tuple[bytes, bytes]]:
    """Cut the file into terms and vectors, both still bytes."""
    buffer, start = b"", 0
    for row in range(n_terms):
        while True:
            space = buffer.find(b" ", start)
            end = space + 1 + n_bytes
            if space >= 0 and end <= len(buffer):
                break
            chunk = stream.read(_CHUNK)
            if not chunk:
                reason = f"cut short: the header says {n_terms} vectors, but {row} are complete"
                raise FormatError(path, None, reason)
            buffer, start = buffer[start:] + chunk, 0
        yield buffer[start:space].lstrip(b"\n"), buffer[space + 1 : end]
        start = end
    if (buffer[start:] + stream.read(2)).strip(b"\n"):
        reason = f"the header says {n_terms} vectors, but more bytes follow them"
        raise FormatError(path, None, reason)
