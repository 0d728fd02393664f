"""Multilabel decisions: one threshold a class, from scores of documents whose labels are known."""

import numpy as np

from wordclass.arrays import Flags, Floats, Floats32, Sparse

_FEW = 3  # a class with fewer positives has no threshold of its own


def best_thresholds(scores: Floats | Floats32, Y: Sparse) -> Floats:
    """Return the threshold (m,) of each class with the best F1 on these scores (n, m).

    The scores must be honest (cross-fitted, or of documents held out). A class with fewer than
    three positives takes the threshold that is best for all classes together: the best of its own
    would be the accident of one or two documents.
    """
    truth = Y.toarray().astype(bool)  # (n, m)
    shared = _best_threshold(scores.ravel(), truth.ravel())
    return np.array(
        [
            _best_threshold(scores[:, j], truth[:, j]) if truth[:, j].sum() >= _FEW else shared
            for j in range(scores.shape[1])
        ]
    )


def _best_threshold(scores: Floats | Floats32, truth: Flags) -> float:
    """Return the threshold with the best F1; the highest one of equals; half-way between scores."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    hits = np.cumsum(truth[order])
    n_predicted = np.arange(1, len(ranked) + 1)
    f1 = 2 * hits / (n_predicted + truth.sum())
    # documents of equal score are on the same side: only the last of them is a place to cut
    can_cut = np.append(ranked[:-1] > ranked[1:], True)
    if not truth.any() or not can_cut.any():
        return float(np.inf)
    best = int(np.argmax(np.where(can_cut, f1, -1.0)))
    below = ranked[best + 1] if best + 1 < len(ranked) else ranked[best] - 1.0
    return float((ranked[best] + below) / 2)
