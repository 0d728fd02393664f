"""Word vectors: terms with one vector each, which can be looked up, compared, read and saved."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
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
from wordclass.storage.files import require_unchanged, uncompressed_name
from wordclass.vectors import cache as vector_cache
from wordclass.vectors.format_detection import detect_format, format_to_write
from wordclass.vectors.subwords import Subwords

Default = TypeVar("Default")

_COSINE_MARGIN = 1e-4  # larger than the rounding error of a cosine in float32
_BLOCK_ROWS = 4096  # held in float64 at a time


class UnknownTermError(InputError, KeyError):
    """A term has no vector. It is a KeyError, too, because `vectors[term]` raises it."""

    __str__ = Exception.__str__  # KeyError would put the message in quotes


@dataclass(frozen=True, eq=False, repr=False)
class WordVectors:
    """Terms with one vector each.

    Use `WordVectors.of` or `WordVectors.load` to create them, because these check the terms and
    vectors. Word vectors do not change, so copying returns the same object.

    Parameters
    ----------
    terms : sequence of str
        The terms in the order of the rows. They are distinct.
    matrix : float32 array of shape (n_terms, n_dims)
        The vectors. The array is read-only.
    dimension_names : tuple of str or int, optional
        Names of the columns, such as the classes of word-class vectors.
    subwords : Subwords, optional
        Vectors of character n-grams, as in fastText models. They give vectors to terms that are
        not in `terms` and have no row.

    See Also
    --------
    EmbeddingMatrix : Word vectors and word-class vectors side by side, for networks.
    WordClassEmbeddings.to_word_vectors : Convert word-class embeddings.

    Examples
    --------
    >>> import wordclass as wc
    >>> vectors = wc.WordVectors.of(["moon", "lunar", "tax"], [[2, 1], [4, 2], [-1, 2]])
    >>> vectors["tax"]
    array([-1.,  2.], dtype=float32)
    >>> "sun" in vectors, len(vectors)
    (False, 3)
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
        """Create word vectors from terms and a matrix, and check them.

        Parameters
        ----------
        terms : iterable of str
            Distinct terms in the order of the rows.
        matrix : array-like of shape (n_terms, n_dims)
            The vectors. A float32 array in C order is not copied, so it must not be changed later.
        dimension_names : iterable of str or int, optional
            Names of the columns.
        subwords : Subwords, optional
            Vectors of character n-grams.

        Returns
        -------
        WordVectors
            The word vectors.

        Raises
        ------
        InputError
            The numbers of terms and rows differ, a term is not a str or occurs twice, or a vector
            contains NaN, infinity or a number too large for float32.

        See Also
        --------
        WordVectors.load : Read word vectors from a file.

        Examples
        --------
        >>> WordVectors.of(["moon", "tax"], [[2, 1], [-1, 2]])
        <WordVectors of 2 terms, 2 dimensions>
        """
        term_list = list_terms(terms)
        rows = as_float32(matrix)
        if len(term_list) != len(rows):
            raise InputError(
                f"{len(term_list)} terms but {len(rows)} vectors", expected="one vector per term"
            )
        names = list_dimension_names(dimension_names, rows.shape[1])
        vectors = cls(term_list, rows, names, subwords)
        if len(vectors.index) != len(term_list):
            repeated = next(
                term for row, term in enumerate(term_list) if vectors.index[term] != row
            )
            raise InputError(
                f"the term {repeated!r} occurs more than once", expected="distinct terms"
            )
        bad_row = find_nonfinite_row(rows)
        if bad_row is not None:
            raise InputError(
                f"the vector of {term_list[bad_row]!r} holds {NONFINITE_VALUE}",
                expected="finite numbers",
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
        """Read word vectors from a file.

        Parameters
        ----------
        path : str or path-like
            The file. Its ending or its first bytes determine the format. A text file whose first
            line consists of two integers has word2vec's format, and all others have GloVe's. Files
            that end in .gz or .zst are decompressed while they are read.
        terms : iterable of str, optional
            Read only these terms. They have the order of the file, and terms without a vector are
            left out. By default, all terms are read.
        format : str, optional
            Name of the format: "glove_text", "word2vec_text", "word2vec_binary",
            "fasttext_binary", "npz", "spacy" or "wce". By default, it is detected.
        cache : bool, default=True
            Keep the content of a large file in `<path>.wcache`, so that the next call is fast. The
            cache is replaced when the file changes.

        Returns
        -------
        WordVectors
            The word vectors.

        Raises
        ------
        FormatError
            The content of the file does not follow its format.
        MissingDataError
            The file does not exist.
        StorageError
            The file cannot be read, or it changed while it was read.

        See Also
        --------
        WordVectors.save : Write word vectors to a file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp(), "glove.txt")
        >>> WordVectors.of(["moon", "tax"], [[2, 1], [-1, 2]]).save(path)
        >>> WordVectors.load(path)
        <WordVectors of 2 terms, 2 dimensions>
        """
        requested_terms = None if terms is None else frozenset(list_terms(terms))
        file = Path(path)
        sources = [file, names_file(file)]
        with require_unchanged(*sources):
            name = format or detect_format(file)
            reader = catalogue.entry("vector_formats", name)
            is_cached = cache and not hasattr(reader, "IS_QUICK")
            key = vector_cache.make_key(name, sources) if is_cached else None
            if key is not None:
                content = vector_cache.find(file, key)
                if content is not None:
                    return cls(*content)._select(requested_terms)
            vectors: WordVectors = reader.read(file, requested_terms)
        if key is not None and requested_terms is None:
            vector_cache.write(file, key, vectors._content)
        return vectors

    def save(self, path: str | PathLike[str], format: str | None = None) -> None:
        """Write the word vectors to a file. An existing file is replaced atomically.

        Parameters
        ----------
        path : str or path-like
            The file. Its ending determines the format: .txt, .vec, .bin or .npz.
        format : str, optional
            Name of the format: "glove_text", "word2vec_text", "word2vec_binary" or "npz".

        Raises
        ------
        InputError
            The format is unknown, cannot be written, or cannot represent a term.
        StorageError
            The file cannot be written.

        See Also
        --------
        WordVectors.load : Read word vectors from a file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp(), "vectors.vec")
        >>> WordVectors.of(["moon", "tax"], [[2, 1], [-1, 2]]).save(path)
        >>> print(path.read_text(), end="")
        2 2
        moon 2.0 1.0
        tax -1.0 2.0
        """
        file = Path(path)
        catalogue.entry("vector_formats", format_to_write(file, format)).write(file, self)

    @property
    def n_dims(self) -> int:
        """Number of dimensions.

        Returns
        -------
        int
            The length of a vector.

        Examples
        --------
        >>> WordVectors.of(["moon"], [[2, 1]]).n_dims
        2
        """
        return int(self.matrix.shape[1])

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Dictionary from term to row."""
        return dict(zip(self.terms, range(len(self.terms)), strict=True))

    def rows(self, terms: Iterable[str]) -> Ints:
        """Return the row number of each term.

        Parameters
        ----------
        terms : iterable of str
            The terms.

        Returns
        -------
        int64 array of shape (n_terms,)
            Row numbers; -1 for a term that has no row.

        Raises
        ------
        InputError
            `terms` is a single str.

        Examples
        --------
        >>> WordVectors.of(["moon", "tax"], [[2, 1], [-1, 2]]).rows(["tax", "sun"])
        array([ 1, -1])
        """
        if isinstance(terms, str):
            raise InputError("terms is one str", expected="several terms: [term]")
        return np.fromiter((self.index.get(_check_key(term), -1) for term in terms), dtype=np.int64)

    def get(self, term: str, default: Default | None = None) -> Floats32 | Default | None:
        """Return the vector of a term, or a default value if it has none.

        Parameters
        ----------
        term : str
            The term.
        default : object, optional
            The value for a term without a vector.

        Returns
        -------
        float32 array of shape (n_dims,), or the default
            The vector. If there are subwords, terms without a row have a vector, too.

        See Also
        --------
        WordVectors.rows : Return the row numbers of several terms.

        Examples
        --------
        >>> vectors = WordVectors.of(["moon", "tax"], [[2, 1], [-1, 2]])
        >>> vectors.get("moon")
        array([2., 1.], dtype=float32)
        >>> vectors.get("sun") is None
        True
        """
        row = self.index.get(_check_key(term))
        if row is not None:
            return self.matrix[row]  # type: ignore[no-any-return]
        vector = None if self.subwords is None else self.subwords.vector(term)
        return default if vector is None else vector

    def nearest(self, term_or_vector: str | ArrayLike, n: int = 10) -> list[tuple[str, float]]:
        """Return the terms whose vectors have the largest cosine with a vector, best first.

        Cosines are rounded to nine decimals, so that rounding errors do not break ties. Of terms
        with equal cosines, the first rows come first. A vector of zeros has cosine 0 with every
        vector.

        Parameters
        ----------
        term_or_vector : str or array of shape (n_dims,)
            A term, which is left out of the result, or a vector.
        n : int, default=10
            Maximum number of terms.

        Returns
        -------
        list of (str, float)
            Terms and cosines.

        Raises
        ------
        InputError
            The term has no vector, the vector has another length, is zero or is not finite, or `n`
            is not a positive integer.

        Examples
        --------
        >>> vectors = WordVectors.of(["moon", "lunar", "tax"], [[2, 1], [4, 2], [-1, 2]])
        >>> vectors.nearest("moon", n=1)
        [('lunar', 1.0)]
        >>> vectors.nearest([1, 0], n=1)
        [('moon', 0.894427191)]
        """
        check_int("n", n, 1)
        excluded_row = None
        if isinstance(term_or_vector, str):
            vector = self[term_or_vector]
            excluded_row = self.index.get(term_or_vector)
        else:
            vector = as_float32([term_or_vector])[0]
        if len(vector) != self.n_dims:
            raise InputError(f"the vector has {len(vector)} numbers", expected=f"{self.n_dims}")
        if not vector.any() or not np.isfinite(vector).all():
            raise InputError(
                "the vector has no direction: it is all zeros or not finite",
                expected="a finite vector other than zero",
            )
        return self._find_nearest(vector, n, excluded_row)

    def _find_nearest(
        self, vector: Floats32, n: int, excluded_row: int | None
    ) -> list[tuple[str, float]]:
        query = normalize_rows(vector[None].astype(np.float64))[0]
        cosines = self._unit_rows @ query.astype(np.float32)  # (v,)
        if excluded_row is not None:
            cosines[excluded_row] = -np.inf
        n = min(n, len(self) - (excluded_row is not None))
        if n == 0:
            return []
        # Slightly more than the n best candidates are compared again in float64 and without BLAS,
        # which need not give equal products for equal rows.
        rows = np.flatnonzero(cosines >= np.partition(cosines, -n)[-n] - _COSINE_MARGIN)
        products = (normalize_rows(self.matrix[rows].astype(np.float64)) * query).sum(axis=1)
        exact = np.round(products, 9) + 0.0  # adding 0.0 turns -0.0 into 0.0
        best = np.argsort(-exact, kind="stable")[:n]
        return [(self.terms[rows[k]], float(exact[k])) for k in best]

    @cached_property
    def _unit_rows(self) -> Floats32:
        unit_rows = np.empty_like(self.matrix)
        for start in range(0, len(unit_rows), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            unit_rows[block] = normalize_rows(self.matrix[block].astype(np.float64))
        return unit_rows

    def _select(self, terms: frozenset[str] | None) -> Self:
        """Return the vectors of some terms in the order of the rows. None stands for all."""
        if terms is None:
            return self
        rows = [row for row, term in enumerate(self.terms) if term in terms]
        matrix = self.matrix[rows]
        matrix.flags.writeable = False
        selected_terms = [self.terms[row] for row in rows]
        return type(self)(selected_terms, matrix, self.dimension_names, self.subwords)

    @property
    def _content(self) -> vector_cache.Content:
        return self.terms, self.matrix, self.dimension_names, self.subwords

    def __getitem__(self, term: str) -> Floats32:
        vector: Floats32 | None = self.get(term)
        if vector is None:
            raise UnknownTermError(f"there is no vector of {term!r}")
        return vector

    def __contains__(self, term: object) -> bool:
        return _check_key(term) in self.index

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
        # `of` makes the array read-only again, and cached properties are not pickled
        return type(self).of, self._content


def _check_key(term: object) -> str:
    if not isinstance(term, str):
        raise TypeError(f"a term is a str, not a {type(term).__name__}")
    return term


def list_terms(terms: Iterable[str]) -> list[str]:
    """Return terms as a list of plain str.

    Parameters
    ----------
    terms : iterable of str
        The terms.

    Raises
    ------
    InputError
        `terms` is a single str, is not iterable, or contains something that is not a str.
    """
    if isinstance(terms, str | bytes) or not isinstance(terms, Iterable):
        raise InputError(f"terms is one {type(terms).__name__}", expected="several terms: [term]")
    term_list = list(terms)
    if set(map(type, term_list)) <= {str}:
        return term_list
    for k, term in enumerate(term_list):
        if not isinstance(term, str):
            raise InputError(f"term {k} is a {type(term).__name__}", expected="a str")
    return [str(term) for term in term_list]  # subclasses of str, such as numpy's


def list_dimension_names(
    names: Iterable[str | int] | None, n_dims: int
) -> tuple[str | int, ...] | None:
    """Return the names of dimensions as plain str and int, or None if there are none.

    Parameters
    ----------
    names : iterable of str or int, optional
        The names.
    n_dims : int
        Number of dimensions.

    Raises
    ------
    InputError
        There is not one name per dimension, or a name is neither a str nor an int.
    """
    if names is None:
        return None
    name_list = tuple(names)
    if len(name_list) != n_dims:
        raise InputError(
            f"{len(name_list)} dimension names for {n_dims} dimensions",
            expected="one name per dimension",
        )
    for name in name_list:
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            raise InputError(f"the dimension name {name!r} is neither a str nor an int")
    return tuple(str(name) if isinstance(name, str) else int(name) for name in name_list)


def names_file(path: Path) -> Path:
    """Return the path of the names of dimensions, for formats that cannot store them.

    Examples
    --------
    >>> names_file(Path("news.vec.gz")).name
    'news.vec.classes.json'
    """
    return path.parent / f"{uncompressed_name(path)}.classes.json"
