"""The terms that tell most about each class: the same number for all, each term once."""

import numpy as np

from wordclass.arrays import Flags, Floats, Ints, Sparse
from wordclass.correlations import gss, information_gain
from wordclass.counts import WordClassCounts


def gains(X: Sparse, Y: Sparse) -> Floats:
    """Return the information gain (v, m) of terms that speak for a class, else 0.

    A term also tells something about the classes it keeps away from, but is not theirs.
    """
    counts = WordClassCounts.of(X, Y, information_gain.NEEDS | gss.NEEDS)
    return np.where(gss.correlate(counts) > 0, information_gain.correlate(counts), 0.0)


def round_robin(
    scores: Floats, n_per_class: int, allowed: Flags | None = None
) -> tuple[Ints, Ints]:
    """Let the classes choose terms in turn, each the best that is still there.

    Parameters
    ----------
    scores
        (v, m); a class never chooses a term whose score is 0 or less.
    n_per_class
        How many terms a class chooses; fewer where no more are left.
    allowed
        (v,) which terms can be chosen at all; None: every one.

    Returns
    -------
    rows, columns
        The chosen terms, and the class that chose each, in the order of choosing.

    Examples
    --------
    >>> round_robin(np.array([[3.0, 2.0], [1.0, 0.0], [2.0, 1.0]]), 1)
    (array([0, 2]), array([0, 1]))
    """
    n_terms, n_classes = scores.shape
    is_free = np.ones(n_terms, np.bool_) if allowed is None else allowed.copy()
    # the terms of each class, best first, of equal ones the earlier row
    wishes = [iter(order.tolist()) for order in np.argsort(-scores, axis=0, kind="stable").T]
    chosen: list[tuple[int, int]] = []
    for column in list(range(n_classes)) * n_per_class:
        row = next((row for row in wishes[column] if is_free[row]), None)
        if row is not None and scores[row, column] > 0:
            is_free[row] = False
            chosen.append((row, column))
    pairs: Ints = np.array(chosen, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
