"""Vectors as lines of text, `term v1 ... vq`: what the text formats share.

Lines end at a newline only: terms may hold any other character that Unicode ends lines at.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from wordclass import progress
from wordclass.arrays import Floats32
from wordclass.errors import FormatError
from wordclass.vector_formats import _dimension_names, _terms
from wordclass.vector_formats._selection import Selection
from wordclass.word_vectors import WordVectors

_BLOCK = 1000  # lines whose numbers are parsed or written at a time
_REPORT_EVERY = 10_000
LINE_ENDS = b" \r\n"  # word2vec and fastText write a space after the last number


def read(
    path: Path,
    lines: Iterable[bytes],
    n_dims: int,
    wanted: frozenset[str] | None,
    first_line: int = 1,
    n_lines: int | None = None,
) -> WordVectors:
    """Read lines whose last `n_dims` fields are numbers; what stands before is the term.

    The numbers of terms that are not wanted are counted, but not looked at.
    """
    selection = Selection(path, wanted)
    values = bytearray()
    pending: dict[int, bytes] = {}  # line -> its numbers, not yet parsed
    for row, line in enumerate(lines, start=1):
        number = first_line + row - 1
        raw, numbers = _cut(path, number, line.rstrip(LINE_ENDS), n_dims)
        if selection.takes(_terms.decoded(path, number, raw, row), number):
            pending[number] = numbers
        if len(pending) == _BLOCK:
            values += _parsed(path, pending).tobytes()
            pending.clear()
        if row % _REPORT_EVERY == 0:
            progress.report(f"reading {path.name}", row, n_lines)
    values += _parsed(path, pending).tobytes()
    matrix = np.frombuffer(values, dtype=np.float32).reshape(-1, n_dims)
    names = _dimension_names.read_beside(path, n_dims)
    return selection.to_vectors(matrix, names, has_lines=True)


def _cut(path: Path, number: int, line: bytes, n_dims: int) -> tuple[bytes, bytes]:
    """Cut a line in two: the term, and exactly `n_dims` fields."""
    if line.count(b" ") == n_dims:
        term, _, numbers = line.partition(b" ")
        return term, numbers
    term, *fields = line.rsplit(b" ", n_dims)
    if len(fields) != n_dims:
        reason = f"expected a term and {n_dims} numbers, found {len(fields) + 1} fields"
        raise FormatError(path, number, reason)
    return term, line[len(term) + 1 :]


def _parsed(path: Path, pending: dict[int, bytes]) -> Floats32:
    """Parse the numbers of many lines at once; where one is bad, again to say which."""
    text = b" ".join(pending.values()).decode("ascii", errors="replace")
    fields = pl.Series([text] if pending else [], dtype=pl.String).str.split(" ").explode()
    try:
        parsed = fields.cast(pl.Float64).to_numpy()
    except pl.exceptions.PolarsError:
        parsed = np.array([_numbers(path, *line) for line in pending.items()]).ravel()
    with np.errstate(over="ignore"):  # an infinity then, which is refused
        return parsed.astype(np.float32)


def _numbers(path: Path, number: int, text: bytes) -> list[float]:
    try:
        return [to_number(field) for field in text.split(b" ")]
    except ValueError as error:
        raise FormatError(path, number, f"not a number: {error}") from error


def to_number(field: bytes) -> float:
    """Read a number; unlike in Python source, no underscores between the digits.

    Raises
    ------
    ValueError
        It is none.
    """
    if b"_" in field:
        raise ValueError(f"could not convert string to float: {field!r}")
    return float(field)


def written(terms: list[bytes], matrix: Floats32) -> Iterator[bytes]:
    """Write one line a vector, with the fewest digits from which the same float32 is read."""
    for start in range(0, len(terms), _BLOCK):
        block = matrix[start : start + _BLOCK]
        n_dims = block.shape[1]
        numbers = _as_text(block.ravel())
        for row, term in enumerate(terms[start : start + _BLOCK]):
            fields = numbers[row * n_dims : (row + 1) * n_dims]
            yield b"%s %s\n" % (term, " ".join(fields).encode("ascii"))


def _as_text(values: Floats32) -> list[str]:
    shortest = pl.Series(values).cast(pl.String)
    texts = shortest.to_list()
    # readers that round to float64 first, ours among them, may then round to the neighbor of the
    # float32 that was meant (7.038531e-26 is such a number): those few get all their digits
    read_back = shortest.cast(pl.Float64).to_numpy().astype(np.float32)
    for k in np.flatnonzero(read_back != values):
        texts[k] = repr(float(values[k]))
    return texts
