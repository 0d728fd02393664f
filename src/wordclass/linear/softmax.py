"""One model of all classes at once, for few documents: multinomial logistic regression.

With scores s = W'x + b of a document and its class y, weighted by its cost c:
min over W and b of |W|^2 / 2 + C sum c (log sum exp s - s_y), by L-BFGS. If classes have
only a handful of documents, this is better than one support vector machine per class, each of
which has hardly any positive document. With many documents it is no better, and slower.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.linear.problem import Features, Problem, Solution

TOLERANCE = 1e-4  # of the gradient, as a share of its size where all weights are 0
_MAX_STEPS = 500
_ABSENT_CLASS_OFFSET = -10.0  # added to the lowest intercept, for classes without documents


@dataclass(frozen=True, eq=False)
class Softmax:
    """One model of all classes of a single-label task, with the methods of `OneVsRest`.

    Parameters
    ----------
    problem : Problem
        Documents without class columns, one label per document; `costs.negative` is not used.
    """

    problem: Problem[Features]

    def solve(self, C: float, rows: Ints | None = None, tolerance: float = TOLERANCE) -> Solution:
        """Return the weights for one C, learned from some rows or all."""
        features = self.problem.features
        n_classes = self.problem.Y.shape[1]
        chosen = np.arange(features.n_docs) if rows is None else rows
        truth = self.problem.Y[chosen].toarray()
        costs = C * self.problem.costs.docs[chosen] * (truth @ self.problem.costs.positive)
        X = features.X[chosen]
        block = features.block[chosen]
        present = np.flatnonzero(costs @ truth > 0)
        learned = np.zeros((X.shape[1] + block.shape[1] + 1, n_classes))
        if len(present):
            learned[:, present] = _minimum(X, block, truth[:, present], costs, tolerance)
        absent = np.setdiff1d(np.arange(n_classes), present)
        learned[-1, absent] = learned[-1, present].min(initial=0.0) + _ABSENT_CLASS_OFFSET
        narrow = learned.astype(np.float32)
        weights, block_weights, intercept = np.split(narrow, [X.shape[1], -1])
        return Solution(weights, block_weights, np.zeros_like(intercept[0]), intercept[0])

    def validate(
        self, C: Floats, rows: Ints, test_rows: Ints, tolerance: float = TOLERANCE
    ) -> Floats32:
        """Learn from some rows, and return the scores (values of C, test rows, m) of others."""
        features = self.problem.features
        solutions = [self.solve(value, rows, tolerance) for value in C]
        return np.array([solution.scores(features, test_rows) for solution in solutions])


def _minimum(X: Sparse, block: Floats32, truth: Floats, costs: Floats, tolerance: float) -> Floats:
    """Return the stacked weights of X, weights of the block and intercepts (v + k + 1, m)."""
    n_terms = X.shape[1]
    shape = (n_terms + block.shape[1] + 1, truth.shape[1])
    transposed = X.T.tocsr()

    def loss_and_gradient(flat: Floats) -> tuple[float, Floats]:
        learned = flat.reshape(shape)
        scores = X @ learned[:n_terms] + block @ learned[n_terms:-1] + learned[-1]
        logs = scores - logsumexp(scores, axis=1, keepdims=True)
        errors = costs[:, None] * (np.exp(logs) - truth)
        gradient = np.vstack([transposed @ errors, block.T @ errors, errors.sum(axis=0)])
        gradient[:-1] += learned[:-1]
        penalty = 0.5 * np.vdot(learned[:-1], learned[:-1])
        return float(penalty - np.vdot(costs[:, None] * truth, logs)), gradient.ravel()

    start = np.zeros(shape).ravel()
    with threadpool_limits(1, user_api="blas"):
        size = float(np.abs(loss_and_gradient(start)[1]).max())
        result = minimize(
            loss_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _MAX_STEPS, "gtol": tolerance * size, "ftol": 0.0, "maxcor": 5},
        )
    return np.asarray(result.x).reshape(shape)
