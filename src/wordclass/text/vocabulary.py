"""Terms, in how many documents each occurs, and which of them are kept."""

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


@dataclass(frozen=True, eq=False)
class TermCounts:
    """All terms of some documents, with their frequencies; those of parts add up.

    Parameters
    ----------
    terms : list of str
        Sorted by code point.
    doc_freq, term_freq : int64 arrays of shape (terms,)
        In how many documents each occurs, and how often in all.
    n_docs : int
    """

    terms: list[str]
    doc_freq: Ints
    term_freq: Ints
    n_docs: int

    @classmethod
    def of(cls, counted: Any) -> "TermCounts":  # noqa: ANN401 - as `Vocabulary.of` has it
        """Take the terms out of what counted them."""
        if isinstance(counted, TermCounts):
            return counted
        terms, places = counted.sorted_terms(np.ones(len(counted.doc_freq), np.bool_))
        return cls(terms, counted.doc_freq[places], counted.term_freq[places], counted.n_docs)

    def __add__(self, other: "TermCounts") -> "TermCounts":
        both = self.terms + other.terms
        # two sorted runs, which sorting merges in one pass
        order = np.array(sorted(range(len(both)), key=both.__getitem__), np.int64)
        in_order = np.array(both, dtype=object)[order]
        is_new = np.ones(len(both), np.bool_)
        is_new[1:] = in_order[1:] != in_order[:-1]
        starts = np.flatnonzero(is_new)

        def added(one: Ints, another: Ints) -> Ints:
            together = np.concatenate([one, another])[order]
            return np.add.reduceat(together, starts) if len(starts) else together

        return TermCounts(
            in_order[starts].tolist(),
            added(self.doc_freq, other.doc_freq),
            added(self.term_freq, other.term_freq),
            self.n_docs + other.n_docs,
        )

    def sorted_terms(self, kept: Flags) -> tuple[list[str], Ints]:
        """Return the kept terms, sorted by code point, and their places."""
        return list(compress(self.terms, kept.tolist())), np.flatnonzero(kept)


@dataclass(frozen=True, eq=False)
class Vocabulary(Mapping[str, int]):
    """The kept terms, sorted by code point: a mapping from term to column of X."""

    terms: list[str]
    doc_freq: Ints  # (v,)
    term_freq: Ints  # (v,)
    n_docs: int
    factors: Floats | None = None  # (v,) of a weighting that saw labels, in the place of idf
    # what the native engine made of it; never saved
    native_forms: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        counted: Any,  # noqa: ANN401 - whatever counted terms: its kinds stand above this file
        min_docs: int | float = 1,
        max_df: int | float = 1.0,
        max_terms: int | None = None,
    ) -> tuple["Vocabulary", Ints]:
        """Keep the terms that occur in enough documents, and not in too many.

        Parameters
        ----------
        counted : what `text/counting` counted
            Has `n_docs`, `doc_freq`, `term_freq` and `sorted_terms(kept)`.
        min_docs : int or float, default=1
            Smallest number of documents (int) or share of all documents (float), inclusive.
        max_df : int or float, default=1.0
            Largest number or share of documents, inclusive.
        max_terms : int, optional
            Keep only so many: those with most occurrences, ties by code point.

        Returns
        -------
        vocabulary : Vocabulary
        places : int64 array of shape (v,)
            Where the kept terms stand in `counted`.

        Raises
        ------
        NoTermError, InputError
            No term is left; or the documents had no token to begin with.
        """
        kept = select_terms(counted.n_docs, counted.doc_freq, min_docs, max_df)
        if max_terms is not None:
            check_int("max_terms", max_terms, 1)
        terms, places = counted.sorted_terms(kept)
        if max_terms is not None and len(terms) > max_terms:
            order = np.argsort(-counted.term_freq[places], kind="stable")
            chosen = np.sort(order[:max_terms])
            terms, places = [terms[j] for j in chosen], places[chosen]
        doc_freq, term_freq = counted.doc_freq[places], counted.term_freq[places]
        return cls(terms, doc_freq, term_freq, counted.n_docs), places

    @classmethod
    def empty(cls, n_docs: int) -> "Vocabulary":
        """Return a vocabulary of documents none of whose terms is kept."""
        return cls([], np.zeros(0, np.int64), np.zeros(0, np.int64), n_docs)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "native_forms": {}}

    @cached_property
    def idf(self) -> Floats:
        """(v,) smoothed inverse document frequencies: ln((1 + n) / (1 + df)) + 1.

        If the vocabulary has `factors`, these stand in their place.
        """
        if self.factors is not None:
            return self.factors
        return np.log((1 + self.n_docs) / (1 + self.doc_freq)) + 1

    @cached_property
    def index(self) -> dict[str, int]:
        """The column of each term, as a plain dict."""
        return {term: j for j, term in enumerate(self.terms)}

    def __getitem__(self, term: str) -> int:
        return self.index[term]

    def __iter__(self) -> Iterator[str]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def to_parts(self) -> ModelState:
        """Return what is stored of it."""
        return ModelState.of({"vocabulary_docs": self.n_docs}) | ModelState.of_fields(self, _LAYOUT)

    @classmethod
    def from_parts(cls, parts: ModelState) -> "Vocabulary":
        """Return the vocabulary that was stored; its size is that of `terms` from then on."""
        n_docs = parts.sizes["vocabulary_docs"] = parts.metadata["vocabulary_docs"]
        check_int("vocabulary_docs", n_docs, 0, 1 << 53)
        return cls(**parts.take(**_LAYOUT), n_docs=n_docs)

    def agrees_with(self, other: "Vocabulary") -> bool:
        """Whether X would be the same: equal terms, document frequencies and factors."""
        return (
            self.n_docs == other.n_docs
            and self.terms == other.terms
            and np.array_equal(self.doc_freq, other.doc_freq)
            and np.array_equal(self.term_freq, other.term_freq)
            and np.array_equal(self.factors, other.factors)  # type: ignore[arg-type]
        )


def damped_counts(largest: int) -> Floats:
    """Return 1 + ln tf for each tf up to the largest, or some more; 0 for 0."""
    return _FEW if largest < len(_FEW) else _damped(largest)


def _damped(largest: int) -> Floats:
    return np.append(0.0, 1 + np.log(np.arange(1, largest + 1)))


_FEW = _damped(255)  # what nearly every text needs


def select_terms(n_docs: int, doc_freq: Ints, min_docs: int | float, max_df: int | float) -> Flags:
    """Return which terms occur in enough documents and not in too many; see `Vocabulary.of`."""
    if not n_docs:
        raise InputError("the corpus is empty: there are no texts")
    n_terms = int((doc_freq > 0).sum())
    if not n_terms:
        raise InputError(f"all {n_docs} documents are empty: none has a single token")
    lowest = bound_in_docs(min_docs, n_docs, "min_docs")
    highest = bound_in_docs(max_df, n_docs, "max_df")
    kept: Flags = (doc_freq >= max(lowest, 1)) & (doc_freq <= highest)
    if not kept.any():
        raise NoTermError(
            f"no term is left of {n_terms}: none occurs in at least {lowest:g} and at most "
            f"{highest:g} of the {n_docs} documents; lower min_docs or raise max_df"
        )
    return kept


def bound_in_docs(bound: int | float, n_docs: int, name: str) -> float:
    """Turn a bound given as a number or as a share of the documents into a number."""
    is_share = isinstance(bound, float | np.floating)
    if isinstance(bound, bool) or not isinstance(bound, int | float | np.number):
        raise InputError(f"{name} is {bound!r}; expected a number of documents, or a share")
    if is_share and not 0.0 <= bound <= 1.0:
        raise InputError(f"{name} is {bound!r}; a float is a share of all documents, from 0 to 1")
    if not is_share and bound < 1:
        raise InputError(f"{name} is {bound!r}; expected at least one document")
    return bound * n_docs if is_share else min(bound, 2**53)
