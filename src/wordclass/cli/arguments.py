"""Types of arguments and options that several commands share, and parsers of their values."""

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordclass.errors import InputError

if TYPE_CHECKING:
    from wordclass.corpus.documents import Label

Output = Annotated[Path, "--output", "-o", "Output file."]
ModelOutput = Annotated[Path, "--output", "-o", "FOLDER", "Folder of the new model."]
ModelFolder = Annotated[Path, "MODEL", "Folder of a model."]
MinDocs = Annotated[int, "Number of documents in which a term must occur."]
MaxTerms = Annotated[int | None, "Keep only the N most frequent terms."]
Ngrams = Annotated[str, "SIZES", "Number of words in a term, such as 1 or 1,2."]
MaskNumbers = Annotated[bool, "Treat all numbers as the same term."]
StopWords = Annotated[
    str | None, "WORDS", "Words to ignore: english, or a file with one word per line."
]

_SECONDS_PER_UNIT = {"s": 1.0, "m": 60.0, "h": 3600.0}
_CONSTANTS = {"true": True, "false": False, "none": None, "null": None}


def parse_ngrams(text: str) -> tuple[int, int]:
    """Parse the sizes of n-grams, which are one number or two."""
    sizes = text.strip("[] ").replace("-", ",").split(",")
    if not all(size.strip().isdecimal() for size in sizes) or len(sizes) > 2:
        raise InputError(f"--ngrams is {text!r}", expected="one or two numbers, such as 1,2")
    return int(sizes[0]), int(sizes[-1])


def read_stop_words(name: str | None, encoding: str) -> str | list[str] | None:
    """Return the name of a list of stop words, or the words of a file."""
    if name is None or name == "english":
        return name
    from wordclass.corpus.lines import decode_lines

    return "".join(decode_lines(Path(name), encoding)).split()


def find_class(name: str, classes: "Sequence[Label]") -> "Label":
    """Return the class with a name, which is a str on the command line even if the class is not."""
    from wordclass.corpus.labels import describe_unknown_name

    class_of = {str(label): label for label in classes}
    if name not in class_of:
        raise InputError(describe_unknown_name("class", name, classes))
    return class_of[name]


def path_beside(folder: Path, ending: str) -> Path:
    """Return the path of a file next to the folder of a model, which contains no other files.

    Examples
    --------
    >>> path_beside(Path("models/news"), "checkpoint").as_posix()
    'models/news.checkpoint'
    """
    path = folder if folder.name not in ("", "..") else Path(os.path.abspath(folder))
    return path.with_name(f"{path.name}.{ending}")


def parse_options(assignments: Sequence[str]) -> dict[str, Any]:
    """Parse options of a classifier of the form `name=value`.

    A value is JSON, or none, true or false in any case. `1,2` is a tuple of numbers; anything else
    is a str. `name.key=value` sets one value of an option that is a dict. `classes=FILE.json` is a
    hierarchy of classes: a JSON object from child to parent.

    Examples
    --------
    >>> parse_options(["shrinkage=20", "ngrams=1,2", "stop_words=english", "analyzer=None"])
    {'shrinkage': 20, 'ngrams': (1, 2), 'stop_words': 'english', 'analyzer': None}
    >>> parse_options(["wce.correlation=chi_square", "wce.max_dims=none"])
    {'wce': {'correlation': 'chi_square', 'max_dims': None}}
    """
    pairs = [_split_assignment(text, "--set", "name=value") for text in assignments]
    if "vectors" in dict(pairs):
        raise InputError("--set vectors: vectors are a file", hint="use --vectors FILE instead")
    if any(name.partition(".")[0] == "other" for name, _ in pairs):
        raise InputError(
            "--set other: embeddings of other tasks are files", hint="use --also FILE instead"
        )
    options: dict[str, Any] = {}
    for name, text in pairs:
        outer, _, key = name.partition(".")
        target = options.setdefault(outer, {}) if key else options
        if not isinstance(target, dict):
            raise InputError(
                f"--set {name}: {outer} is already {target!r}",
                hint=f"set either {outer} or {name}, not both",
            )
        target[key or name] = _parse_value_of(key or name, text)
    return options


def parse_grid(assignments: Sequence[str]) -> dict[str, list[Any]] | None:
    """Parse the values to choose from of the form `name=value,value`, or return None if empty.

    Each value is parsed as in `parse_options`. Values of ngrams and characters are 1 or 1-2. A JSON
    list is accepted, too.

    Examples
    --------
    >>> parse_grid(["C=0.1,1", "ngrams=1,1-2", "weighting=tfidf,bm25"])
    {'C': [0.1, 1], 'ngrams': [(1, 1), (1, 2)], 'weighting': ['tfidf', 'bm25']}
    """
    pairs = [_split_assignment(text, "--grid", "name=value,value") for text in assignments]
    return {name: _parse_choices(name, text) for name, text in pairs} or None


def parse_named_files(assignments: Sequence[str]) -> dict[str, Path]:
    """Parse files of the form `FILE` or `NAME=FILE`.

    The default name is the stem of the file.

    Examples
    --------
    >>> files = parse_named_files(["old/news.wce", "b=c.wce"])
    >>> {name: path.as_posix() for name, path in files.items()}
    {'news': 'old/news.wce', 'b': 'c.wce'}
    """
    files: dict[str, Path] = {}
    for text in assignments:
        before, sign, after = text.partition("=")
        path = Path(after if sign else text)
        name = before.strip() if sign else path.stem
        if name in files:
            raise InputError(
                f"--also has two files with the name {name!r}: {files[name]} and {path}",
                hint=f"use --also NAME={path} to name one of them",
            )
        files[name] = path
    return files


def parse_seconds(text: str) -> float | None:
    """Parse a duration such as 90s, 10m, 1h or 1h30m, or return None for none.

    Examples
    --------
    >>> parse_seconds("1h30m")
    5400.0
    """
    lowered = text.strip().lower()
    if lowered == "none":
        return None
    if not re.fullmatch(r"(\d+(\.\d+)?[smh])+|\d+(\.\d+)?", lowered):
        raise typer.BadParameter(f"{text!r}: expected a duration such as 90s, 10m or 1h, or none")
    numbers = re.findall(r"([\d.]+)([smh]?)", lowered)
    return float(sum(float(number) * _SECONDS_PER_UNIT[unit or "s"] for number, unit in numbers))


def _split_assignment(text: str, option: str, expected: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip().replace(".", "_", 1).isidentifier():
        raise typer.BadParameter(f"{option} {text!r}: expected {expected}")
    return name.strip(), value.strip()


def _parse_choices(name: str, text: str) -> list[Any]:
    values = _parse_value(text) if text.startswith("[") else None
    if isinstance(values, list):
        return [tuple(value) if isinstance(value, list) else value for value in values]
    return [_parse_value_of(name, choice.strip()) for choice in text.split(",")]


def _parse_value_of(name: str, text: str) -> Any:  # noqa: ANN401
    if name == "classes" and text.endswith(".json"):
        return _read_hierarchy(Path(text))
    is_range = name == "ngrams" or (name == "characters" and text[:1].isdigit())
    return parse_ngrams(text) if is_range and text != "auto" else _parse_value(text)


def _read_hierarchy(path: Path) -> dict[str, Any]:
    """Read a hierarchy of classes and refuse a child with two parents."""
    from wordclass.storage import files as storage

    def to_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        parents: dict[str, Any] = {}
        for child, parent in pairs:
            if child in parents:
                raise ValueError(f"{child!r} has two parents; expected one")
            parents[child] = parent
        return parents

    with storage.as_format_error(path, "not a hierarchy of classes in JSON"):
        hierarchy = json.loads(storage.read_content(path), object_pairs_hook=to_dict)
        if not isinstance(hierarchy, dict):
            kind = type(hierarchy).__name__
            raise ValueError(f"a {kind}; expected an object from child to parent")
    return hierarchy


def _parse_value(text: str) -> Any:  # noqa: ANN401 - any value that JSON can express
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    for candidate in (text, f"[{text}]"):
        with suppress(ValueError, RecursionError):
            value = json.loads(candidate)
            return value if candidate == text else tuple(value) or text
    return text
