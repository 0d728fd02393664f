"""One linear support vector machine per class: the same documents, many classes, many values of C.

The solver is the native one, or scikit-learn's if the extension is not built.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.embedding.counts import index_arrays, sparse_times_dense
from wordclass.linear.problem import Features, Problem, Solution
from wordclass.native import extension
from wordclass.options import native_errors_as_input_errors

TOLERANCE = 1e-4  # as in scikit-learn's LinearSVC
ROUGH_TOLERANCE = 0.1  # enough to compare settings
_MAX_PASSES = 1000  # as in LinearSVC
_MAX_VISITS_PER_CLASS = 10_000_000  # of documents: limits the passes over very many of them
_MIN_PASSES = 100  # enough to compare settings
_MAX_PRODUCT_DOCS = 6000  # their inner products need 144 MB
_FEATURES_PER_PRODUCT = 8  # a step over products is vectorized, a step over features is not
_NEGLIGIBLE_COST = 1e-12
# liblinear's random numbers and Python's warning filters are shared by the whole process
_one_at_a_time = Lock()

# --- the solver ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OneVsRest:
    """One support vector machine per class of a problem.

    Parameters
    ----------
    problem : Problem
        Documents, labels and costs.
    n_threads : int, default=1
        Number of classes solved at the same time; the solutions do not depend on it.
    """

    problem: Problem[Features]
    n_threads: int = 1

    def solve(
        self, C: float | Floats, rows: Ints | None = None, tolerance: float = TOLERANCE
    ) -> Solution:
        """Return the weights for one C, or one per class (m,), learned from some rows or all."""
        problem = self.problem
        features = problem.features
        penalties = np.broadcast_to(np.asarray(C, dtype=np.float64), (problem.Y.shape[1],))
        chosen = np.arange(features.n_docs) if rows is None else rows
        if extension.solver is None:
            return _solve_with_scikit_learn(problem, penalties, chosen)
        task = self._task(chosen, penalties, tolerance)
        if not self._has_long_documents:
            with native_errors_as_input_errors():
                return Solution(*extension.solver.solve(self._documents, task))
        with native_errors_as_input_errors():
            products = features.products()
            coefficients, class_column_weights, intercept = extension.solver.solve_products(
                products, task
            )
        weights = sparse_times_dense(
            features.X.T.tocsr(), coefficients, np.zeros_like(intercept), self.n_threads
        )
        block_weights = np.asarray(features.block.T @ coefficients, dtype=np.float32)
        return Solution(weights, block_weights, class_column_weights, intercept)

    def validate(
        self, C: Floats, rows: Ints, test_rows: Ints, tolerance: float = ROUGH_TOLERANCE
    ) -> Floats32:
        """Learn from some rows, and return the scores (values of C, test rows, m) of others.

        Each solution is the start of the next, so the values of C should be in ascending order.
        """
        features = self.problem.features
        if extension.solver is None:
            solutions = [self.solve(value, rows) for value in C]
            return np.array([solution.scores(features, test_rows) for solution in solutions])
        task = self._task(rows, C, tolerance)
        tested = np.ascontiguousarray(test_rows, dtype=np.int32)
        scores: Floats32
        with native_errors_as_input_errors():
            if self._has_long_documents:
                scores = extension.solver.validate_products(features.products(), task, tested)
            else:
                scores = extension.solver.validate(self._documents, task, tested)
        return scores

    @cached_property
    def _has_long_documents(self) -> bool:
        """Whether the inner products of all documents are cheaper than their features."""
        features = self.problem.features
        n_docs = features.n_docs
        n_features = features.X.nnz / max(n_docs, 1) + features.block.shape[1]
        return n_docs <= _MAX_PRODUCT_DOCS and n_docs <= _FEATURES_PER_PRODUCT * n_features

    @property
    def _documents(self) -> Any:  # noqa: ANN401 - of the native solver
        features = self.problem.features
        forms = features.solver_forms
        if "documents" not in forms:
            X = features.X
            forms["documents"] = extension.solver.documents(  # type: ignore[union-attr]
                X.data, *index_arrays(X), features.block, X.shape[1]
            )
        return forms["documents"]

    def _task(self, rows: Ints, C: Floats, tolerance: float) -> Any:  # noqa: ANN401
        """Return labels, costs, class columns, rows and values of C for the native solver.

        The number of passes is limited: a few rare classes with a large C would take hours.
        """
        problem = self.problem
        n_docs = problem.features.n_docs
        class_columns = problem.features.class_columns
        if class_columns is None:
            class_columns = np.zeros((n_docs, 0), np.float32)
        max_passes = _MIN_PASSES
        if tolerance < ROUGH_TOLERANCE:
            max_passes = _MAX_VISITS_PER_CLASS // max(n_docs, 1)
            max_passes = min(max(max_passes, _MIN_PASSES), _MAX_PASSES)
        members, class_ends = index_arrays(sparse.csc_matrix(problem.Y))
        with native_errors_as_input_errors():
            return extension.solver.task(  # type: ignore[union-attr]
                members,
                class_ends,
                problem.costs.positive,
                problem.costs.negative,
                problem.costs.docs,
                class_columns,
                np.ascontiguousarray(rows, dtype=np.int32),
                np.ascontiguousarray(C, dtype=np.float64),
                tolerance,
                max_passes,
                self.n_threads,
            )


# --- scikit-learn, if the native solver is not built ----------------------------------------------


def _solve_with_scikit_learn(problem: Problem[Features], C: Floats, rows: Ints) -> Solution:
    """Return the weights of every class, each with its own C (m,)."""
    features = problem.features
    costs = problem.costs
    truth = problem.Y[rows].toarray() > 0  # (n, m)
    block = sparse.csr_matrix(features.block[rows])
    shared = sparse.hstack([features.X[rows], block], format="csr")
    learned = np.zeros((shared.shape[1] + 2, truth.shape[1]), np.float32)
    for j in range(truth.shape[1]):
        column = np.zeros(len(rows), np.float32)
        if features.class_columns is not None:
            column = features.class_columns[rows, j]
        documents = sparse.hstack([shared, sparse.csr_matrix(column[:, None])], format="csr")
        cost = costs.docs[rows] * np.where(truth[:, j], costs.positive[j], costs.negative[j])
        learned[:, j] = _weights_and_intercept(documents, truth[:, j], cost, C[j])
    n_terms = features.X.shape[1]
    return Solution(learned[:n_terms], learned[n_terms:-2], learned[-2], learned[-1])


def _weights_and_intercept(documents: Sparse, truth: Flags, cost: Floats, C: float) -> Floats:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    counts = cost > 0
    # LinearSVC needs documents on both sides; an empty one of negligible cost changes nothing
    absent = [side for side in (False, True) if side not in truth[counts]]
    empty = sparse.csr_matrix((len(absent), documents.shape[1]), dtype=documents.dtype)
    machine = LinearSVC(C=C, random_state=0)
    with _one_at_a_time, warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # as the native solver
        machine.fit(
            sparse.vstack([documents[counts], empty], format="csr"),
            np.append(truth[counts], absent).astype(bool),
            np.append(cost[counts], np.full(len(absent), _NEGLIGIBLE_COST)),
        )
    return np.append(machine.coef_[0], machine.intercept_)
