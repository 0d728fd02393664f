"""ConfWeight: confidence in a term's preference for a class (Soucy and Mineau, 2005)."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.correlations._contingency import Contingency
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_docs"})

_Z = 1.96  # a confidence of 95 %


def correlate(counts: WordClassCounts) -> Floats:
    """Compare the lowest likely rate of a term inside a class with its highest likely one outside.

    A rate x of N documents is estimated by p = (x + z^2/2) / (N + z^2) with the half width
    z sqrt(p (1-p) / (N + z^2)), z = 1.96. With `low` the lower end inside and `high` the upper end
    outside, the value is log2(2 low / (low + high))^2 if low > high, and 0 otherwise.

    Returns
    -------
    A : array of shape (v, m)
        Values from 0 to 1; 0 if the intervals overlap. A class with no documents or all documents
        has a wide interval instead of a division by 0.

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [0.0]], [[1, 0], [0, 1]]))
    array([[0., 0.]])
    """
    cells = Contingency.of(counts)
    inside, width_inside = _interval(cells.tp, cells.tp + cells.fn)
    outside, width_outside = _interval(cells.fp, cells.fp + cells.tn)
    low = inside - width_inside
    high = outside + width_outside
    is_sure = low > high
    share = np.divide(2 * low, low + high, out=np.ones_like(low), where=is_sure)
    return np.log2(share) ** 2


def _interval(hits: Floats, n_docs: Floats) -> tuple[Floats, Floats]:
    """Return the center and half width of the interval of a rate (Agresti and Coull)."""
    center = (hits + _Z**2 / 2) / (n_docs + _Z**2)
    return center, _Z * np.sqrt(center * (1 - center) / (n_docs + _Z**2))
