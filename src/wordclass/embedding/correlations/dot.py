"""Share of a term's weight that falls in each class: the paper's own measure."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_weight"})


def correlate(counts: WordClassCounts) -> Floats:
    """Divide the weight a term has in a class by all the weight it has (eq. 2).

    Returns
    -------
    A : array of shape (v, m)
        A term without weight gets zeros, not NaN: once standardized it must
        look like any rare term.

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [1.0]], [[1, 0], [0, 1]]))
    array([[0.75, 0.25]])
    """
    joint = counts.joint_weight  # (v, m)
    total = counts.term_weight[:, None]  # (v, 1)
    return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
