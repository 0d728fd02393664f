"""Numbers as text: read as the float32 nearest to what is written, written with few digits."""

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wordclass.arrays import Flags, Floats, Floats32

_HALF = 1 << 28  # a double has 29 bits more than a float32: this is the middle between two of them


def to_number(field: bytes) -> float:
    """Read a number; unlike in Python source, no underscores between the digits.

    Raises
    ------
    ValueError
        It is none.
    """
    if b"_" in field:
        raise ValueError(f"could not convert string to float: {field!r}")
    return float(field)


def to_float32(field: bytes) -> np.float32:
    """Read a number and round it once; a number too large becomes an infinity.

    Rounded to a double first and then to float32, a number close to the middle between two
    float32 may end up as the wrong one of them.

    Raises
    ------
    ValueError
        It is no number.
    """
    number = to_number(field)
    if number and math.isfinite(number):
        exact = Decimal(field.decode("ascii"))
        is_odd = int(np.float64(number).view(np.int64)) & 1
        if exact != number and not is_odd:
            # of the two doubles around it take the odd one: it is never in the middle between
            # two float32, so rounding once more goes the way the exact number would go
            number = math.nextafter(number, math.inf if exact > number else -math.inf)
    with np.errstate(over="ignore"):
        return np.float32(number)


def all_to_float32(texts: Sequence[bytes]) -> Floats32:
    """Read many texts of numbers, separated by single spaces, one after the other.

    Raises
    ------
    ValueError
        One of them is no number.
    """
    text = b" ".join(texts).decode("ascii", errors="replace")
    fields = pl.Series([text] if texts else [], dtype=pl.String).str.split(" ").explode()
    try:
        numbers = fields.cast(pl.Float64).to_numpy()
    except pl.exceptions.PolarsError:
        return np.array([to_float32(field) for text in texts for field in text.split(b" ")])
    with np.errstate(over="ignore"):  # an infinity then, which is refused
        values = numbers.astype(np.float32)
    for k in np.flatnonzero(_is_in_doubt(numbers)):
        values[k] = to_float32(fields[int(k)].encode("ascii"))
    return values


def _is_in_doubt(numbers: Floats) -> Flags:
    """Say which doubles may be rounded to float32 only by looking at their text again."""
    bits: NDArray[np.int64] = numbers.view(np.int64)
    is_middle = (bits & (2 * _HALF - 1)) == _HALF
    is_tiny = (numbers != 0) & (np.abs(numbers) < np.finfo(np.float32).tiny)
    flags: Flags = is_middle | is_tiny
    return flags


def as_text(values: Floats32) -> list[str]:
    """Write numbers with the fewest digits from which the same float32 is read."""
    shortest = pl.Series(values).cast(pl.String)
    texts = shortest.to_list()
    # readers that round to float64 first may then round to the neighbor of the float32 that was
    # meant (7.038531e-26 is such a number): those few get all their digits
    read_back = shortest.cast(pl.Float64).to_numpy().astype(np.float32)
    for k in np.flatnonzero(read_back != values):
        texts[k] = repr(float(values[k]))
    return texts
