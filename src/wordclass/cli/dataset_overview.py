"""What data sets there are, which of them are here, and how to get the others."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordclass import catalogue
from wordclass.tables import align_columns

_WIDTH = 96
_SIZES = ("n_train", "n_test", "n_classes")


def look_up(name: str, home: Path) -> dict[str, Any]:
    """Gather what can be told of a data set without reading it.

    `places` are the files and folders that hold it; none where it is not here, or is built.
    """
    entry = catalogue.entry("datasets", name)
    source, places = entry.SOURCE, entry.SOURCE.find(home)
    parameters = [*inspect.signature(entry.load).parameters.values()][1:]
    return {
        "name": source.name,
        "title": source.title,
        **{key: getattr(source.sizes, key, None) for key in _SIZES},
        "license": source.license,
        "url": source.url,
        "is_here": source.is_built or bool(places),
        "places": [str(place) for place in places],
        "how_to_get": source.how_to_get,
        "can_be_downloaded": source.is_complete_download,
        "is_verified": source.is_verified_here,
        "options": {each.name: each.default for each in parameters},
    }


def look_up_all(home: Path) -> list[dict[str, Any]]:
    """Gather the facts about all data sets, sorted by name."""
    return [look_up(name, home) for name in catalogue.names("datasets")]


def to_table(datasets: Sequence[dict[str, Any]]) -> str:
    """Write a line with the numbers of each data set, and below it what else to know."""
    width = max(len(facts["name"]) for facts in datasets)
    lines = [f"{'name':<{width}}  {'train':>9}  {'test':>9}  {'classes':>7}  here"]
    for facts in datasets:
        train, test, classes = _numbers(facts)
        name, where = facts["name"], _where(facts)
        lines.append(f"{name:<{width}}  {train:>9}  {test:>9}  {classes:>7}  {where}")
        more = [facts["title"], f"license: {facts['license']}"]
        if not facts["is_here"]:
            more.append(facts["how_to_get"])
        lines += align_columns([("  ", each) for each in more], _WIDTH)
    return "\n".join(lines)


def to_text(facts: dict[str, Any], home: Path) -> str:
    """Write all there is to know of one data set."""
    train, test, classes = _numbers(facts)
    is_built = facts["is_here"] and not facts["places"]
    known = {
        "name": facts["name"],
        "what": facts["title"],
        "published": f"{train} training, {test} test documents, {classes} classes",
        "license": facts["license"],
        "page": facts["url"],
        "here": _where(facts),
        "how to get": facts["how_to_get"],
        "put it into": "" if is_built else f"{home / facts['name']}",
        "options": ", ".join(f"{name}={value!r}" for name, value in facts["options"].items()),
        "checked": "on the real corpus" if facts["is_verified"] else "on samples only",
    }
    return "\n".join(align_columns([row for row in known.items() if row[1]], _WIDTH))


def _numbers(facts: dict[str, Any]) -> list[str]:
    return ["-" if facts[key] is None else f"{facts[key]:,}" for key in _SIZES]


def _where(facts: dict[str, Any]) -> str:
    if not facts["is_here"]:
        return "no"
    first, *more = facts["places"] or ["yes, built when asked for"]
    return f"{first} and {len(more):,} more" if more else f"{first}"
