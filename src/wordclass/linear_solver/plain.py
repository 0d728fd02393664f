"""The same problems solved through scikit-learn, where the native solver was not built."""

import warnings
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.linear_solver.problem import Costs, Features, Solution

_NEXT_TO_NOTHING = 1e-12
# liblinear's random numbers and Python's list of warnings are those of the whole process
_one_at_a_time = Lock()


def solve(
    features: Features, Y: Sparse, costs: Costs, C: Floats, rows: Ints | NDArray[np.int32]
) -> Solution:
    """Return the weights of every class, each with its own C (m,), learned from some rows."""
    truth = Y[rows].toarray() > 0  # (n, m)
    docs = costs.docs[rows]
    block = sparse.csr_matrix(features.block[rows])
    shared = sparse.hstack([features.X[rows], block], format="csr")
    learned = np.zeros((shared.shape[1] + 2, truth.shape[1]), np.float32)
    for j in range(truth.shape[1]):
        own = np.zeros(len(rows), np.float32) if features.own is None else features.own[rows, j]
        documents = sparse.hstack([shared, sparse.csr_matrix(own[:, None])], format="csr")
        cost = docs * np.where(truth[:, j], costs.positive[j], costs.negative[j])
        learned[:, j] = _weights_and_intercept(documents, truth[:, j], cost, C[j])
    n_terms = features.X.shape[1]
    return Solution(learned[:n_terms], learned[n_terms:-2], learned[-2], learned[-1])


def scores(features: Features, solution: Solution, rows: Ints | NDArray[np.int32]) -> Floats32:
    """Return the scores (rows, m) of documents."""
    made: Floats32 = features.X[rows] @ solution.weights
    made += features.block[rows] @ solution.block_weights + solution.intercept
    if features.own is not None:
        made += features.own[rows] * solution.own_weights
    return made


def _weights_and_intercept(documents: Sparse, truth: Flags, cost: Floats, C: float) -> Floats:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    counts = cost > 0
    # it wants documents on both sides: an empty one that costs next to nothing changes nothing
    absent = [side for side in (False, True) if side not in truth[counts]]
    empty = sparse.csr_matrix((len(absent), documents.shape[1]), dtype=documents.dtype)
    machine = LinearSVC(C=C, random_state=0)
    with _one_at_a_time, warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # the native solver says nothing either
        machine.fit(
            sparse.vstack([documents[counts], empty], format="csr"),
            np.append(truth[counts], absent).astype(bool),
            np.append(cost[counts], np.full(len(absent), _NEXT_TO_NOTHING)),
        )
    return np.append(machine.coef_[0], machine.intercept_)
