"""The vectors kept while a file is read: those that are wanted, and the first of each term."""

from collections.abc import Sequence
from pathlib import Path

from wordclass.arrays import Floats32, Ints
from wordclass.errors import FormatError
from wordclass.subwords import Subwords
from wordclass.vector_checks import first_not_finite
from wordclass.word_vectors import WordVectors


class Selection:
    """Terms in the order of the file, with the line or row where each stood.

    Of a term that occurs twice the first vector is kept: real files have such terms.
    """

    def __init__(self, path: Path, wanted: frozenset[str] | None) -> None:
        self._path, self._wanted = path, wanted
        self._places: dict[str, int] = {}

    def takes(self, term: str, place: int) -> bool:
        """Say whether the vector of this term is to be kept, and note the term if so."""
        if term in self._places or not (self._wanted is None or term in self._wanted):
            return False
        self._places[term] = place
        return True

    def places(self) -> list[int]:
        """Return the line or row of each vector that is kept."""
        return list(self._places.values())

    def to_vectors(
        self,
        matrix: Floats32,
        names: Sequence[str | int] | None,
        has_lines: bool = False,
        subwords: Subwords | None = None,
    ) -> WordVectors:
        """Put the terms together with their vectors, which must be finite."""
        places = self.places() if has_lines else None
        return put_together(self._path, list(self._places), matrix, names, places, subwords)


def put_together(
    path: Path,
    terms: Sequence[str],
    matrix: Floats32,
    names: Sequence[str | int] | None,
    lines: Sequence[int] | Ints | None = None,
    subwords: Subwords | None = None,
) -> WordVectors:
    """Make vectors of what a file held; `lines` are those the terms stood in."""
    if (bad := first_not_finite(matrix)) is not None:
        raise FormatError(
            path,
            None if lines is None else int(lines[bad]),
            f"the vector of {terms[bad]!r} holds a NaN, an infinity or a number too large",
        )
    return WordVectors.of(terms, matrix, names, subwords)
