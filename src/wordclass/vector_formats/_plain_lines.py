"""Lines of vectors read by plain Python: what a line may hold, and what is said of a bad one."""

from pathlib import Path

import numpy as np

from wordclass.errors import FormatError
from wordclass.vector_formats import _dimension_names, _numbers, _terms
from wordclass.vector_formats._selection import Selection
from wordclass.word_vectors import WordVectors

_BLOCK = 1000  # lines whose numbers are parsed at a time
LINE_ENDS = b" \r\n"  # word2vec and fastText write a space after the last number


class PlainLines:
    """The vectors of the lines that were added so far.

    Parameters
    ----------
    path
        The file they are of, for errors.
    n_dims
        How many fields at the end of a line are numbers; what stands before is the term.
    wanted
        Terms to keep, or None for all; the numbers of others are counted, but not looked at.
    first_line
        The number of the first line, counted from 1.
    """

    def __init__(
        self, path: Path, n_dims: int, wanted: frozenset[str] | None, first_line: int
    ) -> None:
        self._path, self._n_dims, self._first_line = path, n_dims, first_line
        self._selection = Selection(path, wanted)
        self._n_lines = 0
        self._values = bytearray()
        self._pending: dict[int, bytes] = {}  # line -> its numbers, not yet parsed

    def add(self, block: bytes) -> int:
        """Read whole lines, the last one perhaps without its newline; return how many there are.

        Raises
        ------
        FormatError
            For the first bad line.
        """
        lines = block.removesuffix(b"\n").split(b"\n") if block else []
        try:
            for line in lines:
                self._add_line(line.rstrip(LINE_ENDS))
        finally:
            self._parse()  # a number that is none, in a line before the bad one, is said first
        return len(lines)

    def _add_line(self, line: bytes) -> None:
        number = self._first_line + self._n_lines
        self._n_lines += 1
        term, numbers = cut(self._path, number, line, self._n_dims)
        if self._selection.takes(_terms.decoded(self._path, number, term, self._n_lines), number):
            self._pending[number] = numbers
        if len(self._pending) == _BLOCK:
            self._parse()

    def _parse(self) -> None:
        pending, self._pending = self._pending, {}
        try:
            values = _numbers.all_to_float32(list(pending.values()))
        except ValueError:
            for number, text in pending.items():  # again, to say where
                for field in text.split(b" "):
                    to_float32(self._path, number, field)
            raise
        self._values += values.tobytes()

    def to_vectors(self) -> WordVectors:
        """Put everything together; the numbers must be finite."""
        matrix = np.frombuffer(self._values, dtype=np.float32).reshape(-1, self._n_dims)
        names = _dimension_names.read_beside(self._path, self._n_dims)
        return self._selection.to_vectors(matrix, names, has_lines=True)


def cut(path: Path, number: int, line: bytes, n_dims: int) -> tuple[bytes, bytes]:
    """Cut a line in two: the term, and exactly `n_dims` fields."""
    term, *fields = line.rsplit(b" ", n_dims)
    if len(fields) != n_dims:
        reason = f"expected a term and {n_dims} numbers, found {len(fields) + 1} fields"
        raise FormatError(path, number, reason)
    return term, line[len(term) + 1 :]


def to_float32(path: Path, number: int, field: bytes) -> np.float32:
    """Read one number of a line."""
    try:
        return _numbers.to_float32(field)
    except ValueError as error:
        raise FormatError(path, number, f"not a number: {error}") from error
