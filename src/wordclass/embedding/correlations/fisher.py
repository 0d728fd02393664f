"""Fisher score of the weights: variance between class and non-class over variance within."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.correlations._contingency import ratio
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_weight"})


def correlate(counts: WordClassCounts) -> Floats:
    """Divide n_1 (mean_1 - mean)^2 + n_2 (mean_2 - mean)^2 by n_1 var_1 + n_2 var_2.

    Group 1 is the documents of the class, group 2 all others, both with the zeros of documents
    that lack the term. As n var = (sum of squares) - n mean^2 adds up over the two groups, the
    sums of squares by class are not needed, only those of all documents.

    Returns
    -------
    A : array of shape (v, m)
        The score is 0 if a group is empty. If no weight varies within the groups (x/0), the mean
        square of the weights replaces the spread, so that a perfect term is not the worst one.

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [1.0], [1.0]], [[1, 0], [1, 0], [0, 1]]))
    array([[0.33333333, 0.33333333]])
    """
    n_docs = max(counts.n_docs, 1.0)
    inside = counts.class_docs[None, :]  # (1, m)
    outside = counts.n_docs - inside
    total = counts.term_weight[:, None]  # (v, 1)
    joint = counts.joint_weight  # (v, m)
    explained = ratio(joint**2, inside) + ratio((total - joint) ** 2, outside)
    squares = counts.term_squares[:, None]
    between = np.maximum(explained - total**2 / n_docs, 0.0)
    within = squares - explained
    # a tiny difference of two nearly equal sums is a rounding error
    has_spread = within > 1e-12 * squares
    spread = np.where(has_spread, within, squares / n_docs)
    is_split = (inside > 0) & (outside > 0) & (spread > 0)
    return np.divide(between, spread, out=np.zeros_like(joint), where=is_split)
