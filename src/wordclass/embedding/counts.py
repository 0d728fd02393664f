"""The sums over labelled documents from which every word-class embedding is made."""

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

# the sums of size v x m: each costs a sparse product, so a correlation names those it needs
JOINTS = frozenset({"joint_weight", "joint_docs"})

Count = Callable[[Sparse, Sparse], "WordClassCounts"]  # from X and Y to sums

_MOST_CELLS = 1 << 24  # v x m above which the engine's dense table would be wasteful


@dataclass(frozen=True, eq=False)
class WordClassCounts:
    """Sums over documents, so that the records of parts add up to the record of the whole.

    Numbers of documents are kept as float64: exact up to 2^53, and shrinkage may add fractions.

    Parameters
    ----------
    n_docs
        How many documents.
    class_docs
        (m,) documents of each class.
    term_docs
        (v,) documents with each term: those where its weight is not zero.
    term_weight, term_squares
        (v,) sums of each term's weights, and of their squares.
    joints
        `joint_weight` (v, m), a term's weight in the documents of a class, and `joint_docs`
        (v, m), documents with the term and the class; only those that were asked for.
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
        """Count weighted documents X (n, v) and their labels Y (n, m), sparse or dense.

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
            sums = _sums(weights, labels, needs)
        return cls.of_sums(labels, sums)

    @classmethod
    def of_sums(cls, Y: Sparse, sums: Sequence[Any]) -> "WordClassCounts":
        """Make the record of documents labelled by Y (n, m) from sums over them.

        `sums` are documents, weights and squares of each term, then `joint_weight` and
        `joint_docs` as CSR matrices or their parts; None for one that was not made.
        """
        docs, weights, squares, *joints = sums
        shape = (len(docs), Y.shape[1])
        made = {
            name: sparse.csr_matrix(joint, shape=shape)
            for name, joint in zip(("joint_weight", "joint_docs"), joints, strict=True)
            if joint is not None
        }
        class_docs = np.asarray(Y.sum(axis=0), dtype=np.float64).ravel()
        return cls(float(Y.shape[0]), class_docs, docs, weights, squares, made)

    @property
    def n_terms(self) -> int:
        """How many terms (v)."""
        return len(self.term_docs)

    @property
    def n_classes(self) -> int:
        """How many classes (m)."""
        return len(self.class_docs)

    @property
    def known(self) -> Flags:
        """(v,) which terms occur at all.

        Decided on whole numbers of documents, so that no rounding error of a subtraction makes a
        term of removed documents look like a very rare one.
        """
        return self.term_docs > 0

    @property
    def joint_weight(self) -> Floats:
        """(v, m) a term's weight in the documents of a class, as a new dense array."""
        return self._joint("joint_weight")

    @property
    def joint_docs(self) -> Floats:
        """(v, m) documents with the term and the class, as a new dense array."""
        return self._joint("joint_docs")

    def _joint(self, name: str) -> Floats:
        if name not in self.joints:
            raise InputError(
                f"these counts were made without {name}: a correlation must name the sums it "
                f"uses in its NEEDS (known: {', '.join(sorted(JOINTS))})"
            )
        joint = self.joints[name]
        values: Floats = joint.toarray() if sparse.issparse(joint) else joint.copy()
        return values

    def __add__(self, other: "WordClassCounts") -> "WordClassCounts":
        self._check_addable(other)
        return WordClassCounts(
            self.n_docs + other.n_docs,
            self.class_docs + other.class_docs,
            self.term_docs + other.term_docs,
            self.term_weight + other.term_weight,
            self.term_squares + other.term_squares,
            {
                name: joint + other.joints[name]
                for name, joint in self.joints.items()
                if name in other.joints
            },
        )

    def __sub__(self, other: "WordClassCounts") -> "WordClassCounts":
        """Subtract documents. A term that no remaining document has gets exactly zero weight."""
        self._check_addable(other)
        term_docs = self.term_docs - other.term_docs
        is_known = term_docs > 0
        return WordClassCounts(
            self.n_docs - other.n_docs,
            self.class_docs - other.class_docs,
            term_docs,
            np.where(is_known, self.term_weight - other.term_weight, 0.0),
            np.where(is_known, self.term_squares - other.term_squares, 0.0),
            {
                name: _with_rows(joint - other.joints[name], is_known)
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
        """Return the same sums over more classes; class j becomes class `columns[j]`."""
        class_docs = np.zeros(n_classes)
        class_docs[columns] = self.class_docs
        joints = {
            name: move_columns(sparse.csr_matrix(joint), columns, n_classes)
            for name, joint in self.joints.items()
        }
        return replace(self, class_docs=class_docs, joints=joints)

    def without_classes(self, dropped: Flags) -> "WordClassCounts":
        """Return the sums without some classes (one flag per class); their documents stay."""
        joints = {name: joint[:, np.flatnonzero(~dropped)] for name, joint in self.joints.items()}
        return replace(self, class_docs=self.class_docs[~dropped], joints=joints)

    def of_terms(self, rows: slice) -> "WordClassCounts":
        """Return the sums of some terms, over the same documents."""
        return replace(
            self,
            term_docs=self.term_docs[rows],
            term_weight=self.term_weight[rows],
            term_squares=self.term_squares[rows],
            joints={name: joint[rows] for name, joint in self.joints.items()},
        )

    def has_negative(self) -> bool:
        """Whether a number of documents is below zero: more was taken out than was there."""
        lowest = min(self.n_docs, self.class_docs.min(initial=0), self.term_docs.min(initial=0))
        return bool(lowest < 0 or self.term_weight.min(initial=0) < -1e-6)


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
        inside = np.flatnonzero(folds >= 0)
        self.everything = count(X, Y) if len(inside) == len(folds) else count(X[inside], Y[inside])
        self.of_fold: Callable[[int], WordClassCounts] = lambda fold: count(
            X[self.rows[fold]], Y[self.rows[fold]]
        )
        if keep:
            self.of_fold = [self.of_fold(fold) for fold in range(n_folds)].__getitem__

    def without(self, folds: Sequence[int]) -> WordClassCounts:
        """Return the sums of all documents less the sums of these folds."""
        remaining = self.everything
        for fold in folds:
            remaining -= self.of_fold(fold)
        return remaining


def fits_dense_table(n_terms: int, n_classes: int) -> bool:
    """Whether the native engine should add up v x m sums in a dense table."""
    return n_terms * n_classes <= _MOST_CELLS


def index_arrays(matrix: Sparse | sparse.csc_matrix[Any]) -> tuple[NDArray[np.int32], Ints]:
    """Return the columns of all rows (CSR), one row after the other, and where each ends."""
    return matrix.indices.astype(np.int32, copy=False), matrix.indptr.astype(np.int64, copy=False)


def sparse_times_dense(
    X: Sparse, weights: Floats32, intercept: Floats32, n_jobs: int | None
) -> Floats32:
    """Return X @ weights + intercept (n, m) in float32.

    A row of the result depends on its row of X alone, to the bit.
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


def _sums(weights: Sparse, labels: Sparse, needs: Collection[str]) -> list[Any]:
    """Return documents, weights and squares of each term, and the v x m sums that are needed."""
    n_terms, columns = weights.shape[1], weights.indices
    return [
        np.bincount(columns, minlength=n_terms).astype(np.float64),
        _column_sums(columns, weights.data, n_terms),
        _column_sums(columns, weights.data**2, n_terms),
        weights.T @ labels if "joint_weight" in needs else None,
        _presence(weights).T @ labels if "joint_docs" in needs else None,
    ]


def _column_sums(columns: NDArray[np.integer], values: Floats, n_terms: int) -> Floats:
    # without a single value, bincount would return integers
    return np.bincount(columns, values, minlength=n_terms).astype(np.float64)


def _presence(weights: Sparse) -> Sparse:
    parts = (np.ones_like(weights.data), weights.indices, weights.indptr)
    return sparse.csr_matrix(parts, shape=weights.shape)


def _with_rows(joint: Matrix, kept: Flags) -> Matrix:
    """Set the rows that are not kept to exactly zero."""
    if kept.all():
        return joint
    if not sparse.issparse(joint):
        joint[~kept] = 0.0  # nobody else has it yet
        return joint
    values = joint.data * np.repeat(kept, np.diff(joint.indptr))
    cleaned = sparse.csr_matrix((values, joint.indices, joint.indptr), shape=joint.shape)
    cleaned.eliminate_zeros()
    return cleaned
