"""Validation of options and arguments, and the documentation that is made of option tables."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from wordclass import catalogue
from wordclass.errors import InputError
from wordclass.options import (
    FLAG,
    N_JOBS,
    Kind,
    Option,
    WithOptions,
    check_int,
    check_number,
    check_one_of,
    instance_of,
    integer,
    n_threads,
    number,
    one_of,
    parse_value,
)

NAN = float("nan")
INFINITY = float("inf")


@pytest.mark.parametrize("value", [0, 3, np.int64(3)])
def test_an_integer_from_the_minimum_up_is_accepted(value):
    check_int("folds", value, 0)


@pytest.mark.parametrize("value", [1, -1, True, 2.0, "2", None, NAN])
def test_other_values_than_integers_and_low_integers_are_refused(value):
    with pytest.raises(InputError, match=r"^folds is .*; expected an int from 2 up$"):
        check_int("folds", value, 2)


@pytest.mark.parametrize(("value", "maximum"), [(2**63, 2**63 - 1), (7, 6), (10**400, 2**63 - 1)])
def test_an_integer_above_the_maximum_is_refused(value, maximum):
    with pytest.raises(InputError, match=rf"; expected an int from 0 up to {maximum:,}$"):
        check_int("folds", value, 0, maximum)
    check_int("seed", value)


@pytest.mark.parametrize("value", [0, 0.5, np.float32(2), 7])
def test_a_number_from_0_up_is_returned_as_float(value):
    assert check_number("C", value) == float(value)


@pytest.mark.parametrize(
    ("value", "bounds", "expected"),
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
def test_numbers_out_of_bounds_are_refused(value, bounds, expected):
    with pytest.raises(InputError) as caught:
        check_number("C", value, **bounds)
    assert str(caught.value) == f"C is {value!r}; expected {expected}"


def test_a_value_is_one_of_several():
    check_one_of("loss", "ova", ("softmax", "ova", None))
    check_one_of("loss", None, ("softmax", "ova", None))
    with pytest.raises(InputError, match=r"^loss is 'hinge'; expected 'softmax', 'ova' or None$"):
        check_one_of("loss", "hinge", ("softmax", "ova", None))
    with pytest.raises(InputError, match="loss is array"):
        check_one_of("loss", np.zeros(2), ("softmax", "ova"))


@pytest.mark.parametrize("n_jobs", [0, 1.0, True, "2"])
def test_n_jobs_is_an_integer_other_than_0(n_jobs):
    with pytest.raises(
        InputError, match=r"^n_jobs is .*; expected an int .-1 is all cores. or None"
    ):
        n_threads(n_jobs)
    assert not N_JOBS.accepts(n_jobs)


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        (integer(), [0, -5, np.int32(4), 10**30], [True, 1.0, "1", None]),
        (integer(1, 3), [1, 3], [0, 4]),
        (number(), [0, 0.5, np.float64(3)], [-0.1, NAN, INFINITY, False, "0", None]),
        (number(above=0, below=1), [0.5], [0, 1]),
        (one_of("a", None, 2), ["a", np.str_("a"), None, 2], ["b", 2.5, np.zeros(3)]),
        (instance_of(dict, "a dict"), [{}], [[], None]),
        (FLAG, [True, False, 1, np.True_], [None, "yes", 0.5]),
    ],
)
def test_kinds_accept_their_own_values_only(kind, accepted, refused):
    assert all(kind.accepts(value) for value in accepted)
    assert not any(kind.accepts(value) for value in refused)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (Option("", number(), ("auto",)), "x", "'x'; expected a number from 0 up or 'auto'"),
        (Option("", integer(1), (None, "auto")), 0, "0; expected an int from 1 up, None or 'auto'"),
        (Option("", one_of("a", "b")), "c", "'c'; expected 'a' or 'b'"),
        (Option("", FLAG), "word " * 40, "a str; expected True or False"),
        (Option("", FLAG), np.zeros((2, 2)), "a ndarray; expected True or False"),
    ],
)
def test_an_option_names_itself_the_value_and_what_it_accepts(option, value, message):
    with pytest.raises(InputError) as caught:
        option.check("name", value)
    assert str(caught.value) == f"name is {message}"


def test_an_option_accepts_its_kind_and_single_values():
    option = Option("", number(), also=(None, "auto"))
    for value in (0.5, None, "auto"):
        option.check("C", value)
    with pytest.raises(InputError):
        option.check("C", np.array(["auto"]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("7", 7),
        ("1,2", (1, 2)),
        ("[1, 2]", [1, 2]),
        ('{"a": 1}', {"a": 1}),
        ("True", True),
        ("NONE", None),
        ("null", None),
        ("english", "english"),
        ("a,b", "a,b"),
        ("", ""),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_parsed_from_text(text, value):
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_an_option_parses_and_checks_the_text_of_a_user():
    option = Option("", number(), also=(None, "auto"))
    assert option.parse("C", "0.5") == 0.5
    assert option.parse("C", "none") is None
    assert option.parse("C", "auto") == "auto"
    with pytest.raises(InputError, match=r"^C is -1; expected a number from 0 up"):
        option.parse("C", "-1")
    dotted = Kind("str", "a str", lambda value: isinstance(value, str), parse=".{}".format)
    assert Option("", dotted, also=(None,)).parse("name", "a") == ".a"
    assert Option("", dotted, also=(None,)).parse("name", "None") is None


@dataclass
class Estimator(WithOptions):
    """An estimator.

    It estimates.

    Attributes
    ----------
    result_ : float
        The estimate.

    Examples
    --------
    >>> 1 + 1
    2
    """

    options: ClassVar[dict] = {
        "size": Option("Size of the estimate.", integer(1)),
        "C": Option("Weight of errors, which may be so long that a line is not enough. " * 2,
                    number(above=0), ("auto", None)),
        "seed": Option("Seed.", integer(), (None,)),
    }  # fmt: skip

    size: int = 3
    C: float | str | None = "auto"
    seed: int | None = None


@dataclass
class Inherited(Estimator):
    """A subclass."""

    options: ClassVar[dict] = {**Estimator.options, "size": Option("Another size.", integer(1))}

    size: int = 4


@dataclass
class Documented(Estimator):
    """A subclass.

    Parameters
    ----------
    size, C, seed
        Described by hand.
    """


def test_the_docstring_of_an_estimator_lists_its_options_before_other_sections():
    assert Estimator.__doc__.startswith("An estimator.\n\nIt estimates.\n\nParameters\n")
    assert "size : int from 1, default=3\n    Size of the estimate.\n" in Estimator.__doc__
    assert 'C : float above 0, "auto" or None, default="auto"\n    Weight' in Estimator.__doc__
    assert "seed : int, optional\n    Seed.\n\nAttributes\n" in Estimator.__doc__
    assert Estimator.__doc__.endswith(">>> 1 + 1\n2")
    assert max(map(len, Estimator.__doc__.splitlines())) <= 96


def test_a_subclass_documents_inherited_options_with_its_own_defaults_and_attributes():
    assert "size : int from 1, default=4\n    Another size.\n" in Inherited.__doc__
    assert "seed : int, optional" in Inherited.__doc__
    assert "result_ : float\n    The estimate." in Inherited.__doc__
    assert "Examples" not in Inherited.__doc__


def test_parameters_described_by_hand_are_not_replaced():
    assert "Described by hand." in Documented.__doc__
    assert "Seed." not in Documented.__doc__


def test_an_estimator_checks_all_its_options():
    Estimator().check_options()
    with pytest.raises(InputError, match=r"^size is 0; expected an int from 1 up$"):
        Estimator(size=0).check_options()
    with pytest.raises(InputError, match=r"^C is 0; expected a number above 0, 'auto' or None$"):
        Inherited(C=0).check_options()


@pytest.mark.parametrize("name", catalogue.names("classifiers"))
def test_every_option_of_a_classifier_is_in_its_table_and_its_docstring(name):
    make = catalogue.entry("classifiers", name).make
    parameters = set(make().get_params(deep=False))
    assert set(make.options) == parameters
    make().check_options()
    for parameter in parameters:
        assert f"\n{parameter} : " in make.__doc__
