"""Options that must be whole numbers: one way to refuse those that are not."""

import numpy as np

from wordclass.errors import InputError


def check_int(name: str, value: object, lowest: int | None = None) -> None:
    """Refuse what is no whole number, or one below the lowest."""
    is_int = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_int or (lowest is not None and value < lowest):  # type: ignore[operator]
        expected = "an int" if lowest is None else f"an int from {lowest} up"
        raise InputError(f"{name} is {value!r}; expected {expected}")
