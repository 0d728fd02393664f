"""Thresholds and probabilities: from scores to labels, and how sure these are.

Both are learned from scores of documents whose labels are known. These scores must be honest:
cross-fitted, or of documents held out. Usable with any classifier.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse, special

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.labels import Codeframe
from wordclass.measures import Scores, Target, score

_FEW = 3  # a class with fewer positives has no threshold of its own
_PULLS = (10.0, 0.0, 3.0, 50.0, np.inf)  # of equally good ones, the first
_PRIOR = 1.0  # how strongly the sigmoid of a class is held to the one of all classes
_MOST_STEPS = 100  # of Newton's method, which takes about eight
_SMALL_STEP = 1e-7
_SMALL_OFFSET = 1e-4
_LEAST_CURVATURE = 1e-9  # where scores tell nothing
_CELLS_TOGETHER = 1 << 17  # scores whose sigmoids are fitted together: what the cache holds
_MOST_POOLED = 1 << 22  # scores that the sigmoid of all classes is fitted to
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
    parts = [(folds == fold, np.flatnonzero(folds != fold)) for fold in np.unique(folds)]

    found = [_Best.of(scores[outside], Y[outside]) for _, outside in parts]

    def quality(pull: float) -> float:
        reached = [
            score(Y[inside], decide(scores[inside], best.pulled(pull)), codeframe).of(target)
            for (inside, _), best in zip(parts, found, strict=True)
        ]
        return float(np.mean(reached))

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
        cls,
        scores: Floats | Floats32,
        Y: Sparse,
        *,
        is_single_label: bool,
        shares: bool = False,
        pull: float = 0.0,
    ) -> "Calibration":
        """Fit to honest scores (n, m) of documents with labels Y (n, m), by likelihood.

        A class with few positives borrows: its sigmoid starts from the one of all classes
        together, which counts as much as a few documents of its own.

        Parameters
        ----------
        shares
            For single labels, and scores that do not tell how frequent the classes are: offsets,
            so that the mean probability of a class is its share of the documents.
        pull
            How strongly these offsets are held to 0: by the reciprocal of the variance that they
            are expected to have.
        """
        n_classes = scores.shape[1]
        if is_single_label:
            truth = Y.astype(np.bool_).toarray()  # never as floats: these are eight times as large
            if shares:
                made = _softmax_with_shares(scores.astype(np.float64), truth, pull)
                return cls(made, is_single_label)
            slope = _softmax_slope(scores.astype(np.float64), truth)
            return cls(np.tile([slope, 0.0], (n_classes, 1)), is_single_label)
        members = sparse.csc_matrix(Y, dtype=np.bool_)
        # what all classes have in common is clear from some millions of scores
        some = slice(None, None, -(-scores.size // _MOST_POOLED) or 1)
        truth = Y[some].astype(np.bool_).toarray()
        start = np.array([1 / (float(scores.std()) or 1.0), 0.0])
        pooled = _fitted(scores[some].reshape(1, -1), truth.reshape(1, -1), start, 0.0)
        step = max(_CELLS_TOGETHER // max(len(scores), 1), 1)
        parts = [slice(start, start + step) for start in range(0, n_classes, step)]
        parameters = [
            _fitted(scores[:, part].T, members[:, part].toarray().T, pooled[0], _PRIOR)
            for part in parts
        ]
        return cls(np.concatenate(parameters), is_single_label)

    def with_shares(self, scores: Floats | Floats32, Y: Sparse) -> "Calibration":
        """Return sigmoids whose mean over these documents is the share (m,) that each class has.

        They have other offsets. Of a class with one or two documents nothing is told: all have the
        same probability.
        """
        n_docs, n_positive = Y.shape[0], np.asarray(Y.sum(axis=0)).ravel()
        is_known = np.minimum(n_positive, n_docs - n_positive) >= _FEW
        same = special.logit((n_positive + 1) / (n_docs + 2))
        made = np.where(is_known, self.parameters.T, [np.zeros_like(same), same]).T
        known = np.flatnonzero(is_known)
        for part in np.array_split(known, max(known.size * n_docs // _CELLS_TOGETHER, 1)):
            slope, offset = made[part].T
            made[part, 1] = _offsets(scores[:, part] * slope, offset, n_positive[part] / n_docs)
        return Calibration(made, self.is_single_label)

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


def _softmax_with_shares(scores: Floats, truth: Flags, pull: float = 0.0) -> Floats:
    """Return slope and offset (m, 2) with which the softmax makes the labels most likely.

    For `pull` see `Calibration.fit`; an offset that all classes share changes nothing, and is free.
    """
    n_docs, n_classes = scores.shape
    if not n_docs:
        return np.tile([1.0, 0.0], (n_classes, 1))
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
        away = offset - slope * center / size
        away -= away.mean()
        value += pull * (away @ away) / (2 * n_docs)
        slope_error -= pull * (away @ center) / (size * n_docs)
        errors = made.mean(axis=0) - share + pull * away / n_docs
        return float(value), np.array([slope_error, *errors])

    bounds = [(0.0, np.exp(7)), *[(None, None)] * n_classes]
    start = np.array([1.0, *np.log(share)])
    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-6)
    slope = found.x[0] / size
    return np.column_stack([np.full(n_classes, slope), found.x[1:] - slope * center])


def _fitted(given: Floats | Floats32, truth: Flags, start: Floats, prior: float) -> Floats:
    """Return slope and offset (k, 2) with the highest likelihood; never a falling sigmoid.

    By Newton's method, for all rows of scores and labels (k, n) side by side.
    """
    scores = np.array(given, dtype=np.float64, order="C")
    squares = scores**2
    n_positive = truth.sum(axis=1, keepdims=True)
    n_negative = truth.shape[1] - n_positive
    # Platt's targets: a class of a few documents is never certain
    target = np.where(truth, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    at = np.tile(start, (len(scores), 1))
    step, descent, length = np.zeros_like(at), np.full(len(at), -np.inf), np.ones((len(at), 1))
    for _ in range(_MOST_STEPS):
        tried = at + length * step
        chance = special.expit(tried[:, :1] * scores + tried[:, 1:])
        error, weight = chance - target, chance * (1 - chance)
        gradient = np.column_stack([_rows_dot(error, scores), error.sum(axis=1)])
        gradient += prior * (tried - start)
        # where it has gone too far, it goes half as far from where it was
        is_ahead = np.sum(gradient * step, axis=1) <= -0.5 * descent
        at[is_ahead] = tried[is_ahead]
        length[:, 0] = np.where(is_ahead, 1.0, length[:, 0] / 2)
        own = prior + _LEAST_CURVATURE
        curvature = _rows_dot(weight, squares) + own, _rows_dot(weight, scores), weight.sum(1) + own
        made = _newton_steps(tried, gradient, *curvature)
        step[is_ahead] = made[is_ahead]
        descent[is_ahead] = np.sum(gradient * made, axis=1)[is_ahead]
        if np.abs(length * step).max() <= _SMALL_STEP * max(np.abs(at).max(), 1.0):
            break
    return at


def _offsets(stretched: Floats, start: Floats, share: Floats) -> Floats:
    """Return what to add (k,) to scores (n, k), so that the mean of their sigmoids is a share (k,).

    By Newton's method for the log-odds of the mean, whose slope is at most 1.
    """
    offset, going = start.copy(), np.arange(len(start))
    for _ in range(_MOST_STEPS):
        chance = special.expit(stretched[:, going] + offset[going])
        mean = chance.mean(axis=0)
        slope = np.mean(chance * (1 - chance), axis=0) / (mean * (1 - mean))
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
