"""Sums over labelled documents, from which all word-class embeddings are computed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from wordclass.arrays import Flags, Floats, Floats32, Ints, Matrix, Sparse, to_sparse
from wordclass.corpus.labels import move_columns
from wordclass.errors import InputError
from wordclass.native import extension
from wordclass.options import n_threads

# Sums of size v x m. Each costs a sparse product, so a correlation names those that it needs.
JOINTS = frozenset({"joint_weight", "joint_docs"})

Count = Callable[[Sparse, Sparse], "WordClassCounts"]  # from X and Y to sums

_MAX_DENSE_CELLS = 1 << 24  # v x m up to which the native engine adds up in a dense table
_MAX_NEGATIVE_ROUNDING = -1e-6  # of sums of weights, after subtractions


@dataclass(frozen=True, eq=False)
class WordClassCounts:
    """Sums over labelled documents. The sums of several shards add up.

    Numbers of documents are float64, which is exact up to 2^53, because shrinkage may add
    fractions.

    Parameters
    ----------
    n_docs : float
        Number of documents.
    class_docs : array of shape (m,)
        Number of documents of each class.
    term_docs : array of shape (v,)
        Number of documents in which each term has a weight other than zero.
    term_weight : array of shape (v,)
        Sum of the weights of each term.
    term_squares : array of shape (v,)
        Sum of the squared weights of each term.
    joints : dict of str to matrix
        The sums of shape (v, m) that were requested: `joint_weight`, the weight of each term in
        the documents of each class, and `joint_docs`, the number of documents with the term and
        the class.

    See Also
    --------
    WordClassEmbeddings : Embeddings that are computed from these sums.

    Examples
    --------
    >>> X = [[3.0, 0.0], [1.0, 2.0]]
    >>> Y = [[1, 0], [0, 1]]
    >>> counts = WordClassCounts.of(X, Y)
    >>> counts.term_docs.tolist(), counts.class_docs.tolist()
    ([2.0, 1.0], [1.0, 1.0])
    >>> counts.joint_weight.tolist()
    [[3.0, 1.0], [0.0, 2.0]]
    >>> (counts + counts).n_docs
    4.0
    """

    n_docs: float
    class_docs: Floats
    term_docs: Floats
    term_weight: Floats
    term_squares: Floats
    joints: Mapping[str, Matrix]

    @classmethod
    def of(
        cls, X: ArrayLike | Sparse, Y: ArrayLike | Sparse, needs: Collection[str] = JOINTS
    ) -> "WordClassCounts":
        """Compute the sums over documents.

        Parameters
        ----------
        X : matrix of shape (n, v)
            Weights of the terms in the documents, sparse or dense.
        Y : matrix of shape (n, m)
            Labels of the documents, sparse or dense.
        needs : collection of str, default=JOINTS
            Names of the sums of shape (v, m) to compute.

        Returns
        -------
        WordClassCounts
            The sums.

        Examples
        --------
        >>> WordClassCounts.of([[3.0], [1.0]], [[1, 0], [0, 1]]).joint_weight
        array([[3., 1.]])
        """
        weights = to_sparse(X)
        if np.any(weights.data == 0):
            weights = weights.copy()
            weights.eliminate_zeros()
        labels = to_sparse(Y)
        if extension.engine is not None and fits_dense_table(weights.shape[1], labels.shape[1]):
            sums = extension.engine.sum_documents(
                weights.data,
                *index_arrays(weights),
                *index_arrays(labels),
                *(weights.shape[1], labels.shape[1]),
                *("joint_weight" in needs, "joint_docs" in needs),
            )
        else:
            sums = _sum_documents(weights, labels, needs)
        return cls.of_sums(labels, sums)

    @classmethod
    def of_sums(cls, Y: Sparse, sums: Sequence[Any]) -> "WordClassCounts":
        """Create the record from sums that were computed elsewhere.

        Parameters
        ----------
        Y : sparse matrix of shape (n, m)
            Labels of the documents.
        sums : sequence
            Number of documents, weights and squared weights of each term, then `joint_weight` and
            `joint_docs`. The last two are CSR matrices, their arrays, or None.

        Returns
        -------
        WordClassCounts
            The record.

        Examples
        --------
        >>> Y = sparse.csr_matrix([[1.0, 0.0], [0.0, 1.0]])
        >>> one_term = np.array([1.0])
        >>> WordClassCounts.of_sums(Y, [one_term, one_term, one_term, None, None]).n_docs
        2.0
        """
        term_docs, term_weight, term_squares, *joint_sums = sums
        shape = (len(term_docs), Y.shape[1])
        joints = {
            name: sparse.csr_matrix(joint, shape=shape)
            for name, joint in zip(("joint_weight", "joint_docs"), joint_sums, strict=True)
            if joint is not None
        }
        return cls(
            n_docs=float(Y.shape[0]),
            class_docs=np.asarray(Y.sum(axis=0), dtype=np.float64).ravel(),
            term_docs=term_docs,
            term_weight=term_weight,
            term_squares=term_squares,
            joints=joints,
        )

    @property
    def n_terms(self) -> int:
        """Number of terms (v).

        Returns
        -------
        int
            The number.

        Examples
        --------
        >>> WordClassCounts.of([[3.0, 1.0]], [[1]]).n_terms
        2
        """
        return len(self.term_docs)

    @property
    def n_classes(self) -> int:
        """Number of classes (m).

        Returns
        -------
        int
            The number.

        Examples
        --------
        >>> WordClassCounts.of([[3.0, 1.0]], [[1]]).n_classes
        1
        """
        return len(self.class_docs)

    @property
    def known(self) -> Flags:
        """Mask of the terms that occur in a document.

        It is decided by numbers of documents. After a subtraction, the weight of a term without
        documents may differ from zero by a rounding error.

        Returns
        -------
        bool array of shape (v,)
            True for terms that occur.

        Examples
        --------
        >>> WordClassCounts.of([[3.0, 0.0]], [[1]]).known.tolist()
        [True, False]
        """
        return self.term_docs > 0

    @property
    def joint_weight(self) -> Floats:
        """Weight of each term in the documents of each class.

        Returns
        -------
        array of shape (v, m)
            A new dense array.

        Raises
        ------
        InputError
            This sum was not requested.

        Examples
        --------
        >>> WordClassCounts.of([[3.0], [1.0]], [[1, 0], [0, 1]]).joint_weight
        array([[3., 1.]])
        """
        return self._densify("joint_weight")

    @property
    def joint_docs(self) -> Floats:
        """Number of documents with each term and each class.

        Returns
        -------
        array of shape (v, m)
            A new dense array.

        Raises
        ------
        InputError
            This sum was not requested.

        Examples
        --------
        >>> WordClassCounts.of([[3.0], [1.0]], [[1, 0], [0, 1]]).joint_docs
        array([[1., 1.]])
        """
        return self._densify("joint_docs")

    def _densify(self, name: str) -> Floats:
        if name not in self.joints:
            raise InputError(
                f"these counts were made without {name}",
                hint=f"add it to NEEDS of the correlation (known: {', '.join(sorted(JOINTS))})",
            )
        joint = self.joints[name]
        values: Floats = joint.toarray() if sparse.issparse(joint) else joint.copy()
        return values

    def __add__(self, other: "WordClassCounts") -> "WordClassCounts":
        self._check_addable(other)
        return WordClassCounts(
            n_docs=self.n_docs + other.n_docs,
            class_docs=self.class_docs + other.class_docs,
            term_docs=self.term_docs + other.term_docs,
            term_weight=self.term_weight + other.term_weight,
            term_squares=self.term_squares + other.term_squares,
            joints={
                name: joint + other.joints[name]
                for name, joint in self.joints.items()
                if name in other.joints
            },
        )

    def __sub__(self, other: "WordClassCounts") -> "WordClassCounts":
        """Subtract documents. The weight of a term without remaining documents is exactly zero."""
        self._check_addable(other)
        term_docs = self.term_docs - other.term_docs
        is_known = term_docs > 0
        return WordClassCounts(
            n_docs=self.n_docs - other.n_docs,
            class_docs=self.class_docs - other.class_docs,
            term_docs=term_docs,
            term_weight=np.where(is_known, self.term_weight - other.term_weight, 0.0),
            term_squares=np.where(is_known, self.term_squares - other.term_squares, 0.0),
            joints={
                name: _clear_rows(joint - other.joints[name], ~is_known)
                for name, joint in self.joints.items()
                if name in other.joints
            },
        )

    def _check_addable(self, other: "WordClassCounts") -> None:
        shapes = [(len(counts.term_docs), len(counts.class_docs)) for counts in (self, other)]
        if shapes[0] != shapes[1]:
            raise InputError(
                f"counts of {shapes[0][0]} terms and {shapes[0][1]} classes do not add up with "
                f"counts of {shapes[1][0]} terms and {shapes[1][1]} classes"
            )

    def with_classes(self, columns: list[int], n_classes: int) -> "WordClassCounts":
        """Return the same sums over more classes.

        Parameters
        ----------
        columns : list of int
            New column of each class.
        n_classes : int
            New number of classes.

        Returns
        -------
        WordClassCounts
            The sums, which are zero for the additional classes.

        Examples
        --------
        >>> WordClassCounts.of([[3.0]], [[1]]).with_classes([1], 2).joint_weight
        array([[0., 3.]])
        """
        class_docs = np.zeros(n_classes)
        class_docs[columns] = self.class_docs
        joints = {
            name: move_columns(sparse.csr_matrix(joint), columns, n_classes)
            for name, joint in self.joints.items()
        }
        return replace(self, class_docs=class_docs, joints=joints)

    def without_classes(self, dropped: Flags) -> "WordClassCounts":
        """Return the sums of the same documents without some classes.

        Parameters
        ----------
        dropped : bool array of shape (m,)
            Mask of the classes to leave out.

        Returns
        -------
        WordClassCounts
            The sums of the other classes.

        Examples
        --------
        >>> counts = WordClassCounts.of([[3.0], [1.0]], [[1, 0], [0, 1]])
        >>> counts.without_classes(np.array([True, False])).joint_weight
        array([[1.]])
        """
        joints = {name: joint[:, np.flatnonzero(~dropped)] for name, joint in self.joints.items()}
        return replace(self, class_docs=self.class_docs[~dropped], joints=joints)

    def of_terms(self, rows: slice) -> "WordClassCounts":
        """Return the sums of some terms over the same documents.

        Parameters
        ----------
        rows : slice
            Rows of the terms.

        Returns
        -------
        WordClassCounts
            The sums of these terms.

        Examples
        --------
        >>> WordClassCounts.of([[3.0, 5.0]], [[1]]).of_terms(slice(1, 2)).joint_weight
        array([[5.]])
        """
        return replace(
            self,
            term_docs=self.term_docs[rows],
            term_weight=self.term_weight[rows],
            term_squares=self.term_squares[rows],
            joints={name: joint[rows] for name, joint in self.joints.items()},
        )

    def has_negative(self) -> bool:
        """Return True if a sum is negative because too many documents were subtracted.

        Returns
        -------
        bool
            Whether a number of documents or a weight is below zero.

        Examples
        --------
        >>> one = WordClassCounts.of([[3.0]], [[1]])
        >>> two = WordClassCounts.of([[3.0], [2.0]], [[1], [1]])
        >>> (one - two).has_negative()
        True
        """
        lowest = min(self.n_docs, self.class_docs.min(initial=0), self.term_docs.min(initial=0))
        lowest_weight = self.term_weight.min(initial=0)
        return bool(lowest < 0 or lowest_weight < _MAX_NEGATIVE_ROUNDING)


class FoldCounts:
    """Sums over the documents of each fold and over all documents.

    Parameters
    ----------
    total : WordClassCounts
        Sums over all documents of all folds.
    of_fold : callable
        Function from the number of a fold to the sums over its documents.
    n_folds : int
        Number of folds.
    """

    def __init__(
        self, total: WordClassCounts, of_fold: Callable[[int], WordClassCounts], n_folds: int
    ) -> None:
        self.total = total
        self.of_fold = of_fold
        self.n_folds = n_folds

    @classmethod
    def of(
        cls, X: Sparse, Y: Sparse, folds: Ints, n_folds: int, count: Count, *, keep: bool = False
    ) -> "FoldCounts":
        """Compute the sums over documents.

        Parameters
        ----------
        X, Y : sparse matrices of shape (n, v) and (n, m)
            Weights and labels.
        folds : array of shape (n,)
            Fold of each document, from 0 up. Documents of fold -1 are left out.
        n_folds : int
            Number of folds, some of which may be empty.
        count : callable
            Function from X and Y to sums.
        keep : bool, default=False
            Whether to keep the sums of each fold in memory instead of computing them on demand.
        """
        rows = [np.flatnonzero(folds == fold) for fold in range(n_folds)]
        included = np.flatnonzero(folds >= 0)
        total = count(X, Y) if len(included) == len(folds) else count(X[included], Y[included])

        def count_fold(fold: int) -> WordClassCounts:
            return count(X[rows[fold]], Y[rows[fold]])

        if not keep:
            return cls(total, count_fold, n_folds)
        return cls(total, [count_fold(fold) for fold in range(n_folds)].__getitem__, n_folds)

    def without(self, folds: Sequence[int]) -> WordClassCounts:
        """Return the sums over all documents outside some folds."""
        remaining = self.total
        for fold in folds:
            remaining -= self.of_fold(fold)
        return remaining


def fits_dense_table(n_terms: int, n_classes: int) -> bool:
    """Return True if the native engine should add up v x m sums in a dense table."""
    return n_terms * n_classes <= _MAX_DENSE_CELLS


def index_arrays(matrix: Sparse | sparse.csc_matrix[Any]) -> tuple[NDArray[np.int32], Ints]:
    """Return the columns of all stored values of a CSR matrix, and the end of each row."""
    return matrix.indices.astype(np.int32, copy=False), matrix.indptr.astype(np.int64, copy=False)


def sparse_times_dense(
    X: Sparse, weights: Floats32, intercept: Floats32, n_jobs: int | None
) -> Floats32:
    """Return X @ weights + intercept (n, m) in float32.

    A row of the result depends only on its row of X, to the last bit.

    Parameters
    ----------
    X : sparse matrix of shape (n, v)
        Left factor.
    weights : float32 array of shape (v, m)
        Right factor.
    intercept : float32 array of shape (m,)
        Constants that are added to every row.
    n_jobs : int or None
        Number of threads. None is one, -1 is all cores.
    """
    if extension.solver is None:
        # scipy, too, adds up the terms of a row in their order
        return np.asarray(X.astype(np.float32) @ weights + intercept, dtype=np.float32)
    product: Floats32 = extension.solver.multiply(
        X.data.astype(np.float64, copy=False),
        *index_arrays(X),
        np.ascontiguousarray(weights, dtype=np.float32),
        np.ascontiguousarray(intercept, dtype=np.float32),
        n_threads(n_jobs),
    )
    return product


def _sum_documents(weights: Sparse, labels: Sparse, needs: Collection[str]) -> list[Any]:
    """Return the arguments of `WordClassCounts.of_sums`, computed by scipy."""
    n_terms = weights.shape[1]
    columns = weights.indices
    return [
        np.bincount(columns, minlength=n_terms).astype(np.float64),
        _sum_columns(columns, weights.data, n_terms),
        _sum_columns(columns, weights.data**2, n_terms),
        weights.T @ labels if "joint_weight" in needs else None,
        _to_presence(weights).T @ labels if "joint_docs" in needs else None,
    ]


def _sum_columns(columns: NDArray[np.integer], values: Floats, n_terms: int) -> Floats:
    # bincount returns integers if there are no values
    return np.bincount(columns, values, minlength=n_terms).astype(np.float64)


def _to_presence(weights: Sparse) -> Sparse:
    csr_arrays = (np.ones_like(weights.data), weights.indices, weights.indptr)
    return sparse.csr_matrix(csr_arrays, shape=weights.shape)


def _clear_rows(joint: Matrix, is_cleared: Flags) -> Matrix:
    """Set rows of a new matrix to exactly zero."""
    if not is_cleared.any():
        return joint
    if not sparse.issparse(joint):
        joint[is_cleared] = 0.0
        return joint
    values = joint.data * np.repeat(~is_cleared, np.diff(joint.indptr))
    cleared = sparse.csr_matrix((values, joint.indices, joint.indptr), shape=joint.shape)
    cleared.eliminate_zeros()
    return cleared
