import pytest
import typer

from wordclass.cli.arguments import named_choices, named_values, ngrams
from wordclass.errors import InputError


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ("False", False),
        ("None", None),
        ("null", None),
        ("1,2.5", (1, 2.5)),
        ("[1, 2]", [1, 2]),
        ('{"a": 1}', {"a": 1}),
        ('"3"', "3"),
        ("english", "english"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_a_value_is_json_or_a_str(given, value):
    assert named_values([f"x={given}"]) == {"x": value}


@pytest.mark.parametrize(
    ("given", "sizes"), [("2", (2, 2)), ("1,2", (1, 2)), ("1-3", (1, 3)), ("[1, 2]", (1, 2))]
)
def test_sizes_of_n_grams_are_a_pair(given, sizes):
    assert named_values([f"ngrams={given}"]) == {"ngrams": sizes}
    assert ngrams(given) == sizes


@pytest.mark.parametrize("given", ["x", "=3", "a b=3", ""])
def test_what_is_no_pair_is_wrong_usage(given):
    with pytest.raises(typer.BadParameter, match="expected name=value"):
        named_values([given])


def test_sizes_that_are_no_numbers_are_refused():
    with pytest.raises(InputError, match="--ngrams is"):
        ngrams("one")


def test_ngrams_may_be_left_to_the_classifier():
    assert named_values(["ngrams=auto"]) == {"ngrams": "auto"}
    assert named_choices(["ngrams=auto,1-2"]) == {"ngrams": ["auto", (1, 2)]}
