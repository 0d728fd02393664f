"""Relevance frequency: ratio of documents inside and outside the class, on a log scale."""

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
        Values from 1 up. A term without documents has the value 1. For a term that never occurs
        outside the class, the divisor is 1 instead of 0.

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [1.0]], [[1, 0], [1, 0]]))
    array([[2., 1.]])
    """
    cells = Contingency.of(counts)
    return np.log2(2 + cells.tp / np.maximum(1, cells.fp))
