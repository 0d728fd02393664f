"""One model of all classes at once, for few documents: multinomial logistic regression.

With scores s = W'x + b of a document and its class y, weighted by its cost c:
min over W and b of |W|^2 / 2 + C sum c (log sum exp s - s_y), by L-BFGS. Where a class has a
handful of documents this is better than a support vector machine per class, each of which sees
next to no document of its class; where it has many, it is not, and takes longer.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.linear_solver.one_vs_rest import Costs, Features, Solution

TOLERANCE = 1e-4  # of the gradient, as a share of its size where all weights are 0
_MOST_STEPS = 500
_UNSEEN = -10.0  # below the lowest intercept, that of a class without documents


@dataclass(frozen=True, eq=False)
class Softmax:
    """The problem of all classes of a single-label task; asked as `OneVsRest` is.

    Parameters
    ----------
    features, Y
        Documents, without own columns, and their labels (n, m), one per document.
    costs
        Of errors on a document and on its class; `negative` has no meaning here.
    """

    features: Features
    Y: Sparse
    costs: Costs

    def solve(self, C: float, rows: Ints | None = None, tolerance: float = TOLERANCE) -> Solution:
        """Return the weights for one C, learned from some rows or all."""
        chosen = np.arange(self.features.n_docs) if rows is None else rows
        truth = self.Y[chosen].toarray()
        costs = C * self.costs.docs[chosen] * (truth @ self.costs.positive)
        X, block = self.features.X[chosen], self.features.block[chosen]
        seen = np.flatnonzero(costs @ truth > 0)
        learned = np.zeros((X.shape[1] + block.shape[1] + 1, self.Y.shape[1]))
        if len(seen):
            learned[:, seen] = _minimum(X, block, truth[:, seen], costs, tolerance)
        unseen = np.setdiff1d(np.arange(self.Y.shape[1]), seen)
        learned[-1, unseen] = learned[-1, seen].min(initial=0.0) + _UNSEEN
        narrow = learned.astype(np.float32)
        weights, block_weights, intercept = np.split(narrow, [X.shape[1], -1])
        return Solution(weights, block_weights, np.zeros_like(intercept[0]), intercept[0])

    def validate(
        self, C: Floats, rows: Ints, test_rows: Ints, tolerance: float = TOLERANCE
    ) -> Floats32:
        """Learn from some rows, and return the scores (values of C, test rows, m) of others."""
        solutions = (self.solve(value, rows, tolerance) for value in C)
        return np.array([each.scores(self.features, test_rows) for each in solutions])


def _minimum(X: Sparse, block: Floats32, truth: Floats, costs: Floats, tolerance: float) -> Floats:
    """Return the weights of X, of the block, and the intercepts, one below the other (., m)."""
    n_terms, shape = X.shape[1], (X.shape[1] + block.shape[1] + 1, truth.shape[1])
    transposed = X.T.tocsr()

    def loss_and_gradient(flat: Floats) -> tuple[float, Floats]:
        learned = flat.reshape(shape)
        scores = X @ learned[:n_terms] + block @ learned[n_terms:-1] + learned[-1]
        logs = scores - logsumexp(scores, axis=1, keepdims=True)
        errors = costs[:, None] * (np.exp(logs) - truth)
        gradient = np.vstack([transposed @ errors, block.T @ errors, errors.sum(axis=0)])
        gradient[:-1] += learned[:-1]
        weighed = 0.5 * np.vdot(learned[:-1], learned[:-1])
        return float(weighed - np.vdot(costs[:, None] * truth, logs)), gradient.ravel()

    start = np.zeros(shape).ravel()
    with threadpool_limits(1, user_api="blas"):
        size = float(np.abs(loss_and_gradient(start)[1]).max())
        found = minimize(
            loss_and_gradient,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _MOST_STEPS, "gtol": tolerance * size, "ftol": 0.0, "maxcor": 5},
        )
    return np.asarray(found.x).reshape(shape)
