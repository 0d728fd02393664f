"""Ridge regression, with a penalty that cross-validation chooses."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from wordclass.arrays import Floats, Floats32
from wordclass.embedding.regressors._rows import blocks, checked_pairs, predicted
from wordclass.errors import InputError
from wordclass.options import check_number

_SHARES = 10.0 ** np.arange(6, -6.5, -0.5)  # penalties to choose from, of U's mean variance x v
_EQUAL = 1e-9  # errors that differ by less are taken for equal


@dataclass
class RidgeRegressor:
    """Linear regressor that minimizes the squared error plus penalty times squared weights.

    Rows and targets are centered first, so that the mean is not penalized.

    Parameters
    ----------
    penalty : float, optional
        Above 0; None: the best of a grid by generalized cross-validation, which is what leaving
        out one term after the other would cost, and needs no fit but one. One for all columns;
        of equally good ones the largest.

    Attributes
    ----------
    penalty_ : float
        The penalty that was used.
    weights_ : array of shape (q, r)
    """

    penalty: float | None = None
    penalty_: float = field(init=False, repr=False)
    weights_: Floats = field(init=False, repr=False)
    mean_: Floats = field(init=False, repr=False)  # (q,)
    target_mean_: Floats = field(init=False, repr=False)  # (r,)

    def __post_init__(self) -> None:
        if self.penalty is not None:
            check_number("penalty", self.penalty, above=0, hint=", or None")

    def fit(self, U: ArrayLike, S: ArrayLike) -> Self:
        """Learn from the vectors U (v, q) and S (v, r) of the same terms."""
        rows, targets = checked_pairs(U, S)
        mean = rows.mean(axis=0, dtype=np.float64)
        target_mean = targets.mean(axis=0, dtype=np.float64)
        with threadpool_limits(1):  # the same bits on every run
            products, crossed, squares = _sums(rows, targets, mean, target_mean)
            eigenvalues, directions = np.linalg.eigh(products)
            spread = np.maximum(eigenvalues, 0.0)  # (q,) rounding may give negative values
            turned = directions.T @ crossed  # (q, r)
            penalty = self.penalty or _best_penalty(spread, turned, squares, len(rows))
            self.weights_ = directions @ (turned / (spread + penalty)[:, None])
        self.penalty_ = float(penalty)
        self.mean_ = mean
        self.target_mean_ = target_mean
        return self

    def predict(self, U: ArrayLike) -> Floats32:
        """Return word-class vectors (k, r) for pretrained vectors (k, q)."""
        if not hasattr(self, "weights_"):
            raise InputError("this regressor has learned nothing yet: fit(U, S) comes first")
        W = self.weights_
        mean = self.mean_
        target_mean = self.target_mean_
        return predicted(U, len(W), W.shape[1], lambda rows: (rows - mean) @ W + target_mean)


def make(penalty: float | None = None, seed: int = 0) -> RidgeRegressor:
    """Return a ridge regression. The seed is not used."""
    return RidgeRegressor(penalty)


def _sums(
    rows: Floats32, targets: Floats32, mean: Floats, target_mean: Floats
) -> tuple[Floats, Floats, float]:
    """Return U'U (q, q), U'S (q, r) and the sum of squares of S, all of them centered."""
    products = np.zeros((len(mean), len(mean)))
    crossed = np.zeros((len(mean), len(target_mean)))
    squares = 0.0
    for place in blocks(len(rows)):
        centered = rows[place] - mean
        centered_targets = targets[place] - target_mean
        products += centered.T @ centered
        crossed += centered.T @ centered_targets
        squares += float((centered_targets**2).sum())
    return products, crossed, squares


def _best_penalty(spread: Floats, turned: Floats, squares: float, n_terms: int) -> float:
    """Choose by generalized cross-validation: error / (1 - parameters in use / terms)^2."""
    penalties = _SHARES * (spread.mean() or 1.0)  # largest first
    factors = 1 / (spread + penalties[:, None])  # (penalties, q)
    explained = (turned**2).sum(axis=1) * (spread + 2 * penalties[:, None]) * factors**2
    # a difference of sums: what is below their rounding errors is no error at all
    errors = np.maximum(squares - explained.sum(axis=1), np.finfo(np.float64).eps * squares)
    n_parameters = 1 + (spread * factors).sum(axis=1)  # 1 for the mean
    scores = errors / (1 - n_parameters / n_terms) ** 2
    return float(penalties[np.argmax(scores <= scores.min() * (1 + _EQUAL))])
