"""What word vectors must be: terms that are str, numbers that are finite, as many as expected."""

from collections.abc import Iterable

import numpy as np

from wordclass.arrays import Floats32
from wordclass.errors import InputError


def first_not_finite(matrix: Floats32) -> int | None:
    """Return the first row that holds a NaN or an infinity, or None."""
    with np.errstate(invalid="ignore"):
        # finite float32 values never add up to an infinity in float64, and no mask is needed
        sums = matrix.sum(axis=1, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(sums))
    return int(bad[0]) if len(bad) else None


def list_terms(terms: Iterable[str]) -> list[str]:
    """Return terms as a list of plain str."""
    if isinstance(terms, str | bytes) or not isinstance(terms, Iterable):
        raise InputError(f"terms is one {type(terms).__name__}; expected several str: [term]")
    listed = list(terms)
    if set(map(type, listed)) <= {str}:
        return listed
    for k, term in enumerate(listed):
        if not isinstance(term, str):
            raise InputError(f"term {k} is a {type(term).__name__}, not a str")
    return [str(term) for term in listed]  # numpy's str are a subclass


def as_float32(matrix: object) -> Floats32:
    """Return a read-only float32 matrix in C order, the caller's own memory where it is so."""
    try:
        given = np.asarray(matrix)
    except ValueError as error:
        raise InputError("the vectors differ in length; expected a matrix of numbers") from error
    if given.ndim != 2 or given.shape[1] == 0 or given.dtype.kind not in "fiu":
        raise InputError(
            f"the matrix has shape {given.shape} and type {given.dtype}; expected numbers, "
            "one row a term and at least one column"
        )
    with np.errstate(over="ignore"):  # an infinity then, which is refused
        rows = np.ascontiguousarray(given, dtype=np.float32).view()
    rows.flags.writeable = False
    return rows


def checked_names(names: Iterable[str | int] | None, n_dims: int) -> tuple[str | int, ...] | None:
    """Return the names of the dimensions as plain str and int, one a dimension."""
    if names is None:
        return None
    listed = tuple(names)
    if len(listed) != n_dims:
        raise InputError(f"{len(listed)} dimension names for {n_dims} dimensions")
    for name in listed:
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            raise InputError(f"the dimension name {name!r} is neither a str nor an int")
    return tuple(str(name) if isinstance(name, str) else int(name) for name in listed)
