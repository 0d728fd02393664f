import pytest
import typer

from wordclass.cli.arguments import parse_grid, parse_ngrams, parse_options
from wordclass.errors import InputError


@pytest.mark.parametrize(
    ("text", "value"),
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
def test_a_value_is_json_or_a_str(text, value):
    assert parse_options([f"x={text}"]) == {"x": value}


@pytest.mark.parametrize(
    ("text", "sizes"), [("2", (2, 2)), ("1,2", (1, 2)), ("1-3", (1, 3)), ("[1, 2]", (1, 2))]
)
def test_sizes_of_n_grams_are_a_pair(text, sizes):
    assert parse_options([f"ngrams={text}"]) == {"ngrams": sizes}
    assert parse_ngrams(text) == sizes


@pytest.mark.parametrize("text", ["x", "=3", "a b=3", ""])
def test_an_option_without_name_or_value_is_wrong_usage(text):
    with pytest.raises(typer.BadParameter, match="expected name=value"):
        parse_options([text])


def test_sizes_that_are_not_numbers_are_refused():
    with pytest.raises(InputError, match="--ngrams is"):
        parse_ngrams("one")


def test_the_sizes_of_ngrams_may_be_auto():
    assert parse_options(["ngrams=auto"]) == {"ngrams": "auto"}
    assert parse_grid(["ngrams=auto,1-2"]) == {"ngrams": ["auto", (1, 2)]}
