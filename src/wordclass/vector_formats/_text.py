"""Vectors as lines of text, `term v1 ... vq`: numbers rounded once, errors with their line.

Lines end at a newline only: terms may hold any other character that Unicode ends lines at. Lines
are read by the compiled reader or else by `PlainReader`, which does the same; what either does not
understand is looked at here.
"""

import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl

from wordclass import native, progress
from wordclass.arrays import Floats32
from wordclass.errors import FormatError
from wordclass.vector_formats import _file
from wordclass.word_vectors import WordVectors

LINE_ENDS = b" \r\n"  # word2vec and fastText write a space after the last number

_BLOCK_BYTES = 1 << 20  # read at a time
_BLOCK_LINES = 1000  # written at a time
_HALF = 1 << 28  # a double has 29 bits more than a float32: this is the middle between two of them


def blocks_of(stream: BinaryIO) -> Iterator[bytes]:
    """Cut what is left of a file into blocks of whole lines."""
    while block := stream.read(_BLOCK_BYTES):
        yield block + stream.readline()


def read(
    path: Path,
    blocks: Iterable[bytes],
    n_dims: int,
    wanted: frozenset[str] | None,
    n_lines: int | None = None,
) -> WordVectors:
    """Read lines whose last fields are numbers; what stands before is the term.

    Parameters
    ----------
    path : Path
        The file they are of.
    blocks : iterable of bytes
        Whole lines, the last one perhaps without its newline.
    n_dims : int
        How many fields at the end of a line are numbers.
    wanted : frozenset of str, or None for all
        Terms to keep; the numbers of others are counted, but not looked at.
    n_lines : int, default=None
        How many lines there are, as the line before them says; None where there is no such line.

    Raises
    ------
    FormatError
        For the first bad line.
    """
    native.warn_if_missing()
    kind: Any = PlainReader if native.text_reader is None else native.text_reader.TextReader
    # lone surrogates become bytes that stand in no file
    keys = None if wanted is None else [term.encode("utf-8", "surrogatepass") for term in wanted]
    reader = kind(n_dims, keys)
    terms, values = bytearray(), bytearray()
    first_line, n_read = 1 if n_lines is None else 2, 0
    for block in blocks:
        found = reader.read(block)
        terms += found[0]
        values += _checked_numbers(path, first_line + n_read, block, n_dims, found).data
        n_read += found[4]
        if n_lines is not None and n_read > n_lines:
            reason = f"the header says {n_lines} vectors, but here is one more line"
            raise FormatError(path, first_line + n_lines, reason)
        progress.report(f"reading {path.name}", n_read, n_lines)
    if n_lines is not None and n_read < n_lines:
        reason = f"the header says {n_lines} vectors, but the file ends after {n_read}"
        raise FormatError(path, None, reason)
    matrix = np.frombuffer(values, dtype=np.float32).reshape(-1, n_dims)
    listed = terms.decode("utf-8").split("\n")[:-1]
    return _file.to_vectors(path, listed, matrix, _file.read_names(path, n_dims))


# terms, each with a newline behind it; their lines; numbers; place, line, start and end of fields
# that were not understood; how many lines are good, and whether a bad one follows
_Found = tuple[bytes, Any, Floats32, list[tuple[int, int, int, int]], int, bool]


def _checked_numbers(
    path: Path, first_line: int, block: bytes, n_dims: int, found: _Found
) -> Floats32:
    """Read the fields that the reader did not understand; say what is wrong with the first line."""
    terms, _, numbers, unread, n_good, has_bad_line = found
    for place, line, start, end in unread:
        try:
            numbers[place] = to_float32(block[start:end])
        except ValueError as error:
            raise FormatError(path, first_line + line, f"not a number: {error}") from error
        if not np.isfinite(numbers[place]):
            term = terms.decode("utf-8").split("\n")[place // n_dims]
            reason = f"the vector of {term!r} holds a NaN, an infinity or a number too large"
            raise FormatError(path, first_line + line, reason)
    if has_bad_line:
        line_text = block.split(b"\n", n_good + 1)[n_good].rstrip(LINE_ENDS)
        term, *fields = line_text.rsplit(b" ", n_dims)
        reason = f"the term {term!r} is not UTF-8"
        if len(fields) < n_dims:
            reason = f"expected a term and {n_dims} numbers, found {len(fields) + 1} fields"
        raise FormatError(path, first_line + n_good, reason)
    return numbers


class PlainReader:
    """Lines read by plain Python: what `native.text_reader.TextReader` does, only slower."""

    def __init__(self, n_dims: int, wanted: list[bytes] | None) -> None:
        self._n_dims = n_dims
        self._wanted = None if wanted is None else set(wanted)
        self._known: set[bytes] = set()

    def read(self, block: bytes) -> _Found:
        """Read whole lines, up to the first bad one."""
        kept: list[_Line] = []
        n_good, start = 0, 0
        for text in block.removesuffix(b"\n").split(b"\n") if block else []:
            line = text.rstrip(LINE_ENDS)
            term, *fields = line.rsplit(b" ", self._n_dims)
            if len(fields) < self._n_dims or not _is_utf8(term):
                return self._found(kept, n_good, has_bad_line=True)
            if term not in self._known and (self._wanted is None or term in self._wanted):
                self._known.add(term)
                skipped = len(term) + 1
                kept.append(_Line(term, line[skipped:], n_good, start + skipped))
            n_good += 1
            start += len(text) + 1
        return self._found(kept, n_good, has_bad_line=False)

    def _found(self, kept: list["_Line"], n_good: int, has_bad_line: bool) -> _Found:
        text = b" ".join(line.numbers for line in kept).decode("ascii", errors="replace")
        fields = pl.Series([text] if kept else [], dtype=pl.String).str.split(" ").explode()
        doubles = fields.cast(pl.Float64, strict=False).to_numpy()  # NaN for what is no number
        with np.errstate(over="ignore"):
            values = doubles.astype(np.float32)
        # a double in the middle between two float32 may have been rounded to it, tiny ones as well
        is_middle = (doubles.view(np.int64) & (2 * _HALF - 1)) == _HALF
        is_tiny = (doubles != 0) & (np.abs(doubles) < np.finfo(np.float32).tiny)
        unread = []
        for place in np.flatnonzero(is_middle | is_tiny | ~np.isfinite(values)).tolist():
            line, column = kept[place // self._n_dims], place % self._n_dims
            sizes = [len(field) for field in line.numbers.split(b" ")[: column + 1]]
            start = line.start + sum(sizes[:-1]) + column
            unread.append((place, line.number, start, start + sizes[-1]))
        terms = b"".join(line.term + b"\n" for line in kept)
        return terms, [line.number for line in kept], values, unread, n_good, has_bad_line


class _Line(NamedTuple):
    term: bytes
    numbers: bytes
    number: int  # of the line in its block
    start: int  # where in the block the numbers start


def _is_utf8(term: bytes) -> bool:
    try:
        term.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


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


def to_float32(field: bytes) -> np.float32:
    """Read a number and round it once; a number too large becomes an infinity.

    Rounded to a double first and then to float32, a number close to the middle between two
    float32 may end up as the wrong one of them.

    Raises
    ------
    ValueError
        It is no number.
    """
    number = to_number(field)
    if number and math.isfinite(number):
        exact = Decimal(field.decode("ascii"))
        is_odd = int(np.float64(number).view(np.int64)) & 1
        if exact != number and not is_odd:
            # of the two doubles around it take the odd one: it is never in the middle between
            # two float32, so rounding once more goes the way the exact number would go
            number = math.nextafter(number, math.inf if exact > number else -math.inf)
    with np.errstate(over="ignore"):
        return np.float32(number)


def written(terms: list[bytes], matrix: Floats32) -> Iterator[bytes]:
    """Write one line per vector, with the fewest digits from which the same float32 is read."""
    for start in range(0, len(terms), _BLOCK_LINES):
        values = matrix[start : start + _BLOCK_LINES].ravel()
        shortest = pl.Series(values).cast(pl.String)
        texts = shortest.to_list()
        # readers that round to float64 first may then round to the neighbor of the float32 that
        # was meant (7.038531e-26 is such a number): those few get all their digits
        read_back = shortest.cast(pl.Float64).to_numpy().astype(np.float32)
        for k in np.flatnonzero(read_back != values):
            texts[k] = repr(float(values[k]))
        n_dims = matrix.shape[1]
        for row, term in enumerate(terms[start : start + _BLOCK_LINES]):
            fields = texts[row * n_dims : (row + 1) * n_dims]
            yield b"%s %s\n" % (term, " ".join(fields).encode("ascii"))
