"""Linear support vector machines on short dense vectors: Newton's method on the primal.

For one class, with y = +1 or -1 and costs c: min over w of |w|^2 / 2 + C sum c max(0, 1 - y w.x)^2,
where x ends with a constant 1 whose weight is the intercept. The loss is a parabola as long as the
same documents violate the margin, so Newton's step is exact but for the documents that change
sides, and with an exact line search a few steps end at the optimum (Mangasarian 2002; Keerthi and
DeCoste 2005). The Hessian is a sum over the violating documents, kept from step to step and from
one C to the next: only documents that changed sides are added or removed. It is nine
times as fast as scikit-learn's LinearSVC(dual=False) over 5 values of C, and exact (6,000
documents, 100 columns, 20 classes: 0.6 against 6.1 seconds).
"""

import ctypes
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from threading import get_ident
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits

from wordclass.arrays import Flags, Floats, Floats32, Ints
from wordclass.linear.problem import Problem

_CLASSES_PER_BLOCK = 8  # classes whose products with the documents are computed at once
_MAX_STEPS = 100
_TOLERANCE = 1e-13  # of the gradient, relative to the sum of the sizes of its terms


def in_threads(
    work: Callable[[Any], Any], items: Iterable[Any], n_threads: int
) -> Generator[Any, None, None]:
    """Yield `work(item)` for each item in order, computed in threads.

    Close the generator if it is not exhausted. Only the main thread receives Ctrl-C. A single
    thread is therefore the caller's, and several threads are interrupted if the caller is: Python
    raises KeyboardInterrupt in them before their next step.
    """
    if n_threads == 1:
        yield from map(work, items)
        return
    busy = set()

    def run(item: Any) -> Any:  # noqa: ANN401 - argument and result of `work`
        busy.add(get_ident())
        try:
            return work(item)
        finally:
            busy.discard(get_ident())

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            yield from pool.map(run, items)
        finally:
            for thread in busy.copy():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
                )


@dataclass(frozen=True, eq=False)
class DenseOneVsRest:
    """One support vector machine per class of a problem whose documents are short dense vectors.

    Parameters
    ----------
    problem : Problem
        Documents as rows (n, d), labels and costs.
    n_threads : int, default=1
        Number of blocks of classes solved at the same time; the solutions do not depend on it.
    """

    problem: Problem[Floats]
    n_threads: int = 1

    def solve(self, C: float | Floats, rows: Ints | None = None) -> tuple[Floats, Floats]:
        """Return weights (d, m) and intercepts (m,) for one C or one per class, from some rows."""
        penalties = np.broadcast_to(np.asarray(C, dtype=np.float64), (self.problem.Y.shape[1],))
        chosen = np.arange(len(self.problem.features)) if rows is None else rows

        def learn(block: slice, machines: "_Machines") -> Floats:
            machines.advance(penalties[block])
            return machines.weights

        weights = np.concatenate(self._over_blocks(chosen, learn), axis=1)
        return weights[:-1], weights[-1]

    def validate(self, C: Floats, rows: Ints, test_rows: Ints) -> Floats32:
        """Learn from some rows, and return the scores (values of C, test rows, m) of others.

        Each solution is the start of the next, so the values of C should rise.
        """
        tested = _with_ones(self.problem.features[test_rows])

        def learn(_block: slice, machines: "_Machines") -> Floats:
            scores = []
            for value in C:
                machines.advance(np.full(machines.weights.shape[1], value))
                scores.append(tested @ machines.weights)
            return np.array(scores)

        return np.concatenate(self._over_blocks(rows, learn), axis=2).astype(np.float32)

    def _over_blocks(
        self, rows: Ints, learn: Callable[[slice, "_Machines"], Floats]
    ) -> list[Floats]:
        """Call `learn` for every block of classes."""
        # BLAS must not start threads inside the workers: its sums depend on their number
        with threadpool_limits(1, user_api="blas"):
            X = _with_ones(self.problem.features[rows])
            gram = _gram(X, self.problem.costs.docs[rows])

            def run(start: int) -> Floats:
                block = slice(start, start + _CLASSES_PER_BLOCK)
                return learn(block, self._machines(block, X, rows, gram))

            starts = range(0, self.problem.Y.shape[1], _CLASSES_PER_BLOCK)
            return list(in_threads(run, starts, self.n_threads))

    def _machines(self, block: slice, X: Floats, rows: Ints, gram: Floats) -> "_Machines":
        is_positive = self._truth[rows, block]  # (n, block)
        docs = self.problem.costs.docs[rows]
        inside = self.problem.costs.positive[block]
        outside = self.problem.costs.negative[block]
        costs = docs[:, None] * np.where(is_positive, inside, outside)
        grams = [
            outside[j] * gram
            + (inside[j] - outside[j]) * _gram(X[is_positive[:, j]], docs[is_positive[:, j]])
            for j in range(len(inside))
        ]
        return _Machines(X, np.where(is_positive, 1.0, -1.0), costs, grams)

    @cached_property
    def _truth(self) -> Flags:
        truth: Flags = self.problem.Y.astype(np.bool_).toarray()
        return truth


class _Machines:
    """The support vector machines of some classes (b) and their current weights.

    Parameters
    ----------
    X : array of shape (n, d)
        Documents.
    signs, costs : arrays of shape (n, b)
        The side of each document for each class, +1 or -1, and the cost of an error.
    grams : list of arrays of shape (d, d)
        Per class, the sum of the Hessian over the documents that violate the margin. With weights
        of zero, all documents do.
    """

    def __init__(self, X: Floats, signs: Floats, costs: Floats, grams: list[Floats]) -> None:
        self.weights = np.zeros((X.shape[1], signs.shape[1]))
        self._X = X
        self._signs = signs
        self._costs = costs
        self._grams = grams
        self._summed = np.ones(signs.shape, bool)  # the documents that are in the grams
        lengths = np.sqrt(np.einsum("nd,nd->n", X, X))
        self._sizes = lengths @ costs  # (b,)

    def advance(self, C: Floats) -> None:
        """Move to the optimum for these values of C, one per class."""
        losses = 2 * C * self._costs  # (n, b) twice the weight of a squared violation
        slack = 1 - self._signs * (self._X @ self.weights)  # positive if the margin is violated
        max_norms = _TOLERANCE * 2 * C * self._sizes
        for _ in range(_MAX_STEPS):
            errors = self._signs * losses * np.maximum(slack, 0)
            gradients = self.weights - self._X.T @ errors
            unsolved = np.flatnonzero(np.linalg.norm(gradients, axis=0) > max_norms)
            if not len(unsolved):
                return
            steps = np.empty((len(gradients), len(unsolved)))
            for k, j in enumerate(unsolved):
                self._sum_over(j, slack[:, j] > 0)
                steps[:, k] = -_solve(2 * C[j] * self._grams[j], gradients[:, j])
            changes = -self._signs[:, unsolved] * (self._X @ steps)
            for k, j in enumerate(unsolved):
                step = steps[:, k]
                change = changes[:, k]
                length = _best_length(self.weights[:, j], step, slack[:, j], change, losses[:, j])
                self.weights[:, j] += length * step
                slack[:, j] += length * change

    def _sum_over(self, j: np.intp, violating: Flags) -> None:
        """Update the gram of a class to the sum over the violating documents."""
        entered = violating & ~self._summed[:, j]
        left = ~violating & self._summed[:, j]
        costs = self._costs[:, j]
        if entered.sum() + left.sum() < violating.sum():
            self._grams[j] += _gram(self._X[entered], costs[entered])
            self._grams[j] -= _gram(self._X[left], costs[left])
        else:
            self._grams[j] = _gram(self._X[violating], costs[violating])
        self._summed[:, j] = violating


def _with_ones(documents: Floats) -> Floats:
    """Append a column of ones, whose weight is the intercept, to documents (n, d)."""
    return np.hstack([documents, np.ones((len(documents), 1))])


def _gram(X: Floats, costs: Floats) -> Floats:
    """Return the sum of cost x x' over documents (n, d): (d, d)."""
    scaled = X * np.sqrt(costs)[:, None]
    product: Floats = scaled.T @ scaled  # numpy computes one half, so the result is symmetric
    return product


def _solve(loss_hessian: Floats, gradient: Floats) -> Floats:
    """Solve (I + loss_hessian) s = gradient."""
    hessian = loss_hessian + np.eye(len(gradient))
    try:
        factor = linalg.cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        # the identity is lost in rounding, but no eigenvalue is below 1
        values, vectors = linalg.eigh(loss_hessian)
        flat: Floats = vectors @ ((vectors.T @ gradient) / (1 + np.maximum(values, 0)))
        return flat
    solved: Floats = linalg.cho_solve(factor, gradient, check_finite=False)
    return solved


def _best_length(
    weights: Floats, step: Floats, slack: Floats, change: Floats, losses: Floats
) -> float:
    """Return the optimal length t of a step.

    It minimizes |weights + t step|^2 / 2 + sum loss / 2 max(0, slack + t change)^2. The derivative
    is increasing and piecewise linear, with a kink at each document that changes sides.
    """
    is_violating = slack > 0
    constant = losses * change * slack
    linear = losses * change * change
    crossing = np.flatnonzero(np.where(is_violating, change < 0, change > 0))
    kinks = -slack[crossing] / change[crossing]
    order = np.argsort(kinks, kind="stable")
    crossing = crossing[order]
    kinks = kinks[order]
    turn = np.where(is_violating[crossing], -1.0, 1.0)  # leaving or entering
    curvature = step @ step
    starts = weights @ step + constant[is_violating].sum()
    rises = curvature + linear[is_violating].sum()
    a = np.concatenate([[starts], starts + np.cumsum(turn * constant[crossing])])
    b = np.concatenate([[rises], rises + np.cumsum(turn * linear[crossing])])
    is_past = a[:-1] + b[:-1] * kinks >= 0
    piece = int(np.argmax(is_past)) if is_past.any() else len(kinks)
    return float(max(-a[piece] / max(b[piece], curvature), 0.0))
