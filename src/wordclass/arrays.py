"""Names for the kinds of array that parts hand to each other."""

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

NOT_FINITE = "a NaN, an infinity or a number too large for float32"  # what vectors must not hold


def to_sparse(matrix: Any) -> Sparse:  # noqa: ANN401 - whatever scipy turns into a matrix
    """Return a sparse or dense matrix, or nested lists, as CSR of float64; not a copy of one."""
    return sparse.csr_matrix(matrix, dtype=np.float64)


def check_code_points(array: NDArray[Any]) -> None:
    """Refuse text in which a number stands for no character: Python fails when it makes a str.

    Raises
    ------
    ValueError
        The array holds text, and a number in it is too large for a code point.
    """
    if array.dtype.kind != "U" or not array.size or not array.dtype.itemsize:
        return
    native = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if (largest := int(native.reshape(-1).view(np.uint32).max())) > sys.maxunicode:
        raise ValueError(f"its text holds {largest:#x}, which is no character")


def row_numbers(matrix: Sparse) -> NDArray[np.intp]:
    """Return the row number of every stored value of a CSR matrix."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def normalize_rows(rows: Floats) -> Floats:
    """Divide rows by their lengths; rows of zeros stay zeros."""
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    units: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return units


def root_mean_square_length(rows: Floats | Floats32) -> float:
    """Return the root mean square length of rows; 1 where all are zeros."""
    return float(np.sqrt(np.mean(np.sum(np.asarray(rows) ** 2, axis=1)))) or 1.0


def top_of_rows(found: Ints, scores: Any, k: int) -> tuple[Ints, Any]:  # noqa: ANN401 - floats
    """Return the k entries of each row with the highest scores, best first; of equals, the first.

    Parameters
    ----------
    found : array of shape (n, c) or (1, c)
        What has the scores.
    scores : array of shape (n, c)
    k : int
    """
    found = np.broadcast_to(found, scores.shape)
    if scores.shape[1] > k:
        # of equals those that a complete sort would put first
        least = np.partition(scores, scores.shape[1] - k, axis=1)[:, -k, None]
        is_above, is_level = scores > least, scores == least
        n_level = k - is_above.sum(axis=1, keepdims=True)
        kept = is_above | (is_level & (np.cumsum(is_level, axis=1) <= n_level))
        found, scores = (each[kept].reshape(len(scores), k) for each in (found, scores))
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(scores, order, axis=1)


def as_float32(matrix: object) -> Floats32:
    """Return a read-only float32 matrix in C order, the caller's own memory where it is so."""
    try:
        given = np.asarray(matrix)
    except ValueError as error:
        raise InputError("the vectors differ in length; expected a matrix of numbers") from error
    if given.ndim != 2 or given.shape[1] == 0 or given.dtype.kind not in "fiu":
        raise InputError(
            f"the matrix has shape {given.shape} and type {given.dtype}; expected numbers, "
            "one row per term and at least one column"
        )
    with np.errstate(over="ignore"):  # an infinity then, which is refused
        rows = np.ascontiguousarray(given, dtype=np.float32).view()
    rows.flags.writeable = False
    return rows


def first_not_finite(matrix: Floats32) -> int | None:
    """Return the first row that holds a NaN or an infinity, or None."""
    with np.errstate(invalid="ignore"):
        # finite float32 values never add up to an infinity in float64, and no mask is needed
        sums = matrix.sum(axis=1, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(sums))
    return int(bad[0]) if len(bad) else None
