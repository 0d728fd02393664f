"""More classes for a task with few: whether a document has a certain telling term."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from wordclass.arrays import Sparse, to_sparse
from wordclass.correlations import information_gain
from wordclass.counts import WordClassCounts


def telling_terms(X: Sparse, Y: Sparse, n_terms: int) -> list[int]:
    """Return the columns of X most correlated with the task, best first.

    By information gain, summed over the classes; ties by column. (In the paper's "Known
    limitations", after the structural learning of Ando and Zhang.)
    """
    if not n_terms:
        return []
    counts = WordClassCounts.of(X, Y, information_gain.NEEDS)
    gain = information_gain.correlate(counts).sum(axis=1)  # (v,)
    return [int(j) for j in np.argsort(-gain.round(12), kind="stable")[:n_terms]]


def with_structural_columns(X: Sparse, Y: Sparse, columns: Sequence[int]) -> Sparse:
    """Put behind Y (n, m) one 0/1 column a chosen term: whether the document has it."""
    if not columns:
        return Y
    weights: Sparse = X[:, list(columns)].copy()
    weights.data = (weights.data != 0).astype(np.float64)
    return to_sparse(sparse.hstack([Y, weights]))
