"""Weights that see labels: what terms tell of classes, without the documents they are for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from wordclass import naming, progress
from wordclass.arrays import Floats, Ints, Sparse
from wordclass.counts import FoldCounts, WordClassCounts
from wordclass.vocabulary import Vocabulary

OVER_CLASSES: dict[str, Callable[..., Floats]] = {"max": np.max, "sum": np.sum}

_CELLS_AT_ONCE = 1 << 22  # terms times classes that a correlation sees at a time


def term_factors(counts: WordClassCounts, correlation: str, over_classes: str) -> Floats:
    """Return one number (v,) per term: its largest correlation with a class, or the sum of all.

    Parameters
    ----------
    counts : WordClassCounts
        With the sums that the correlation needs.
    correlation : str
        A file name in `correlations/`.
    over_classes : "max" or "sum"
    """
    correlate, joined = naming.entry("correlations", correlation).correlate, np.zeros(0)
    step = max(1, _CELLS_AT_ONCE // max(counts.n_classes, 1))
    for start in range(0, counts.n_terms, step):
        A = correlate(counts.of_terms(slice(start, start + step)))  # (terms, m)
        joined = np.append(joined, OVER_CLASSES[over_classes](A, axis=1))
    return np.maximum(joined, 0.0)  # what is below is rounding


@dataclass(frozen=True, eq=False)
class SupervisedTerms:
    """Occurrences of terms in labelled documents, to be weighted by what labels tell of terms.

    Parameters
    ----------
    occurrences : sparse matrix of shape (n, v)
    Y : sparse matrix of shape (n, m)
        The labels.
    folds : array of shape (n,)
        The fold of each document, from 0 up.
    vocabulary : Vocabulary
        The terms; its factors play no part.
    weight : callable
        Of occurrences and a vocabulary with factors.
    correlation, over_classes : str
        What the factors are: see `term_factors`.
    """

    occurrences: Sparse
    Y: Sparse
    folds: Ints
    vocabulary: Vocabulary
    weight: Callable[[Sparse, Vocabulary], Sparse]
    correlation: str
    over_classes: str

    def factors(self, without: Sequence[int] = ()) -> Floats:
        """Return the factors (v,) of all documents but those of some folds."""
        counts = self._counts.without(without)
        return term_factors(counts, self.correlation, self.over_classes)

    def weighted(self, without: Sequence[int] = (), rows: Ints | None = None) -> Sparse:
        """Return X (n, v) by these factors, or some of its rows."""
        fitted = replace(self.vocabulary, factors=self.factors(without))
        return self.weight(self.occurrences if rows is None else self.occurrences[rows], fitted)

    def cross_fitted(self, held_out: Sequence[int] = ()) -> Sparse:
        """Return X (n, v): the row of a document by factors that never saw its fold.

        Nor did they see the folds that are held out, whose own rows are by the factors of all
        others, as if they were new documents.
        """
        groups = [[fold] for fold in range(len(self._counts.rows)) if fold not in held_out]
        parts, places = [], []
        for own in progress.over([[*held_out], *groups], "cross-fitting weights"):
            rows = np.flatnonzero(np.isin(self.folds, own))
            if len(rows):
                parts.append(self.weighted(sorted({*held_out, *own}), rows))
                places.append(rows)
        if not parts:
            return self.weighted()
        back = np.argsort(np.concatenate(places))
        X: Sparse = sparse.vstack(parts, format="csr")[back]
        return X

    @cached_property
    def _counts(self) -> FoldCounts:
        needs = naming.entry("correlations", self.correlation).NEEDS
        n_folds = int(self.folds.max(initial=-1)) + 1

        def count(X: Sparse, Y: Sparse) -> WordClassCounts:
            return WordClassCounts.of(X, Y, needs)

        return FoldCounts(self.occurrences, self.Y, self.folds, n_folds, count, keep=True)
