"""What a solver is given, and what it returns: documents, costs of errors, weights."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Floats32, Ints, Sparse


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
        narrow = sparse.csr_matrix(X, dtype=np.float32)
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
            within_X = np.asarray((self.X @ self.X.T).toarray(), dtype=np.float32)
            self.solver_forms["products"] = _dense(within_X + self.block @ self.block.T)
        made: Floats32 = self.solver_forms["products"]
        return made


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


def _dense(columns: Floats32) -> Floats32:
    return np.ascontiguousarray(columns, dtype=np.float32)
