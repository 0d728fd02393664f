"""Positive pointwise mutual information."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.correlations import _mutual_information
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_docs"})


def correlate(counts: WordClassCounts) -> Floats:
    """Return max(0, ln p(tp) / (p(t) p(c))), with shares of documents as probabilities.

    Returns
    -------
    A : array of shape (v, m)
        The value is 0 if term and class never occur together (ln 0), and for a term or class
        without documents (0/0).

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [0.0]], [[1, 0], [0, 1]])).round(3)
    array([[0.693, 0.   ]])
    """
    return np.maximum(_mutual_information.pointwise(counts, counts.joint_docs), 0.0)
