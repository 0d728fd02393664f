"""Thresholds and probabilities: from scores to labels, and how sure these are.

Both are learned from scores of documents whose labels are known. These scores must be honest:
cross-fitted, or of documents held out. Usable with any classifier.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse, special

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.corpus.labels import Codeframe
from wordclass.corpus.splits import fold_splits
from wordclass.decision.measures import Scores, Target, score

_FEW = 3  # a class with fewer positives has no threshold of its own
_LARGEST = np.finfo(np.float64).max / 2  # of scores that were stretched: differences are finite
_PULLS = (10.0, 0.0, 3.0, 50.0, np.inf)  # of equally good ones, the first
_PRIOR = 1.0  # how strongly the sigmoid of a class is held to the one of all classes
_MOST_STEPS = 100  # of Newton's method, which takes about eight
_SMALL_STEP = 1e-7
_SMALL_OFFSET = 1e-4
_LEAST_CURVATURE = 1e-9  # where scores tell nothing
_CELLS_TOGETHER = 1 << 17  # scores whose sigmoids are fitted together: what the cache holds
_MOST_POOLED = 1 << 22  # scores that the sigmoid of all classes is fitted to
_LEAD = 1e-6  # of the predicted class before all others, in log probability
_NO_DIFFERENCE = 1e-4  # between documents, relative to their scores: an accident of the folds


def decide(scores: Floats | Floats32, thresholds: Floats | None) -> Flags:
    """Turn scores (n, m) into decisions: all above their threshold; None: the highest one."""
    if thresholds is not None:
        return np.asarray(scores > thresholds)
    decisions = np.zeros(scores.shape, np.bool_)
    decisions[np.arange(len(scores)), scores.argmax(axis=1)] = True
    return decisions


def without_absent_classes(thresholds: Floats, shares: Floats) -> Floats:
    """Return thresholds that are infinite for classes without training documents.

    Scores of such a class mean nothing, so it must never be predicted.

    Parameters
    ----------
    thresholds : array of shape (m,)
    shares : array of shape (m,)
        The share of the training documents that each class has.
    """
    return np.where(shares > 0, thresholds, np.inf)


def score_decisions(scores: Floats | Floats32, Y: Sparse, codeframe: Codeframe) -> Scores:
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
    if np.isinf(pull):
        return np.full(scores.shape[1], _shared_threshold(scores, Y))
    return _Best.of(scores, Y).pulled(pull)


@dataclass(frozen=True, eq=False)
class _Best:
    """The best threshold of all classes together, and of each (m,) with so many positives (m,)."""

    shared: float
    own: Floats
    n_positive: Ints

    @classmethod
    def of(cls, scores: Floats | Floats32, Y: Sparse) -> "_Best":
        members = sparse.csc_matrix(Y)
        n_positive = np.diff(members.indptr)
        shared = _shared_threshold(scores, Y)
        own = np.full(scores.shape[1], shared)
        for j in np.flatnonzero(n_positive >= _FEW):
            positives = members.indices[members.indptr[j] : members.indptr[j + 1]].astype(np.int64)
            own[j] = _best_threshold(scores[:, j], positives)
        return cls(shared, own, n_positive)

    def pulled(self, pull: float) -> Floats:
        """Return the mean of own and shared, weighted by positives and pull (m,)."""
        if np.isinf(pull):
            return np.full(len(self.own), self.shared)
        thresholds, has_own = self.own.copy(), self.n_positive >= _FEW
        n_own = self.n_positive[has_own]
        thresholds[has_own] = (n_own * self.own[has_own] + pull * self.shared) / (n_own + pull)
        return thresholds


def _shared_threshold(scores: Floats | Floats32, Y: Sparse) -> float:
    documents, classes = Y.nonzero()
    return _best_threshold(scores.ravel(), documents * scores.shape[1] + classes)


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
    splits = fold_splits(folds)
    thresholds = [_Best.of(scores[split.train], Y[split.train]) for split in splits]

    def quality(pull: float) -> float:
        fold_qualities = []
        for (_, held_out), best in zip(splits, thresholds, strict=True):
            decisions = decide(scores[held_out], best.pulled(pull))
            fold_qualities.append(score(Y[held_out], decisions, codeframe).of(target))
        return float(np.mean(fold_qualities))

    # one fold alone tells nothing: all pulls are equally good
    return best_thresholds(scores, Y, max(pulls, key=quality))


def _best_threshold(scores: Floats | Floats32, positives: Ints) -> float:
    """Return the threshold with the best F1; the highest one of equals; half-way between scores.

    Only scores that can be the last one above it are sorted: those from the lowest positive up, and
    no more of them than would do, were all positives among them, as well as the better half of the
    positives does.
    """
    n_true = len(positives)
    if not n_true:
        return float(np.inf)
    true_scores = np.sort(scores[positives])
    half = n_true - n_true // 2
    n_most = int((np.count_nonzero(scores >= true_scores[-half]) + n_true) * n_true / half) - n_true
    lowest = true_scores[0]
    if n_most < len(scores):
        lowest = max(lowest, np.partition(scores, -n_most)[-n_most])
    # documents of equal score are on the same side
    cuts, n_equal = np.unique(scores[scores >= lowest], return_counts=True)
    n_predicted = np.cumsum(n_equal[::-1])
    hits = n_true - np.searchsorted(true_scores, cuts[::-1])
    last = cuts[::-1][np.argmax(2 * hits / (n_predicted + n_true))]
    lower = scores[scores < last]
    return float((last + (lower.max() if len(lower) else last - 1.0)) / 2)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Stretches scores so that they become probabilities.

    Where a document has one label, by a softmax of slope s + offset, with one slope for all
    classes. Else by one sigmoid per class (Platt): 1 / (1 + exp(-(slope s + offset))).

    Parameters
    ----------
    parameters
        (m, 2) slope, never negative, and offset of each class.
    is_single_label
        Whether the probabilities of a document sum to 1.
    keeps_highest
        For single labels: no class is more probable than the one with the highest score, whatever
        the offsets, so that the most probable class is the predicted one.
    """

    parameters: Floats
    is_single_label: bool
    keeps_highest: bool = False

    @classmethod
    def fit(
        cls,
        scores: Floats | Floats32,
        Y: Sparse,
        *,
        is_single_label: bool,
        shares: bool = False,
        pull: float = 0.0,
        weights: Floats | None = None,
    ) -> "Calibration":
        """Fit to honest scores (n, m) of documents with labels Y (n, m), by likelihood.

        A class with few positives borrows: its sigmoid starts from the one of all classes
        together, which counts as much as a few documents of its own.

        Parameters
        ----------
        shares
            For single labels: offsets, so that the mean probability of a class is its share of the
            documents, whether or not the scores tell how frequent the classes are.
        pull
            How strongly these offsets are held to 0: by the reciprocal of the variance that they
            are expected to have.
        weights
            (n,) how much each document counts, relative to the others; by default equally.
        """
        n_classes = scores.shape[1]
        scores, Y, weights = _counted(scores, Y, weights)
        if is_single_label:
            truth = Y.astype(np.bool_).toarray()  # never as floats: these are eight times as large
            if shares:
                parameters = _softmax_with_shares(scores.astype(np.float64), truth, weights, pull)
                return cls(parameters, is_single_label)
            slope = _softmax_slope(scores.astype(np.float64), truth, weights)
            return cls(np.tile([slope, 0.0], (n_classes, 1)), is_single_label)
        members = sparse.csc_matrix(Y, dtype=np.bool_)
        # what all classes have in common is clear from some millions of scores
        some = slice(None, None, -(-scores.size // _MOST_POOLED) or 1)
        truth = Y[some].astype(np.bool_).toarray()
        start = np.array([1 / (float(scores.std()) or 1.0), 0.0])
        pooled_weights = np.repeat(weights[some], n_classes)
        pooled = _fitted(
            scores[some].reshape(1, -1), truth.reshape(1, -1), pooled_weights, start, 0.0
        )
        step = max(_CELLS_TOGETHER // max(len(scores), 1), 1)
        blocks = [slice(first, first + step) for first in range(0, n_classes, step)]
        parameters = np.concatenate([
            _fitted(scores[:, block].T, members[:, block].toarray().T, weights, pooled[0], _PRIOR)
            for block in blocks
        ])  # fmt: skip
        return cls(parameters, is_single_label)

    @classmethod
    def fit_offsets(
        cls, scores: Floats | Floats32, Y: Sparse, weights: Floats | None = None
    ) -> "Calibration":
        """Return a softmax of scores (n, m) plus offsets, whose mean is the share of each class.

        For scores that are not honest, as those of the training documents: these tell how frequent
        the classes are, but not how sure the scores are, so the slope is 1.
        """
        scores, Y, weights = _counted(scores, Y, weights)
        truth = Y.astype(np.bool_).toarray()
        parameters = _softmax_with_shares(scores.astype(np.float64), truth, weights, slope=1.0)
        return cls(parameters, True)

    def with_shares(
        self, scores: Floats | Floats32, Y: Sparse, weights: Floats | None = None
    ) -> "Calibration":
        """Return sigmoids whose mean over these documents is the share (m,) that each class has.

        They have other offsets. Of a class with one or two documents nothing is told: all have the
        same probability.
        """
        scores, Y, weights = _counted(scores, Y, weights)
        n_docs, n_members = Y.shape[0], np.asarray(Y.sum(axis=0)).ravel()
        n_positive = np.asarray(weights @ Y)  # as many as their documents count for
        is_known = np.minimum(n_members, n_docs - n_members) >= _FEW
        same = special.logit((n_positive + 1) / (n_docs + 2))
        parameters = np.where(is_known, self.parameters.T, [np.zeros_like(same), same]).T
        known = np.flatnonzero(is_known)
        for block in np.array_split(known, max(known.size * n_docs // _CELLS_TOGETHER, 1)):
            slope, offset = parameters[block].T
            shares = n_positive[block] / n_docs
            parameters[block, 1] = _offsets(scores[:, block] * slope, offset, shares, weights)
        return Calibration(parameters, self.is_single_label)

    def probabilities(self, scores: Floats | Floats32) -> Floats:
        """Return probabilities (n, m) of scores (n, m)."""
        slope, offset = self.parameters.T
        with np.errstate(over="ignore"):
            # finite, whatever a file holds: the softmax of an infinity is no number
            stretched: Floats = np.clip(scores * slope + offset, -_LARGEST, _LARGEST)
        if not self.is_single_label:
            return np.asarray(special.expit(stretched))
        if self.keeps_highest:
            is_highest = decide(scores, None)
            limits = stretched[is_highest][:, None] - _LEAD
            stretched = np.where(is_highest, stretched, np.minimum(stretched, limits))
        return np.asarray(special.softmax(stretched, axis=1))


def _counted(
    scores: Floats | Floats32, Y: Sparse, weights: Floats | None
) -> tuple[Any, Sparse, Floats]:
    """Return scores and labels of the documents that count, and their weights, 1 on average."""
    if weights is None:
        return scores, Y, np.ones(len(scores))
    if (weights > 0).all():
        return scores, Y, weights / weights.mean() if len(weights) else weights
    rows = np.flatnonzero(weights > 0)
    return _counted(scores[rows], Y[rows], weights[rows])


def _softmax_slope(scores: Floats, truth: Flags, weights: Floats) -> float:
    """Return the factor of the scores with which the softmax makes the labels most likely."""
    if not len(scores):
        return 1.0
    doubt = 1 / (len(scores) + 2)  # as in Platt's targets: a few documents make nobody certain
    aim = (1 - doubt) * scores[truth] + doubt * scores.mean(axis=1)  # (n,)
    parts = weights / len(weights)

    def loss(log_slope: float) -> float:
        slope = np.exp(log_slope)
        return float(parts @ (special.logsumexp(slope * scores, axis=1) - slope * aim))

    spread = float(scores.std(axis=1).mean())
    if spread < 1e-9:
        return 1.0  # equal scores tell nothing
    # from nearly equal probabilities to nearly certain ones, for scores of any size
    size = np.log(spread)
    best = optimize.minimize_scalar(loss, bounds=(-7 - size, 7 - size), method="bounded")
    return float(np.exp(best.x))


def _softmax_with_shares(
    scores: Floats, truth: Flags, weights: Floats, pull: float = 0.0, slope: float | None = None
) -> Floats:
    """Return slope and offset (m, 2) with which the softmax makes the labels most likely.

    For `pull` see `Calibration.fit`; an offset that all classes share changes nothing, and is free.
    A slope that is given stays as it is.
    """
    n_docs, n_classes = scores.shape
    if not n_docs:
        return np.tile([1.0, 0.0], (n_classes, 1))
    doubt = 1 / (n_docs + 2)
    parts = weights / n_docs
    share = (1 - doubt) * (parts @ truth) + doubt / n_classes  # (m,)
    # what is the same for all documents, or for all classes, is left to the offsets
    center = scores.mean(axis=0)
    varying = scores - center - (scores - center).mean(axis=1, keepdims=True)
    size = float(varying.std())
    if size <= _NO_DIFFERENCE * np.abs(scores).max():
        size = np.inf
        pull = 0.0  # the offsets are all there is
    varying /= size
    aim = (1 - doubt) * (parts @ varying[truth])

    def loss(parameters: Floats) -> tuple[float, Floats]:
        slope, offset = parameters[0], parameters[1:]
        margin = slope * varying + offset
        total = special.logsumexp(margin, axis=1, keepdims=True)
        probabilities = np.exp(margin - total) * parts[:, None]
        slope_error = np.vdot(probabilities, varying) - aim
        value = parts @ total[:, 0] - slope * aim - offset @ share
        away = offset - slope * center / size
        away -= away.mean()
        value += pull * (away @ away) / (2 * n_docs)
        slope_error -= pull * (away @ center) / (size * n_docs)
        errors = probabilities.sum(axis=0) - share + pull * away / n_docs
        return float(value), np.array([slope_error, *errors])

    fixed = 0.0 if size == np.inf else None if slope is None else slope * size
    start = np.array([1.0 if fixed is None else fixed, *np.log(share)])
    bounds = [(0.0, np.exp(7)) if fixed is None else (fixed, fixed), *[(None, None)] * n_classes]
    best = optimize.minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-12, "gtol": 1e-7, "maxiter": 1000},
    )
    slope = best.x[0] / size
    return np.column_stack([np.full(n_classes, slope), best.x[1:] - slope * center])


def _fitted(
    scores: Floats | Floats32, truth: Flags, weights: Floats, start: Floats, prior: float
) -> Floats:
    """Return slope and offset (k, 2) with the highest likelihood; never a falling sigmoid.

    By Newton's method, for all rows of scores and labels (k, n) side by side; `weights` (n,) say
    how much each column counts.
    """
    scores = np.array(scores, dtype=np.float64, order="C")
    squares = scores**2
    n_positive = (truth @ weights)[:, None]
    n_negative = weights.sum() - n_positive
    # Platt's targets: a class of a few documents is never certain
    target = np.where(truth, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    at = np.tile(start, (len(scores), 1))
    step, descent, length = np.zeros_like(at), np.full(len(at), -np.inf), np.ones((len(at), 1))
    for _ in range(_MOST_STEPS):
        tried = at + length * step
        chance = special.expit(tried[:, :1] * scores + tried[:, 1:])
        error = (chance - target) * weights
        weight = chance * (1 - chance) * weights
        gradient = np.column_stack([_rows_dot(error, scores), error.sum(axis=1)])
        gradient += prior * (tried - start)
        # where it has gone too far, it goes half as far from where it was
        is_ahead = np.sum(gradient * step, axis=1) <= -0.5 * descent
        at[is_ahead] = tried[is_ahead]
        length[:, 0] = np.where(is_ahead, 1.0, length[:, 0] / 2)
        own = prior + _LEAST_CURVATURE
        curvature = _rows_dot(weight, squares) + own, _rows_dot(weight, scores), weight.sum(1) + own
        steps = _newton_steps(tried, gradient, *curvature)
        step[is_ahead] = steps[is_ahead]
        descent[is_ahead] = np.sum(gradient * steps, axis=1)[is_ahead]
        if np.abs(length * step).max() <= _SMALL_STEP * max(np.abs(at).max(), 1.0):
            break
    return at


def _offsets(stretched: Floats, start: Floats, share: Floats, weights: Floats) -> Floats:
    """Return what to add (k,) to scores (n, k), so that the mean of their sigmoids is a share (k,).

    `weights` (n,) of documents are 1 on average. By Newton's method for the log-odds of the mean,
    whose slope is at most 1.
    """
    offset, going = start.copy(), np.arange(len(start))
    parts = weights / len(weights)
    for _ in range(_MOST_STEPS):
        chance = special.expit(stretched[:, going] + offset[going])
        mean = parts @ chance
        slope = (parts @ (chance * (1 - chance))) / (mean * (1 - mean))
        gap = special.logit(share[going]) - special.logit(mean)
        step = np.clip(gap / np.maximum(slope, 0.1), -2.0, 2.0)
        offset[going] += step
        going = going[np.abs(step) > _SMALL_OFFSET]
        if not len(going):
            break
    return offset


def _rows_dot(left: Floats, right: Floats) -> Floats:
    return np.asarray(np.einsum("kn,kn->k", left, right))


def _newton_steps(
    at: Floats, gradient: Floats, slopes: Floats, both: Floats, offsets: Floats
) -> Floats:
    """Return the steps (k, 2) to the lowest points of parabolas whose slope is not negative."""
    determinant = slopes * offsets - both**2
    forward = (both * gradient[:, 1] - offsets * gradient[:, 0]) / determinant
    forward = np.maximum(forward, -at[:, 0])
    return np.column_stack([forward, -(gradient[:, 1] + both * forward) / offsets])
