"""Embeddings and features of documents that do not depend on the documents' own labels.

The features of a fold are computed with embeddings of all other documents. Because sums over
documents can be subtracted, one set of sums per fold serves any choice of folds to leave out.
"""

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse, row_numbers
from wordclass.corpus.splits import Split, cross_fit, fold_splits
from wordclass.embedding.correlations import dot
from wordclass.embedding.counts import Count, FoldCounts, WordClassCounts
from wordclass.embedding.vectors import Recipe, multiply_dense

Embed = Callable[[WordClassCounts], Floats]
Subtract = Callable[[WordClassCounts, WordClassCounts], WordClassCounts]

_MAX_DENSE_CELLS = 1 << 23  # v x m up to which dense sums are faster
_MAX_KEPT_VALUES = 1 << 25  # values of X up to which the sums of all folds are kept in memory
_STEP = "cross-fitting"


def embed_folds(counts: FoldCounts, embed: Embed) -> Iterator[Floats]:
    """Yield, for each fold, the embeddings of all documents outside it.

    Parameters
    ----------
    counts : FoldCounts
        Sums over the documents of each fold.
    embed : callable
        Function from sums to embeddings (v, r).
    """
    for fold in progress.track(range(counts.n_folds), _STEP):
        yield embed(counts.without([fold]))


def multiply_folds(
    X: Sparse, folds: Ints, embed_without: Callable[[int], Floats], step: str | None = None
) -> Floats32:
    """Multiply each row of X by the embeddings of the documents outside its fold.

    Parameters
    ----------
    X : sparse matrix of shape (n, v)
        Weights.
    folds : array of shape (n,)
        Fold of each document.
    embed_without : callable
        Function from a fold to the embeddings (v, r) of all documents outside it.
    step : str, optional
        Report progress under this name.

    Returns
    -------
    features : float32 array of shape (n, r)
        The products.
    """

    def score(split: Split) -> Floats:
        return np.asarray(X[split.held_out] @ embed_without(int(folds[split.held_out[0]])))

    return cross_fit(fold_splits(folds), score, n_docs=X.shape[0], step=step).scores


def cross_fit_features(X: Sparse, Y: Sparse, folds: Ints, count: Count, embed: Embed) -> Floats32:
    """Return the features of documents, made with embeddings of the documents outside their fold.

    Parameters
    ----------
    X, Y, folds, count
        See `FoldCounts.of`.
    embed : callable
        Function from sums to embeddings (v, r).

    Returns
    -------
    features : float32 array of shape (n, r)
        The products of rows of X with these embeddings.
    """
    counts = FoldCounts.of(X, Y, folds, int(folds.max(initial=-1)) + 1, count)
    return multiply_folds(X, folds, lambda fold: embed(counts.without([fold])), _STEP)


class FoldScores:
    """Word-class scores of training documents by the dot product, for any shrinkage.

    The scores equal those of `cross_fit_features` with `correlations/dot`, but S is never computed,
    see `FactoredVectors`. One set of sums serves every shrinkage.

    Parameters
    ----------
    X, Y, folds, n_folds
        See `FoldCounts.of`.
    sample_weight : array of shape (n,), optional
        Weight of each document. By default, all weights are 1.
    min_class_docs : int, default=0
        Classes with fewer training documents have scores of zero.
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
        keep = X.nnz <= _MAX_KEPT_VALUES
        self._counts = FoldCounts.of(weighted, Y, folds, n_folds, _count_for_dot, keep=keep)
        self._find_cells = cache(self._locate_cells) if keep else self._locate_cells
        # for few, long documents: X X' Y is computed from the right if X' Y has more cells than X'
        joint = self._counts.total.joints["joint_weight"]
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

        The documents of a fold are scored without the documents of their fold and of the folds that
        are held out. The documents of folds that are held out are scored with all others. Scores
        with folds held out are kept in memory until the shrinkage changes.

        Parameters
        ----------
        shrinkage : float
            Pseudo-count of every term.
        held_out : iterable of int, default=()
            Folds that are held out.
        """
        excluded = tuple(sorted(held_out))
        if self._shrinkage != shrinkage or not excluded:
            self._shrinkage = shrinkage
            self._scores = {}
        if excluded in self._scores:
            return self._scores[excluded]
        recipe = _make_recipe(shrinkage)
        base = self._counts.total
        for fold in excluded:
            base = self._subtract(base, self._counts.of_fold(fold))
        groups = self._folds.copy()  # the folds that are held out form one group
        is_excluded = np.isin(groups, excluded)
        groups[is_excluded] = self._counts.n_folds

        def score(split: Split) -> Floats32:
            fold = int(groups[split.held_out[0]])
            counts = base
            if fold < self._counts.n_folds:
                counts = self._subtract(base, self._counts.of_fold(fold))
            is_training = ~is_excluded & (groups != fold) & (groups >= 0)
            S = recipe.vectors(counts, "products")
            return S.times(self._X[split.held_out], self._make_multiply(is_training))

        scores = cross_fit(fold_splits(groups), score, n_docs=len(groups), step=_STEP).scores
        if self._min_class_docs:
            n_class_docs = (~is_excluded & (self._folds >= 0)) @ self._Y
            scores[:, np.asarray(n_class_docs).ravel() < self._min_class_docs] = 0.0
        if excluded:
            self._scores[excluded] = scores
        return scores

    def _make_multiply(self, is_training: Flags) -> Callable[[Sparse], Floats] | None:
        """Return a fast function for products with J of some documents, or None.

        Parameters
        ----------
        is_training : bool array of shape (n,)
            Mask of the documents that J is the sum of.
        """
        transposed = self._transposed
        if transposed is None:
            return None
        labels = sparse.diags_array(1.0 * is_training) @ self._Y
        return lambda X: np.asarray(multiply_dense(X, transposed) @ labels)

    def _subtract_cells(self, counts: WordClassCounts, other: WordClassCounts) -> WordClassCounts:
        """Subtract sparse sums. Cells without remaining documents stay, with values near zero.

        This does not change scores, because terms that do not occur are left out, and the values of
        all other terms are added up.
        """
        joint = sparse.csr_matrix(counts.joints["joint_weight"])
        difference = replace(counts, joints={}) - replace(other, joints={})
        values = joint.data.copy()
        values[self._find_cells(other)] -= sparse.csr_matrix(other.joints["joint_weight"]).data
        joint_difference = sparse.csr_matrix((values, joint.indices, joint.indptr), joint.shape)
        return replace(difference, joints={"joint_weight": joint_difference})

    def _locate_cells(self, counts: WordClassCounts) -> Ints:
        """Return the positions of the cells of a fold among the cells of all documents."""
        total = sparse.csr_matrix(self._counts.total.joints["joint_weight"])
        of_fold = sparse.csr_matrix(counts.joints["joint_weight"])
        total.sort_indices()
        of_fold.sort_indices()
        numbers = np.arange(1.0, total.nnz + 1)
        numbered = sparse.csr_matrix((numbers, total.indices, total.indptr), total.shape)
        ones = np.ones(of_fold.nnz)
        present = sparse.csr_matrix((ones, of_fold.indices, of_fold.indptr), of_fold.shape)
        positions: Ints = (numbered.multiply(present).data - 1).astype(np.int64)
        return positions

    def add_embedding(self, weights: Floats32, shrinkage: float, factors: Floats32) -> None:
        """Add S of all documents to an array in place.

        Parameters
        ----------
        weights : float32 array of shape (v, m)
            The array.
        shrinkage : float
            Pseudo-count of every term.
        factors : float32 array of shape (m,)
            Factors of the columns of S.
        """
        S = _make_recipe(shrinkage).vectors(self._counts.total, "products")
        S.add_to(weights, factors)


def _make_recipe(shrinkage: float) -> Recipe:
    return Recipe(dot.correlate, dot.NEEDS, shrinkage, is_by_class=True)


def _count_for_dot(X: Sparse, Y: Sparse) -> WordClassCounts:
    """Compute the sums that the dot product needs, in a dense table if that is small."""
    counts = WordClassCounts.of(X, Y, dot.NEEDS)
    if X.shape[1] * Y.shape[1] > _MAX_DENSE_CELLS:
        return counts
    joints = {name: sparse.csr_matrix(joint).toarray() for name, joint in counts.joints.items()}
    return replace(counts, joints=joints)
