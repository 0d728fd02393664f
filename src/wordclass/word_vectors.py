"""Word vectors: terms and the rows that belong to them, looked up, compared, read and saved."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from wordclass import naming
from wordclass.arrays import Floats, Floats32, Ints
from wordclass.errors import InputError
from wordclass.neighbors import nearest_rows, unit, unit_rows
from wordclass.vector_files import format_to_read, format_to_write

Default = TypeVar("Default")


class UnknownTermError(InputError, KeyError):
    """A term has no vector: a KeyError by Python's manners, one line for the commands."""

    __str__ = Exception.__str__  # KeyError would put the message in quotes


@dataclass(frozen=True, eq=False, repr=False)
class WordVectors:
    """Terms and their vectors, one row a term; made by `of` or `load`, which check them.

    Copying returns the same object: nothing in it changes, and matrices are large.

    Parameters
    ----------
    terms
        Distinct, in the order of the rows.
    matrix
        Float32 of shape (n_terms, n_dims), read-only.
    dimension_names
        What the columns stand for, such as the classes of word-class vectors; mostly None.

    Examples
    --------
    >>> vectors = WordVectors.of(["moon", "lunar", "tax"], [[2, 1], [4, 2], [-1, 2]])
    >>> vectors.nearest("moon", n=2)
    [('lunar', 1.0), ('tax', 0.0)]
    """

    terms: Sequence[str]
    matrix: Floats32
    dimension_names: tuple[str | int, ...] | None = None

    @classmethod
    def of(
        cls,
        terms: Iterable[str],
        matrix: ArrayLike,
        dimension_names: Iterable[str | int] | None = None,
    ) -> Self:
        """Check terms and vectors, and put them together.

        A float32 matrix in C order is not copied, so the caller must leave it as it is.

        Raises
        ------
        InputError
            The numbers of terms and rows differ, a term is no str or occurs twice, or a vector
            holds a NaN, an infinity or a number too large for float32.
        """
        listed = _list_terms(terms)
        rows = _as_float32(matrix)
        if len(listed) != len(rows):
            raise InputError(f"{len(listed)} terms but {len(rows)} vectors: expected one a term")
        vectors = cls(listed, rows, _checked_names(dimension_names, rows.shape[1]))
        if len(vectors.index) != len(listed):
            twice = next(term for k, term in enumerate(listed) if vectors.index[term] != k)
            raise InputError(f"the term {twice!r} occurs more than once; expected distinct terms")
        if (bad := first_not_finite(rows)) is not None:
            raise InputError(
                f"the vector of {listed[bad]!r} holds a NaN, an infinity or a number too large for "
                "float32"
            )
        return vectors

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        terms: Iterable[str] | None = None,
        format: str | None = None,
    ) -> "WordVectors":
        """Read vectors from a file.

        Parameters
        ----------
        path
            By its ending; a text file by its first line, which in word2vec's format holds two
            integers. A .gz or .zst file is decompressed on the way.
        terms
            Keep only these, in the order of the file; terms without a vector are left out.
        format
            The name of a file in `vector_formats/`, where the ending does not tell.
        """
        wanted = None if terms is None else frozenset(_list_terms(terms))
        place = Path(path)
        reader = naming.entry("vector_formats", format or format_to_read(place))
        vectors: WordVectors = reader.read(place, wanted)
        return vectors

    def save(self, path: str | PathLike[str], format: str | None = None) -> None:
        """Write the vectors in the format that is named, or else that the ending tells.

        A file that is there is replaced once the new one is complete.
        """
        place = Path(path)
        naming.entry("vector_formats", format_to_write(place, format)).write(place, self)

    @property
    def n_dims(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The row of each term."""
        return {term: row for row, term in enumerate(self.terms)}

    def rows(self, terms: Iterable[str]) -> Ints:
        """Return the row of each term, -1 where it has none."""
        if isinstance(terms, str):
            raise InputError("terms is one str; expected several: [term]")
        return np.fromiter((self.index.get(_key(term), -1) for term in terms), dtype=np.int64)

    def get(self, term: str, default: Default | None = None) -> Floats32 | Default | None:
        """Return the vector of a term, or the default where it has none."""
        row = self.index.get(_key(term))
        return default if row is None else self.matrix[row]

    def nearest(self, term_or_vector: str | ArrayLike, n: int = 10) -> list[tuple[str, float]]:
        """Find the terms whose vectors have the largest cosine with a vector, best first.

        Cosines are rounded to nine decimals, so that rounding errors break no tie; of equal ones
        the earlier row comes first. A vector of zeros has cosine 0 with everything.

        Parameters
        ----------
        term_or_vector
            A term, which is then left out of the answer, or n_dims numbers.
        n
            How many; fewer come back where there are fewer terms.
        """
        if not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"n is {n!r}; expected a whole number, 1 or more")
        left_out = None
        if isinstance(term_or_vector, str):
            vector, left_out = self[term_or_vector], self.index[term_or_vector]
        else:
            vector = _as_float32([term_or_vector])[0]
        found = nearest_rows(self.matrix, self._unit_rows, self._direction(vector), n, left_out)
        return [(self.terms[row], cosine) for row, cosine in found]

    def _direction(self, vector: Floats32) -> Floats:
        if len(vector) != self.n_dims:
            raise InputError(f"the vector has {len(vector)} numbers; expected {self.n_dims}")
        if not vector.any() or not np.isfinite(vector).all():
            raise InputError(
                "the vector is all zeros or not finite: it has no direction, and no neighbors"
            )
        direction: Floats = unit(vector[None].astype(np.float64))[0]
        return direction

    @cached_property
    def _unit_rows(self) -> Floats32:
        return unit_rows(self.matrix)

    def __getitem__(self, term: str) -> Floats32:
        row = self.index.get(_key(term))
        if row is None:
            raise UnknownTermError(f"there is no vector of {term!r}")
        vector: Floats32 = self.matrix[row]
        return vector

    def __contains__(self, term: object) -> bool:
        return _key(term) in self.index

    def __len__(self) -> int:
        return len(self.terms)

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __repr__(self) -> str:
        return f"<WordVectors of {len(self)} terms, {self.n_dims} dimensions>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        # through `of`: a pickled array forgets that it is read-only, and caches need not travel
        return type(self).of, (self.terms, self.matrix, self.dimension_names)


def first_not_finite(matrix: Floats32) -> int | None:
    """Return the first row that holds a NaN or an infinity, or None."""
    with np.errstate(invalid="ignore"):
        # finite float32 values never add up to an infinity in float64, and no mask is needed
        sums = matrix.sum(axis=1, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(sums))
    return int(bad[0]) if len(bad) else None


def _key(term: object) -> str:
    if not isinstance(term, str):
        raise TypeError(f"a term is a str, not a {type(term).__name__}")
    return term


def _list_terms(terms: Iterable[str]) -> list[str]:
    if isinstance(terms, str | bytes) or not isinstance(terms, Iterable):
        raise InputError(f"terms is one {type(terms).__name__}; expected several str: [term]")
    listed = list(terms)
    for k, term in enumerate(listed):
        if not isinstance(term, str):
            raise InputError(f"term {k} is a {type(term).__name__}, not a str")
    return [str(term) for term in listed]  # numpy's str are a subclass


def _as_float32(matrix: object) -> Floats32:
    """Return a read-only float32 matrix in C order, the caller's own memory where it is so."""
    try:
        given = np.asarray(matrix)
    except ValueError as error:
        raise InputError("the vectors differ in length; expected a matrix of numbers") from error
    if given.ndim != 2 or given.shape[1] == 0 or given.dtype.kind not in "fiu":
        raise InputError(
            f"the matrix has shape {given.shape} and type {given.dtype}; expected numbers, "
            "one row a term and at least one column"
        )
    with np.errstate(over="ignore"):  # an infinity then, which is refused
        rows = np.ascontiguousarray(given, dtype=np.float32).view()
    rows.flags.writeable = False
    return rows


def _checked_names(names: Iterable[str | int] | None, n_dims: int) -> tuple[str | int, ...] | None:
    if names is None:
        return None
    listed = tuple(names)
    if len(listed) != n_dims:
        raise InputError(f"{len(listed)} dimension names for {n_dims} dimensions")
    for name in listed:
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            raise InputError(f"the dimension name {name!r} is neither a str nor an int")
    return tuple(str(name) if isinstance(name, str) else int(name) for name in listed)
