"""Gain ratio: information gain divided by the entropy of the class."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.correlations import _mutual_information
from wordclass.embedding.correlations._contingency import ratio
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_docs"})


def correlate(counts: WordClassCounts) -> Floats:
    """Divide the information gain by the entropy of the class, -p log2 p - (1-p) log2 (1-p).

    Returns
    -------
    A : array of shape (v, m)
        Values from 0 to 1; 0 for a class with no documents or all documents, because its entropy
        is 0 (0/0).

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [0.0]], [[1, 0], [0, 1]]))
    array([[1., 1.]])
    """
    share = counts.class_docs / max(counts.n_docs, 1.0)  # (m,)
    entropy = -(_x_log2_x(share) + _x_log2_x(1 - share))
    return ratio(_mutual_information.average(counts), entropy[None, :])


def _x_log2_x(share: Floats) -> Floats:
    return share * np.log2(share, out=np.zeros_like(share), where=share > 0)
