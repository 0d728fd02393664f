"""Terms with their document frequencies, and the choice of the terms that a fit keeps."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

from wordclass.arrays import Flags, Floats, Ints
from wordclass.errors import InputError, NoTermError
from wordclass.options import check_int
from wordclass.storage.state import ModelState

_LAYOUT = {
    "terms": "sorted:str terms",
    "doc_freq": "int64 terms >=0 <=vocabulary_docs",
    "term_freq": "int64 terms >=0",
    "factors": "float64? terms >=0",
}
_MAX_STORED_DOCS = 1 << 53  # all smaller numbers are exact as floats, too
_MAX_TABULATED_COUNT = 255


@dataclass(frozen=True, eq=False)
class TermCounts:
    """All terms of some documents with their frequencies. Counts of several shards add up.

    Parameters
    ----------
    terms : list of str
        The terms, sorted by code point.
    doc_freq : int64 array of shape (terms,)
        Number of documents in which each term occurs.
    term_freq : int64 array of shape (terms,)
        Number of occurrences of each term in all documents.
    n_docs : int
        Number of documents.

    Examples
    --------
    >>> one = TermCounts(["moon", "star"], np.array([1, 2]), np.array([1, 5]), 2)
    >>> two = TermCounts(["star", "sun"], np.array([1, 1]), np.array([2, 1]), 1)
    >>> total = one + two
    >>> total.terms, total.doc_freq.tolist(), total.n_docs
    (['moon', 'star', 'sun'], [1, 3, 1], 3)
    """

    terms: list[str]
    doc_freq: Ints
    term_freq: Ints
    n_docs: int

    @classmethod
    def of(cls, counted: Any) -> "TermCounts":  # noqa: ANN401 - see `Vocabulary.of`
        """Return the counts of an object that has counted texts or terms."""
        if isinstance(counted, TermCounts):
            return counted
        terms, positions = counted.sorted_terms(np.ones(len(counted.doc_freq), np.bool_))
        return cls(terms, counted.doc_freq[positions], counted.term_freq[positions], counted.n_docs)

    def __add__(self, other: "TermCounts") -> "TermCounts":
        all_terms = self.terms + other.terms
        # both lists are sorted, and Python's sort merges sorted runs in a single pass
        order = np.array(sorted(range(len(all_terms)), key=all_terms.__getitem__), np.int64)
        sorted_terms = np.array(all_terms, dtype=object)[order]
        is_first = np.ones(len(all_terms), np.bool_)
        is_first[1:] = sorted_terms[1:] != sorted_terms[:-1]
        starts = np.flatnonzero(is_first)

        def add_frequencies(first: Ints, second: Ints) -> Ints:
            frequencies = np.concatenate([first, second])[order]
            return np.add.reduceat(frequencies, starts) if len(starts) else frequencies

        return TermCounts(
            terms=sorted_terms[starts].tolist(),
            doc_freq=add_frequencies(self.doc_freq, other.doc_freq),
            term_freq=add_frequencies(self.term_freq, other.term_freq),
            n_docs=self.n_docs + other.n_docs,
        )

    def sorted_terms(self, is_selected: Flags) -> tuple[list[str], Ints]:
        """Return the selected terms, sorted by code point, and their positions."""
        return list(compress(self.terms, is_selected.tolist())), np.flatnonzero(is_selected)


@dataclass(frozen=True, eq=False)
class Vocabulary(Mapping[str, int]):
    """The terms of a fit: a mapping from term to column of X.

    Parameters
    ----------
    terms : list of str
        The terms, sorted by code point.
    doc_freq : int64 array of shape (v,)
        Number of training documents in which each term occurs.
    term_freq : int64 array of shape (v,)
        Number of occurrences of each term in all training documents.
    n_docs : int
        Number of training documents.
    factors : float64 array of shape (v,), optional
        Weights of terms that replace idf. They come from a weighting that uses labels.
    native_forms : dict
        Cache of the native engine's forms of the vocabulary, by analyzer. It is never saved.

    Examples
    --------
    >>> frequencies = np.array([2, 1])
    >>> vocabulary = Vocabulary(["moon", "star"], frequencies, frequencies, n_docs=2)
    >>> vocabulary["star"], "sun" in vocabulary
    (1, False)
    >>> vocabulary.idf.round(3)
    array([1.   , 1.405])
    """

    terms: list[str]
    doc_freq: Ints
    term_freq: Ints
    n_docs: int
    factors: Floats | None = None
    native_forms: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        counted: Any,  # noqa: ANN401 - the classes of `text/counting`, which imports this module
        min_docs: int | float = 1,
        max_df: int | float = 1.0,
        max_terms: int | None = None,
    ) -> tuple["Vocabulary", Ints]:
        """Select terms by the number of documents in which they occur.

        Parameters
        ----------
        counted : object
            Counted texts or terms: an object with `n_docs`, `doc_freq`, `term_freq` and
            `sorted_terms(is_selected)`.
        min_docs : int or float, default=1
            Minimum number of documents (int) or share of all documents (float), inclusive.
        max_df : int or float, default=1.0
            Maximum number of documents (int) or share of all documents (float), inclusive.
        max_terms : int, optional
            Maximum number of terms. Those with the most occurrences are kept, and of terms with
            equal numbers the first ones by code point.

        Returns
        -------
        vocabulary : Vocabulary
            The selected terms.
        positions : int64 array of shape (v,)
            Their positions in `counted`.

        Raises
        ------
        NoTermError
            No term is selected.
        InputError
            A bound is invalid, or the documents have no tokens.
        """
        is_selected = select_terms(counted.n_docs, counted.doc_freq, min_docs, max_df)
        if max_terms is not None:
            check_int("max_terms", max_terms, 1)
        terms, positions = counted.sorted_terms(is_selected)
        if max_terms is not None and len(terms) > max_terms:
            by_frequency = np.argsort(-counted.term_freq[positions], kind="stable")
            frequent = np.sort(by_frequency[:max_terms])
            terms = [terms[j] for j in frequent]
            positions = positions[frequent]
        vocabulary = cls(
            terms, counted.doc_freq[positions], counted.term_freq[positions], counted.n_docs
        )
        return vocabulary, positions

    @classmethod
    def empty(cls, n_docs: int) -> "Vocabulary":
        """Return the vocabulary of documents none of whose terms is kept."""
        return cls([], np.zeros(0, np.int64), np.zeros(0, np.int64), n_docs)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "native_forms": {}}

    @cached_property
    def idf(self) -> Floats:
        """Smoothed inverse document frequencies (v,): ln((1 + n) / (1 + df)) + 1.

        If the vocabulary has `factors`, they are returned instead.
        """
        if self.factors is not None:
            return self.factors
        return np.log((1 + self.n_docs) / (1 + self.doc_freq)) + 1

    @cached_property
    def index(self) -> dict[str, int]:
        """Dictionary from term to column."""
        return {term: j for j, term in enumerate(self.terms)}

    def __getitem__(self, term: str) -> int:
        return self.index[term]

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def to_state(self) -> ModelState:
        """Return the state that is stored."""
        metadata = {"vocabulary_docs": self.n_docs}
        return ModelState.of(metadata) | ModelState.of_fields(self, _LAYOUT)

    @classmethod
    def from_state(cls, state: ModelState) -> "Vocabulary":
        """Restore a vocabulary, and set the size `terms` of the state to its size."""
        n_docs = state.metadata["vocabulary_docs"]
        state.sizes["vocabulary_docs"] = n_docs
        check_int("vocabulary_docs", n_docs, 0, _MAX_STORED_DOCS)
        return cls(**state.take(**_LAYOUT), n_docs=n_docs)

    def agrees_with(self, other: "Vocabulary") -> bool:
        """Return True if both give the same X: equal terms, frequencies and factors."""
        return (
            self.n_docs == other.n_docs
            and self.terms == other.terms
            and np.array_equal(self.doc_freq, other.doc_freq)
            and np.array_equal(self.term_freq, other.term_freq)
            and np.array_equal(self.factors, other.factors)  # type: ignore[arg-type]
        )


def damped_counts(max_count: int) -> Floats:
    """Return a table with 0 for 0 and 1 + ln tf for every tf up to at least `max_count`."""
    return _TABLE if max_count < len(_TABLE) else _damp_counts(max_count)


def _damp_counts(max_count: int) -> Floats:
    return np.append(0.0, 1 + np.log(np.arange(1, max_count + 1)))


_TABLE = _damp_counts(_MAX_TABULATED_COUNT)  # enough for nearly every text


def select_terms(n_docs: int, doc_freq: Ints, min_docs: int | float, max_df: int | float) -> Flags:
    """Return a mask of the terms that occur in enough documents and not in too many.

    Parameters
    ----------
    n_docs : int
        Number of documents.
    doc_freq : int64 array of shape (terms,)
        Number of documents in which each term occurs.
    min_docs, max_df : int or float
        See `Vocabulary.of`.

    Raises
    ------
    NoTermError
        No term is selected.
    InputError
        There are no documents, or none of them has a token.
    """
    if not n_docs:
        raise InputError("the corpus is empty: there are no texts")
    n_terms = int((doc_freq > 0).sum())
    if not n_terms:
        raise InputError(f"all {n_docs} documents are empty: none has a single token")
    lowest = bound_in_docs(min_docs, n_docs, "min_docs")
    highest = bound_in_docs(max_df, n_docs, "max_df")
    is_selected: Flags = (doc_freq >= max(lowest, 1)) & (doc_freq <= highest)
    if not is_selected.any():
        raise NoTermError(
            f"no term is left of {n_terms}: none occurs in at least {lowest:g} and at most "
            f"{highest:g} of the {n_docs} documents",
            hint="lower min_docs or raise max_df",
        )
    return is_selected


def bound_in_docs(bound: int | float, n_docs: int, name: str) -> float:
    """Convert a number of documents (int) or a share of all documents (float) to a number.

    Parameters
    ----------
    bound : int or float
        The number or share.
    n_docs : int
        Number of all documents.
    name : str
        Name of the option, for messages.

    Raises
    ------
    InputError
        The bound is not a number of at least 1, or not a share from 0 to 1.
    """
    problem = f"{name} is {bound!r}"
    is_share = isinstance(bound, float | np.floating)
    if isinstance(bound, bool) or not isinstance(bound, int | float | np.number):
        raise InputError(problem, expected="a number of documents, or a share of all documents")
    if is_share and not 0.0 <= bound <= 1.0:
        raise InputError(problem, expected="a share of all documents from 0 to 1, or an int")
    if not is_share and bound < 1:
        raise InputError(problem, expected="at least one document")
    return bound * n_docs if is_share else min(bound, _MAX_STORED_DOCS)


def accepts_min_docs(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    """Return True for a valid `min_docs`, and raise an InputError for all other values."""
    bound_in_docs(value, 1, "min_docs")
    return True


def accepts_max_df(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    """Return True for a valid `max_df`, and raise an InputError for all other values."""
    bound_in_docs(value, 1, "max_df")
    return True
