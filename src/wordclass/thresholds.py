"""Multilabel decisions: one threshold a class, from scores of documents whose labels are known.

The scores must be honest: cross-fitted, or of documents held out. Usable with any classifier.
"""

import numpy as np

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse, to_sparse
from wordclass.labels import Codeframe
from wordclass.measures import Scores, Target, score

_FEW = 3  # a class with fewer positives has no threshold of its own
_USUAL_PULL = 10.0
_PULLS = (_USUAL_PULL, 0.0, 3.0, 50.0, np.inf)  # of equally good ones, the first


def best_thresholds(scores: Floats | Floats32, Y: Sparse, pull: float = 0.0) -> Floats:
    """Return the threshold (m,) of each class with the best F1 on these scores (n, m).

    A class with fewer than three positives takes the threshold that is best for all classes
    together: the best of its own would be the accident of one or two documents.

    Parameters
    ----------
    pull
        How many positives the threshold of all classes counts for, when it is averaged with the
        one of a class; infinite: all classes have the same.
    """
    truth = Y.astype(np.bool_).toarray()  # (n, m), never as floats: these are eight times as large
    shared = _best_threshold(scores.ravel(), truth.ravel())
    n_positive = truth.sum(axis=0)
    thresholds = np.full(scores.shape[1], shared)
    if np.isinf(pull):
        return thresholds
    for j in np.flatnonzero(n_positive >= _FEW):
        own = _best_threshold(scores[:, j], truth[:, j])
        thresholds[j] = (n_positive[j] * own + pull * shared) / (n_positive[j] + pull)
    return thresholds


def tuned_thresholds(
    scores: Floats | Floats32,
    Y: Sparse,
    folds: Ints,
    target: Target = "both",
    least_pull: float = 0.0,
) -> Floats:
    """Return thresholds (m,) pulled toward a common one, as much as serves documents unseen.

    How much is found by cross-validation: thresholds from the scores of all folds but one decide
    on the documents of that one, and the mean over the folds counts.

    Parameters
    ----------
    folds
        (n,) the fold of each document.
    target
        What is to be high: macro F1, micro F1, or the mean of the two.
    least_pull
        Pull at least so strongly: where the scores to be decided on are those of a model that has
        learned more since, the details of these scores are accidents.
    """
    codeframe = Codeframe(tuple(range(Y.shape[1])), "multilabel")
    pulls = [pull for pull in _PULLS if pull >= least_pull]
    parts = [(folds == fold, np.flatnonzero(folds != fold)) for fold in np.unique(folds)]

    def quality(pull: float) -> float:
        found = []
        for inside, outside in parts:
            above = scores[inside] > best_thresholds(scores[outside], Y[outside], pull)
            found.append(score(Y[inside], to_sparse(above), codeframe).of(target))
        return float(np.mean(found))

    pull = max(pulls, key=quality) if len(parts) > 1 else max(_USUAL_PULL, least_pull)
    return best_thresholds(scores, Y, pull)


def decided(scores: Floats | Floats32, Y: Sparse, codeframe: Codeframe) -> Scores:
    """Return how good scores (n, m) are by one threshold for all classes, the best there is."""
    return score(Y, to_sparse(scores > best_thresholds(scores, Y, np.inf)), codeframe)


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
