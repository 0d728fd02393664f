import numpy as np
import pytest

from wordclass.errors import InputError
from wordclass.options import check_int, check_number, check_one_of

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize("value", [0, 3, np.int64(3)])
def test_a_whole_number_from_the_lowest_up_passes(value):
    check_int("folds", value, 0)


@pytest.mark.parametrize("value", [1, -1, True, 2.0, "2", None, NAN])
def test_what_is_no_whole_number_or_too_low_is_refused(value):
    with pytest.raises(InputError, match=r"^folds is .*; expected an int from 2 up$"):
        check_int("folds", value, 2)


@pytest.mark.parametrize(("value", "most"), [(2**63, 2**63 - 1), (7, 6), (10**400, 2**63 - 1)])
def test_a_whole_number_may_be_too_large(value, most):
    with pytest.raises(InputError, match=rf"; expected an int from 0 up to {most:,}$"):
        check_int("folds", value, 0, most)
    check_int("seed", value)


@pytest.mark.parametrize("value", [0, 0.5, np.float32(2), 7])
def test_a_number_from_0_up_is_returned_as_float(value):
    assert check_number("C", value) == float(value)


@pytest.mark.parametrize(
    ("value", "limits", "expected"),
    [
        (-1, {}, "a number from 0 up"),
        (NAN, {}, "a number from 0 up"),
        (INFINITY, {}, "a number from 0 up"),
        (True, {}, "a number from 0 up"),
        (10**400, {}, "a number from 0 up"),
        ("1", {}, "a number from 0 up"),
        (0, {"above": 0}, "a number above 0"),
        (1, {"below": 1}, "a number from 0 to below 1"),
        (1, {"above": 0, "below": 1}, "a number above 0 and below 1"),
        (0, {"above": 0, "hint": ", or None"}, "a number above 0, or None"),
    ],
)
def test_other_numbers_are_refused(value, limits, expected):
    with pytest.raises(InputError) as caught:
        check_number("C", value, **limits)
    assert str(caught.value) == f"C is {value!r}; expected {expected}"


def test_one_of_several_values():
    check_one_of("loss", "ova", ("softmax", "ova", None))
    check_one_of("loss", None, ("softmax", "ova", None))
    with pytest.raises(InputError, match=r"^loss is 'hinge'; expected 'softmax', 'ova' or None$"):
        check_one_of("loss", "hinge", ("softmax", "ova", None))
    with pytest.raises(InputError, match="loss is array"):
        check_one_of("loss", np.zeros(2), ("softmax", "ova"))
