"""The same problems solved through scikit-learn, where the native solver was not built."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass.arrays import Floats, Floats32, Sparse

if TYPE_CHECKING:
    from wordclass.linear_solver.one_vs_rest import Costs, Features, Solution


def solve(
    features: "Features", Y: Sparse, costs: "Costs", C: Floats, rows: NDArray[np.int32]
) -> tuple[Floats32, Floats32, Floats32]:
    """Return weights (v, m), block weights (k, m) and intercepts (m,)."""
    from sklearn.svm import LinearSVC

    documents = sparse.hstack([features.X, features.block], format="csr")[rows]
    truth = Y.toarray().astype(bool)[rows]  # (n, m)
    docs = costs.docs[rows]
    n_columns, n_classes = documents.shape[1], truth.shape[1]
    weights = np.zeros((n_columns + 1, n_classes), np.float32)
    for j in range(n_classes):
        if truth[:, j].all() or not truth[:, j].any():
            weights[-1, j] = _one_sided(documents, truth[0, j], docs, costs, C, j)
            continue
        cost = docs * np.where(truth[:, j], costs.positive[j], costs.negative[j])
        machine = LinearSVC(C=C[j], tol=1e-4, random_state=0)
        machine.fit(documents, truth[:, j], sample_weight=cost)
        weights[:-1, j] = machine.coef_[0]
        weights[-1, j] = machine.intercept_[0]
    n_sparse = features.X.shape[1]
    return weights[:n_sparse], weights[n_sparse:-1], weights[-1]
