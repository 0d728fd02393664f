"""The input and output of linear solvers: features, labels, costs of errors, and weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import Codeframe
from wordclass.options import check_number, check_one_of

_PRODUCT_ROWS = 32  # computed at once: long documents take a second, then Ctrl-C is handled


@dataclass(frozen=True, eq=False)
class Features:
    """Documents as rows of a sparse matrix X (n, v), a dense block (n, k) and class columns.

    `class_columns` (n, m) has one feature per class, or is None: the problem of class j uses
    class_columns[:, j] only.
    """

    X: Sparse
    block: Floats32
    class_columns: Floats32 | None = None
    # X and the block as the solvers store them; shared by the same documents with other columns
    solver_forms: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, X: Sparse, block: Floats32 | None = None, class_columns: Floats32 | None = None
    ) -> "Features":
        """Convert a sparse matrix and optional dense columns to the form of the solvers."""
        # the indices are shared, not copied
        parts = X.data.astype(np.float32, copy=False), X.indices, X.indptr
        narrow = sparse.csr_matrix(parts, shape=X.shape)
        if block is None:
            block = np.zeros((X.shape[0], 0), np.float32)
        features = cls(narrow, np.ascontiguousarray(block, dtype=np.float32))
        return features if class_columns is None else features.with_class_columns(class_columns)

    def with_block(self, block: Floats32) -> "Features":
        """Return the same X with another block."""
        return replace(self, block=np.ascontiguousarray(block, dtype=np.float32), solver_forms={})

    def with_class_columns(self, class_columns: Floats32) -> "Features":
        """Return the same X and block with other class columns."""
        return replace(self, class_columns=np.ascontiguousarray(class_columns, dtype=np.float32))

    @property
    def n_docs(self) -> int:
        """Number of documents (n)."""
        return int(self.X.shape[0])

    def products(self) -> Floats32:
        """Return the inner products (n, n) of all documents without class columns, cached."""
        if "products" not in self.solver_forms:
            term_products = np.empty((self.n_docs, self.n_docs), np.float32)
            transposed = self.X.T.tocsr()
            for start in range(0, self.n_docs, _PRODUCT_ROWS):
                rows = slice(start, start + _PRODUCT_ROWS)
                term_products[rows] = (self.X[rows] @ transposed).toarray()
            self.solver_forms["products"] = term_products + self.block @ self.block.T
        products: Floats32 = self.solver_forms["products"]
        return products


@dataclass(frozen=True, eq=False)
class Costs:
    """The cost of an error: the product of the costs of the document and of its side.

    `positive` and `negative` (m,) are the costs of the documents of a class and of all others,
    `docs` (n,) are the costs of the documents.
    """

    positive: Floats
    negative: Floats
    docs: Floats

    @classmethod
    def equal(cls, n_docs: int, n_classes: int, docs: Floats | None = None) -> "Costs":
        """Return costs that are equal for all classes."""
        doc_costs = np.ones(n_docs) if docs is None else docs
        return cls(np.ones(n_classes), np.ones(n_classes), doc_costs)

    @classmethod
    def balanced(
        cls, Y: Sparse, docs: Floats | None, rows: Ints | None = None, *, is_multilabel: bool
    ) -> "Costs":
        """Return costs that are higher for the documents of small classes.

        In a multilabel task, both sides of every class have the same total weight: "balanced"
        for m problems of two classes. In a single-label task, the documents of a class weigh
        n / (m n_c) and all others 1: "balanced" for one problem of m classes, as in
        scikit-learn's LinearSVC. Each is the better choice for its task.

        Parameters
        ----------
        rows
            The documents to count. By default all.
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
            positive = total / (2 * inside)
            negative = total / (2 * outside)
        else:
            positive = total / (n_present * inside)
            negative = np.ones(n_classes)
        positive = np.where(members > 0, positive, 1.0)
        negative = np.where(members < total, negative, 1.0)
        return cls(positive, negative, weights)


AnyFeatures = TypeVar("AnyFeatures", Features, Floats)


@dataclass(frozen=True, eq=False)
class Problem(Generic[AnyFeatures]):
    """A learning problem, the input of every solver.

    Parameters
    ----------
    features : Features or array of shape (n, d)
        The documents. Short dense vectors are a plain array.
    Y : sparse matrix of shape (n, m)
        Labels.
    costs : Costs
        Costs of errors.
    """

    features: AnyFeatures
    Y: Sparse
    costs: Costs


@dataclass(frozen=True, eq=False)
class Solution:
    """The weights of a linear model per class.

    `weights` (v, m) are those of the sparse columns, `block_weights` (k, m) those of the block,
    `class_column_weights` (m,) those of the class columns, or zeros if there are none; `intercept`
    is (m,).
    """

    weights: Floats32
    block_weights: Floats32
    class_column_weights: Floats32
    intercept: Floats32

    def scores(self, features: Features, rows: Ints) -> Floats32:
        """Return the scores (rows, m) of documents."""
        scores: Floats32 = features.X[rows] @ self.weights
        scores += features.block[rows] @ self.block_weights + self.intercept
        if features.class_columns is not None:
            scores += features.class_columns[rows] * self.class_column_weights
        return scores


def class_costs(
    class_weight: str | Mapping[Label, float] | None, codeframe: Codeframe
) -> Floats | None:
    """Return the cost of each class (m,), or None for balanced costs.

    Parameters
    ----------
    class_weight : "balanced", mapping or None
        A mapping contains the classes whose cost is not 1.
    codeframe : Codeframe
        The classes.
    """
    costs = np.ones(len(codeframe.classes))
    if not isinstance(class_weight, Mapping):
        check_one_of("class_weight", class_weight, ("balanced", None), ", or a dict")
        return costs if class_weight is None else None
    for label, cost in class_weight.items():
        costs[codeframe.column(label)] = check_number("class_weight", cost, above=0.0)
    return costs
