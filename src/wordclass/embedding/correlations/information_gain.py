"""Information gain: the bits that presence or absence of a term tell about a class."""

from wordclass.arrays import Floats
from wordclass.embedding.correlations import _mutual_information
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_docs"})


def correlate(counts: WordClassCounts) -> Floats:
    """Sum p log2(p / (row x column)) over the four cells of term by class.

    Returns
    -------
    A : array of shape (v, m)
        Never negative but for rounding. A cell without documents adds 0 (0 log 0), so a term in
        no or all documents has 0, as has a class with no or all documents.

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [0.0]], [[1, 0], [0, 1]]))
    array([[1., 1.]])
    """
    return _mutual_information.average(counts)
