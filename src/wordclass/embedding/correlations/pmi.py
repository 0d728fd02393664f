"""Pointwise mutual information, negative values too."""

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
        Where term and class never meet, minus infinity is replaced by the value for half a
        document together, or 0 if that is above 0: the lower the more of a surprise it is that
        they do not meet. 0 for a term or class without documents (0/0).

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [0.0]], [[1, 0], [0, 1]])).round(3)
    array([[0.693, 0.   ]])
    """
    joint = counts.joint_docs
    never_meet = joint == 0
    information = _mutual_information.pointwise(counts, np.where(never_meet, 0.5, joint))
    return np.where(never_meet, np.minimum(information, 0.0), information)
