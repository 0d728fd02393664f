"""The rows of a matrix that point in nearly the same direction as a vector."""

import numpy as np

from wordclass.arrays import Floats, Floats32

_MARGIN = 1e-4  # more than float32 arithmetic errs on a cosine
_BLOCK = 4096  # rows held in float64 at a time


def unit_rows(matrix: Floats32) -> Floats32:
    """Divide rows by their lengths, in float32; rows of zeros stay zeros."""
    units = np.empty_like(matrix)
    for start in range(0, len(matrix), _BLOCK):
        block = slice(start, start + _BLOCK)
        units[block] = unit(matrix[block].astype(np.float64))
    return units


def unit(rows: Floats) -> Floats:
    """Divide rows by their lengths; rows of zeros stay zeros."""
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    units: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return units


def nearest_rows(
    matrix: Floats32,
    units: Floats32,
    query: Floats,
    n: int,
    left_out: int | None = None,
) -> list[tuple[int, float]]:
    """Find the n rows with the largest cosine, best first; of equal ones the earlier row.

    Parameters
    ----------
    matrix, units
        The rows, of shape (v, q), and the same at length 1.
    query
        A vector of length 1 and shape (q,).
    n
        How many; all there are, where they are fewer.
    left_out
        A row that does not count.

    Returns
    -------
    rows and cosines
        Rounded to nine decimals, so that rounding errors break no tie.
    """
    cosines = units @ query.astype(np.float32)  # (v,)
    n = min(n, len(matrix) - (left_out is not None))
    if n == 0:
        return []
    if left_out is not None:
        cosines[left_out] = -np.inf
    # a little more than the n best, then again in float64 and without BLAS, which need not
    # give equal products for equal rows
    rows = np.flatnonzero(cosines >= np.partition(cosines, -n)[-n] - _MARGIN)
    products = (unit(matrix[rows].astype(np.float64)) * query).sum(axis=1)
    exact = np.round(products, 9) + 0.0  # no -0.0
    best = np.argsort(-exact, kind="stable")[:n]
    return [(int(rows[k]), float(exact[k])) for k in best]
