"""What a linear solver reads and returns: features, labels, costs of errors; weights."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import Codeframe
from wordclass.options import check_number, check_one_of

_PRODUCTS_AT_ONCE = 32  # documents with all others: long ones take a second, then Ctrl-C is heard


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
        features = cls(narrow, np.ascontiguousarray(block, dtype=np.float32))
        return features if own is None else features.with_own(own)

    def with_block(self, block: Floats32) -> "Features":
        """Return the same X beside another block."""
        return replace(self, block=np.ascontiguousarray(block, dtype=np.float32), solver_forms={})

    def with_own(self, own: Floats32) -> "Features":
        """Return the same X and block beside other own columns."""
        return replace(self, own=np.ascontiguousarray(own, dtype=np.float32))

    @property
    def n_docs(self) -> int:
        """How many documents (n)."""
        return int(self.X.shape[0])

    def products(self) -> Floats32:
        """Return the inner products (n, n) of all documents, without own columns; made once."""
        if "products" not in self.solver_forms:
            term_products = np.empty((self.n_docs, self.n_docs), np.float32)
            transposed = self.X.T.tocsr()
            for start in range(0, self.n_docs, _PRODUCTS_AT_ONCE):
                rows = slice(start, start + _PRODUCTS_AT_ONCE)
                term_products[rows] = (self.X[rows] @ transposed).toarray()
            self.solver_forms["products"] = term_products + self.block @ self.block.T
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
        doc_costs = np.ones(n_docs) if docs is None else docs
        return cls(np.ones(n_classes), np.ones(n_classes), doc_costs)

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


AnyFeatures = TypeVar("AnyFeatures", Features, Floats)


@dataclass(frozen=True, eq=False)
class Problem(Generic[AnyFeatures]):
    """Documents to learn from: the one thing that every solver takes.

    Parameters
    ----------
    features : Features or array of shape (n, d)
        The documents; short dense vectors are a plain array.
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
    """Weights of the sparse columns (v, m), of the block (k, m), of own columns (m,); intercepts.

    The own weights are zeros where there are no own columns; intercepts are (m,) too.
    """

    weights: Floats32
    block_weights: Floats32
    own_weights: Floats32
    intercept: Floats32

    def scores(self, features: Features, rows: Ints) -> Floats32:
        """Return the scores (rows, m) of documents."""
        scores: Floats32 = features.X[rows] @ self.weights
        scores += features.block[rows] @ self.block_weights + self.intercept
        if features.own is not None:
            scores += features.own[rows] * self.own_weights
        return scores


def class_costs(
    class_weight: str | Mapping[Label, float] | None, codeframe: Codeframe
) -> Floats | None:
    """Return a cost for each class (m,), or None if costs are to be balanced.

    Parameters
    ----------
    class_weight : "balanced", mapping or None
        A mapping has the cost of each class that is not 1.
    codeframe : Codeframe
    """
    costs = np.ones(len(codeframe.classes))
    if not isinstance(class_weight, Mapping):
        check_one_of("class_weight", class_weight, ("balanced", None), ", or a dict")
        return costs if class_weight is None else None
    for label, cost in class_weight.items():
        costs[codeframe.column(label)] = check_number("class_weight", cost, above=0.0)
    return costs
