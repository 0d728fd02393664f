"""How sure a difference is: over the runs of two systems, or over the documents of one test set."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from wordclass.arrays import Floats, Sparse, to_sparse
from wordclass.errors import InputError

_BLOCK = 500  # shuffles at a time
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
    n_pairs = max(len(first), len(second))
    pairs = [
        _Pair.of(Y, to_sparse(first[k % len(first)]), to_sparse(second[k % len(second)]))
        for k in range(n_pairs)
    ]
    # exchanging equal predictions changes nothing: only the other documents are drawn
    changed = np.flatnonzero(sum(pair.changed for pair in pairs))
    pairs = [pair.of_documents(changed) for pair in pairs]
    n_all = 2 ** len(changed)
    is_exact = n_all <= n_shuffles
    observed = _mean_difference(pairs, np.zeros((1, len(changed))), is_multilabel)
    total = n_all if is_exact else n_shuffles
    generator, n_extreme = np.random.default_rng(seed), np.zeros(2)
    for start in range(0, total, _BLOCK):
        numbers = np.arange(start, min(start + _BLOCK, total))
        if is_exact:
            swaps = numbers[:, None] >> np.arange(len(changed)) & 1
        else:
            swaps = generator.integers(0, 2, (len(numbers), len(changed)), np.int8)
        differences = _mean_difference(pairs, swaps.astype(np.float64), is_multilabel)
        n_extreme += (np.abs(differences) >= np.abs(observed) - _EPSILON).sum(axis=0)
    # the observed labelling is one of the exchanges, and is counted where they are drawn
    p = n_extreme / total if is_exact else (n_extreme + 1) / (total + 1)
    return {"macro_f1": float(p[0]), "micro_f1": float(p[1])}


@dataclass(frozen=True, eq=False)
class _Pair:
    """Sums over documents for two runs, and what an exchange of each document adds to the first."""

    n_true: Floats  # (m,)
    sums: Floats  # (2, 2, m): of either run, the true positives, then all it predicted
    moves: tuple[Sparse, Sparse]  # (n, m) what moves from the second to the first

    @classmethod
    def of(cls, Y: Sparse, first: Sparse, second: Sparse) -> "_Pair":
        if not Y.shape == first.shape == second.shape:
            raise InputError(f"labels of shapes {Y.shape}, {first.shape} and {second.shape}")
        counted = [(to_sparse(Y.multiply(each)), each) for each in (first, second)]
        sums = np.array([[_column_sums(part) for part in both] for both in counted])
        moves = (counted[1][0] - counted[0][0], second - first)
        return cls(_column_sums(Y), sums, moves)

    @property
    def changed(self) -> Floats:
        """(n,) how many predictions of a document differ."""
        return np.asarray(abs(self.moves[1]).sum(axis=1), np.float64).ravel()

    def of_documents(self, rows: np.ndarray) -> "_Pair":
        """Return the pair with the exchanges of some documents only."""
        hits, predicted = self.moves
        return _Pair(self.n_true, self.sums, (hits[rows], predicted[rows]))


def _column_sums(matrix: Sparse) -> Floats:
    return np.asarray(matrix.sum(axis=0), np.float64).ravel()


def _mean_difference(pairs: Sequence[_Pair], swaps: Floats, is_multilabel: bool) -> Floats:
    """Return (s, 2) macro and micro F1 of the first less the second, after each of s exchanges."""
    differences = [_difference(pair, swaps, is_multilabel) for pair in pairs]
    mean: Floats = np.mean(differences, axis=0)
    return mean


def _difference(pair: _Pair, swaps: Floats, is_multilabel: bool) -> Floats:
    moved = np.array([np.asarray(swaps @ move) for move in pair.moves])  # (2, s, m)
    (first, second), nothing = pair.sums[:, :, None, :], 1.0 if is_multilabel else 0.0
    scores = []
    for hits, predicted in (first + moved, second - moved):
        parts, wholes = 2 * hits, predicted + pair.n_true
        micro = _share(parts.sum(axis=1), wholes.sum(axis=1), nothing)
        scores.append(np.stack([_share(parts, wholes, nothing).mean(axis=1), micro], axis=1))
    difference: Floats = scores[0] - scores[1]
    return difference


def _share(part: Floats, whole: Floats, nothing: float) -> Floats:
    shares: Floats = np.divide(part, whole, out=np.full(part.shape, nothing), where=whole > 0)
    return shares


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

    The ratio of means, not the mean of ratios: it is what comes nearest to the paper's text.
    """
    return float(np.mean(new) / np.mean(old) - 1)
