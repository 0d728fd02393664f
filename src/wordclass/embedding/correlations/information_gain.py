"""Information gain: mutual information of a term's presence and a class, in bits."""

from wordclass.arrays import Floats
from wordclass.embedding.correlations import _mutual_information
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_docs"})


def correlate(counts: WordClassCounts) -> Floats:
    """Sum p log2(p / (row x column)) over the four cells of term by class.

    Returns
    -------
    A : array of shape (v, m)
        Values from 0 up, apart from rounding errors. A cell without documents adds 0 (0 log 0), so
        the value is 0 for a term or class with no documents or all documents.

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [0.0]], [[1, 0], [0, 1]]))
    array([[1., 1.]])
    """
    return _mutual_information.average(counts)
