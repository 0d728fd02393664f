"""Arguments and options that several commands have, and how their values are read."""

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from wordclass.corpus.documents import Label
from wordclass.errors import InputError

Output = Annotated[Path, "--output", "-o", "Where to write."]

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_WORDS = {"true": True, "false": False, "none": None, "null": None}


def ngrams(given: str) -> tuple[int, int]:
    """Read the sizes of n-grams: one number or two."""
    sizes = given.strip("[] ").replace("-", ",").split(",")
    if not all(size.strip().isdecimal() for size in sizes) or len(sizes) > 2:
        raise InputError(f"--ngrams is {given!r}; expected one or two numbers, such as 1,2")
    return int(sizes[0]), int(sizes[-1])


def stop_words(given: str | None, encoding: str) -> str | list[str] | None:
    """Read stop words: the name of a list, or a file with a word per line."""
    if given is None or given == "english":
        return given
    from wordclass.corpus.lines import decode_lines

    return "".join(decode_lines(Path(given), encoding)).split()


def class_named(name: str, classes: Sequence[Label]) -> Label:
    """Find a class: on the command line it is a str, also where it is an int in the file."""
    from wordclass.corpus.labels import describe_unknown_name

    as_text = {str(each): each for each in classes}
    if name not in as_text:
        raise InputError(describe_unknown_name("class", name, classes))
    return as_text[name]


def beside(output: Path, ending: str) -> Path:
    """Return the name of a file beside the folder of a model, which holds no others.

    Examples
    --------
    >>> beside(Path("models/news"), "checkpoint").as_posix()
    'models/news.checkpoint'
    """
    place = output if output.name not in ("", "..") else Path(os.path.abspath(output))
    return place.with_name(f"{place.name}.{ending}")


def named_values(given: Sequence[str]) -> dict[str, Any]:
    """Read options of a classifier, given as `name=value`.

    A value is JSON, or none, true or false in any case; `1,2` is a tuple of numbers; anything
    else is a str. `name.key=value` is one value of an option that is a dict; `classes=FILE.json` is
    a hierarchy of classes: an object of JSON, from child to parent.

    Examples
    --------
    >>> named_values(["shrinkage=20", "ngrams=1,2", "stop_words=english", "analyzer=None"])
    {'shrinkage': 20, 'ngrams': (1, 2), 'stop_words': 'english', 'analyzer': None}
    >>> named_values(["wce.correlation=chi_square", "wce.max_dims=none"])
    {'wce': {'correlation': 'chi_square', 'max_dims': None}}
    """
    pairs = [_named(each, "--set", "name=value") for each in given]
    if "vectors" in dict(pairs):
        raise InputError("vectors are a file: give it by --vectors, not by --set")
    if any(name.partition(".")[0] == "other" for name, _ in pairs):
        raise InputError("embeddings of other tasks are files: give each by --also, not by --set")
    values: dict[str, Any] = {}
    for name, value in pairs:
        outer, _, key = name.partition(".")
        inside = values.setdefault(outer, {}) if key else values
        if not isinstance(inside, dict):
            raise InputError(f"--set {name}: {outer} is {inside!r} already; give one of the two")
        inside[key or name] = _value_of(key or name, value)
    return values


def named_choices(given: Sequence[str]) -> dict[str, list[Any]] | None:
    """Read values to choose from, given as `name=value,value`; None where nothing was given.

    Each value is read as in `named_values`; those of ngrams and of characters are written as 1 or
    1-2. A list of JSON will do too.

    Examples
    --------
    >>> named_choices(["C=0.1,1", "ngrams=1,1-2", "weighting=tfidf,bm25"])
    {'C': [0.1, 1], 'ngrams': [(1, 1), (1, 2)], 'weighting': ['tfidf', 'bm25']}
    """
    pairs = [_named(each, "--grid", "name=value,value") for each in given]
    return {name: _choices(name, value) for name, value in pairs} or None


def named_files(given: Sequence[str]) -> dict[str, Path]:
    """Read files of other tasks, given as `FILE` or `NAME=FILE`; else the stem is the name.

    Examples
    --------
    >>> {name: path.as_posix() for name, path in named_files(["old/news.wce", "b=c.wce"]).items()}
    {'news': 'old/news.wce', 'b': 'c.wce'}
    """
    files: dict[str, Path] = {}
    for each in given:
        name, is_named, path = each.partition("=")
        file = Path(path if is_named else each)
        name = name.strip() if is_named else file.stem
        if name in files:
            told = f"--also gives two files the name {name!r}, {files[name]} and {file}"
            raise InputError(f"{told}; name one of them: --also NAME={file}")
        files[name] = file
    return files


def seconds(given: str) -> float | None:
    """Read a time such as 90s, 10m, 1h or 1h30m; none is None.

    Examples
    --------
    >>> seconds("1h30m")
    5400.0
    """
    written = given.strip().lower()
    if written == "none":
        return None
    if not re.fullmatch(r"(\d+(\.\d+)?[smh])+|\d+(\.\d+)?", written):
        raise typer.BadParameter(f"{given!r}: expected a time such as 90s, 10m or 1h, or none")
    parts = re.findall(r"([\d.]+)([smh]?)", written)
    return float(sum(float(number) * _SECONDS[unit or "s"] for number, unit in parts))


def _named(given: str, option: str, expected: str) -> tuple[str, str]:
    name, is_pair, value = given.partition("=")
    if not is_pair or not name.strip().replace(".", "_", 1).isidentifier():
        raise typer.BadParameter(f"{option} {given!r}: expected {expected}")
    return name.strip(), value.strip()


def _choices(name: str, given: str) -> list[Any]:
    listed = _value(given) if given.startswith("[") else None
    if isinstance(listed, list):
        return [tuple(each) if isinstance(each, list) else each for each in listed]
    return [_value_of(name, each.strip()) for each in given.split(",")]


def _value_of(name: str, given: str) -> Any:  # noqa: ANN401
    if name == "classes" and given.endswith(".json"):
        return _hierarchy(Path(given))
    is_range = name == "ngrams" or (name == "characters" and given[:1].isdigit())
    return ngrams(given) if is_range and given != "auto" else _value(given)


def _hierarchy(path: Path) -> dict[str, Any]:
    """Read a hierarchy of classes: a child that is named twice has two parents."""
    from wordclass.storage import files as storage

    def checked(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for child, parent in pairs:
            if child in found:
                raise ValueError(f"{child!r} has two parents; expected one")
            found[child] = parent
        return found

    with storage.as_format_error(path, "no hierarchy of classes in JSON"):
        found = json.loads(storage.read_content(path), object_pairs_hook=checked)
        if not isinstance(found, dict):
            raise ValueError(f"a {type(found).__name__}; expected an object, from child to parent")
    return found


def _value(given: str) -> Any:  # noqa: ANN401 - whatever JSON can say
    if given.lower() in _WORDS:
        return _WORDS[given.lower()]
    for written in (given, f"[{given}]"):
        with suppress(ValueError, RecursionError):
            value = json.loads(written)
            return value if written == given else tuple(value) or given
    return given
