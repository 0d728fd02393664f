"""Names for the kinds of array that parts hand to each other."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats: TypeAlias = NDArray[np.float64]
Floats32: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Sparse: TypeAlias = sparse.csr_matrix[Any]
Matrix: TypeAlias = Sparse | Floats


def to_sparse(matrix: Any) -> Sparse:  # noqa: ANN401 - whatever scipy turns into a matrix
    """Return a sparse or dense matrix, or nested lists, as CSR of float64; not a copy of one."""
    return sparse.csr_matrix(matrix, dtype=np.float64)


def dense(matrix: Matrix) -> Floats:
    """Return a new dense float64 array with the values of a sparse or dense matrix."""
    values = matrix.toarray() if sparse.issparse(matrix) else np.array(matrix)
    return np.asarray(values, dtype=np.float64)


def csr(parts: tuple[Any, Any, Any], shape: tuple[int, int]) -> Sparse:
    """Return a CSR matrix of (values, columns, ends) whose rows are sorted, without duplicates."""
    matrix = sparse.csr_matrix(parts, shape=shape)
    matrix.has_sorted_indices = matrix.has_canonical_format = True
    return matrix


def rows_of(matrix: Sparse) -> NDArray[np.intp]:
    """Return the row number of every stored value of a CSR matrix."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
