"""Word vectors: terms and the rows that belong to them, looked up, compared, read and saved."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from wordclass import catalogue
from wordclass.arrays import (
    NONFINITE_VALUE,
    Floats32,
    Ints,
    as_float32,
    find_nonfinite_row,
    normalize_rows,
)
from wordclass.errors import InputError
from wordclass.options import check_int
from wordclass.storage.files import (
    COMPRESSIONS,
    open_for_reading,
    require_unchanged,
    uncompressed_name,
)
from wordclass.vectors import cache as vector_cache
from wordclass.vectors.subwords import Subwords

Default = TypeVar("Default")

_MARGIN = 1e-4  # more than float32 arithmetic errs on a cosine
_BLOCK = 4096  # rows held in float64 at a time
_SAMPLE = 1 << 16  # bytes of a file looked at where its ending does not tell the format


class UnknownTermError(InputError, KeyError):
    """A term has no vector: a KeyError by Python's manners, one line for the commands."""

    __str__ = Exception.__str__  # KeyError would put the message in quotes


@dataclass(frozen=True, eq=False, repr=False)
class WordVectors:
    """Terms and their vectors, one row per term; made by `of` or `load`, which check them.

    Copying returns the same object: nothing in it changes, and matrices are large.

    Parameters
    ----------
    terms : sequence of str
        Distinct, in the order of the rows.
    matrix : float32 array of shape (n_terms, n_dims)
        Read-only.
    dimension_names : tuple of str or int, default=None
        What the columns stand for, such as the classes of word-class vectors; mostly None.
    subwords : Subwords, default=None
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
            raise InputError(f"{len(listed)} terms but {len(rows)} vectors: expected one per term")
        vectors = cls(listed, rows, checked_names(dimension_names, rows.shape[1]), subwords)
        if len(vectors.index) != len(listed):
            twice = next(term for k, term in enumerate(listed) if vectors.index[term] != k)
            raise InputError(f"the term {twice!r} occurs more than once; expected distinct terms")
        if (bad := find_nonfinite_row(rows)) is not None:
            raise InputError(f"the vector of {listed[bad]!r} holds {NONFINITE_VALUE}")
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
        path : str or path
            Its ending or first bytes tell the format; in a text file the first line does, which
            in word2vec's format holds two integers. A .gz or .zst file is decompressed on the way.
        terms : iterable of str, default=None
            Keep only these, in the order of the file; terms without a vector are left out.
        format : str, default=None
            The name of a file in `vector_formats/`, where the ending does not tell.
        cache : bool, default=True
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
        sources = [place, names_file(place)]
        with require_unchanged(*sources):
            name = format or format_to_read(place)
            reader = catalogue.entry("vector_formats", name)
            is_cached = cache and not hasattr(reader, "IS_QUICK")
            key = vector_cache.key_of(name, sources) if is_cached else None
            if key is not None and (kept := vector_cache.find(place, key)) is not None:
                return cls(*kept)._only(wanted)
            vectors: WordVectors = reader.read(place, wanted)
        if key is not None and wanted is None:
            vector_cache.keep(place, key, vectors._parts)
        return vectors

    def save(self, path: str | PathLike[str], format: str | None = None) -> None:
        """Write the vectors in the format that is named, or else that the ending tells.

        A file that is there is replaced once the new one is complete.
        """
        place = Path(path)
        catalogue.entry("vector_formats", format_to_write(place, format)).write(place, self)

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
        row = self.index.get(_key(term))
        if row is not None:
            return self.matrix[row]  # type: ignore[no-any-return]
        vector = None if self.subwords is None else self.subwords.vector(term)
        return default if vector is None else vector

    def nearest(self, term_or_vector: str | ArrayLike, n: int = 10) -> list[tuple[str, float]]:
        """Find the terms whose vectors have the largest cosine with a vector, best first.

        Cosines are rounded to nine decimals, so that rounding errors break no tie; of equal ones
        the earlier row comes first. A vector of zeros has cosine 0 with everything.

        Parameters
        ----------
        term_or_vector : str or array of n_dims numbers
            A term is left out of the answer.
        n : int, default=10
            How many; fewer come back where there are fewer terms.
        """
        check_int("n", n, 1)
        row = None
        if isinstance(term_or_vector, str):
            vector, row = self[term_or_vector], self.index.get(term_or_vector)
        else:
            vector = as_float32([term_or_vector])[0]
        if len(vector) != self.n_dims:
            raise InputError(f"the vector has {len(vector)} numbers; expected {self.n_dims}")
        if not vector.any() or not np.isfinite(vector).all():
            raise InputError("the vector is all zeros or not finite: it has no direction")
        return self._nearest(vector, n, row)

    def _nearest(self, vector: Floats32, n: int, left_out: int | None) -> list[tuple[str, float]]:
        query = normalize_rows(vector[None].astype(np.float64))[0]
        cosines = self._unit_rows @ query.astype(np.float32)  # (v,)
        if left_out is not None:
            cosines[left_out] = -np.inf
        n = min(n, len(self) - (left_out is not None))
        if n == 0:
            return []
        # a little more than the n best, then again in float64 and without BLAS, which need not
        # give equal products for equal rows
        rows = np.flatnonzero(cosines >= np.partition(cosines, -n)[-n] - _MARGIN)
        products = (normalize_rows(self.matrix[rows].astype(np.float64)) * query).sum(axis=1)
        exact = np.round(products, 9) + 0.0  # no -0.0
        best = np.argsort(-exact, kind="stable")[:n]
        return [(self.terms[rows[k]], float(exact[k])) for k in best]

    @cached_property
    def _unit_rows(self) -> Floats32:
        units = np.empty_like(self.matrix)
        for start in range(0, len(units), _BLOCK):
            block = slice(start, start + _BLOCK)
            units[block] = normalize_rows(self.matrix[block].astype(np.float64))
        return units

    def _only(self, wanted: frozenset[str] | None) -> Self:
        """Return the vectors of these terms, in the order they have here; of all for None."""
        if wanted is None:
            return self
        rows = [row for row, term in enumerate(self.terms) if term in wanted]
        matrix = self.matrix[rows]
        matrix.flags.writeable = False
        terms = [self.terms[row] for row in rows]
        return type(self)(terms, matrix, self.dimension_names, self.subwords)

    @property
    def _parts(self) -> vector_cache.Contents:
        return self.terms, self.matrix, self.dimension_names, self.subwords

    def __getitem__(self, term: str) -> Floats32:
        vector: Floats32 | None = self.get(term)
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
        return type(self).of, self._parts


def _key(term: object) -> str:
    if not isinstance(term, str):
        raise TypeError(f"a term is a str, not a {type(term).__name__}")
    return term


def list_terms(terms: Iterable[str]) -> list[str]:
    """Return terms as a list of plain str."""
    if isinstance(terms, str | bytes) or not isinstance(terms, Iterable):
        raise InputError(f"terms is one {type(terms).__name__}; expected several str: [term]")
    listed = list(terms)
    if set(map(type, listed)) <= {str}:
        return listed
    for k, term in enumerate(listed):
        if not isinstance(term, str):
            raise InputError(f"term {k} is a {type(term).__name__}, not a str")
    return [str(term) for term in listed]  # numpy's str are a subclass


def checked_names(names: Iterable[str | int] | None, n_dims: int) -> tuple[str | int, ...] | None:
    """Return the names of the dimensions as plain str and int, one per dimension."""
    if names is None:
        return None
    listed = tuple(names)
    if len(listed) != n_dims:
        raise InputError(f"{len(listed)} dimension names for {n_dims} dimensions")
    for name in listed:
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            raise InputError(f"the dimension name {name!r} is neither a str nor an int")
    return tuple(str(name) if isinstance(name, str) else int(name) for name in listed)


def names_file(path: Path) -> Path:
    """Return where formats without a place for them keep the names of the dimensions.

    Examples
    --------
    >>> names_file(Path("news.vec.gz")).name
    'news.vec.classes.json'
    """
    return path.parent / f"{uncompressed_name(path)}.classes.json"


def format_to_read(path: Path) -> str:
    """Find the format of a file that is there.

    The first bytes decide where a format claims them; then the ending. Text files are told apart
    by their first line, whatever their ending: two integers and nothing else are the header of
    word2vec's format.
    """
    with open_for_reading(path) as stream:
        sample = stream.read(_SAMPLE)
    for name, module in _formats().items():
        if hasattr(module, "MAGIC") and sample.startswith(module.MAGIC):
            return name
    by_ending = _format_by_ending(path)
    if by_ending not in (None, "glove_text", "word2vec_text"):
        return by_ending
    if by_ending is None and b"\0" in sample:  # no text
        raise InputError(f"{path}: neither its ending nor its bytes tell; {_known('read')}")
    fields = sample.split(b"\n", 1)[0].split()
    has_header = len(fields) == 2 and all(field.isdigit() for field in fields)
    return "word2vec_text" if has_header else "glove_text"


def format_to_write(path: Path, format: str | None) -> str:
    """Find the format for a new file, and refuse what cannot be written."""
    if path.suffix.lower() in COMPRESSIONS:
        raise InputError(f"{path}: compressed files are read, not written; leave out {path.suffix}")
    name = format or _format_by_ending(path)
    if name is None:
        raise InputError(f"{path}: its ending names no vector format; {_known('write')}")
    if not hasattr(catalogue.entry("vector_formats", name), "write"):
        raise InputError(f"{path}: word vectors cannot be saved as {name}; {_known('write')}")
    return name


def _formats() -> dict[str, ModuleType]:
    return {
        name: catalogue.entry("vector_formats", name) for name in catalogue.names("vector_formats")
    }


def _format_by_ending(path: Path) -> str | None:
    file = uncompressed_name(path).lower()
    return next((name for name, each in _formats().items() if file.endswith(each.ENDINGS)), None)


def _known(verb: str) -> str:
    """List the formats that can read, or write."""
    formats = {name: each for name, each in _formats().items() if hasattr(each, verb)}
    known = [f"{ending} ({name})" for name, each in formats.items() for ending in each.ENDINGS]
    return f"known: {', '.join(known)}; format= decides otherwise"
