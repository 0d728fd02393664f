"""Share of a term's weight in each class: the measure of the paper."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_weight"})


def correlate(counts: WordClassCounts) -> Floats:
    """Divide the weight of each term in a class by the total weight of the term (eq. 2).

    Returns
    -------
    A : array of shape (v, m)
        A term without weight gets zeros instead of NaN.

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [1.0]], [[1, 0], [0, 1]]))
    array([[0.75, 0.25]])
    """
    joint = counts.joint_weight  # (v, m)
    total = counts.term_weight[:, None]  # (v, 1)
    return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
