"""One linear support vector machine a class: the same documents, many classes, many values of C."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass import native
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.linear_solver import plain
from wordclass.linear_solver.problem import Costs, Features, Solution

TOLERANCE = 1e-4  # as in scikit-learn's LinearSVC
ROUGH_TOLERANCE = 0.1  # enough to compare settings
_MOST_PASSES = 1000  # as in LinearSVC
_MOST_LOOKS = 10_000_000  # at documents, a class: fewer passes where there are very many
_FEWEST_PASSES = 100  # ... but never fewer than these, which are enough to compare settings
_MOST_PRODUCTS = 6000  # documents: their products need 144 MB
_FEATURES_A_PRODUCT = 8  # steps over products are taken side by side, features one by one


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
            return plain.solve(self.features, self.Y, self.costs, each, self._rows(rows))
        task = self._task(rows, each, tolerance)
        if not self._has_long_documents:
            weights, block_weights, own, intercept = native.solver.solve(self._documents, task)
            return Solution(weights, block_weights, own, intercept)
        coefficients, own, intercept = native.solver.solve_products(
            self.features.products(), task
        )
        weights = np.asarray(self.features.X.T @ coefficients, dtype=np.float32)
        block_weights = np.asarray(self.features.block.T @ coefficients, dtype=np.float32)
        return Solution(weights, block_weights, own, intercept)

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
        task, tested = self._task(rows, C, tolerance), self._rows(test_rows)
        validated: Floats32
        if self._has_long_documents:
            products = self.features.products()
            validated = native.solver.validate_products(products, task, tested)
        else:
            validated = native.solver.validate(self._documents, task, tested)
        return validated

    @property
    def _has_long_documents(self) -> bool:
        """Whether the inner products of all documents are cheaper than their features."""
        n_docs = self.features.n_docs
        n_features = self.features.X.nnz / max(n_docs, 1) + self.features.block.shape[1]
        return n_docs <= _MOST_PRODUCTS and n_docs <= _FEATURES_A_PRODUCT * n_features

    def _rows(self, rows: Ints | None) -> NDArray[np.int32]:
        chosen = np.arange(self.features.n_docs) if rows is None else rows
        return np.ascontiguousarray(chosen, dtype=np.int32)

    @property
    def _documents(self) -> Any:  # noqa: ANN401 - of the native solver
        forms = self.features.solver_forms
        if "documents" not in forms:
            X = self.features.X
            forms["documents"] = native.solver.documents(  # type: ignore[union-attr]
                X.data,
                X.indices.astype(np.int32, copy=False),
                X.indptr.astype(np.int64, copy=False),
                self.features.block,
                X.shape[1],
            )
        return forms["documents"]

    def _task(self, rows: Ints | None, C: Floats, tolerance: float) -> Any:  # noqa: ANN401
        own = self.features.own
        return native.solver.task(  # type: ignore[union-attr]
            *self._labels,
            self.costs.positive,
            self.costs.negative,
            self.costs.docs,
            np.zeros((self.features.n_docs, 0), np.float32) if own is None else own,
            self._rows(rows),
            np.ascontiguousarray(C, dtype=np.float64),
            *(tolerance, self._most_passes(tolerance), self.n_threads),
        )

    def _most_passes(self, tolerance: float) -> int:
        """Return when to give up: a few rare classes with a large C would go on for hours."""
        if tolerance >= ROUGH_TOLERANCE:
            return _FEWEST_PASSES
        many = _MOST_LOOKS // max(self.features.n_docs, 1)
        return int(np.clip(many, _FEWEST_PASSES, _MOST_PASSES))

    @cached_property
    def _labels(self) -> tuple[NDArray[np.int32], Ints]:
        """The documents of each class, one class after the other, and where each begins."""
        by_class = sparse.csc_matrix(self.Y)
        return by_class.indices.astype(np.int32, copy=False), by_class.indptr.astype(np.int64)
