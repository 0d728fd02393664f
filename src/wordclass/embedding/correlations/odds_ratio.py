"""Log odds ratio: the odds of a term inside a class compared with the odds outside."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.correlations._contingency import Contingency
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_docs"})


def correlate(counts: WordClassCounts) -> Floats:
    """Return ln (tp + 1/2)(tn + 1/2) / ((fp + 1/2)(fn + 1/2)), from numbers of documents.

    Returns
    -------
    A : array of shape (v, m)
        Half a document in every cell (Haldane and Anscombe) keeps the values finite if a cell is
        empty, as it is for most pairs of a sparse corpus.

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [0.0]], [[1, 0], [0, 1]])).round(3)
    array([[ 2.197, -2.197]])
    """
    cells = Contingency.of(counts)
    odds = (cells.tp + 0.5) * (cells.tn + 0.5)
    return np.log(odds / ((cells.fp + 0.5) * (cells.fn + 0.5)))
