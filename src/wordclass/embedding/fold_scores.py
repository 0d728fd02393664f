"""X·S for the dot product, each document by an S that never saw its fold; many S from few sums.

The same numbers as `cross_fit` with `correlations/dot`, without ever making S: with r = 1 over a
term's weight, J the weight of terms in classes and q what shrinkage adds, A is r (J + q), so X·A is
(X r)·J + (X·r) q, and the means and deviations of A's columns are sums over the cells of J. One set
of sums a fold serves every shrinkage, and every choice of folds to leave out besides.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Matrix, Sparse, rows_of
from wordclass.embedding.standardize import SMALLEST_DEVIATION

_MOST_DENSE_CELLS = 1 << 23


@dataclass(frozen=True, eq=False)
class _Sums:
    """What some documents tell: J (v, m), and for each term its weight and documents (v,)."""

    joint: Matrix
    weight: Floats
    docs: Floats

    def __sub__(self, other: "_Sums") -> "_Sums":
        docs = self.docs - other.docs
        weight = np.where(docs > 0, self.weight - other.weight, 0.0)
        return _Sums(self.joint - other.joint, weight, docs)


class FoldScores:
    """Makes the word-class scores of training documents, and the S that scores new ones.

    Parameters
    ----------
    X, Y
        Weights (n, v) and labels (n, m) of the training documents.
    folds
        (n,) the fold of each document.
    n_folds
        How many there are; some may be empty.
    sample_weight
        (n,) how much each document counts; None: all the same.
    """

    def __init__(
        self,
        X: Sparse,
        Y: Sparse,
        folds: Ints,
        n_folds: int,
        sample_weight: Floats | None = None,
    ) -> None:
        self._shape = Y.shape
        self._rows = [np.flatnonzero(folds == fold) for fold in range(n_folds)]
        self._parts = [X[rows] for rows in self._rows]
        counted = X if sample_weight is None else _weighted(X, sample_weight)
        self._sums = [_sums(counted[rows], Y[rows]) for rows in self._rows]
        self._all = _sums(counted, Y)

    def scores(
        self, shrinkages: Collection[float], held_out: Iterable[int] = ()
    ) -> dict[float, Floats32]:
        """Return the scores (n, m) of all documents, for each shrinkage.

        The documents of a fold are scored without their fold, and without those that are held
        out; these are scored by what all others tell.
        """
        away = sorted(held_out)
        base = self._all
        for fold in away:
            base = base - self._sums[fold]
        made = {each: np.zeros(self._shape, np.float32) for each in shrinkages}
        if away:
            self._score(base, away, made)
        inside = [fold for fold in range(len(self._rows)) if fold not in away]
        for fold in progress.over(inside, "cross-fitting"):
            self._score(base - self._sums[fold], [fold], made)
        return made

    def _score(self, sums: _Sums, folds: list[int], into: dict[float, Floats32]) -> None:
        for shrinkage, table in into.items():
            scorer = _Scorer.of(sums, shrinkage)
            for fold in folds:
                table[self._rows[fold]] = scorer.scores(self._parts[fold])

    def embedding(self, shrinkage: float) -> Floats32:
        """Return S (v, m) of all documents."""
        return _Scorer.of(self._all, shrinkage).embedding()


@dataclass(frozen=True, eq=False)
class _Scorer:
    """A and the standardization of its columns, in parts."""

    joint: Matrix  # (v, m)
    known: Floats  # (v,) 1 or 0
    inverse: Floats  # (v,) 1 over a term's weight; 0 where it is not known
    added: Floats  # (m,) what shrinkage adds to J
    mean: Floats  # (m,)
    scale: Floats  # (m,) 1 over the deviation; 0 for a constant column

    @classmethod
    def of(cls, sums: _Sums, shrinkage: float) -> "_Scorer":
        known = sums.docs > 0
        total, n_known = sums.weight.sum(), max(int(known.sum()), 1)
        mean_weight = total / max(sums.docs.sum(), 1.0)
        share = np.asarray(sums.joint.sum(axis=0)).ravel() / max(total, 1e-300)  # (m,)
        added = shrinkage * mean_weight * share
        inverse = np.zeros(len(known))
        np.divide(1.0, sums.weight + shrinkage * mean_weight, out=inverse, where=known)
        first = inverse @ sums.joint  # (m,) sums over the terms of r J
        second = (inverse**2) @ sums.joint
        squares = (inverse**2) @ _squared(sums.joint)
        mean = (first + added * inverse.sum()) / n_known
        square_sum = squares + 2 * added * second + added**2 * (inverse**2).sum()
        variance = np.maximum(square_sum - n_known * mean**2, 0.0) / max(n_known - 1, 1)
        is_constant = variance <= 1e-14 * square_sum / n_known
        deviation = np.maximum(np.sqrt(variance), SMALLEST_DEVIATION)
        scale = np.where(is_constant, 0.0, 1 / deviation)
        return cls(sums.joint, known.astype(np.float64), inverse, added, mean, scale)

    def scores(self, X: Sparse) -> Floats32:
        """Return X·S (n, m)."""
        weighted = X.copy()
        weighted.data = X.data * self.inverse[X.indices]
        product = weighted @ self.joint
        raw = product.toarray() if sparse.issparse(product) else product  # (n, m)
        raw += np.outer(X @ self.inverse, self.added)
        raw -= np.outer(X @ self.known, self.mean)
        return np.asarray(raw * self.scale, dtype=np.float32)

    def embedding(self) -> Floats32:
        """Return S (v, m), made some rows at a time."""
        n_terms, n_classes = self.joint.shape
        S = np.empty((n_terms, n_classes), np.float32)
        step = max((1 << 22) // max(n_classes, 1), 1)
        for start in range(0, n_terms, step):
            rows = slice(start, start + step)
            joint = self.joint[rows]
            A = joint.toarray() if sparse.issparse(joint) else joint.copy()
            A = (A + self.added) * self.inverse[rows, None]
            S[rows] = (A - self.mean) * self.scale * self.known[rows, None]
        return S


def _sums(X: Sparse, Y: Sparse) -> _Sums:
    n_terms = X.shape[1]
    product = sparse.csr_matrix(X.T @ Y)
    is_small = n_terms * Y.shape[1] <= _MOST_DENSE_CELLS
    joint: Matrix = product.toarray() if is_small else product
    docs = np.bincount(X.indices, minlength=n_terms).astype(np.float64)
    weight = np.bincount(X.indices, X.data, minlength=n_terms).astype(np.float64)
    return _Sums(joint, weight, docs)


def _weighted(X: Sparse, sample_weight: Floats) -> Sparse:
    weighted = X.copy()
    weighted.data = X.data * sample_weight[rows_of(X)]
    weighted.eliminate_zeros()  # a document that counts nothing is not there
    return weighted


def _squared(joint: Matrix) -> Matrix:
    squared: Matrix = joint.multiply(joint) if sparse.issparse(joint) else joint**2
    return squared
