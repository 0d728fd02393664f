"""One linear support vector machine a class: the same documents, many classes, many values of C."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass import native
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.linear_solver import plain

TOLERANCE = 1e-4  # as in scikit-learn's LinearSVC
ROUGH_TOLERANCE = 1e-2  # enough to compare settings
_MOST_PASSES = 1000


@dataclass(frozen=True, eq=False)
class Features:
    """Documents as rows of a sparse matrix X (n, v) beside a dense block (n, k)."""

    X: Sparse
    block: Floats32

    @classmethod
    def of(cls, X: Sparse, block: Floats32 | None = None) -> "Features":
        """Put a sparse matrix, and maybe a dense block, into the form that the solver reads."""
        narrow = sparse.csr_matrix(X, dtype=np.float32)
        if block is None:
            block = np.zeros((X.shape[0], 0), np.float32)
        return cls(narrow, np.ascontiguousarray(block, dtype=np.float32))

    def with_block(self, block: Floats32) -> "Features":
        """Return the same X beside another block."""
        return replace(self, block=np.ascontiguousarray(block, dtype=np.float32))

    @property
    def n_docs(self) -> int:
        """How many documents (n)."""
        return int(self.X.shape[0])


@dataclass(frozen=True, eq=False)
class Costs:
    """How much an error weighs: the costs of a document and of its side multiply.

    `positive` and `negative` (m,) are those of a class's documents and of all others, `docs` (n,)
    those of the documents.
    """

    positive: Floats
    negative: Floats
    docs: Floats

    @classmethod
    def equal(cls, n_docs: int, n_classes: int) -> "Costs":
        """Every error weighs the same."""
        return cls(np.ones(n_classes), np.ones(n_classes), np.ones(n_docs))

    @classmethod
    def balanced(
        cls, Y: Sparse, docs: Floats | None, rows: Ints | None = None, *, is_multilabel: bool
    ) -> "Costs":
        """Errors on the documents of a small class weigh more.

        In a multilabel task, both sides of every class weigh the same in all: "balanced" of m
        problems of two classes each. In a single-label one, a class's documents weigh n / (m n_c)
        and all others 1: "balanced" of one problem of m classes, as scikit-learn's LinearSVC has
        it. They are not the same, and each is the better one in its place.

        Parameters
        ----------
        rows
            The documents to count; None: all.
        """
        weights = np.ones(Y.shape[0]) if docs is None else docs
        counted = weights if rows is None else np.zeros(len(weights))
        if rows is not None:
            counted[rows] = weights[rows]
        total = counted.sum()
        members = np.asarray(Y.T @ counted).ravel()  # (m,)
        n_classes = Y.shape[1]
        # a class without documents, or without others, has nothing to balance
        inside = np.maximum(members, 1e-300)
        outside = np.maximum(total - members, 1e-300)
        if is_multilabel:
            positive, negative = total / (2 * inside), total / (2 * outside)
        else:
            positive, negative = total / (n_classes * inside), np.ones(n_classes)
        positive = np.where(members > 0, positive, 1.0)
        negative = np.where(members < total, negative, 1.0)
        return cls(positive, negative, weights)


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights of the sparse columns (v, m) and of the block (k, m), intercepts (m,)."""

    weights: Floats32
    block_weights: Floats32
    intercept: Floats32


@dataclass(frozen=True, eq=False)
class OneVsRest:
    """The problems of all classes.

    Parameters
    ----------
    features, Y
        Documents, and their labels (n, m).
    costs
        Of errors.
    n_threads
        Classes solved at the same time; the solutions do not depend on it.
    """

    features: Features
    Y: Sparse
    costs: Costs
    n_threads: int = 1

    def solve(
        self, C: float | Floats, rows: Ints | None = None, tolerance: float = TOLERANCE
    ) -> Solution:
        """Return the weights for one C, or one a class (m,), learned from some rows or all."""
        each = np.broadcast_to(np.asarray(C, dtype=np.float64), (self.Y.shape[1],))
        if native.solver is None:
            return Solution(*plain.solve(self.features, self.Y, self.costs, each, self._rows(rows)))
        weights, block_weights, intercept, _ = native.solver.solve(
            *self._documents,
            self._rows(rows),
            *self._task,
            np.ascontiguousarray(each),
            *(tolerance, _MOST_PASSES, self.n_threads),
        )
        return Solution(weights, block_weights, intercept)

    def validate(
        self, C: Floats, rows: Ints, test_rows: Ints, tolerance: float = ROUGH_TOLERANCE
    ) -> Floats32:
        """Learn from some rows, and return the scores (values of C, test rows, m) of others.

        Each solution is the start of the next, so the values of C had better rise.
        """
        if native.solver is None:
            scores = [
                plain.scores(self.features, self.solve(value, rows), test_rows) for value in C
            ]
            return np.array(scores, np.float32)
        validated: Floats32 = native.solver.validate(
            *self._documents,
            self._rows(rows),
            self._rows(test_rows),
            *self._task,
            np.ascontiguousarray(C, dtype=np.float64),
            *(tolerance, _MOST_PASSES, self.n_threads),
        )
        return validated

    def _rows(self, rows: Ints | None) -> NDArray[np.int32]:
        chosen = np.arange(self.features.n_docs) if rows is None else rows
        return np.ascontiguousarray(chosen, dtype=np.int32)

    @property
    def _documents(self) -> tuple[object, ...]:
        X = self.features.X
        return (
            X.data,
            X.indices.astype(np.int32, copy=False),
            X.indptr.astype(np.int64, copy=False),
            self.features.block,
            X.shape[1],
        )

    @cached_property
    def _task(self) -> tuple[object, ...]:
        by_class = sparse.csc_matrix(self.Y)
        return (
            by_class.indices.astype(np.int32, copy=False),
            by_class.indptr.astype(np.int64, copy=False),
            self.costs.positive,
            self.costs.negative,
            self.costs.docs,
        )
