"""X times W for sparse documents and dense weights."""

import numpy as np

from wordclass import native
from wordclass.arrays import Floats32, Sparse
from wordclass.checks import n_threads


def sparse_times_dense(
    X: Sparse, weights: Floats32, intercept: Floats32, n_jobs: int | None
) -> Floats32:
    """Return X @ weights + intercept (n, m) in float32.

    A row of the result depends on its row of X alone, to the bit.
    """
    if native.solver is None:
        # scipy, too, adds up the terms of a row in their order
        return np.asarray(X.astype(np.float32) @ weights + intercept, dtype=np.float32)
    product: Floats32 = native.solver.multiply(
        X.data.astype(np.float64, copy=False),
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int64, copy=False),
        np.ascontiguousarray(weights, dtype=np.float32),
        np.ascontiguousarray(intercept, dtype=np.float32),
        n_threads(n_jobs),
    )
    return product
