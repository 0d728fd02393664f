"""Vectors and features that do not give away the labels of the documents they are made for.

The documents of a fold are read with embeddings of all other documents. Sums over documents can be
subtracted, so one set of sums per fold serves every choice of folds to leave out.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse, rows_of
from wordclass.correlations import dot
from wordclass.counts import Count, FoldCounts, WordClassCounts
from wordclass.embedding.vectors import FactoredVectors, dense_product

Embed = Callable[[WordClassCounts], Floats]

_MOST_DENSE_CELLS = 1 << 23  # v x m up to which dense sums are faster
_MOST_KEPT = 1 << 25  # values of X up to which the sums of all folds are kept
STEP = "cross-fitting"


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
        self._X, self._Y, self._folds = X, Y, folds
        keep = X.nnz <= _MOST_KEPT
        self._counts = FoldCounts(counted, Y, folds, n_folds, _dot_counts, keep=keep)
        self._places = cache(self._found_places) if keep else self._found_places
        # of few, long documents: X·X'·Y, where X'·Y has more cells than X' has
        joint = self._counts.everything.joints["joint_weight"]
        docs = np.bincount(X.indices, minlength=X.shape[1])
        is_less = sparse.issparse(joint) and docs @ (np.diff(joint.indptr) - docs) > 0
        self._transposed = counted.T.tocsr() if is_less else None

    def scores(self, shrinkage: float, held_out: Iterable[int] = ()) -> Floats32:
        """Return the scores (n, m) of all documents.

        The documents of a fold are scored without their fold, and without those that are held
        out; these are scored by what all others tell.
        """
        away = sorted(held_out)
        base = self._without(away, self._counts.everything)
        made = np.zeros(self._Y.shape, np.float32)
        groups = [[fold] for fold in range(len(self._counts.rows)) if fold not in away]
        for scored in progress.over([away, *groups] if away else groups, STEP):
            counts = base if scored is away else self._without(scored, base)
            S, by_joint = FactoredVectors.of(counts, shrinkage), self._by_joint([*away, *scored])
            for rows in (self._counts.rows[fold] for fold in scored):
                made[rows] = S.times(self._X[rows], by_joint)
        return made

    def _by_joint(self, away: Sequence[int]) -> Callable[[Sparse], Floats] | None:
        """Return a quick way to multiply by the sums of all folds but some; None: there is none."""
        if (transposed := self._transposed) is None:
            return None
        told = sparse.diags_array(1.0 - np.isin(self._folds, [-1, *away])) @ self._Y
        return lambda X: np.asarray(dense_product(X, transposed) @ told)

    def _without(self, folds: Sequence[int], given: WordClassCounts) -> WordClassCounts:
        """Return sums less those of some folds.

        Where they are sparse, cells that are left without a document stay, next to zero: nobody
        reads those of a term that is not known, and all others are added up.
        """
        joint = given.joints["joint_weight"]
        if not sparse.issparse(joint):
            return self._counts.without(folds, given)
        rest, values = replace(given, joints={}), joint.data.copy()
        for fold in folds:
            taken = self._counts.of_fold(fold)
            rest -= replace(taken, joints={})
            values[self._places(taken)] -= taken.joints["joint_weight"].data
        made = sparse.csr_matrix((values, joint.indices, joint.indptr), shape=joint.shape)
        return replace(rest, joints={"joint_weight": made})

    def _found_places(self, taken: WordClassCounts) -> Ints:
        """Return where the cells of a fold's sums are among those of all."""
        both = self._counts.everything, taken
        every, own = (sparse.csr_matrix(each.joints["joint_weight"]) for each in both)
        for joint in (every, own):
            joint.sort_indices()
        numbers = np.arange(1.0, every.nnz + 1)
        numbered = sparse.csr_matrix((numbers, every.indices, every.indptr), shape=every.shape)
        present = sparse.csr_matrix((np.ones(own.nnz), own.indices, own.indptr), shape=own.shape)
        places: Ints = (numbered.multiply(present).data - 1).astype(np.int64)
        return places

    def add_embedding(self, weights: Floats32, shrinkage: float, factors: Floats32) -> None:
        """Add S of all documents, its columns times factors (m,), to weights (v, m)."""
        FactoredVectors.of(self._counts.everything, shrinkage).add_to(weights, factors)


@dataclass(frozen=True, eq=False)
class ReweightedScores:
    """Makes the same scores of an X that sees labels itself: nothing of a fold is in either.

    For each fold, X and S are made without it; so one set of sums does not serve all folds.

    Parameters
    ----------
    weighted : callable
        From the folds that are not to be seen to X (n, v) of all documents.
    Y, folds, n_folds, sample_weight
        As `FoldScores` has them.
    """

    weighted: Callable[[Sequence[int]], Sparse]
    Y: Sparse
    folds: Ints
    n_folds: int
    sample_weight: Floats | None = None

    def scores(self, shrinkage: float, held_out: Iterable[int] = ()) -> Floats32:
        """Return the scores (n, m) of all documents, as `FoldScores.scores` does."""
        away = sorted(held_out)
        made = np.zeros(self.Y.shape, np.float32)
        groups = [[fold] for fold in range(self.n_folds) if fold not in away]
        for scored in progress.over([away, *groups], STEP):
            rows = np.flatnonzero(np.isin(self.folds, scored))
            if len(rows):
                X, counts = self._without(sorted({*away, *scored}))
                made[rows] = FactoredVectors.of(counts, shrinkage).times(X[rows])
        return made

    def add_embedding(self, weights: Floats32, shrinkage: float, factors: Floats32) -> None:
        """Add S of all documents, its columns times factors (m,), to weights (v, m)."""
        FactoredVectors.of(self._without([])[1], shrinkage).add_to(weights, factors)

    def _without(self, folds: Sequence[int]) -> tuple[Sparse, WordClassCounts]:
        """Return X of all documents, and the sums of those outside some folds."""
        X, rows = self.weighted(folds), np.flatnonzero(~np.isin(self.folds, folds))
        told = X[rows]
        if self.sample_weight is not None:
            told.data *= self.sample_weight[rows][rows_of(told)]
        return X, _dot_counts(told, self.Y[rows])


def _dot_counts(X: Sparse, Y: Sparse) -> WordClassCounts:
    """Count what the dot product needs, in a dense table where that is small."""
    counts = WordClassCounts.of(X, Y, dot.NEEDS)
    if counts.n_terms * counts.n_classes > _MOST_DENSE_CELLS:
        return counts
    return replace(counts, joints={name: getattr(counts, name) for name in counts.joints})
