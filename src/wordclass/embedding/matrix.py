"""The embedding matrix E: pretrained, word-class, random vectors side by side, one row per term."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from wordclass import catalogue
from wordclass.arrays import Floats32, Ints, find_nonfinite_row
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.random_vectors import fill_random
from wordclass.embedding.unseen_terms import UnseenTerms
from wordclass.errors import InputError
from wordclass.options import check_int, list_texts
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze, Analyzer
from wordclass.text.counting import index_texts
from wordclass.text.sequences import IdBatch, Sequences, Side
from wordclass.text.vocabulary import Vocabulary
from wordclass.vectors.word_vectors import WordVectors, list_terms

# reserved names; "context" has vectors that are not rows of E, see `network`
BLOCKS = ("pretrained", "word_class", "random", "context")
_BLOCK = 16_384  # rows that are filled at a time, so that nothing large is copied twice


@dataclass(frozen=True, eq=False, repr=False)
class EmbeddingMatrix:
    """Matrix with one row per term and one block of columns per kind of vector.

    Use `EmbeddingMatrix.of` to create it. The rows are the terms of the vocabulary, one row for all
    unknown terms, one for padding, and then terms outside the vocabulary that have a pretrained
    vector or a vector of another task. The block of a term without such a vector is zero. Copying
    returns the same object.

    Parameters
    ----------
    terms : sequence of str
        The vocabulary in the order of the first rows.
    unseen_terms : sequence of str
        The terms outside the vocabulary in the order of the last rows.
    matrix : float32 array of shape (rows, n_dims)
        The vectors. The array is read-only.
    blocks : dict of str to slice
        Columns of the existing blocks, in this order: "pretrained", "word_class", the names of
        other tasks, "random".
    analyze : callable
        Function from a text to its tokens, for `index`.

    Examples
    --------
    >>> U = WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]])
    >>> E = EmbeddingMatrix.of(U, vocabulary=["moon", "orbit"])
    >>> E.matrix.tolist()  # moon, orbit, unknown, padding, tax
    [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [3.0, 4.0]]
    >>> E.index(["The tax on the moon"]).ids.tolist()
    [[2, 4, 2, 2, 0]]
    """

    terms: Sequence[str]
    unseen_terms: Sequence[str]
    matrix: Floats32
    blocks: Mapping[str, slice]
    analyze: Analyze

    def __post_init__(self) -> None:
        self.matrix.flags.writeable = False

    @classmethod
    def of(
        cls,
        U: WordVectors | None = None,
        wce: WordClassEmbeddings | None = None,
        *,
        random_dims: int = 0,
        seed: int = 0,
        other: Mapping[str, WordClassEmbeddings] | None = None,
        vocabulary: Iterable[str] | None = None,
        keep_unseen: bool = True,
        analyzer: Analyze | None = None,
        unseen: Any = None,  # noqa: ANN401 - a name, or any object with the two methods
    ) -> Self:
        """Put vectors side by side. Terms are matched by name.

        Parameters
        ----------
        U : WordVectors, optional
            Pretrained vectors. Where they know pieces of words, vocabulary terms without a vector
            of their own get one made of these.
        wce : WordClassEmbeddings, optional
            Fitted word-class embeddings.
        random_dims : int, default=0
            How many random columns to add: for all rows but the padding, uniform with the width
            that Xavier's rule gives.
        seed : int, default=0
            Seed of the random columns and of `unseen`. Before scaling, the random vector of a term
            depends on the seed and the term only.
        other : dict of str to WordClassEmbeddings, optional
            Fitted word-class embeddings of other tasks by the names of their blocks. Classes that
            only another task has are never predicted.
        vocabulary : iterable of str, optional
            Terms of the first rows, if there is no `wce`. By default, all terms of U, or else the
            sorted terms of the other tasks.
        keep_unseen : bool, default=True
            Keep the terms outside the vocabulary that U or other tasks have, because new texts may
            contain them.
        analyzer : callable, optional
            Function from a text to its tokens. By default, that of `wce`, or words.
        unseen : str or object, optional
            Regressor that predicts the word-class block of terms outside the vocabulary from their
            pretrained vectors, see `UnseenTerms.predict`. By default, that block is zero.

        Returns
        -------
        EmbeddingMatrix
            The matrix.

        Raises
        ------
        InputError
            There are no vectors; U or another task shares no term with the vocabulary; a vector has
            NaN or infinity; `unseen` has nothing to learn from; or embeddings of another task are
            not fitted or have a reserved name.

        Examples
        --------
        >>> U = WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]])
        >>> wce = WordClassEmbeddings(min_docs=1).fit(["a moon", "a rose"], ["sky", "garden"])
        >>> EmbeddingMatrix.of(U, wce)
        <EmbeddingMatrix of 5 rows: pretrained 2, word_class 2>
        """
        tasks = check_other_tasks(other)
        _check(U, wce, tasks, random_dims, seed)
        _check_unseen(unseen, has_both=U is not None and wce is not None and keep_unseen)
        terms = _vocabulary(U, wce, tasks, vocabulary)
        U_rows = np.full(len(terms), -1) if U is None else _shared_rows(U, terms)
        n_known = len(U) if U is not None and keep_unseen else 0
        outside = np.setdiff1d(np.arange(n_known), U_rows)
        widths = {
            "pretrained": 0 if U is None else U.n_dims,
            "word_class": 0 if wce is None else wce.vectors_.shape[1],
            **{name: embeddings.vectors_.shape[1] for name, embeddings in tasks.items()},
            "random": random_dims,
        }
        blocks = _side_by_side(widths)
        unseen_terms = [] if U is None else [U.terms[row] for row in outside.tolist()]
        if keep_unseen:
            unseen_terms += _terms_outside(tasks, {*terms, *unseen_terms})
        row_terms = [*terms, None, None, *unseen_terms]
        matrix = np.zeros((len(row_terms), sum(widths.values())), np.float32)
        of_U = slice(len(terms) + 2, len(terms) + 2 + len(outside))
        if U is not None:
            pretrained = matrix[:, blocks["pretrained"]]
            _fill_pretrained(pretrained[: len(terms)], U, terms, U_rows)
            _fill_rows(pretrained[of_U], U.matrix, outside)
        if wce is not None:
            matrix[: len(terms), blocks["word_class"]] = wce.vectors_
        if U is not None and wce is not None and unseen is not None and len(outside):
            # in the same order: that of U
            predicted = UnseenTerms.predict(U, wce, unseen, seed=seed)
            matrix[of_U, blocks["word_class"]] = predicted.vectors
        for name, embeddings in tasks.items():
            _fill_task(matrix[:, blocks[name]], name, embeddings, row_terms, len(terms))
        if random_dims:
            fill_random(matrix[:, blocks["random"]], row_terms, seed)
            matrix[len(terms) + 1] = 0
        default_analyzer = Analyzer() if wce is None else wce.vectorizer_.build_analyzer()
        result = cls(terms, unseen_terms, matrix, blocks, analyzer or default_analyzer)
        if (bad_row := find_nonfinite_row(matrix)) is not None:
            raise InputError(f"the vector of {result._name(bad_row)!r} holds a NaN or an infinity")
        return result

    @property
    def unknown(self) -> int:
        """Number of the row of all unknown terms.

        Returns
        -------
        int
            The row number.

        Examples
        --------
        >>> EmbeddingMatrix.of(vocabulary=["moon", "tax"], random_dims=2).unknown
        2
        """
        return len(self.terms)

    @property
    def padding(self) -> int:
        """Number of the padding row, which is zero.

        Returns
        -------
        int
            The row number.

        Examples
        --------
        >>> EmbeddingMatrix.of(vocabulary=["moon", "tax"], random_dims=2).padding
        3
        """
        return len(self.terms) + 1

    @property
    def n_dims(self) -> int:
        """Number of dimensions.

        Returns
        -------
        int
            The length of a row.

        Examples
        --------
        >>> EmbeddingMatrix.of(vocabulary=["moon", "tax"], random_dims=2).n_dims
        2
        """
        return int(self.matrix.shape[1])

    def row(self, term: str) -> int:
        """Return the row number of a term.

        Parameters
        ----------
        term : str
            The term.

        Returns
        -------
        int
            The row number; `unknown` if the term has no row.

        Examples
        --------
        >>> E = EmbeddingMatrix.of(vocabulary=["moon", "tax"], random_dims=2)
        >>> E.row("tax"), E.row("sun")
        (1, 2)
        """
        if not isinstance(term, str):
            raise TypeError(f"a term is a str, not a {type(term).__name__}")
        column = self._columns.index.get(term)
        return self.unknown if column is None else int(self._row_of[column])

    def index(
        self,
        texts: Iterable[str],
        max_length: int = 500,
        *,
        pad: Side = "right",
        n_jobs: int | None = None,
    ) -> IdBatch:
        """Return the row numbers of the tokens of texts, padded to the longest text.

        Parameters
        ----------
        texts : iterable of str
            The texts.
        max_length : int, default=500
            Maximum number of tokens per text. Later tokens are dropped.
        pad : {"right", "left"}, default="right"
            Side of the text on which padding is added. The paper's experiments used "left".
        n_jobs : int, optional
            Number of threads. None is one, and -1 is all cores.

        Returns
        -------
        IdBatch
            Row numbers and lengths of the texts.

        Examples
        --------
        >>> E = EmbeddingMatrix.of(vocabulary=["moon", "tax"], random_dims=2)
        >>> E.index(["moon tax", "sun"]).ids.tolist()
        [[0, 1], [2, 3]]
        """
        return self.sequences(texts, max_length, n_jobs=n_jobs).padded(self.padding, pad)

    def sequences(
        self, texts: Iterable[str], max_length: int = 500, *, n_jobs: int | None = None
    ) -> Sequences:
        """Return the row numbers of the tokens of texts, without padding.

        Parameters
        ----------
        texts : iterable of str
            The texts.
        max_length : int, default=500
            Maximum number of tokens per text. Later tokens are dropped.
        n_jobs : int, optional
            Number of threads. None is one, and -1 is all cores.

        Returns
        -------
        Sequences
            Row numbers, text after text.

        Examples
        --------
        >>> E = EmbeddingMatrix.of(vocabulary=["moon", "tax"], random_dims=2)
        >>> E.sequences(["moon tax", "sun"]).ids.tolist()
        [0, 1, 2]
        """
        columns, ends = index_texts(list_texts(texts), self.analyze, self._columns, n_jobs)
        # -1, a token outside, is the last entry
        return Sequences(self._row_of[columns], ends).truncate(max_length)

    def restricted(self, rows: Ints) -> tuple[Self, Ints]:
        """Return the matrix with only some of the unseen terms.

        Parameters
        ----------
        rows : int array
            Row numbers of the unseen terms to keep. Other row numbers are ignored.

        Returns
        -------
        E : EmbeddingMatrix
            The smaller matrix.
        new_rows : int array of shape (rows,)
            New number of each row; that of the unknown row for terms that were dropped.

        Examples
        --------
        >>> import numpy as np
        >>> U = WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]])
        >>> E = EmbeddingMatrix.of(U, vocabulary=["moon"])
        >>> smaller, new_rows = E.restricted(np.array([0]))
        >>> len(smaller), new_rows.tolist()
        (3, [0, 1, 2, 1])
        """
        first = len(self.terms) + 2
        row_numbers = np.unique(rows[rows >= first])
        new_places = np.concatenate(
            [np.arange(first), np.full(len(self.unseen_terms), self.unknown)]
        )
        new_places[row_numbers] = first + np.arange(len(row_numbers))
        matrix = np.concatenate([self.matrix[:first], self.matrix[row_numbers]])
        unseen = [self.unseen_terms[row - first] for row in row_numbers.tolist()]
        return type(self)(self.terms, unseen, matrix, self.blocks, self.analyze), new_places

    def with_vectors(self, rows: Ints, vectors: Floats32) -> Self:
        """Return a matrix in which some rows have other vectors.

        Parameters
        ----------
        rows : int array of shape (k,)
            Row numbers.
        vectors : float32 array of shape (k, n_dims)
            New vectors of these rows.

        Returns
        -------
        EmbeddingMatrix
            The new matrix.

        Examples
        --------
        >>> E = EmbeddingMatrix.of(vocabulary=["moon", "tax"], random_dims=2)
        >>> E.with_vectors(np.array([0]), np.zeros((1, 2))).matrix[0].tolist()
        [0.0, 0.0]
        """
        matrix = self.matrix.copy()
        matrix[rows] = vectors
        return type(self)(self.terms, self.unseen_terms, matrix, self.blocks, self.analyze)

    @cached_property
    def _columns(self) -> Vocabulary:
        """Vocabulary of all terms that have a row, for the native engine."""
        terms = [*self.terms, *self.unseen_terms]
        nothing = np.zeros(len(terms), np.int64)
        return Vocabulary(terms, nothing, nothing, 0)

    @cached_property
    def _row_of(self) -> Ints:
        """Row number of each column of `_columns`, followed by the unknown row."""
        n_terms = len(self.terms)
        unseen = np.arange(len(self.unseen_terms)) + n_terms + 2
        return np.concatenate([np.arange(n_terms), unseen, [n_terms]])

    def _name(self, row: int) -> str:
        return [*self.terms, "unknown", "padding", *self.unseen_terms][row]

    def to_state(self) -> ModelState:
        """Return the state that is stored, without the analyzer.

        Returns
        -------
        ModelState
            Terms, blocks and vectors.

        Examples
        --------
        >>> E = EmbeddingMatrix.of(vocabulary=["moon", "tax"], random_dims=2)
        >>> E.to_state().metadata["row_vocabulary"]
        2
        """
        blocks = [[name, place.start, place.stop] for name, place in self.blocks.items()]
        return ModelState.of(
            {"row_vocabulary": len(self.terms), "row_blocks": blocks},
            row_terms=[*self.terms, *self.unseen_terms],
            rows=self.matrix,
        )

    @classmethod
    def from_state(cls, analyze: Analyze, parts: ModelState) -> Self:
        """Restore a matrix from a stored state.

        Parameters
        ----------
        analyze : callable
            Function from a text to its tokens.
        parts : ModelState
            Result of `to_state`.

        Returns
        -------
        EmbeddingMatrix
            The matrix.

        Examples
        --------
        >>> E = EmbeddingMatrix.of(vocabulary=["moon", "tax"], random_dims=2)
        >>> EmbeddingMatrix.from_state(E.analyze, E.to_state()).n_dims
        2
        """
        terms = parts.take(row_terms="distinct:str row_terms")["row_terms"]
        rows = parts.take(rows=f"float32 {len(terms) + 2} dimensions")["rows"]
        n_terms = parts.metadata["row_vocabulary"]
        check_int("row_vocabulary", n_terms, 0, len(terms))
        blocks = {
            str(name): slice(start, stop) for name, start, stop in parts.metadata["row_blocks"]
        }
        widths = {name: place.stop - place.start for name, place in blocks.items()}
        if {"", "context"} & blocks.keys():  # which no block in a matrix is named
            raise ValueError("row_blocks have a name that no block has")
        if blocks != _side_by_side(widths) or sum(widths.values()) != rows.shape[1]:
            raise ValueError("row_blocks do not lie side by side in the rows")
        return cls(terms[:n_terms], terms[n_terms:], rows, blocks, analyze)

    def __len__(self) -> int:
        return len(self.matrix)

    def __contains__(self, term: object) -> bool:
        return term in self._columns.index

    def __repr__(self) -> str:
        blocks = ", ".join(f"{name} {at.stop - at.start}" for name, at in self.blocks.items())
        return f"<EmbeddingMatrix of {len(self)} rows: {blocks}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        # a pickled array forgets that it is read-only, and caches need not travel
        fields = (self.terms, self.unseen_terms, self.matrix, self.blocks, self.analyze)
        return type(self), fields


def list_block_names(other: object) -> list[str]:
    """Return the names of the blocks of other tasks, or raise an InputError."""
    if other is None:
        return []
    if not isinstance(other, Mapping):
        problem = f"other is a {type(other).__name__}"
        raise InputError(
            f"{problem}; expected a dict, {{name: WordClassEmbeddings of another task}}"
        )
    for name in other:
        if not isinstance(name, str) or not name or name in BLOCKS:
            expected = f"a str that is not empty, and none of {', '.join(BLOCKS)}"
            raise InputError(f"other has a block named {name!r}; expected {expected}")
    return [*other]


def check_other_tasks(other: Mapping[str, Any] | None) -> dict[str, WordClassEmbeddings]:
    """Return the fitted embeddings of other tasks by name, or raise an InputError."""
    list_block_names(other)
    tasks = {**(other or {})}
    for name, embeddings in tasks.items():
        if embeddings is None:  # of a model that was loaded
            problem = f"the embeddings {name!r} of another task are not kept with a model"
            raise InputError(f"{problem}: give them again, as other={{{name!r}: ...}}")
        if not isinstance(embeddings, WordClassEmbeddings):
            problem = f"other[{name!r}] is a {type(embeddings).__name__}"
            raise InputError(f"{problem}; expected WordClassEmbeddings, fitted on another task")
        if not hasattr(embeddings, "vectors_"):
            problem = f"the embeddings other[{name!r}] are not fitted"
            raise InputError(f"{problem}; fit them on another task, or load them from a .wce file")
    return tasks


def _check(U: object, wce: object, tasks: object, random_dims: object, seed: object) -> None:
    if U is not None and not isinstance(U, WordVectors):
        raise InputError(f"U is a {type(U).__name__}; expected WordVectors, or None")
    if wce is not None:
        if not isinstance(wce, WordClassEmbeddings):
            raise InputError(f"wce is a {type(wce).__name__}", expected="WordClassEmbeddings")
        check_is_fitted(wce)
    check_int("random_dims", random_dims, 0)
    check_int("seed", seed)
    if U is None and wce is None and not tasks and not random_dims:
        raise InputError("there are no vectors: give U, wce, other or random_dims")


def _check_unseen(unseen: object, *, has_both: bool) -> None:
    if unseen is not None and not has_both:
        raise InputError("unseen needs U and wce to learn from, and keep_unseen=True")
    if isinstance(unseen, str):
        catalogue.entry("regressors", unseen)  # refuses a misspelt one, also where none is unseen


def _vocabulary(
    U: WordVectors | None,
    wce: WordClassEmbeddings | None,
    tasks: Mapping[str, WordClassEmbeddings],
    vocabulary: Iterable[str] | None,
) -> list[str]:
    if wce is not None:
        if vocabulary is not None:
            raise InputError("the vocabulary is that of the word-class embeddings: give one of two")
        return list(wce.terms_)
    if vocabulary is None:
        if U is None and not tasks:
            raise InputError("random vectors alone belong to no terms: give a vocabulary")
        return sorted(_terms_outside(tasks, set())) if U is None else list(U.terms)
    terms = list_terms(vocabulary)
    if len(set(terms)) != len(terms):
        raise InputError("the vocabulary has a term more than once; expected distinct terms")
    return terms


def _terms_outside(tasks: Mapping[str, WordClassEmbeddings], terms: set[str]) -> list[str]:
    """Return the terms of other tasks that are not among some, each once, in their order."""
    all_terms = dict.fromkeys(term for embeddings in tasks.values() for term in embeddings.terms_)
    return [term for term in all_terms if term not in terms]


def _shared_rows(U: WordVectors, terms: list[str]) -> Ints:
    """Return the row in U of each term, -1 where it has none."""
    rows = U.rows(terms)
    if terms and U.subwords is None and (rows < 0).all():
        raise InputError(
            f"the pretrained vectors know none of the {len(terms)} terms of the vocabulary: is it "
            "another language, or are their terms not in lower case?"
        )
    return rows


def _side_by_side(widths: dict[str, int]) -> dict[str, slice]:
    blocks = {}
    start = 0
    for name, width in widths.items():
        if width:
            blocks[name] = slice(start, start + width)
            start += width
    return blocks


def _fill_pretrained(target: Floats32, U: WordVectors, terms: list[str], U_rows: Ints) -> None:
    known_terms = np.flatnonzero(U_rows >= 0)
    target[known_terms] = U.matrix[U_rows[known_terms]]
    if U.subwords is not None:
        for k in np.flatnonzero(U_rows < 0):
            vector = U.subwords.vector(terms[k])
            if vector is not None:
                target[k] = vector


def _fill_rows(target: Floats32, source: Floats32, rows: Ints) -> None:
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        target[block] = source[rows[block]]


def _fill_task(
    target: Floats32,
    name: str,
    wce: WordClassEmbeddings,
    row_terms: Sequence[str | None],
    n_terms: int,
) -> None:
    """Fill in the vectors of another task, which must share terms with the vocabulary."""
    index = {term: row for row, term in enumerate(wce.terms_)}
    task_rows = np.array([index.get(term, -1) for term in row_terms])  # type: ignore[arg-type]
    if n_terms and (task_rows[:n_terms] < 0).all():
        raise InputError(
            f"the embeddings {name!r} know none of the {n_terms} terms of the vocabulary: is that "
            "task in another language, or are its terms cut or written in another way?"
        )
    known_terms = np.flatnonzero(task_rows >= 0)
    target[known_terms] = wce.vectors_[task_rows[known_terms]]
