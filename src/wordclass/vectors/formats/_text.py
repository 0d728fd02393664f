"""Vectors as lines of text, `term v1 ... vq`. Numbers are rounded once, and errors name the line.

Lines end only at a newline, because terms may contain any other character at which Unicode ends
lines. Lines are read by the native reader or by `PythonReader`, which does the same. This module
handles the fields and lines that these cannot parse.
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

_BLOCK_BYTES = 1 << 20  # read at a time
_BLOCK_LINES = 1000  # written at a time

# What a reader returns for a block: the terms, each followed by a newline; their lines; all
# numbers; for each field that it could not parse, its position among the numbers, its line and its
# start and end in the block; the number of valid lines; whether an invalid line follows them.
_ReadBlock = tuple[bytes, Any, Floats32, list[tuple[int, int, int, int]], int, bool]


def read_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the remaining content of a stream in blocks of complete lines."""
    while block := stream.read(_BLOCK_BYTES):
        yield block + next(_file.iterate_lines(stream), b"")


def read(
    path: Path,
    blocks: Iterable[bytes],
    n_dims: int,
    requested: frozenset[str] | None,
    n_lines: int | None = None,
) -> WordVectors:
    """Read lines whose last fields are numbers. Everything before them is the term.

    Parameters
    ----------
    path : Path
        The file, for error messages and its dimension names.
    blocks : iterable of bytes
        Blocks of complete lines. The last line need not end in a newline.
    n_dims : int
        Number of fields at the end of a line that are numbers.
    requested : frozenset of str, or None
        Terms to read. The numbers of other terms are counted but not parsed. None stands for all.
    n_lines : int, optional
        Number of lines according to the header, which is line 1. By default, there is no header.

    Raises
    ------
    FormatError
        A line is invalid, or the number of lines is wrong.
    """
    extension.warn_if_missing()
    reader_class: Any = PythonReader
    if extension.text_reader is not None:
        reader_class = extension.text_reader.TextReader
    # lone surrogates are encoded as bytes that no valid file contains
    keys = None
    if requested is not None:
        keys = [term.encode("utf-8", "surrogatepass") for term in requested]
    reader = reader_class(n_dims, keys)
    terms = bytearray()
    numbers = bytearray()
    first_line = 1 if n_lines is None else 2
    n_read = 0
    for block in blocks:
        read_block: _ReadBlock = reader.read(block)
        terms += read_block[0]
        numbers += _complete(path, first_line + n_read, block, n_dims, read_block).data
        n_read += read_block[4]
        if n_lines is not None and n_read > n_lines:
            problem = f"the header says {n_lines} vectors, but there are more lines"
            raise FormatError(path, first_line + n_lines, problem)
        progress.report(f"reading {path.name}", n_read, n_lines)
    problem = f"the header says {n_lines} vectors, but the file ends after {n_read}"
    _file.require(path, n_lines in (None, n_read), problem)
    matrix = np.frombuffer(numbers, dtype=np.float32).reshape(-1, n_dims)
    term_list = terms.decode("utf-8").split("\n")[:-1]
    return _file.to_vectors(path, term_list, matrix, _file.read_names(path, n_dims))


def _complete(
    path: Path, first_line: int, block: bytes, n_dims: int, read_block: _ReadBlock
) -> Floats32:
    """Return all numbers of a block, and parse the fields that the reader left out.

    Raises
    ------
    FormatError
        A line is invalid. The message names the first such line.
    """
    terms, _, numbers, unparsed, n_valid, has_invalid_line = read_block
    fields = [block[start:end] for *_, start, end in unparsed]
    for (position, line, *_), field, number in zip(
        unparsed, fields, parse_numbers(fields), strict=True
    ):
        if number is None:
            raise FormatError(path, first_line + line, f"not a number: {field!r}")
        if not math.isfinite(number):
            term = terms.split(b"\n")[position // n_dims].decode("utf-8")
            problem = f"the vector of {term!r} holds {NONFINITE_VALUE}"
            raise FormatError(path, first_line + line, problem)
        numbers[position] = number
    if has_invalid_line:
        invalid_line = block.split(b"\n", n_valid + 1)[n_valid].rstrip(LINE_ENDS)
        term_bytes, *fields = invalid_line.rsplit(b" ", n_dims)
        if len(fields) < n_dims:
            raise FormatError(
                path,
                first_line + n_valid,
                f"the line has too few fields ({len(fields) + 1})",
                expected=f"a term and {n_dims} numbers",
            )
        raise FormatError(path, first_line + n_valid, f"the term {term_bytes!r} is not UTF-8")
    return numbers


_Line = tuple[bytes, int, int, bytes]  # term, line, start of its numbers in the block, the numbers


class PythonReader:
    """Reader of lines in plain Python, equivalent to `native.text_reader.TextReader`.

    Parameters
    ----------
    n_dims : int
        Number of fields at the end of a line that are numbers.
    requested : list of bytes, or None
        Terms to read. None stands for all.
    """

    def __init__(self, n_dims: int, requested: list[bytes] | None) -> None:
        self._n_dims = n_dims
        self._requested = None if requested is None else set(requested)
        self._known: set[bytes] = set()

    def read(self, block: bytes) -> _ReadBlock:
        """Read complete lines up to the first invalid one."""
        lines: list[_Line] = []
        n_valid = 0
        start = 0
        for line in block.removesuffix(b"\n").split(b"\n") if block else []:
            text = line.rstrip(LINE_ENDS)
            term, *fields = text.rsplit(b" ", self._n_dims)
            is_utf8 = term.decode("utf-8", "ignore").encode("utf-8") == term
            if len(fields) < self._n_dims or not is_utf8:
                return self._parse(lines, n_valid, has_invalid_line=True)
            is_requested = self._requested is None or term in self._requested
            if is_requested and term not in self._known:
                self._known.add(term)
                lines.append((term, n_valid, start + len(term) + 1, text[len(term) + 1 :]))
            n_valid += 1
            start += len(line) + 1
        return self._parse(lines, n_valid, has_invalid_line=False)

    def _parse(self, lines: list[_Line], n_valid: int, has_invalid_line: bool) -> _ReadBlock:
        text = b" ".join(fields for *_, fields in lines).decode("ascii", "replace")
        all_fields = pl.Series([text] if lines else [], dtype=pl.String).str.split(" ").explode()
        numbers = all_fields.cast(pl.Float32, strict=False).to_numpy().copy()  # NaN if no number
        unparsed = []
        for position in np.flatnonzero(~np.isfinite(numbers)).tolist():
            row, column = divmod(position, self._n_dims)
            _, line, start, text_of_line = lines[row]
            fields = text_of_line.split(b" ")
            start += sum(len(field) + 1 for field in fields[:column])
            unparsed.append((position, line, start, start + len(fields[column])))
        terms = b"".join(term + b"\n" for term, *_ in lines)
        line_numbers = [line for _, line, *_ in lines]
        return terms, line_numbers, numbers, unparsed, n_valid, has_invalid_line


def parse_numbers(fields: Iterable[bytes]) -> list[float | None]:
    """Parse numbers as the nearest float32, or None if a field is not a number.

    They are rounded only once. If a number is first rounded to float64, and it is close to the
    middle between two float32 numbers, the result may be the wrong one of them. A number that is
    too large becomes infinity.

    Examples
    --------
    >>> parse_numbers([b"1", b"16777217.000000001", b"x"])
    [1.0, 16777218.0, None]
    """
    texts = [field.strip().decode("ascii", "replace") for field in fields]
    return pl.Series(texts, dtype=pl.String).cast(pl.Float32, strict=False).to_list()


def format_lines(terms: list[bytes], matrix: Floats32) -> Iterator[bytes]:
    """Yield one line per vector, with the fewest digits from which the same float32 is read."""
    for start in range(0, len(terms), _BLOCK_LINES):
        numbers = matrix[start : start + _BLOCK_LINES].ravel()
        shortest = pl.Series(numbers).cast(pl.String)
        texts = shortest.to_list()
        # Programs that round to float64 first may read the neighbor of the intended float32, for
        # example of 7.038531e-26. Such numbers are written with all their digits.
        read_via_float64 = shortest.cast(pl.Float64).to_numpy().astype(np.float32)
        for k in np.flatnonzero(read_via_float64 != numbers):
            texts[k] = repr(float(numbers[k]))
        rows = np.array(texts, dtype=object).reshape(-1, matrix.shape[1])
        for term, fields in zip(terms[start : start + _BLOCK_LINES], rows, strict=True):
            yield b"%s %s\n" % (term, " ".join(fields).encode("ascii"))
