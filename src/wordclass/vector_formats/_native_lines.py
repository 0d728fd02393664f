"""Lines of vectors read by the compiled reader; plain Python has the last word on odd ones."""

from pathlib import Path

import numpy as np

from wordclass import native
from wordclass.arrays import Ints
from wordclass.vector_formats import _dimension_names, _plain_lines, _terms
from wordclass.vector_formats._selection import put_together
from wordclass.word_vectors import WordVectors


class NativeLines:
    """The vectors of the lines that were added so far: what `PlainLines` does, only faster.

    Numbers are rounded once, and errors are those of `PlainLines`, because fields and lines that
    the compiled reader does not understand are handed to the same functions.
    """

    def __init__(
        self, path: Path, n_dims: int, wanted: frozenset[str] | None, first_line: int
    ) -> None:
        if native.text_reader is None:
            raise RuntimeError("the compiled reader was not built")
        self._path, self._n_dims, self._first_line = path, n_dims, first_line
        self._reader = native.text_reader.TextReader(
            n_dims, None if wanted is None else _encoded(wanted)
        )
        self._n_lines = 0
        self._terms = bytearray()
        self._places: list[Ints] = [np.empty(0, dtype=np.int64)]
        self._values = bytearray()

    def add(self, block: bytes) -> int:
        """Read whole lines, the last one perhaps without its newline; return how many there are.

        Raises
        ------
        FormatError
            For the first bad line.
        """
        terms, lines, values, unread, n_lines, has_bad_line = self._reader.read(block)
        first_line = self._first_line + self._n_lines
        for place, line, start, end in unread:
            values[place] = _plain_lines.to_float32(self._path, first_line + line, block[start:end])
        if has_bad_line:
            self._say_what_is_wrong(block, n_lines)
        self._terms += terms
        self._places.append(lines + first_line)
        self._values += values.data
        self._n_lines += n_lines
        return int(n_lines)

    def _say_what_is_wrong(self, block: bytes, n_before: int) -> None:
        row = self._n_lines + n_before
        number = self._first_line + row
        line = block.split(b"\n", n_before + 1)[n_before].rstrip(_plain_lines.LINE_ENDS)
        term, _ = _plain_lines.cut(self._path, number, line, self._n_dims)
        _terms.decoded(self._path, number, term, row + 1)
        raise RuntimeError(f"{self._path}, line {number}: good by one reader, bad by the other")

    def to_vectors(self) -> WordVectors:
        """Put everything together; the numbers must be finite."""
        terms = self._terms.decode("utf-8").split("\n")[:-1]
        lines = np.concatenate(self._places)
        matrix = np.frombuffer(self._values, dtype=np.float32).reshape(-1, self._n_dims)
        names = _dimension_names.read_beside(self._path, self._n_dims)
        return put_together(self._path, terms, matrix, names, lines)


def _encoded(wanted: frozenset[str]) -> list[bytes]:
    """Return terms as bytes; those with lone surrogates become such as stand in no file."""
    return [term.encode("utf-8", errors="surrogatepass") for term in wanted]
