"""Thresholds and probabilities: from scores to labels, and how sure these are.

Both are learned from scores of documents whose labels are known. These scores must be honest:
cross-fitted, or of documents held out. Usable with any classifier.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.labels import Codeframe
from wordclass.measures import Scores, Target, score

_FEW = 3  # a class with fewer positives has no threshold of its own
_PULLS = (10.0, 0.0, 3.0, 50.0, np.inf)  # of equally good ones, the first
_PRIOR = 1.0  # how strongly the sigmoid of a class is held to the one of all classes
_NO_DIFFERENCE = 1e-4  # between documents, relative to their scores: an accident of the folds


def decide(scores: Floats | Floats32, thresholds: Floats | None) -> Flags:
    """Turn scores (n, m) into decisions: all above their threshold; None: the highest one."""
    if thresholds is not None:
        return np.asarray(scores > thresholds)
    decisions = np.zeros(scores.shape, np.bool_)
    decisions[np.arange(len(scores)), scores.argmax(axis=1)] = True
    return decisions


def decided(scores: Floats | Floats32, Y: Sparse, codeframe: Codeframe) -> Scores:
    """Return how good the decisions by scores (n, m) are.

    In a multilabel task, by the best threshold that there is for all classes together.
    """
    thresholds = best_thresholds(scores, Y, np.inf) if codeframe.is_multilabel else None
    return score(Y, decide(scores, thresholds), codeframe)


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
        What is to be high: see `Scores.of`.
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
            thresholds = best_thresholds(scores[outside], Y[outside], pull)
            found.append(score(Y[inside], decide(scores[inside], thresholds), codeframe).of(target))
        return float(np.mean(found))

    # one fold alone tells nothing: all pulls are equally good
    return best_thresholds(scores, Y, max(pulls, key=quality))


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


@dataclass(frozen=True, eq=False)
class Calibration:
    """Stretches scores so that they become probabilities.

    Where a document has one label, by a softmax of slope s + offset, with one slope for all
    classes; without offsets, the most probable class is the one with the highest score. Else by
    one sigmoid per class (Platt): 1 / (1 + exp(-(slope s + offset))).

    Parameters
    ----------
    parameters
        (m, 2) slope, never negative, and offset of each class.
    is_single_label
        Whether the probabilities of a document sum to 1.
    """

    parameters: Floats
    is_single_label: bool

    @classmethod
    def fit(
        cls, scores: Floats | Floats32, Y: Sparse, *, is_single_label: bool, shares: bool = False
    ) -> "Calibration":
        """Fit to honest scores (n, m) of documents with labels Y (n, m), by likelihood.

        A class with few positives borrows: its sigmoid starts from the one of all classes
        together, which counts as much as a few documents of its own.

        Parameters
        ----------
        shares
            For single labels, and scores that do not tell how frequent the classes are: offsets,
            so that the mean probability of a class is its share of the documents.
        """
        truth = Y.astype(np.bool_).toarray()  # never as floats: these are eight times as large
        n_classes = scores.shape[1]
        if is_single_label and shares:
            return cls(_softmax_with_shares(scores.astype(np.float64), truth), is_single_label)
        if is_single_label:
            slope = _softmax_slope(scores.astype(np.float64), truth)
            return cls(np.tile([slope, 0.0], (n_classes, 1)), is_single_label)
        pooled = _fitted(scores.ravel(), truth.ravel(), np.array([1.0, 0.0]), 0.0)
        columns = zip(scores.T, truth.T, strict=True)
        parameters = [_fitted(own, is_own, pooled, _PRIOR) for own, is_own in columns]
        return cls(np.array(parameters), is_single_label)

    def probabilities(self, scores: Floats | Floats32) -> Floats:
        """Return probabilities (n, m) of scores (n, m)."""
        slope, offset = self.parameters.T
        stretched: Floats = scores * slope + offset
        if self.is_single_label:
            return np.asarray(special.softmax(stretched, axis=1))
        return np.asarray(special.expit(stretched))


def _softmax_slope(scores: Floats, truth: Flags) -> float:
    """Return the factor of the scores with which the softmax makes the labels most likely."""
    if not len(scores):
        return 1.0
    doubt = 1 / (len(scores) + 2)  # as in Platt's targets: a few documents make nobody certain
    aim = (1 - doubt) * scores[truth] + doubt * scores.mean(axis=1)  # (n,)

    def loss(log_slope: float) -> float:
        slope = np.exp(log_slope)
        return float(np.mean(special.logsumexp(slope * scores, axis=1) - slope * aim))

    spread = float(scores.std(axis=1).mean())
    if spread < 1e-9:
        return 1.0  # equal scores tell nothing
    # from nearly equal probabilities to nearly certain ones, for scores of any size
    size = np.log(spread)
    found = optimize.minimize_scalar(loss, bounds=(-7 - size, 7 - size), method="bounded")
    return float(np.exp(found.x))


def _softmax_with_shares(scores: Floats, truth: Flags) -> Floats:
    """Return slope and offset (m, 2) with which the softmax makes the labels most likely."""
    n_docs, n_classes = scores.shape
    doubt = 1 / (n_docs + 2)
    share = (1 - doubt) * truth.mean(axis=0) + doubt / n_classes  # (m,)
    # what is the same for all documents, or for all classes, is left to the offsets
    center = scores.mean(axis=0)
    varying = scores - center - (scores - center).mean(axis=1, keepdims=True)
    size = float(varying.std())
    if size <= _NO_DIFFERENCE * np.abs(scores).max():
        size = np.inf
    varying /= size
    aim = (1 - doubt) * varying[truth].mean()

    def loss(parameters: Floats) -> tuple[float, Floats]:
        slope, offset = parameters[0], parameters[1:]
        margin = slope * varying + offset
        total = special.logsumexp(margin, axis=1, keepdims=True)
        made = np.exp(margin - total)
        slope_error = np.vdot(made, varying) / n_docs - aim
        value = total.mean() - slope * aim - offset @ share
        return float(value), np.array([slope_error, *(made.mean(axis=0) - share)])

    bounds = [(0.0, np.exp(7)), *[(None, None)] * n_classes]
    start = np.array([1.0, *np.log(share)])
    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-6)
    slope = found.x[0] / size
    return np.column_stack([np.full(n_classes, slope), found.x[1:] - slope * center])


def _fitted(given: Floats | Floats32, truth: Flags, start: Floats, prior: float) -> Floats:
    """Return slope and offset with the highest likelihood; never a falling sigmoid."""
    scores = given.astype(np.float64)
    n_positive = truth.sum()
    n_negative = len(truth) - n_positive
    # Platt's targets: a class of a few documents is never certain
    target = np.where(truth, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        slope, offset = parameters
        margin = slope * scores + offset
        error = special.expit(margin) - target
        pull = parameters - start
        value = np.sum(np.logaddexp(0, margin) - target * margin) + 0.5 * prior * pull @ pull
        return float(value), np.array([error @ scores, error.sum()]) + prior * pull

    bounds = [(0.0, None), (None, None)]
    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)
