"""Array types that are shared by all modules, and small functions on arrays."""

import sys
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass.errors import InputError

Floats: TypeAlias = NDArray[np.float64]
Floats32: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Sparse: TypeAlias = sparse.csr_matrix[Any]
Matrix: TypeAlias = Sparse | Floats

# names the values that vectors must not contain, for messages
NONFINITE_VALUE = "a NaN, an infinity or a number too large for float32"


def to_sparse(matrix: Any) -> Sparse:  # noqa: ANN401 - anything that scipy accepts
    """Convert a sparse or dense matrix, or nested lists, to CSR of float64.

    A matrix that already has this type is not copied.
    """
    return sparse.csr_matrix(matrix, dtype=np.float64)


def check_code_points(array: NDArray[Any]) -> None:
    """Raise an error if an array of text contains an invalid code point.

    numpy reads such arrays, but converting them to `str` fails later.

    Parameters
    ----------
    array : ndarray
        Array of any type.

    Raises
    ------
    ValueError
        The array has a text type and contains a number above the largest code point.
    """
    if array.dtype.kind != "U" or not array.size or not array.dtype.itemsize:
        return
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    largest = int(native.reshape(-1).view(np.uint32).max())
    if largest > sys.maxunicode:
        raise ValueError(f"the text contains {largest:#x}, which is not a valid code point")


def row_numbers(matrix: Sparse) -> NDArray[np.intp]:
    """Return the row number of every stored value of a CSR matrix."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def normalize_rows(rows: Floats) -> Floats:
    """Divide rows by their L2 norms. Rows of zeros stay zeros."""
    norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    unit_rows: Floats = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit_rows


def root_mean_square_length(rows: Floats | Floats32) -> float:
    """Return the root mean square of the L2 norms of rows, or 1 if all rows are zero."""
    return float(np.sqrt(np.mean(np.sum(np.asarray(rows) ** 2, axis=1)))) or 1.0


def select_top_k(columns: Ints, scores: Any, k: int) -> tuple[Ints, Any]:  # noqa: ANN401 - floats
    """Select the k highest-scoring columns of each row, best first.

    Of columns with equal scores, the first ones are selected.

    Parameters
    ----------
    columns : array of shape (n, c) or (1, c)
        Numbers of the columns that have the scores.
    scores : array of shape (n, c)
        Scores of the columns.
    k : int
        Number of columns to select.

    Returns
    -------
    columns : array of shape (n, min(k, c))
        Numbers of the selected columns.
    scores : array of shape (n, min(k, c))
        Their scores.
    """
    columns = np.broadcast_to(columns, scores.shape)
    if scores.shape[1] > k:
        # a partial sort, with the same choice among equal scores as a complete stable sort
        lowest = np.partition(scores, scores.shape[1] - k, axis=1)[:, -k, None]
        is_above = scores > lowest
        is_equal = scores == lowest
        n_equal = k - is_above.sum(axis=1, keepdims=True)
        is_selected = is_above | (is_equal & (np.cumsum(is_equal, axis=1) <= n_equal))
        columns = columns[is_selected].reshape(len(scores), k)
        scores = scores[is_selected].reshape(len(scores), k)
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1), np.take_along_axis(scores, order, axis=1)


def as_float32(matrix: object) -> Floats32:
    """Convert a matrix of numbers to a read-only float32 array in C order.

    An array that already has this type is not copied.

    Parameters
    ----------
    matrix : array-like of shape (n_rows, n_columns)
        Numbers, with at least one column. They are not checked for NaN and infinity.

    Returns
    -------
    array of shape (n_rows, n_columns)
        The matrix, or a read-only view of it.

    Raises
    ------
    InputError
        The argument is not a matrix of numbers.
    """
    expected = "a matrix of numbers with one row per term and at least one column"
    try:
        array = np.asarray(matrix)
    except ValueError as error:
        raise InputError("the vectors have different lengths", expected=expected) from error
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "fiu":
        problem = f"the vectors have shape {array.shape} and type {array.dtype}"
        raise InputError(problem, expected=expected)
    with np.errstate(over="ignore"):  # numbers that are too large become infinite, see below
        rows = np.ascontiguousarray(array, dtype=np.float32).view()
    rows.flags.writeable = False
    return rows


def find_nonfinite_row(matrix: Floats32) -> int | None:
    """Return the number of the first row that contains NaN or infinity, or None."""
    with np.errstate(invalid="ignore"):
        # the sum of finite float32 values is finite in float64, so no mask is needed
        sums = matrix.sum(axis=1, dtype=np.float64)
    rows = np.flatnonzero(~np.isfinite(sums))
    return int(rows[0]) if len(rows) else None
