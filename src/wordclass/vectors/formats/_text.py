"""Vectors as lines of text, `term v1 ... vq`: numbers rounded once, errors with their line.

Lines end at a newline only: terms may hold any other character that Unicode ends lines at. Lines
are read by the compiled reader or else by `PlainReader`, which does the same; what either does not
understand is looked at here.
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from wordclass import progress
from wordclass.arrays import NONFINITE_VALUE, Floats32
from wordclass.errors import FormatError
from wordclass.native import extension
from wordclass.vectors.formats import _file
from wordclass.vectors.word_vectors import WordVectors

LINE_ENDS = b" \r\n"  # word2vec and fastText write a space after the last number

_Wanted = frozenset[str] | None
_BLOCK_BYTES = 1 << 20  # read at a time
_BLOCK_LINES = 1000  # written at a time


def blocks_of(stream: BinaryIO) -> Iterator[bytes]:
    """Cut what is left of a file into blocks of whole lines."""
    while block := stream.read(_BLOCK_BYTES):
        yield block + next(_file.lines_of(stream), b"")


def read(
    path: Path, blocks: Iterable[bytes], n_dims: int, wanted: _Wanted, n_lines: int | None = None
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
    extension.warn_if_missing()
    kind: Any = PlainReader if extension.text_reader is None else extension.text_reader.TextReader
    # lone surrogates become bytes that stand in no file
    keys = None if wanted is None else [term.encode("utf-8", "surrogatepass") for term in wanted]
    reader = kind(n_dims, keys)
    terms, values = bytearray(), bytearray()
    first_line, n_read = 1 if n_lines is None else 2, 0
    for block in blocks:
        found = reader.read(block)
        terms += found[0]
        values += _checked(path, first_line + n_read, block, n_dims, found).data
        n_read += found[4]
        if n_lines is not None and n_read > n_lines:
            reason = f"the header says {n_lines} vectors, but here is one more line"
            raise FormatError(path, first_line + n_lines, reason)
        progress.report(f"reading {path.name}", n_read, n_lines)
    too_few = f"the header says {n_lines} vectors, but the file ends after {n_read}"
    _file.expect(path, n_lines in (None, n_read), too_few)
    matrix = np.frombuffer(values, dtype=np.float32).reshape(-1, n_dims)
    listed = terms.decode("utf-8").split("\n")[:-1]
    return _file.to_vectors(path, listed, matrix, _file.read_names(path, n_dims))


# terms, each with a newline behind it; their lines; numbers; place, line, start and end of fields
# that were not understood; how many lines are good, and whether a bad one follows
_Found = tuple[bytes, Any, Floats32, list[tuple[int, int, int, int]], int, bool]


def _checked(path: Path, first_line: int, block: bytes, n_dims: int, found: _Found) -> Floats32:
    """Return all numbers, also those the reader did not understand; refuse the first bad line."""
    terms, _, numbers, unread, n_good, has_bad_line = found
    fields = [block[first:last] for *_, first, last in unread]
    for (place, line, *_), field, number in zip(unread, fields, to_numbers(fields), strict=True):
        if number is None:
            raise FormatError(path, first_line + line, f"not a number: {field!r}")
        if not math.isfinite(number):
            term = terms.split(b"\n")[place // n_dims].decode("utf-8")
            reason = f"the vector of {term!r} holds {NONFINITE_VALUE}"
            raise FormatError(path, first_line + line, reason)
        numbers[place] = number
    if has_bad_line:
        bad_line = block.split(b"\n", n_good + 1)[n_good].rstrip(LINE_ENDS)
        start, *fields = bad_line.rsplit(b" ", n_dims)
        reason = f"the term {start!r} is not UTF-8"
        if len(fields) < n_dims:
            reason = f"expected a term and {n_dims} numbers, found {len(fields) + 1} fields"
        raise FormatError(path, first_line + n_good, reason)
    return numbers


_Line = tuple[bytes, int, int, bytes]  # term, line, where in the block its numbers start, these


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
        for line in block.removesuffix(b"\n").split(b"\n") if block else []:
            text = line.rstrip(LINE_ENDS)
            term, *fields = text.rsplit(b" ", self._n_dims)
            is_utf8 = term.decode("utf-8", "ignore").encode("utf-8") == term
            if len(fields) < self._n_dims or not is_utf8:
                return self._found(kept, n_good, has_bad_line=True)
            if term not in self._known and (self._wanted is None or term in self._wanted):
                self._known.add(term)
                kept.append((term, n_good, start + len(term) + 1, text[len(term) + 1 :]))
            n_good += 1
            start += len(line) + 1
        return self._found(kept, n_good, has_bad_line=False)

    def _found(self, kept: list[_Line], n_good: int, has_bad_line: bool) -> _Found:
        text = b" ".join(numbers for *_, numbers in kept).decode("ascii", "replace")
        every = pl.Series([text] if kept else [], dtype=pl.String).str.split(" ").explode()
        values = every.cast(pl.Float32, strict=False).to_numpy().copy()  # NaN for no number
        unread = []
        for place in np.flatnonzero(~np.isfinite(values)).tolist():
            row, column = divmod(place, self._n_dims)
            _, line, start, numbers = kept[row]
            fields = numbers.split(b" ")
            start += sum(len(field) + 1 for field in fields[:column])
            unread.append((place, line, start, start + len(fields[column])))
        terms = b"".join(term + b"\n" for term, *_ in kept)
        return terms, [line for _, line, *_ in kept], values, unread, n_good, has_bad_line


def to_numbers(fields: Iterable[bytes]) -> list[float | None]:
    """Read numbers as the nearest float32, rounded once; None for what is no number.

    Rounded to a double first, a number close to the middle between two float32 may end up as the
    wrong one of them. A number too large becomes an infinity.

    Examples
    --------
    >>> to_numbers([b"1", b"16777217.000000001", b"x"])
    [1.0, 16777218.0, None]
    """
    texts = [field.strip().decode("ascii", "replace") for field in fields]
    return pl.Series(texts, dtype=pl.String).cast(pl.Float32, strict=False).to_list()


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
        rows = np.array(texts, dtype=object).reshape(-1, matrix.shape[1])
        for term, fields in zip(terms[start : start + _BLOCK_LINES], rows, strict=True):
            yield b"%s %s\n" % (term, " ".join(fields).encode("ascii"))
