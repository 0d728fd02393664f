"""Vectors and features that do not give away the labels of the documents they are made for.

The documents of a fold are read with embeddings of all other documents. Sums over documents can be
subtracted, so one set of sums per fold serves every choice of folds to leave out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, reduce

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse, rows_of
from wordclass.correlations import dot
from wordclass.counts import WordClassCounts
from wordclass.embedding.vectors import FactoredVectors

Count = Callable[[Sparse, Sparse], WordClassCounts]
Embed = Callable[[WordClassCounts], Floats]

_MOST_DENSE_CELLS = 1 << 23  # v x m up to which dense sums are faster
STEP = "cross-fitting"


class FoldCounts:
    """The sums of documents by fold.

    Parameters
    ----------
    X, Y : sparse matrices of shape (n, v) and (n, m)
        Weights and labels.
    folds : array of shape (n,)
        The fold of each document, from 0 up; documents with -1 are left out.
    n_folds : int
        How many folds there are; some may be empty.
    count : callable
        From X and Y to sums.
    keep : bool, default=False
        Whether to keep the sums of a fold, because they are asked for more than once.
    """

    def __init__(
        self, X: Sparse, Y: Sparse, folds: Ints, n_folds: int, count: Count, *, keep: bool = False
    ) -> None:
        self.rows = [np.flatnonzero(folds == fold) for fold in range(n_folds)]

        def of_fold(fold: int) -> WordClassCounts:
            return count(X[self.rows[fold]], Y[self.rows[fold]])

        self._of_fold = cache(of_fold) if keep else of_fold
        inside = np.flatnonzero(folds >= 0)
        self.everything = count(X, Y) if len(inside) == len(folds) else count(X[inside], Y[inside])

    def without(
        self, folds: Sequence[int], given: WordClassCounts | None = None
    ) -> WordClassCounts:
        """Return the sums of all documents, or those given, less the sums of these folds."""
        rest = self.everything if given is None else given
        return reduce(lambda left, fold: left - self._of_fold(fold), folds, rest)


def cross_fit(X: Sparse, Y: Sparse, folds: Ints, count: Count, embed: Embed) -> Floats32:
    """Multiply each row of X by the S of the documents outside its fold.

    Parameters
    ----------
    X, Y, folds, count
        As `FoldCounts` has them.
    embed : callable
        From sums to S (v, r).

    Returns
    -------
    features : float32 array of shape (n, r)
    """
    n_folds = int(folds.max(initial=-1)) + 1
    counts = FoldCounts(X, Y, folds, n_folds, count)
    features = np.zeros((X.shape[0], 0), np.float32)
    for fold in progress.over([k for k in range(n_folds) if len(counts.rows[k])], STEP):
        S = embed(counts.without([fold]))
        if not features.size:
            features = np.zeros((X.shape[0], S.shape[1]), np.float32)
        features[counts.rows[fold]] = X[counts.rows[fold]] @ S
    return features


class FoldScores:
    """Makes the word-class scores of training documents by the dot product, and S for new ones.

    The same numbers as `cross_fit` with `correlations/dot`, without ever making S: see
    `FactoredVectors`. One set of sums serves every shrinkage.

    Parameters
    ----------
    X, Y, folds, n_folds
        As `FoldCounts` has them.
    sample_weight : array of shape (n,), optional
        How much each document counts; by default all the same.
    """

    def __init__(
        self, X: Sparse, Y: Sparse, folds: Ints, n_folds: int, sample_weight: Floats | None = None
    ) -> None:
        counted = X
        if sample_weight is not None:
            counted = X.copy()
            counted.data = X.data * sample_weight[rows_of(X)]
        self._shape = Y.shape
        self._counts = FoldCounts(counted, Y, folds, n_folds, _dot_counts, keep=True)
        self._parts = [X[rows] for rows in self._counts.rows]

    def scores(self, shrinkage: float, held_out: Iterable[int] = ()) -> Floats32:
        """Return the scores (n, m) of all documents.

        The documents of a fold are scored without their fold, and without those that are held
        out; these are scored by what all others tell.
        """
        away = sorted(held_out)
        base = self._counts.without(away)
        made = np.zeros(self._shape, np.float32)
        groups = [[fold] for fold in range(len(self._parts)) if fold not in away]
        for scored in progress.over([away, *groups] if away else groups, STEP):
            counts = base if scored is away else self._counts.without(scored, base)
            S = FactoredVectors.of(counts, shrinkage)
            for fold in scored:
                made[self._counts.rows[fold]] = S.times(self._parts[fold])
        return made

    def embedding(self, shrinkage: float) -> Floats32:
        """Return S (v, m) of all documents."""
        return FactoredVectors.of(self._counts.everything, shrinkage).dense()


def _dot_counts(X: Sparse, Y: Sparse) -> WordClassCounts:
    """Count what the dot product needs, in a dense table where that is small."""
    counts = WordClassCounts.of(X, Y, dot.NEEDS)
    if counts.n_terms * counts.n_classes > _MOST_DENSE_CELLS:
        return counts
    return replace(counts, joints={name: getattr(counts, name) for name in counts.joints})
