"""From scores to probabilities, by what honest scores tell."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from wordclass.arrays import Flags, Floats, Floats32, Sparse


@dataclass(frozen=True, eq=False)
class Calibration:
    """Stretches scores so that they become probabilities.

    Where a document has one label, by a softmax of the scores times one slope: the most probable
    class is the one with the highest score. Else by one sigmoid a class (Platt):
    1 / (1 + exp(-(slope s + offset))).

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
    def fit(cls, scores: Floats | Floats32, Y: Sparse, *, is_single_label: bool) -> "Calibration":
        """Fit to honest scores (n, m) of documents with labels Y (n, m), by likelihood.

        A class with few positives borrows: its sigmoid starts from the one of all classes
        together, which counts as much as a few documents of its own.
        """
        truth = Y.astype(np.bool_).toarray()  # never as floats: these are eight times as large
        n_classes = scores.shape[1]
        if is_single_label:
            slope = _softmax_slope(scores.astype(np.float64), truth)
            return cls(np.tile([slope, 0.0], (n_classes, 1)), is_single_label)
        pooled = _fitted(scores.ravel().astype(np.float64), truth.ravel(), (1.0, 0.0), 0.0)
        parameters = [
            _fitted(scores[:, j].astype(np.float64), truth[:, j], pooled, _PRIOR)
            for j in range(n_classes)
        ]
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


_PRIOR = 1.0  # how strongly a class's sigmoid is held to the one of all classes


def _fitted(
    scores: Floats, truth: Flags, start: tuple[float, float], prior: float
) -> tuple[float, float]:
    """Return slope and offset with the highest likelihood; never a falling sigmoid."""
    n_positive = truth.sum()
    n_negative = len(truth) - n_positive
    # Platt's targets: a class of a few documents is never certain
    target = np.where(truth, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        slope, offset = parameters
        margin = slope * scores + offset
        error = special.expit(margin) - target
        pull = parameters - np.asarray(start)
        value = np.sum(np.logaddexp(0, margin) - target * margin) + 0.5 * prior * pull @ pull
        return float(value), np.array([error @ scores, error.sum()]) + prior * pull

    found = optimize.minimize(
        loss, np.asarray(start), jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)]
    )
    slope, offset = found.x
    return float(slope), float(offset)
