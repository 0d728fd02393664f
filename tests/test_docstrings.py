"""Docstrings of everything that users reach from `wc.*` follow numpydoc.

`python tests/test_docstrings.py embedding.` lists what is missing below a prefix.
"""

import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wordclass as wc
from wordclass import catalogue

UNFINISHED = Path(__file__).with_name("unfinished_docstrings.txt")

# numpydoc explains the codes in numpydoc.validate.ERROR_MSGS
REQUIRED = {
    "GL03", "GL05", "GL06", "GL07", "GL08", "GL10",  # layout and sections
    "SS01", "SS02", "SS03", "SS04", "SS05", "SS06",  # summary
    "PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10",  # parameters
    "RT01", "RT03", "RT04", "RT05", "YD01",  # returned and yielded values
    "SA02", "SA03", "SA04", "EX01",  # references and examples
}  # fmt: skip

# modules that need an extra, and the package that it brings
EXTRA_MODULES = {"torch": "torch", "dask": "dask", "spark": "pyspark"}

# what public functions return
RESULT_TYPES = {
    "wordclass.classifiers.tuning": ["Tuned"],
    "wordclass.decision.explanation": ["Explanation"],
    "wordclass.decision.measures": ["ClassScores", "Scores"],
    "wordclass.decision.predictions": ["Predictions"],
    "wordclass.decision.prior_shift": ["PriorShift"],
    "wordclass.embedding.counts": ["WordClassCounts"],
}


def is_ours(module_name: str) -> bool:
    return module_name.split(".")[0] == "wordclass"


def public_roots() -> Iterator[Any]:
    for name in wc.__all__:
        yield getattr(wc, name)
    for name, package in EXTRA_MODULES.items():
        if importlib.util.find_spec(package):
            module = getattr(wc, name)
            for member in module.__all__:
                yield getattr(module, member)
    for name in catalogue.names("classifiers"):
        yield type(wc.classifier(name))
    for module_name, type_names in RESULT_TYPES.items():
        for type_name in type_names:
            yield getattr(importlib.import_module(module_name), type_name)


def public_members(owner: type) -> Iterator[Any]:
    """Yield the functions and properties that our classes define without an underscore."""
    for base in owner.__mro__:
        if not is_ours(base.__module__):
            continue
        for name, member in vars(base).items():
            if name.startswith("_"):
                continue
            if isinstance(member, classmethod | staticmethod):
                member = member.__func__
            function = member.fget if isinstance(member, property) else member
            if inspect.isfunction(function) and is_ours(function.__module__):
                yield member


def short_name(thing: Any) -> str:
    """Return the room and the qualified name: "embedding.WordClassEmbeddings.fit"."""
    function = thing.fget if isinstance(thing, property) else thing
    room = function.__module__.split(".")[1]
    return f"{room}.{function.__qualname__}"


def public_things() -> dict[str, Any]:
    things = {}
    for root in public_roots():
        things[short_name(root)] = root
        if inspect.isclass(root):
            for member in public_members(root):
                things.setdefault(short_name(member), member)
    return things


def missing_parts(thing: Any) -> list[str]:
    """Return what numpydoc finds wrong with a docstring."""
    from numpydoc.docscrape import get_doc_object
    from numpydoc.validate import validate

    errors = validate(get_doc_object(thing))["errors"]
    return [f"{code} {message}" for code, message in errors if code in REQUIRED]


def unfinished_names() -> set[str]:
    lines = UNFINISHED.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


@pytest.fixture(scope="module")
def problems():
    pytest.importorskip("numpydoc")
    return {name: missing_parts(thing) for name, thing in public_things().items()}


def test_everything_public_is_documented(problems):
    incomplete = {name: parts for name, parts in problems.items() if parts}
    report = [f"{name}: {'; '.join(parts)}" for name, parts in sorted(incomplete.items())
              if name not in unfinished_names()]  # fmt: skip
    assert not report, "\n".join(report)


def test_names_that_are_documented_leave_the_list_of_unfinished_ones(problems):
    if not all(map(importlib.util.find_spec, EXTRA_MODULES.values())):
        pytest.skip("not every extra is installed")
    incomplete = {name for name, parts in problems.items() if parts}
    finished = sorted(unfinished_names() - incomplete)
    assert not finished, f"remove from {UNFINISHED.name}: {', '.join(finished)}"


if __name__ == "__main__":
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    for public_name, public_thing in sorted(public_things().items()):
        if public_name.startswith(prefix):
            for part in missing_parts(public_thing):
                sys.stdout.write(f"{public_name}: {part}\n")
