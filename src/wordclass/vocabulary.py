"""Terms, in how many documents each occurs, and which of them are kept."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from wordclass.arrays import Flags, Ints, Sparse
from wordclass.errors import InputError
from wordclass.storage.parts import Parts


@dataclass(frozen=True, eq=False)
class TermCounts:
    """What the first pass over a corpus tells: sums over documents, so that parts add up.

    `terms` is sorted by code point; `doc_freq` counts the documents with a term, `term_freq` its
    occurrences.
    """

    n_docs: int
    terms: list[str]
    doc_freq: Ints  # (v,)
    term_freq: Ints  # (v,)

    @classmethod
    def of(cls, terms: list[str], occurrences: Sparse) -> "TermCounts":
        """Count the columns of an occurrence matrix (n, v) whose columns are these terms."""
        n_docs, n_terms = occurrences.shape
        columns = occurrences.indices
        return cls(
            n_docs,
            terms,
            np.bincount(columns, minlength=n_terms).astype(np.int64),
            np.bincount(columns, occurrences.data, minlength=n_terms).astype(np.int64),
        )

    def __add__(self, other: "TermCounts") -> "TermCounts":
        terms = sorted({*self.terms, *other.terms})
        column = {term: j for j, term in enumerate(terms)}
        doc_freq = np.zeros(len(terms), np.int64)
        term_freq = np.zeros(len(terms), np.int64)
        for part in (self, other):
            columns = np.fromiter((column[term] for term in part.terms), np.intp, len(part.terms))
            doc_freq[columns] += part.doc_freq
            term_freq[columns] += part.term_freq
        return TermCounts(self.n_docs + other.n_docs, terms, doc_freq, term_freq)

    def vocabulary(
        self,
        min_docs: int | float = 1,
        max_df: int | float = 1.0,
        max_terms: int | None = None,
    ) -> "Vocabulary":
        """Keep the terms that occur in enough documents, and not in too many.

        Parameters
        ----------
        min_docs, max_df
            Numbers of documents (int) or shares of all documents (float), both inclusive.
        max_terms
            Keep only so many: those with most occurrences, ties by code point.

        Raises
        ------
        InputError
            No term is left; or the documents had no token to begin with.
        """
        kept = kept_terms(self.n_docs, self.doc_freq, min_docs, max_df)
        columns = np.flatnonzero(most_frequent(kept, self.term_freq, max_terms))
        return Vocabulary(
            [self.terms[j] for j in columns],
            self.doc_freq[columns],
            self.term_freq[columns],
            self.n_docs,
        )


_LAYOUT = {"terms": "str terms", "doc_freq": "int64 terms", "term_freq": "int64 terms"}


@dataclass(frozen=True, eq=False)
class Vocabulary(Mapping[str, int]):
    """The kept terms, sorted by code point: a mapping from term to column of X."""

    terms: list[str]
    doc_freq: Ints  # (v,)
    term_freq: Ints  # (v,)
    n_docs: int
    # what the native engine made of it; never saved
    native_forms: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "native_forms": {}}

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

    def to_parts(self) -> Parts:
        """Return what is stored of it."""
        return Parts.of({"vocabulary_docs": self.n_docs}) | Parts.of_fields(self, _LAYOUT)

    @classmethod
    def from_parts(cls, parts: Parts) -> "Vocabulary":
        """Return the vocabulary that was stored; its size is that of `terms` from then on."""
        return cls(**parts.take(**_LAYOUT), n_docs=parts.facts["vocabulary_docs"])

    def agrees_with(self, other: "Vocabulary") -> bool:
        """Whether X would be the same: equal terms and equal document frequencies."""
        return (
            self.n_docs == other.n_docs
            and self.terms == other.terms
            and np.array_equal(self.doc_freq, other.doc_freq)
            and np.array_equal(self.term_freq, other.term_freq)
        )


def kept_terms(n_docs: int, doc_freq: Ints, min_docs: int | float, max_df: int | float) -> Flags:
    """Return which terms occur in enough documents and not in too many; see `vocabulary`."""
    if not n_docs:
        raise InputError("the corpus is empty: there are no texts")
    n_terms = int((doc_freq > 0).sum())
    if not n_terms:
        raise InputError(f"all {n_docs} documents are empty: none has a single token")
    lowest = _n_docs(min_docs, n_docs, "min_docs")
    highest = _n_docs(max_df, n_docs, "max_df")
    kept: Flags = (doc_freq >= max(lowest, 1)) & (doc_freq <= highest)
    if not kept.any():
        raise InputError(
            f"no term is left of {n_terms}: none occurs in at least {lowest:g} and at most "
            f"{highest:g} of the {n_docs} documents; lower min_docs or raise max_df"
        )
    return kept


def most_frequent(kept: Flags, term_freq: Ints, max_terms: int | None) -> Flags:
    """Keep at most so many of the kept terms: those with most occurrences, ties by place."""
    if max_terms is None:
        return kept
    if isinstance(max_terms, bool) or not isinstance(max_terms, int | np.integer) or max_terms < 1:
        raise InputError(f"max_terms is {max_terms!r}; expected a positive int, or None")
    columns = np.flatnonzero(kept)
    best = columns[np.argsort(-term_freq[columns], kind="stable")[:max_terms]]
    chosen = np.zeros_like(kept)
    chosen[best] = True
    return chosen


def _n_docs(bound: int | float, n_docs: int, name: str) -> float:
    """Turn a bound given as a number or as a share of the documents into a number."""
    is_share = isinstance(bound, float | np.floating)
    if isinstance(bound, bool) or not isinstance(bound, int | float | np.number):
        raise InputError(f"{name} is {bound!r}; expected a number of documents, or a share")
    if is_share and not 0.0 <= bound <= 1.0:
        raise InputError(f"{name} is {bound!r}; a float is a share of all documents, from 0 to 1")
    if not is_share and bound < 1:
        raise InputError(f"{name} is {bound!r}; expected at least one document")
    return bound * n_docs if is_share else bound
