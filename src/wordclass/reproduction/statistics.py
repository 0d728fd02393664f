"""Significance tests over the runs of two systems, or over the documents of one test set."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats

from wordclass.arrays import Floats, Sparse, to_sparse
from wordclass.errors import InputError

_SHUFFLES_PER_BLOCK = 100
_EPSILON = 1e-12  # rounding changes sums by less


@dataclass(frozen=True)
class Summary:
    """Mean and standard deviation (with n - 1) of some runs. One run has no deviation."""

    mean: float
    deviation: float | None
    n_runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Summary":
        """Summarize at least one value."""
        deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return cls(float(np.mean(values)), deviation, len(values))


def t_test(first: Summary, second: Summary) -> float | None:
    """Return the two-tailed p-value of Student's t-test with equal variances, as in the paper.

    None: one of the two has fewer than two runs.
    """
    if first.deviation is None or second.deviation is None:
        return None
    if first.deviation == second.deviation == 0:
        return float(first.mean == second.mean)
    result = stats.ttest_ind_from_stats(
        first.mean, first.deviation, first.n_runs, second.mean, second.deviation, second.n_runs
    )
    return float(result.pvalue)


def paired_t_test(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-tailed p-value of the paired t-test.

    None: there are fewer than three pairs, or all differences are equal and have no deviation.
    """
    if len(first) < 3 or np.ptp(np.subtract(first, second)) < _EPSILON:
        return None
    return float(stats.ttest_rel(first, second).pvalue)


def daggers(p: float | None) -> int:
    """Return the number of the paper's marks: 2 for p > .05, 1 for p > .005, otherwise 0.

    A marked cell is *not* significantly different from the best one.
    """
    return 0 if p is None else int(p > 0.05) + int(p > 0.005)


def randomization_test(
    truth: ArrayLike | Sparse,
    first: Sequence[ArrayLike | Sparse],
    second: Sequence[ArrayLike | Sparse],
    *,
    is_multilabel: bool,
    n_shuffles: int = 10_000,
    seed: int = 0,
) -> dict[str, float]:
    """Compare the F1 of two systems by paired approximate randomization over documents.

    If both systems were equally good, exchanging their predictions for some documents would change
    the difference only by chance. The p-value is the share of exchanges, each document with
    probability 1/2, whose absolute difference is at least the observed one.

    Parameters
    ----------
    truth : 0/1 matrix of shape (n, m)
        The true labels.
    first, second : sequence of 0/1 matrices of shape (n, m)
        The predictions of one or more runs of each system. Runs are paired in order, the shorter
        sequence is repeated, and differences are averaged over the pairs.
    is_multilabel : bool
        Whether F1 of a class without true, false or missed positives is 1 instead of 0.
    n_shuffles : int, default=10000
        Number of random exchanges. If few documents have different predictions, so that no more
        exchanges than that exist, each is made once and p is exact.
    seed : int, default=0
        Seed of the exchanges.

    Returns
    -------
    dict
        The p-values under "macro_f1" and "micro_f1".

    Examples
    --------
    >>> randomization_test([[1], [1]], [[[1], [1]]], [[[0], [0]]], is_multilabel=True)
    {'macro_f1': 0.5, 'micro_f1': 0.5}
    """
    Y = to_sparse(truth)
    pairs = [
        (
            _positives_by_class(Y, first[pair % len(first)]),
            _positives_by_class(Y, second[pair % len(second)]),
        )
        for pair in range(max(len(first), len(second)))
    ]
    sums = [
        [np.asarray(positives.sum(axis=1), np.float64) for positives in pair] for pair in pairs
    ]  # (2m, 1)
    # what the first system gains if it exchanges a document with the second
    moves = [to_sparse(of_second - of_first) for of_first, of_second in pairs]
    # exchanging equal predictions changes nothing, so only the other documents are drawn
    changed = np.flatnonzero(sum(move.getnnz(axis=0) for move in moves))
    moves = [move[:, changed] for move in moves]
    n_true = np.asarray(Y.sum(axis=0), np.float64).T
    empty_score = float(is_multilabel)

    def differences(swaps: NDArray[np.int8]) -> Floats:
        """Return (2, s) the mean differences in macro and micro F1 after each of s exchanges."""
        total_difference = np.zeros((2, swaps.shape[1]))
        exchanged = swaps.astype(np.float64)
        for (of_first, of_second), move in zip(sums, moves, strict=True):
            moved = move @ exchanged  # (2m, s)
            f1_of_first = _f1(of_first + moved, n_true, empty_score)
            total_difference += f1_of_first - _f1(of_second - moved, n_true, empty_score)
        return total_difference / len(pairs)

    observed = np.abs(differences(np.zeros((len(changed), 1), np.int8)))
    is_exact = 2 ** len(changed) <= n_shuffles
    total = 2 ** len(changed) if is_exact else n_shuffles
    generator = np.random.default_rng(seed)
    n_extreme = np.zeros(2)
    for start in range(0, total, _SHUFFLES_PER_BLOCK):
        numbers = np.arange(start, min(start + _SHUFFLES_PER_BLOCK, total))
        if is_exact:
            swaps = (numbers >> np.arange(len(changed))[:, None] & 1).astype(np.int8)
        else:
            swaps = generator.integers(0, 2, (len(changed), len(numbers)), np.int8)
        n_extreme += (np.abs(differences(swaps)) >= observed - _EPSILON).sum(axis=1)
    # the observed labelling is one of the possible exchanges: random ones do not include it
    p = n_extreme / total if is_exact else (n_extreme + 1) / (total + 1)
    return {"macro_f1": float(p[0]), "micro_f1": float(p[1])}


def _positives_by_class(Y: Sparse, predictions: ArrayLike | Sparse) -> Sparse:
    """Return (2m, n) the true positives of each class, above all its positives."""
    predicted = to_sparse(predictions)
    if Y.shape != predicted.shape:
        raise InputError(f"predictions of shape {predicted.shape} for labels of shape {Y.shape}")
    return to_sparse(sparse.hstack([Y.multiply(predicted), predicted]).T)


def _f1(counts: Floats, n_true: Floats, empty_score: float) -> Floats:
    """Return (2, s) macro and micro F1 of (2m, s) true and all positives of each class."""
    hits, predicted = np.vsplit(counts, 2)
    numerators = 2 * hits
    denominators = predicted + n_true
    fractions = [
        (numerators, denominators),
        (numerators.sum(axis=0, keepdims=True), denominators.sum(axis=0, keepdims=True)),
    ]
    averages = []
    for numerator, denominator in fractions:
        scores = np.full(numerator.shape, empty_score)
        np.divide(numerator, denominator, out=scores, where=denominator > 0)
        averages.append(scores.mean(axis=0))
    return np.stack(averages)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests by Holm's step-down method.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.asarray(p_values, np.float64)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(p) for p in adjusted]


def relative_improvement(new: Sequence[float], old: Sequence[float]) -> float:
    """Return the difference between the means of new and old scores, relative to the old mean.

    A ratio of means agrees better with the numbers in the paper's text than a mean of ratios.
    """
    return float(np.mean(new) / np.mean(old) - 1)
