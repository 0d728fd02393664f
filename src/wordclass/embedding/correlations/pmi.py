"""Pointwise mutual information, including negative values."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.correlations import _mutual_information
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_docs"})


def correlate(counts: WordClassCounts) -> Floats:
    """Return ln p(tp) / (p(t) p(c)), with shares of documents as probabilities.

    Returns
    -------
    A : array of shape (v, m)
        If term and class never occur together, minus infinity is replaced by the value for half a
        document, or by 0 if that value is positive. The value is 0 for a term or class without
        documents (0/0).

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [0.0]], [[1, 0], [0, 1]])).round(3)
    array([[0.693, 0.   ]])
    """
    joint = counts.joint_docs
    are_disjoint = joint == 0
    information = _mutual_information.pointwise(counts, np.where(are_disjoint, 0.5, joint))
    return np.where(are_disjoint, np.minimum(information, 0.0), information)
