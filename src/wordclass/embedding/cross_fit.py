"""Vectors and features that do not give away the labels of the documents they are made for.

The documents of a fold are read with embeddings of all other documents. Sums over documents can be
subtracted, so one set of sums per fold serves every choice of folds to leave out.
"""

import operator
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import numpy as np
from scipy import sparse

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse, row_numbers
from wordclass.corpus.splits import Split, cross_fit, fold_splits
from wordclass.embedding.correlations import dot
from wordclass.embedding.counts import Count, FoldCounts, WordClassCounts
from wordclass.embedding.vectors import Recipe, dense_product

Embed = Callable[[WordClassCounts], Floats]
Subtract = Callable[[WordClassCounts, WordClassCounts], WordClassCounts]

_MOST_DENSE_CELLS = 1 << 23  # v x m up to which dense sums are faster
_MOST_KEPT = 1 << 25  # values of X up to which the sums of all folds are kept
STEP = "cross-fitting"


def cross_fit_features(X: Sparse, Y: Sparse, folds: Ints, count: Count, embed: Embed) -> Floats32:
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
    counts = FoldCounts(X, Y, folds, int(folds.max(initial=-1)) + 1, count)

    def score(split: Split) -> Floats:
        S = embed(counts.without(folds[split.held_out[:1]].tolist()))
        return np.asarray(X[split.held_out] @ S)

    return cross_fit(fold_splits(folds), score, n_docs=X.shape[0], step=STEP).scores


class FoldScores:
    """Makes the word-class scores of training documents by the dot product, and S for new ones.

    The same numbers as `cross_fit_features` with `correlations/dot`, without ever making S: see
    `FactoredVectors`. One set of sums serves every shrinkage.

    Parameters
    ----------
    X, Y, folds, n_folds
        As `FoldCounts` has them.
    sample_weight : array of shape (n,), optional
        How much each document counts; by default all the same.
    min_class_docs : int, default=0
        A class with fewer training documents than this has scores of zero.
    """

    def __init__(
        self,
        X: Sparse,
        Y: Sparse,
        folds: Ints,
        n_folds: int,
        sample_weight: Floats | None = None,
        min_class_docs: int = 0,
    ) -> None:
        weighted = X
        if sample_weight is not None:
            weighted = X.copy()
            weighted.data = X.data * sample_weight[row_numbers(X)]
        self._X = X
        self._Y = Y
        self._folds = folds
        self._min_class_docs = min_class_docs
        keep = X.nnz <= _MOST_KEPT
        self._counts = FoldCounts(weighted, Y, folds, n_folds, _dot_counts, keep=keep)
        self._find_cells = cache(self._locate_cells) if keep else self._locate_cells
        # of few, long documents: X·X'·Y, where X'·Y has more cells than X' has
        joint = self._counts.everything.joints["joint_weight"]
        self._subtract: Subtract = operator.sub
        self._transposed: Sparse | None = None
        if sparse.issparse(joint):
            self._subtract = self._subtract_cells
            doc_freq = np.bincount(X.indices, minlength=X.shape[1])
            if doc_freq @ (np.diff(joint.indptr) - doc_freq) > 0:
                self._transposed = weighted.T.tocsr()
        self._shrinkage: float | None = None
        self._scores: dict[tuple[int, ...], Floats32] = {}  # by the folds that are held out

    def scores(self, shrinkage: float, held_out: Iterable[int] = ()) -> Floats32:
        """Return the scores (n, m) of all documents.

        The documents of a fold are scored without their fold, and without those that are held
        out; these are scored by all others. The scores are kept for the last shrinkage only, and
        not if nothing is held out, as they are large.
        """
        excluded = tuple(sorted(held_out))
        if self._shrinkage != shrinkage or not excluded:
            self._shrinkage = shrinkage
            self._scores = {}
        if excluded in self._scores:
            return self._scores[excluded]
        recipe = _dot_recipe(shrinkage)
        base = self._counts.everything
        for fold in excluded:
            base = self._subtract(base, self._counts.of_fold(fold))
        groups = self._folds.copy()  # the folds that are held out are one group
        is_excluded = np.isin(groups, excluded)
        groups[is_excluded] = len(self._counts.rows)

        def score(split: Split) -> Floats32:
            fold = int(groups[split.held_out[0]])
            counts = base
            if fold < len(self._counts.rows):
                counts = self._subtract(base, self._counts.of_fold(fold))
            is_trained = ~is_excluded & (groups != fold) & (groups >= 0)
            S = recipe.vectors(counts, "products")
            return S.times(self._X[split.held_out], self._multiply_joint(is_trained))

        scores = cross_fit(fold_splits(groups), score, n_docs=len(groups), step=STEP).scores
        if self._min_class_docs:
            n_class_docs = (~is_excluded & (self._folds >= 0)) @ self._Y
            scores[:, np.asarray(n_class_docs).ravel() < self._min_class_docs] = 0.0
        if excluded:
            self._scores[excluded] = scores
        return scores

    def _multiply_joint(self, is_trained: Flags) -> Callable[[Sparse], Floats] | None:
        """Return a quick way to multiply by the sums of some documents; None: there is none."""
        if (transposed := self._transposed) is None:
            return None
        labels = sparse.diags_array(1.0 * is_trained) @ self._Y
        return lambda X: np.asarray(dense_product(X, transposed) @ labels)

    def _subtract_cells(self, counts: WordClassCounts, other: WordClassCounts) -> WordClassCounts:
        """Subtract sparse sums; cells without a remaining document stay, with values near zero.

        That changes nothing: terms that are not known are left out, and all others are summed.
        """
        joint = sparse.csr_matrix(counts.joints["joint_weight"])
        remaining = replace(counts, joints={}) - replace(other, joints={})
        values = joint.data.copy()
        values[self._find_cells(other)] -= sparse.csr_matrix(other.joints["joint_weight"]).data
        difference = sparse.csr_matrix((values, joint.indices, joint.indptr), shape=joint.shape)
        return replace(remaining, joints={"joint_weight": difference})

    def _locate_cells(self, counts: WordClassCounts) -> Ints:
        """Return the positions of the cells of a fold's sums among those of all documents."""
        every = sparse.csr_matrix(self._counts.everything.joints["joint_weight"])
        own = sparse.csr_matrix(counts.joints["joint_weight"])
        every.sort_indices()
        own.sort_indices()
        numbers = np.arange(1.0, every.nnz + 1)
        numbered = sparse.csr_matrix((numbers, every.indices, every.indptr), shape=every.shape)
        present = sparse.csr_matrix((np.ones(own.nnz), own.indices, own.indptr), shape=own.shape)
        places: Ints = (numbered.multiply(present).data - 1).astype(np.int64)
        return places

    def add_embedding(self, weights: Floats32, shrinkage: float, factors: Floats32) -> None:
        """Add S of all documents, its columns times factors (m,), to weights (v, m)."""
        S = _dot_recipe(shrinkage).vectors(self._counts.everything, "products")
        S.add_to(weights, factors)


def _dot_recipe(shrinkage: float) -> Recipe:
    return Recipe(dot.correlate, dot.NEEDS, shrinkage, is_by_class=True)


def _dot_counts(X: Sparse, Y: Sparse) -> WordClassCounts:
    """Count what the dot product needs, in a dense table if that is small."""
    counts = WordClassCounts.of(X, Y, dot.NEEDS)
    if X.shape[1] * Y.shape[1] > _MOST_DENSE_CELLS:
        return counts
    joints = {name: sparse.csr_matrix(joint).toarray() for name, joint in counts.joints.items()}
    return replace(counts, joints=joints)
