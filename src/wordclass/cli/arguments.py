"""Arguments and options that several commands have, and how their values are read."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from wordclass.errors import InputError

Data = Annotated[str, typer.Argument(help="A corpus file or folder, or dataset:NAME.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to write.")]
Embeddings = Annotated[Path, typer.Argument(help="A .wce file.")]
Model = Annotated[Path, typer.Argument(help="The folder of a model.")]
Split = Annotated[str | None, typer.Option(help="Part of the corpus: train, test, all.")]
TextField = Annotated[str | None, typer.Option(help="Column of the texts.")]
LabelField = Annotated[str | None, typer.Option(help="Column of the labels.")]
Separator = Annotated[str, typer.Option(help="Between several labels in one CSV cell.")]
Multilabel = Annotated[bool | None, typer.Option("--multilabel/--single-label")]

_WORDS = {"true": True, "false": False, "none": None, "null": None}


def ngrams(given: str) -> tuple[int, int]:
    """Read the sizes of n-grams: one number or two."""
    sizes = given.strip("[] ").replace("-", ",").split(",")
    if not all(size.strip().isdecimal() for size in sizes) or len(sizes) > 2:
        raise InputError(f"--ngrams is {given!r}; expected one or two numbers, such as 1,2")
    return int(sizes[0]), int(sizes[-1])


def stop_words(given: str | None, encoding: str) -> str | list[str] | None:
    """Read stop words: the name of a list, or a file with a word a line."""
    if given is None or given == "english":
        return given
    from wordclass.corpus_formats._lines import decoded

    return "".join(decoded(Path(given), encoding)).split()


def named_values(given: Sequence[str]) -> dict[str, Any]:
    """Read options of a classifier, given as `name=value`.

    A value is JSON, or none, true or false in any case; `1,2` is a tuple of numbers; anything
    else is a str.

    Examples
    --------
    >>> named_values(["shrinkage=20", "ngrams=1,2", "stop_words=english", "analyzer=None"])
    {'shrinkage': 20, 'ngrams': (1, 2), 'stop_words': 'english', 'analyzer': None}
    """
    options: dict[str, Any] = {}
    for each in given:
        name, is_pair, value = each.partition("=")
        if not is_pair or not name.strip().isidentifier():
            raise typer.BadParameter(f"--set {each!r}: expected name=value")
        options[name.strip()] = ngrams(value) if name.strip() == "ngrams" else _value(value.strip())
    return options


def _value(given: str) -> Any:  # noqa: ANN401 - whatever JSON can say
    if given.lower() in _WORDS:
        return _WORDS[given.lower()]
    try:
        return json.loads(given)
    except ValueError:
        pass
    try:
        numbers = json.loads(f"[{given}]")
    except ValueError:
        return given
    return tuple(numbers) if numbers else given
