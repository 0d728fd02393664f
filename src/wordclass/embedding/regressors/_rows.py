"""Validation of matrices with one row per term, and their processing in blocks."""

from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from wordclass.arrays import NONFINITE_VALUE, Floats, Floats32, as_float32, find_nonfinite_row
from wordclass.errors import InputError

_BLOCK = 4096  # rows held in float64 at a time


def checked_pairs(U: object, S: object) -> tuple[Floats32, Floats32]:
    """Return the rows (v, q) and (v, r) to learn from, in float32.

    Raises
    ------
    InputError
        The numbers of rows differ or are below 2; one is no matrix of numbers; or a row holds a
        NaN, an infinity or a number too large for float32.
    """
    rows = _checked("U", U)
    targets = _checked("S", S)
    if len(rows) != len(targets):
        problem = f"U has {len(rows)} rows and S {len(targets)}"
        raise InputError(f"{problem}; expected a row of each for every term")
    if len(rows) < 2:
        raise InputError(f"terms to learn from: {len(rows)}; expected at least 2")
    return rows, targets


def blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices that divide rows into blocks."""
    return (slice(start, start + _BLOCK) for start in range(0, n_rows, _BLOCK))


def predicted(
    U: object, n_dims: int, n_targets: int, compute: Callable[[Floats], Floats]
) -> Floats32:
    """Return predictions (k, n_targets) in float32.

    Parameters
    ----------
    U
        The rows (k, n_dims) to predict from; checked.
    compute
        From some of these rows in float64 to their predictions.
    """
    rows = _checked("U", U)
    if rows.shape[1] != n_dims:
        problem = f"U has {rows.shape[1]} columns"
        raise InputError(f"{problem}; expected {n_dims}, as the rows that were learned from")
    predictions = np.empty((len(rows), n_targets), np.float32)
    # one thread, as more would add up in another order
    with threadpool_limits(1), np.errstate(over="ignore"):
        for block in blocks(len(rows)):
            predictions[block] = compute(rows[block].astype(np.float64))
    return predictions


def _checked(name: str, matrix: object) -> Floats32:
    try:
        rows = as_float32(matrix)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    if (bad_row := find_nonfinite_row(rows)) is not None:
        raise InputError(f"row {bad_row} of {name} holds {NONFINITE_VALUE}")
    return rows
