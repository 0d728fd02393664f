"""One linear support vector machine per class: the same documents, many classes, many values of C.

What a solver is given (documents, costs of errors) and returns (weights) comes first, then the
solver: the native one, or scikit-learn's where that was not built; then prediction.
"""

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from wordclass import native
from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.checks import n_threads, told_as_input_errors
from wordclass.counts import index_arrays

TOLERANCE = 1e-4  # as in scikit-learn's LinearSVC
ROUGH_TOLERANCE = 0.1  # enough to compare settings
_MOST_PASSES = 1000  # as in LinearSVC
_MOST_LOOKS = 10_000_000  # at documents, per class: fewer passes where there are very many
_FEWEST_PASSES = 100  # ... but never fewer than these, which are enough to compare settings
_MOST_PRODUCTS = 6000  # documents: their products need 144 MB
_PRODUCTS_AT_ONCE = 32  # documents with all others: long ones take a second, then Ctrl-C is heard
_FEATURES_A_PRODUCT = 8  # steps over products are taken side by side, features one by one
_NEXT_TO_NOTHING = 1e-12
# liblinear's random numbers and Python's list of warnings are those of the whole process
_one_at_a_time = Lock()

# --- what a solver is given, and what it returns ------------------------------------------------


@dataclass(frozen=True, eq=False)
class Features:
    """Documents as rows of a sparse matrix X (n, v) beside a dense block (n, k) and own columns.

    `own` (n, m) has a column for each class alone: the problem of class j sees own[:, j] and no
    other; None: there are none.
    """

    X: Sparse
    block: Floats32
    own: Floats32 | None = None
    # what the solver made of X and the block; the same documents with other own columns share it
    solver_forms: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, X: Sparse, block: Floats32 | None = None, own: Floats32 | None = None
    ) -> "Features":
        """Put a sparse matrix, and maybe dense columns, into the form that the solver reads."""
        # the same places, not a copy of them
        parts = X.data.astype(np.float32, copy=False), X.indices, X.indptr
        narrow = sparse.csr_matrix(parts, shape=X.shape)
        if block is None:
            block = np.zeros((X.shape[0], 0), np.float32)
        return cls(narrow, _dense(block), None if own is None else _dense(own))

    def with_block(self, block: Floats32) -> "Features":
        """Return the same X beside another block."""
        return replace(self, block=_dense(block), solver_forms={})

    def with_own(self, own: Floats32 | None) -> "Features":
        """Return the same X and block beside other own columns."""
        return replace(self, own=None if own is None else _dense(own))

    @property
    def n_docs(self) -> int:
        """How many documents (n)."""
        return int(self.X.shape[0])

    def products(self) -> Floats32:
        """Return the inner products (n, n) of all documents, without own columns; made once."""
        if "products" not in self.solver_forms:
            made, transposed = np.empty((self.n_docs, self.n_docs), np.float32), self.X.T.tocsr()
            for start in range(0, self.n_docs, _PRODUCTS_AT_ONCE):
                rows = slice(start, start + _PRODUCTS_AT_ONCE)
                made[rows] = (self.X[rows] @ transposed).toarray()
            self.solver_forms["products"] = made + self.block @ self.block.T
        products: Floats32 = self.solver_forms["products"]
        return products


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
    def equal(cls, n_docs: int, n_classes: int, docs: Floats | None = None) -> "Costs":
        """Every error weighs the same, or as its document does."""
        each = np.ones(n_docs) if docs is None else docs
        return cls(np.ones(n_classes), np.ones(n_classes), each)

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
        n_present = max(np.count_nonzero(members), 1)
        # a class without documents, or without others, has nothing to balance
        inside = np.maximum(members, 1e-300)
        outside = np.maximum(total - members, 1e-300)
        if is_multilabel:
            positive, negative = total / (2 * inside), total / (2 * outside)
        else:
            positive, negative = total / (n_present * inside), np.ones(n_classes)
        positive = np.where(members > 0, positive, 1.0)
        negative = np.where(members < total, negative, 1.0)
        return cls(positive, negative, weights)


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights of the sparse columns (v, m), of the block (k, m), of own columns (m,); intercepts.

    The own weights are zeros where there are no own columns; intercepts are (m,) too.
    """

    weights: Floats32
    block_weights: Floats32
    own_weights: Floats32
    intercept: Floats32

    def scores(self, features: Features, rows: Ints) -> Floats32:
        """Return the scores (rows, m) of documents."""
        made: Floats32 = features.X[rows] @ self.weights
        made += features.block[rows] @ self.block_weights + self.intercept
        if features.own is not None:
            made += features.own[rows] * self.own_weights
        return made


def _dense(columns: Floats32) -> Floats32:
    return np.ascontiguousarray(columns, dtype=np.float32)


# --- the solver ----------------------------------------------------------------------------------


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
        """Return the weights for one C, or one per class (m,), learned from some rows or all."""
        each = np.broadcast_to(np.asarray(C, dtype=np.float64), (self.Y.shape[1],))
        if native.solver is None:
            return _solve_plainly(self.features, self.Y, self.costs, each, self._rows(rows))
        task = self._task(rows, each, tolerance)
        if not self._has_long_documents:
            with told_as_input_errors():
                return Solution(*native.solver.solve(self._documents, task))
        with told_as_input_errors():
            products = self.features.products()
            coefficients, own, intercept = native.solver.solve_products(products, task)
        transposed, nothing = self.features.X.T.tocsr(), np.zeros_like(intercept)
        weights = sparse_times_dense(transposed, coefficients, nothing, self.n_threads)
        block_weights = np.asarray(self.features.block.T @ coefficients, dtype=np.float32)
        return Solution(weights, block_weights, own, intercept)

    def validate(
        self, C: Floats, rows: Ints, test_rows: Ints, tolerance: float = ROUGH_TOLERANCE
    ) -> Floats32:
        """Learn from some rows, and return the scores (values of C, test rows, m) of others.

        Each solution is the start of the next, so the values of C had better rise.
        """
        if native.solver is None:
            solutions = (self.solve(value, rows) for value in C)
            return np.array([each.scores(self.features, test_rows) for each in solutions])
        task, tested = self._task(rows, C, tolerance), self._rows(test_rows)
        validated: Floats32
        with told_as_input_errors():
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
                X.data, *index_arrays(X), self.features.block, X.shape[1]
            )
        return forms["documents"]

    def _task(self, rows: Ints | None, C: Floats, tolerance: float) -> Any:  # noqa: ANN401
        own = self.features.own
        with told_as_input_errors():
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
        return index_arrays(sparse.csc_matrix(self.Y))


# --- the same through scikit-learn, where the native solver was not built ------------------------


def _solve_plainly(
    features: Features, Y: Sparse, costs: Costs, C: Floats, rows: Ints | NDArray[np.int32]
) -> Solution:
    """Return the weights of every class, each with its own C (m,), by scikit-learn."""
    truth = Y[rows].toarray() > 0  # (n, m)
    docs = costs.docs[rows]
    block = sparse.csr_matrix(features.block[rows])
    shared = sparse.hstack([features.X[rows], block], format="csr")
    learned = np.zeros((shared.shape[1] + 2, truth.shape[1]), np.float32)
    for j in range(truth.shape[1]):
        own = np.zeros(len(rows), np.float32) if features.own is None else features.own[rows, j]
        documents = sparse.hstack([shared, sparse.csr_matrix(own[:, None])], format="csr")
        cost = docs * np.where(truth[:, j], costs.positive[j], costs.negative[j])
        learned[:, j] = _weights_and_intercept(documents, truth[:, j], cost, C[j])
    n_terms = features.X.shape[1]
    return Solution(learned[:n_terms], learned[n_terms:-2], learned[-2], learned[-1])


def _weights_and_intercept(documents: Sparse, truth: Flags, cost: Floats, C: float) -> Floats:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    counts = cost > 0
    # it wants documents on both sides: an empty one that costs next to nothing changes nothing
    absent = [side for side in (False, True) if side not in truth[counts]]
    empty = sparse.csr_matrix((len(absent), documents.shape[1]), dtype=documents.dtype)
    machine = LinearSVC(C=C, random_state=0)
    with _one_at_a_time, warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the native solver says nothing either
        machine.fit(
            sparse.vstack([documents[counts], empty], format="csr"),
            np.append(truth[counts], absent).astype(bool),
            np.append(cost[counts], np.full(len(absent), _NEXT_TO_NOTHING)),
        )
    return np.append(machine.coef_[0], machine.intercept_)


# --- prediction ----------------------------------------------------------------------------------


def sparse_times_dense(
    X: Sparse, weights: Floats32, intercept: Floats32, n_jobs: int | None
) -> Floats32:
    """Return X @ weights + intercept (n, m) in float32.

    A row of the result depends on its row of X alone, to the bit.
    """
    if native.solver is None:
        # scipy, too, adds up the terms of a row in their order
        return np.asarray(X.astype(np.float32) @ weights + intercept, dtype=np.float32)
    product: Floats32 = native.solver.multiply(
        X.data.astype(np.float64, copy=False),
        *index_arrays(X),
        np.ascontiguousarray(weights, dtype=np.float32),
        np.ascontiguousarray(intercept, dtype=np.float32),
        n_threads(n_jobs),
    )
    return product
