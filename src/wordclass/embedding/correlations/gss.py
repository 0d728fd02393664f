"""The GSS coefficient: the numerator of chi-square before squaring, which has a direction."""

from wordclass.arrays import Floats
from wordclass.embedding.correlations._contingency import Contingency
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_docs"})


def correlate(counts: WordClassCounts) -> Floats:
    """Return p(tp) p(tn) - p(fp) p(fn).

    Returns
    -------
    A : array of shape (v, m)
        Values from -1/4 to 1/4; negative if the term is less frequent in the class than elsewhere.

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [0.0]], [[1, 0], [0, 1]]))
    array([[ 0.25, -0.25]])
    """
    return Contingency.of(counts).covariance
