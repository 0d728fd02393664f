"""Word vectors: terms and the rows that belong to them, looked up, compared, read and saved."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from wordclass import naming, vector_cache
from wordclass.arrays import Floats, Floats32, Ints
from wordclass.errors import InputError
from wordclass.neighbors import nearest_rows, unit, unit_rows
from wordclass.storage import unchanged
from wordclass.subwords import Subwords
from wordclass.vector_checks import as_float32, checked_names, first_not_finite, list_terms
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
    subwords
        What makes vectors for other terms (`vectors["unseen"]`), as models of fastText have it;
        mostly None. Such terms are not among `terms`, and have no row.

    Examples
    --------
    >>> vectors = WordVectors.of(["moon", "lunar", "tax"], [[2, 1], [4, 2], [-1, 2]])
    >>> vectors.nearest("moon", n=2)
    [('lunar', 1.0), ('tax', 0.0)]
    """

    terms: Sequence[str]
    matrix: Floats32
    dimension_names: tuple[str | int, ...] | None = None
    subwords: Subwords | None = None

    @classmethod
    def of(
        cls,
        terms: Iterable[str],
        matrix: ArrayLike,
        dimension_names: Iterable[str | int] | None = None,
        subwords: Subwords | None = None,
    ) -> Self:
        """Check terms and vectors, and put them together.

        A float32 matrix in C order is not copied, so the caller must leave it as it is.

        Raises
        ------
        InputError
            The numbers of terms and rows differ, a term is no str or occurs twice, or a vector
            holds a NaN, an infinity or a number too large for float32.
        """
        listed = list_terms(terms)
        rows = as_float32(matrix)
        if len(listed) != len(rows):
            raise InputError(f"{len(listed)} terms but {len(rows)} vectors: expected one a term")
        names = checked_names(dimension_names, rows.shape[1])
        vectors = cls(listed, rows, names, subwords)
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
        cache: bool = True,
    ) -> "WordVectors":
        """Read vectors from a file.

        Parameters
        ----------
        path
            By its ending or first bytes; a text file by its first line, which in word2vec's
            format holds two integers. A .gz or .zst file is decompressed on the way.
        terms
            Keep only these, in the order of the file; terms without a vector are left out.
        format
            The name of a file in `vector_formats/`, where the ending does not tell.
        cache
            Keep what was read from a large file as `<path>.wcache`, which the next time is there
            at once; it is made again when the file changes.

        Raises
        ------
        FormatError
            The file does not hold what its format promises.
        MissingDataError, StorageError
            There is no such file; it cannot be read, or changed while it was read.
        """
        wanted = None if terms is None else frozenset(list_terms(terms))
        place = Path(path)
        name = format or format_to_read(place)
        reader = naming.entry("vector_formats", name)
        sources = reader.sources(place) if hasattr(reader, "sources") else [place]
        is_cached = cache and hasattr(reader, "sources")
        source = vector_cache.look_at(name, sources) if is_cached else None
        if source is not None and (kept := vector_cache.find(source)) is not None:
            return cls(*kept)._only(wanted)
        with unchanged(*sources):
            vectors: WordVectors = reader.read(place, wanted)
        if source is not None and wanted is None:
            vector_cache.keep(source, vectors._to_keep())
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
        return dict(zip(self.terms, range(len(self.terms)), strict=True))

    def rows(self, terms: Iterable[str]) -> Ints:
        """Return the row of each term, -1 where it has none."""
        if isinstance(terms, str):
            raise InputError("terms is one str; expected several: [term]")
        return np.fromiter((self.index.get(_key(term), -1) for term in terms), dtype=np.int64)

    def get(self, term: str, default: Default | None = None) -> Floats32 | Default | None:
        """Return the vector of a term, or the default where it has none."""
        vector = self._find(term)
        return default if vector is None else vector

    def _find(self, term: str) -> Floats32 | None:
        row = self.index.get(_key(term))
        if row is not None:
            vector: Floats32 = self.matrix[row]
            return vector
        return None if self.subwords is None else self.subwords.vector(term)

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
            vector, left_out = self[term_or_vector], self.index.get(term_or_vector)
        else:
            vector = as_float32([term_or_vector])[0]
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

    def _only(self, wanted: frozenset[str] | None) -> Self:
        """Return the vectors of these terms, in the order they have here; of all for None."""
        if wanted is None:
            return self
        rows = [row for row, term in enumerate(self.terms) if term in wanted]
        matrix = self.matrix[rows]
        matrix.flags.writeable = False
        terms = [self.terms[row] for row in rows]
        return type(self)(terms, matrix, self.dimension_names, self.subwords)

    def _to_keep(self) -> vector_cache.Kept:
        return vector_cache.Kept(self.terms, self.matrix, self.dimension_names, self.subwords)

    @cached_property
    def _unit_rows(self) -> Floats32:
        return unit_rows(self.matrix)

    def __getitem__(self, term: str) -> Floats32:
        vector = self._find(term)
        if vector is None:
            raise UnknownTermError(f"there is no vector of {term!r}")
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
        return type(self).of, (
            self.terms,
            self.matrix,
            self.dimension_names,
            self.subwords,
        )


def _key(term: object) -> str:
    if not isinstance(term, str):
        raise TypeError(f"a term is a str, not a {type(term).__name__}")
    return term
