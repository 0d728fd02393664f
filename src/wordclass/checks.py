"""One way to refuse an option: the message says what came, and what was expected."""

from collections.abc import Collection
from numbers import Integral, Real

from wordclass.errors import InputError


def check_int(name: str, value: object, lowest: int | None = None) -> None:
    """Refuse what is no whole number, or one below the lowest."""
    is_int = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_int or (lowest is not None and value < lowest):  # type: ignore[operator]
        expected = "an int" if lowest is None else f"an int from {lowest} up"
        raise InputError(f"{name} is {value!r}; expected {expected}")


def check_number(
    name: str,
    value: object,
    *,
    above: float | None = None,
    below: float = float("inf"),
    hint: str = "",
) -> float:
    """Return a number from 0 up (or above `above`) and below `below`; refuse anything else.

    Parameters
    ----------
    name : str
        Of the option.
    value : object
        What was given; NaN and bool are refused.
    above : float, optional
        The number must be larger than this. By default it must not be below 0.
    below : float, default=inf
        The number must be smaller than this.
    hint : str, default=""
        What the message says at its end, such as ", or None".
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if is_number else float("nan")  # type: ignore[arg-type]
    if number < below and (number >= 0 if above is None else number > above):
        return number
    start = "from 0" if above is None else f"above {above:g}"
    end = f" to below {below:g}" if below < float("inf") else " up" if above is None else ""
    raise InputError(f"{name} is {value!r}; expected a number {start}{end}{hint}")


def check_one_of(name: str, value: object, allowed: Collection[object]) -> None:
    """Refuse what is none of the allowed values."""
    if not any(
        value is each or (isinstance(value, type(each)) and value == each) for each in allowed
    ):
        *others, last = (repr(each) for each in allowed)
        listed = f"{', '.join(others)} or {last}" if others else last
        raise InputError(f"{name} is {value!r}; expected {listed}")
