"""How sure a difference is: over the runs of two systems, or over the documents of one test set."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats

from wordclass.arrays import Floats, Sparse, to_sparse
from wordclass.errors import InputError

_BLOCK = 100  # shuffles at a time
_EPSILON = 1e-12  # sums in another order differ by less


@dataclass(frozen=True)
class Summary:
    """Mean and deviation (n - 1 in its denominator) of some runs; one run has no deviation."""

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

    None where one of the two has fewer than two runs.
    """
    if first.deviation is None or second.deviation is None:
        return None
    if first.deviation == second.deviation == 0:
        return float(first.mean == second.mean)
    found = stats.ttest_ind_from_stats(
        first.mean, first.deviation, first.n_runs, second.mean, second.deviation, second.n_runs
    )
    return float(found.pvalue)


def paired_t_test(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-tailed p-value of the t-test of pairs; None where there are fewer than three.

    None too where all differ by the same, so that there is no deviation to compare with.
    """
    if len(first) < 3 or np.ptp(np.subtract(first, second)) < _EPSILON:
        return None
    return float(stats.ttest_rel(first, second).pvalue)


def daggers(p: float | None) -> int:
    """Return the paper's marks: 2 daggers where p > .05, 1 where p > .005, else 0.

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

    If the systems were alike, exchanging their predictions for some documents would change nothing
    but by chance. The p-value is the share of such exchanges, each document with probability 1/2,
    whose difference is at least the one observed, in absolute value.

    Parameters
    ----------
    truth : 0/1 matrix of shape (n, m)
        The true labels.
    first, second : sequence of 0/1 matrices of shape (n, m)
        The predictions of one or more runs of each system. Runs are paired in order, the shorter
        sequence starts again at its end, and differences are averaged over the pairs.
    is_multilabel : bool
        F1 of a class without true, false or missed positives is 1, else 0.
    n_shuffles : int, default=10000
        How many exchanges are drawn. Where there are no more than that in all, because few
        documents have different predictions, each is made once and p is exact.
    seed : int, default=0
        Of the exchanges.

    Returns
    -------
    p-values under "macro_f1" and "micro_f1".

    Examples
    --------
    >>> randomization_test([[1], [1]], [[[1], [1]]], [[[0], [0]]], is_multilabel=True)
    {'macro_f1': 0.5, 'micro_f1': 0.5}
    """
    Y = to_sparse(truth)
    pairs = [
        (_counted(Y, first[k % len(first)]), _counted(Y, second[k % len(second)]))
        for k in range(max(len(first), len(second)))
    ]
    sums = [
        [np.asarray(each.sum(axis=1), np.float64) for each in pair] for pair in pairs
    ]  # (2m, 1)
    moves = [to_sparse(other - own) for own, other in pairs]  # what an exchange adds to the first
    # exchanging equal predictions changes nothing: only the other documents are drawn
    changed = np.flatnonzero(sum(move.getnnz(axis=0) for move in moves))
    moves = [move[:, changed] for move in moves]
    n_true, nothing = np.asarray(Y.sum(axis=0), np.float64).T, float(is_multilabel)

    def differences(swaps: NDArray[np.int8]) -> Floats:
        """Return (2, s) the mean differences in macro and micro F1 after each of s exchanges."""
        found, exchanged = np.zeros((2, swaps.shape[1])), swaps.astype(np.float64)
        for (own, other), move in zip(sums, moves, strict=True):
            moved = move @ exchanged  # (2m, s)
            found += _f1(own + moved, n_true, nothing) - _f1(other - moved, n_true, nothing)
        return found / len(pairs)

    observed = np.abs(differences(np.zeros((len(changed), 1), np.int8)))
    is_exact = 2 ** len(changed) <= n_shuffles
    total = 2 ** len(changed) if is_exact else n_shuffles
    generator, n_extreme = np.random.default_rng(seed), np.zeros(2)
    for start in range(0, total, _BLOCK):
        numbers = np.arange(start, min(start + _BLOCK, total))
        if is_exact:
            swaps = (numbers >> np.arange(len(changed))[:, None] & 1).astype(np.int8)
        else:
            swaps = generator.integers(0, 2, (len(changed), len(numbers)), np.int8)
        n_extreme += (np.abs(differences(swaps)) >= observed - _EPSILON).sum(axis=1)
    # the observed labelling is one of the exchanges, and is counted where they are drawn
    p = n_extreme / total if is_exact else (n_extreme + 1) / (total + 1)
    return {"macro_f1": float(p[0]), "micro_f1": float(p[1])}


def _counted(Y: Sparse, predictions: ArrayLike | Sparse) -> Sparse:
    """Return (2m, n) which predictions are true, above all of them."""
    predicted = to_sparse(predictions)
    if Y.shape != predicted.shape:
        raise InputError(f"predictions of shape {predicted.shape} for labels of shape {Y.shape}")
    return to_sparse(sparse.hstack([Y.multiply(predicted), predicted]).T)


def _f1(counts: Floats, n_true: Floats, nothing: float) -> Floats:
    """Return (2, s) macro and micro F1 of (2m, s) true and all positives of each class."""
    hits, predicted = np.vsplit(counts, 2)
    parts, wholes = 2 * hits, predicted + n_true
    both = [(parts, wholes), (parts.sum(axis=0, keepdims=True), wholes.sum(axis=0, keepdims=True))]
    return np.stack(
        [
            np.divide(part, whole, out=np.full(part.shape, nothing), where=whole > 0).mean(axis=0)
            for part, whole in both
        ]
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down method for testing all of them at once.

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
    """Return by how much the mean of some scores is above that of others, as a share of the latter.

    The ratio of means, not the mean of ratios, which is further from the paper's text.
    """
    return float(np.mean(new) / np.mean(old) - 1)
