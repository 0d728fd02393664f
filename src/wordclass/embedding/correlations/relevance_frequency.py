"""Relevance frequency: documents of the class for each document outside it, on a log scale."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.correlations._contingency import Contingency
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_docs"})


def correlate(counts: WordClassCounts) -> Floats:
    """Return log2(2 + tp / max(1, fp)), from numbers of documents with the term.

    Returns
    -------
    A : array of shape (v, m)
        At least 1, which is also the value of a term without documents; a term that never occurs
        outside the class is divided by 1, not by 0.

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [1.0]], [[1, 0], [1, 0]]))
    array([[2., 1.]])
    """
    cells = Contingency.of(counts)
    return np.log2(2 + cells.tp / np.maximum(1, cells.fp))
