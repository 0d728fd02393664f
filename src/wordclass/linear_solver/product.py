"""X times W for sparse documents and dense weights."""

import numpy as np

from wordclass import native
from wordclass.arrays import Floats32, Sparse


def sparse_times_dense(
    X: Sparse, weights: Floats32, intercept: Floats32, n_jobs: int | None
) -> Floats32:
    """Return X @ weights + intercept (n, m) in float32.

    A row of the result depends on its row of X alone, to the bit.
    """
    # scipy adds up the terms of a row in their order too
    return np.asarray(X.astype(np.float32) @ weights + intercept, dtype=np.float32)
