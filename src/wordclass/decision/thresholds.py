"""Thresholds and calibration: from scores to labels and probabilities.

Both are learned from scores of documents whose labels are known. These scores must be honest:
cross-fitted, or of held-out documents. They work with the scores of any classifier.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize, sparse, special

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.corpus.labels import Codeframe
from wordclass.corpus.splits import fold_splits
from wordclass.decision.measures import Scores, Target, score

_MIN_POSITIVES = 3  # a class with fewer has no threshold of its own
_MAX_ABS_SCORE = np.finfo(np.float64).max / 2  # so that differences are finite
_PULLS = (10.0, 0.0, 3.0, 50.0, np.inf)  # the first of equally good ones is chosen
_SIGMOID_PRIOR = 1.0  # how strongly the sigmoid of a class is pulled to that of all classes
_MAX_NEWTON_STEPS = 100  # about eight are needed
_MIN_STEP = 1e-7
_MIN_OFFSET_STEP = 1e-4
_MIN_CURVATURE = 1e-9  # if scores carry no information
_CELLS_PER_FIT = 1 << 17  # scores whose sigmoids are fitted together, limited by the cache
_MAX_POOLED_CELLS = 1 << 22  # scores that the sigmoid of all classes is fitted to
_LEAD = 1e-6  # of the predicted class before all others, in log probability
_MIN_RELATIVE_SPREAD = 1e-4  # smaller differences between documents come from the folds
# pulls of the offsets of single labels toward 0: the reciprocal of their expected variance
_PULL_OF_PROBABILITIES = 1.0
_PULL_OF_OFFSETS = 6.0  # for prior shift: the best on held-out texts of Banking77, 20 Newsgroups


def decide(scores: Floats | Floats32, thresholds: Floats | None) -> Flags:
    """Return the decisions (n, m): scores above their threshold, or the highest without thresholds.

    Parameters
    ----------
    scores : array of shape (n, m)
        The scores of the classes.
    thresholds : array of shape (m,) or None
        The threshold of each class. None decides for the class with the highest score.
    """
    if thresholds is not None:
        return np.asarray(scores > thresholds)
    decisions = np.zeros(scores.shape, np.bool_)
    decisions[np.arange(len(scores)), scores.argmax(axis=1)] = True
    return decisions


def without_absent_classes(thresholds: Floats, shares: Floats) -> Floats:
    """Return thresholds that are infinite for classes without training documents.

    The scores of such a class are meaningless, so it must never be predicted.

    Parameters
    ----------
    thresholds : array of shape (m,)
        The threshold of each class.
    shares : array of shape (m,)
        The share of training documents that have each class.
    """
    return np.where(shares > 0, thresholds, np.inf)


def score_decisions(scores: Floats | Floats32, Y: Sparse, codeframe: Codeframe) -> Scores:
    """Return the quality of the decisions by scores (n, m).

    In a multilabel task, decisions use the best common threshold of all classes.
    """
    thresholds = best_thresholds(scores, Y, np.inf) if codeframe.is_multilabel else None
    return score(Y, decide(scores, thresholds), codeframe)


def best_thresholds(scores: Floats | Floats32, Y: Sparse, pull: float = 0.0) -> Floats:
    """Return the threshold (m,) of each class with the best F1 on these scores (n, m).

    A class with fewer than three positives takes the best common threshold of all classes, because
    its own would depend on one or two documents.

    Parameters
    ----------
    scores : array of shape (n, m)
        The scores of the classes.
    Y : sparse matrix of shape (n, m)
        The true classes.
    pull : float, default=0.0
        The weight of the common threshold, in numbers of positives, when it is averaged with that
        of a class. If it is infinite, all classes have the common threshold.
    """
    if np.isinf(pull):
        return np.full(scores.shape[1], _find_common_threshold(scores, Y))
    return _ClassThresholds.of(scores, Y).pulled(pull)


@dataclass(frozen=True, eq=False)
class _ClassThresholds:
    """The best common threshold, and the best threshold of each class.

    Parameters
    ----------
    common : float
        The threshold that is best for all classes together.
    by_class : array of shape (m,)
        The threshold that is best for each class.
    n_positive : array of shape (m,)
        The number of positives of each class.
    """

    common: float
    by_class: Floats
    n_positive: Ints

    @classmethod
    def of(cls, scores: Floats | Floats32, Y: Sparse) -> "_ClassThresholds":
        members = sparse.csc_matrix(Y)
        n_positive = np.diff(members.indptr)
        common = _find_common_threshold(scores, Y)
        by_class = np.full(scores.shape[1], common)
        for j in np.flatnonzero(n_positive >= _MIN_POSITIVES):
            positives = members.indices[members.indptr[j] : members.indptr[j + 1]].astype(np.int64)
            by_class[j] = _find_threshold(scores[:, j], positives)
        return cls(common, by_class, n_positive)

    def pulled(self, pull: float) -> Floats:
        """Return the means (m,) of class and common thresholds, weighted by positives and pull."""
        if np.isinf(pull):
            return np.full(len(self.by_class), self.common)
        thresholds = self.by_class.copy()
        has_threshold = self.n_positive >= _MIN_POSITIVES
        weights = self.n_positive[has_threshold]
        weighted_sums = weights * self.by_class[has_threshold] + pull * self.common
        thresholds[has_threshold] = weighted_sums / (weights + pull)
        return thresholds


def _find_common_threshold(scores: Floats | Floats32, Y: Sparse) -> float:
    documents, classes = Y.nonzero()
    return _find_threshold(scores.ravel(), documents * scores.shape[1] + classes)


def tuned_thresholds(
    scores: Floats | Floats32,
    Y: Sparse,
    folds: Ints,
    target: Target = "both",
    least_pull: float = 0.0,
) -> Floats:
    """Return thresholds (m,) that are pulled toward a common one as much as validation favors.

    Cross-validation chooses the pull: thresholds from the scores of all other folds decide on the
    documents of a fold, and the mean quality over the folds counts.

    Parameters
    ----------
    scores : array of shape (n, m)
        The scores of the classes.
    Y : sparse matrix of shape (n, m)
        The true classes.
    folds : array of shape (n,)
        The fold of each document.
    target : str, default="both"
        The measure to maximize; see `Scores.of`.
    least_pull : float, default=0.0
        The smallest pull. Use it if the thresholds are for a model that has learned from more
        documents than the model of these scores, whose details are then accidental.
    """
    codeframe = Codeframe(tuple(range(Y.shape[1])), "multilabel")
    pulls = [pull for pull in _PULLS if pull >= least_pull]
    splits = fold_splits(folds)
    thresholds = [_ClassThresholds.of(scores[split.train], Y[split.train]) for split in splits]

    def quality(pull: float) -> float:
        fold_qualities = []
        for (_, held_out), fold_thresholds in zip(splits, thresholds, strict=True):
            decisions = decide(scores[held_out], fold_thresholds.pulled(pull))
            fold_qualities.append(score(Y[held_out], decisions, codeframe).of(target))
        return float(np.mean(fold_qualities))

    # with a single fold, all pulls are equally good
    return best_thresholds(scores, Y, max(pulls, key=quality))


def _find_threshold(scores: Floats | Floats32, positives: Ints) -> float:
    """Return the threshold with the best F1: the highest of equals, halfway between two scores.

    Only scores that can be the last one above the threshold are sorted. They are at least the
    lowest positive score, and among the highest n, where n is the largest number of predictions
    that can still be as good as predicting the better half of the positives.
    """
    n_true = len(positives)
    if not n_true:
        return float(np.inf)
    true_scores = np.sort(scores[positives])
    half = n_true - n_true // 2
    n_above_half = np.count_nonzero(scores >= true_scores[-half])
    n_candidates = int((n_above_half + n_true) * n_true / half) - n_true
    lowest = true_scores[0]
    if n_candidates < len(scores):
        lowest = max(lowest, np.partition(scores, -n_candidates)[-n_candidates])
    # documents with equal scores are on the same side of the threshold
    cuts, n_equal = np.unique(scores[scores >= lowest], return_counts=True)
    n_predicted = np.cumsum(n_equal[::-1])
    hits = n_true - np.searchsorted(true_scores, cuts[::-1])
    last = cuts[::-1][np.argmax(2 * hits / (n_predicted + n_true))]
    lower = scores[scores < last]
    return float((last + (lower.max() if len(lower) else last - 1.0)) / 2)


@dataclass(frozen=True, eq=False)
class Calibration:
    """Map from scores to probabilities.

    In a single-label task, probabilities are a softmax of slope * score + offset, with one slope
    for all classes. In a multilabel task, they are one sigmoid per class (Platt):
    1 / (1 + exp(-(slope * score + offset))).

    Parameters
    ----------
    parameters : array of shape (m, 2)
        The slope, never negative, and the offset of each class.
    is_single_label : bool
        Whether the probabilities of a document sum to 1.
    keeps_highest : bool, default=False
        In a single-label task, whether the class with the highest score always has the highest
        probability, regardless of the offsets, so that the most probable class is the predicted
        one.
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
        """Fit a calibration to honest scores by maximum likelihood.

        The sigmoid of a class is pulled to the sigmoid of all classes together, which counts as
        much as a few documents, so that a class with few positives borrows from all others.

        Parameters
        ----------
        scores : array of shape (n, m)
            Honest scores.
        Y : sparse matrix of shape (n, m)
            The true classes.
        is_single_label : bool
            Whether each document has exactly one label.
        shares : bool, default=False
            In a single-label task, whether to fit offsets, so that the mean probability of a class
            is its share of the documents even if the scores do not reflect class frequencies.
        pull : float, default=0.0
            The penalty on these offsets: the reciprocal of their expected variance.
        weights : array of shape (n,), optional
            The weight of each document. By default all are equal.
        """
        n_classes = scores.shape[1]
        scores, Y, weights = _drop_weightless(scores, Y, weights)
        if is_single_label:
            truth = Y.astype(np.bool_).toarray()  # floats would need eight times the memory
            if shares:
                parameters = _fit_softmax_with_offsets(
                    scores.astype(np.float64), truth, weights, pull
                )
                return cls(parameters, is_single_label)
            slope = _fit_softmax_slope(scores.astype(np.float64), truth, weights)
            return cls(np.tile([slope, 0.0], (n_classes, 1)), is_single_label)
        members = sparse.csc_matrix(Y, dtype=np.bool_)
        # a few million scores determine the common sigmoid
        sample = slice(None, None, -(-scores.size // _MAX_POOLED_CELLS) or 1)
        truth = Y[sample].astype(np.bool_).toarray()
        start = np.array([1 / (float(scores.std()) or 1.0), 0.0])
        pooled_weights = np.repeat(weights[sample], n_classes)
        pooled = _fit_sigmoids(
            scores[sample].reshape(1, -1), truth.reshape(1, -1), pooled_weights, start, 0.0
        )
        step = max(_CELLS_PER_FIT // max(len(scores), 1), 1)
        blocks = [slice(first, first + step) for first in range(0, n_classes, step)]
        parameters = np.concatenate([
            _fit_sigmoids(
                scores[:, block].T,
                members[:, block].toarray().T,
                weights,
                start=pooled[0],
                prior=_SIGMOID_PRIOR,
            )
            for block in blocks
        ])  # fmt: skip
        return cls(parameters, is_single_label)

    @classmethod
    def fit_offsets(
        cls, scores: Floats | Floats32, Y: Sparse, weights: Floats | None = None
    ) -> "Calibration":
        """Return a softmax of scores plus offsets whose mean is the share of each class.

        It is for scores that are not honest, such as those of the training documents: they reflect
        how frequent the classes are, but not how certain the scores are, so the slope is 1.

        Parameters
        ----------
        scores : array of shape (n, m)
            The scores of the classes.
        Y : sparse matrix of shape (n, m)
            The true classes.
        weights : array of shape (n,), optional
            The weight of each document. By default all are equal.
        """
        scores, Y, weights = _drop_weightless(scores, Y, weights)
        truth = Y.astype(np.bool_).toarray()
        parameters = _fit_softmax_with_offsets(scores.astype(np.float64), truth, weights, slope=1.0)
        return cls(parameters, True)

    def with_shares(
        self, scores: Floats | Floats32, Y: Sparse, weights: Floats | None = None
    ) -> "Calibration":
        """Return sigmoids whose mean over these documents is the share of each class.

        Only the offsets change. A class with one or two documents has the same probability in all
        documents.

        Parameters
        ----------
        scores : array of shape (n, m)
            The scores of the classes.
        Y : sparse matrix of shape (n, m)
            The true classes.
        weights : array of shape (n,), optional
            The weight of each document. By default all are equal.
        """
        scores, Y, weights = _drop_weightless(scores, Y, weights)
        n_docs = Y.shape[0]
        n_members = np.asarray(Y.sum(axis=0)).ravel()
        weighted_members = np.asarray(weights @ Y)
        is_known = np.minimum(n_members, n_docs - n_members) >= _MIN_POSITIVES
        constant = special.logit((weighted_members + 1) / (n_docs + 2))
        parameters = np.where(is_known, self.parameters.T, [np.zeros_like(constant), constant]).T
        known = np.flatnonzero(is_known)
        for block in np.array_split(known, max(known.size * n_docs // _CELLS_PER_FIT, 1)):
            slope, offset = parameters[block].T
            shares = weighted_members[block] / n_docs
            parameters[block, 1] = _fit_offsets(scores[:, block] * slope, offset, shares, weights)
        return Calibration(parameters, self.is_single_label)

    def probabilities(self, scores: Floats | Floats32) -> Floats:
        """Return the probabilities (n, m) of scores (n, m)."""
        slope, offset = self.parameters.T
        with np.errstate(over="ignore"):
            # the softmax of an infinity is NaN, and a file may contain any parameters
            stretched: Floats = np.clip(scores * slope + offset, -_MAX_ABS_SCORE, _MAX_ABS_SCORE)
        if not self.is_single_label:
            return np.asarray(special.expit(stretched))
        if self.keeps_highest:
            is_highest = decide(scores, None)
            limits = stretched[is_highest][:, None] - _LEAD
            stretched = np.where(is_highest, stretched, np.minimum(stretched, limits))
        return np.asarray(special.softmax(stretched, axis=1))


def fit_calibrations(
    scores: Floats32,
    Y: Sparse,
    weights: Floats | None = None,
    *,
    is_single_label: bool,
    keeps_highest: bool = True,
) -> tuple[Calibration, Calibration | None]:
    """Return the calibration of probabilities, and that of shares if it is another one.

    Parameters
    ----------
    scores, Y : arrays of shape (n, m)
        Honest scores of documents, and their labels.
    weights : array of shape (n,), optional
        The weight of each document. By default all are equal.
    is_single_label : bool
        Whether a document has exactly one label.
    keeps_highest : bool, default=True
        In a single-label task, whether the most probable class is the one with the highest score.
        Use False if scores do not depend on the frequencies of classes.
    """
    fit = partial(Calibration.fit, scores, Y, is_single_label=is_single_label, weights=weights)
    if not is_single_label:
        calibration = fit()
        return calibration, calibration.with_shares(scores, Y, weights)
    if not keeps_highest:
        return fit(shares=True), None
    calibration = fit(shares=True, pull=_PULL_OF_PROBABILITIES)
    return replace(calibration, keeps_highest=True), fit(shares=True, pull=_PULL_OF_OFFSETS)


def _drop_weightless(
    scores: Floats | Floats32, Y: Sparse, weights: Floats | None
) -> tuple[Any, Sparse, Floats]:
    """Return the scores, labels and weights of documents with a weight above 0.

    The weights are scaled to a mean of 1.
    """
    if weights is None:
        return scores, Y, np.ones(len(scores))
    if (weights > 0).all():
        return scores, Y, weights / weights.mean() if len(weights) else weights
    rows = np.flatnonzero(weights > 0)
    return _drop_weightless(scores[rows], Y[rows], weights[rows])


def _fit_softmax_slope(scores: Floats, truth: Flags, weights: Floats) -> float:
    """Return the factor of the scores for which the softmax makes the labels most likely."""
    if not len(scores):
        return 1.0
    doubt = 1 / (len(scores) + 2)  # as in Platt's targets: few documents allow no certainty
    target = (1 - doubt) * scores[truth] + doubt * scores.mean(axis=1)  # (n,)
    fractions = weights / len(weights)

    def loss(log_slope: float) -> float:
        slope = np.exp(log_slope)
        return float(fractions @ (special.logsumexp(slope * scores, axis=1) - slope * target))

    spread = float(scores.std(axis=1).mean())
    if spread < 1e-9:
        return 1.0  # equal scores carry no information
    # from nearly equal probabilities to nearly certain ones, for scores of any size
    size = np.log(spread)
    best = optimize.minimize_scalar(loss, bounds=(-7 - size, 7 - size), method="bounded")
    return float(np.exp(best.x))


def _fit_softmax_with_offsets(
    scores: Floats, truth: Flags, weights: Floats, pull: float = 0.0, slope: float | None = None
) -> Floats:
    """Return the slope and offset (m, 2) for which the softmax makes the labels most likely.

    For `pull`, see `Calibration.fit`; an offset that all classes share has no effect and no
    penalty. A given slope is not changed.
    """
    n_docs, n_classes = scores.shape
    if not n_docs:
        return np.tile([1.0, 0.0], (n_classes, 1))
    doubt = 1 / (n_docs + 2)
    fractions = weights / n_docs
    shares = (1 - doubt) * (fractions @ truth) + doubt / n_classes  # (m,)
    # offsets absorb what is the same for all documents or for all classes
    center = scores.mean(axis=0)
    varying = scores - center - (scores - center).mean(axis=1, keepdims=True)
    size = float(varying.std())
    if size <= _MIN_RELATIVE_SPREAD * np.abs(scores).max():
        size = np.inf
        pull = 0.0  # only the offsets can fit the shares
    varying /= size
    target = (1 - doubt) * (fractions @ varying[truth])

    def loss(parameters: Floats) -> tuple[float, Floats]:
        slope = parameters[0]
        offset = parameters[1:]
        margin = slope * varying + offset
        log_totals = special.logsumexp(margin, axis=1, keepdims=True)
        probabilities = np.exp(margin - log_totals) * fractions[:, None]
        slope_gradient = np.vdot(probabilities, varying) - target
        value = fractions @ log_totals[:, 0] - slope * target - offset @ shares
        deviation = offset - slope * center / size
        deviation -= deviation.mean()
        value += pull * (deviation @ deviation) / (2 * n_docs)
        slope_gradient -= pull * (deviation @ center) / (size * n_docs)
        offset_gradients = probabilities.sum(axis=0) - shares + pull * deviation / n_docs
        return float(value), np.array([slope_gradient, *offset_gradients])

    fixed_slope = slope * size if slope is not None else None
    if size == np.inf:
        fixed_slope = 0.0
    start = np.array([1.0 if fixed_slope is None else fixed_slope, *np.log(shares)])
    slope_bounds = (0.0, np.exp(7)) if fixed_slope is None else (fixed_slope, fixed_slope)
    best = optimize.minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[slope_bounds, *[(None, None)] * n_classes],
        options={"ftol": 1e-12, "gtol": 1e-7, "maxiter": 1000},
    )
    slope = best.x[0] / size
    return np.column_stack([np.full(n_classes, slope), best.x[1:] - slope * center])


def _fit_sigmoids(
    scores: Floats | Floats32, truth: Flags, weights: Floats, start: Floats, prior: float
) -> Floats:
    """Return the slope and offset (k, 2) of sigmoids with the highest likelihood.

    Newton's method runs for all rows of scores and labels (k, n) side by side, with weights (n,) of
    the columns. A slope is never negative.
    """
    scores = np.array(scores, dtype=np.float64, order="C")
    squares = scores**2
    n_positive = (truth @ weights)[:, None]
    n_negative = weights.sum() - n_positive
    # Platt's targets: a class of a few documents is never certain
    target = np.where(truth, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    current = np.tile(start, (len(scores), 1))
    step = np.zeros_like(current)
    descent = np.full(len(current), -np.inf)
    length = np.ones((len(current), 1))
    regularization = prior + _MIN_CURVATURE
    for _ in range(_MAX_NEWTON_STEPS):
        trial = current + length * step
        chance = special.expit(trial[:, :1] * scores + trial[:, 1:])
        error = (chance - target) * weights
        weight = chance * (1 - chance) * weights
        gradient = np.column_stack([_dot_rows(error, scores), error.sum(axis=1)])
        gradient += prior * (trial - start)
        # rows that went too far retry with half the length
        is_accepted = np.sum(gradient * step, axis=1) <= -0.5 * descent
        current[is_accepted] = trial[is_accepted]
        length[:, 0] = np.where(is_accepted, 1.0, length[:, 0] / 2)
        steps = _newton_steps(
            trial,
            gradient,
            slope_curvature=_dot_rows(weight, squares) + regularization,
            mixed_curvature=_dot_rows(weight, scores),
            offset_curvature=weight.sum(1) + regularization,
        )
        step[is_accepted] = steps[is_accepted]
        descent[is_accepted] = np.sum(gradient * steps, axis=1)[is_accepted]
        if np.abs(length * step).max() <= _MIN_STEP * max(np.abs(current).max(), 1.0):
            break
    return current


def _fit_offsets(stretched: Floats, start: Floats, shares: Floats, weights: Floats) -> Floats:
    """Return offsets (k,) of scores (n, k) for which the mean sigmoid is a given share (k,).

    The weights (n,) of documents are 1 on average. Newton's method solves for the log-odds of the
    mean, whose slope is at most 1.
    """
    offset = start.copy()
    active = np.arange(len(start))
    fractions = weights / len(weights)
    for _ in range(_MAX_NEWTON_STEPS):
        chance = special.expit(stretched[:, active] + offset[active])
        mean = fractions @ chance
        slope = (fractions @ (chance * (1 - chance))) / (mean * (1 - mean))
        gap = special.logit(shares[active]) - special.logit(mean)
        step = np.clip(gap / np.maximum(slope, 0.1), -2.0, 2.0)
        offset[active] += step
        active = active[np.abs(step) > _MIN_OFFSET_STEP]
        if not len(active):
            break
    return offset


def _dot_rows(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.einsum("kn,kn->k", first, second))


def _newton_steps(
    current: Floats,
    gradient: Floats,
    *,
    slope_curvature: Floats,
    mixed_curvature: Floats,
    offset_curvature: Floats,
) -> Floats:
    """Return the steps (k, 2) to the minima of parabolas with slopes that are not negative."""
    determinant = slope_curvature * offset_curvature - mixed_curvature**2
    slope_step = (
        mixed_curvature * gradient[:, 1] - offset_curvature * gradient[:, 0]
    ) / determinant
    slope_step = np.maximum(slope_step, -current[:, 0])
    offset_step = -(gradient[:, 1] + mixed_curvature * slope_step) / offset_curvature
    return np.column_stack([slope_step, offset_step])
