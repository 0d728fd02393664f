"""From scores to probabilities: a sigmoid a class, fitted on honest scores."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from wordclass.arrays import Flags, Floats, Floats32, Sparse


@dataclass(frozen=True, eq=False)
class Calibration:
    """One sigmoid a class (Platt): the probability of class j is 1 / (1 + exp(-(a s + b))).

    Parameters
    ----------
    parameters
        (m, 2) slope a, never negative, and offset b of each class.
    is_single_label
        Whether the probabilities of a document are made to sum to 1.
    """

    parameters: Floats
    is_single_label: bool

    @classmethod
    def fit(cls, scores: Floats | Floats32, Y: Sparse, *, is_single_label: bool) -> "Calibration":
        """Fit the sigmoids on honest scores (n, m) of documents with labels Y (n, m).

        A class with few positives borrows: its sigmoid starts from the one of all classes
        together, which counts as much as a few documents of its own.
        """
        truth = Y.toarray().astype(bool)
        pooled = _fitted(scores.ravel().astype(np.float64), truth.ravel(), (1.0, 0.0), 0.0)
        parameters = [
            _fitted(scores[:, j].astype(np.float64), truth[:, j], pooled, _PRIOR)
            for j in range(scores.shape[1])
        ]
        return cls(np.array(parameters), is_single_label)

    def probabilities(self, scores: Floats | Floats32) -> Floats:
        """Return probabilities (n, m) of scores (n, m); a single-label row sums to 1."""
        slope, offset = self.parameters.T
        logs: Floats = special.log_expit(scores * slope + offset)
        if self.is_single_label:  # by logarithms: all of a row may be too small for a float
            logs -= special.logsumexp(logs, axis=1, keepdims=True)
        made: Floats = np.exp(logs)
        return made


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
