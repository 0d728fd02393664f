"""Descriptions of the datasets: sizes, licenses, whether they are installed, how to get them."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordclass import catalogue
from wordclass.tables import align_columns

_WIDTH = 96
_SIZES = ("n_train", "n_test", "n_classes")


def look_up(name: str, home: Path) -> dict[str, Any]:
    """Describe a dataset without reading it.

    The value of "places" are the files and folders that contain it. The list is empty if the
    dataset is missing, or if it is built when it is loaded.
    """
    entry = catalogue.entry("datasets", name)
    source = entry.SOURCE
    paths = source.find(home)
    parameters = [*inspect.signature(entry.load).parameters.values()][1:]
    return {
        "name": source.name,
        "title": source.title,
        **{key: getattr(source.sizes, key, None) for key in _SIZES},
        "license": source.license,
        "url": source.url,
        "is_here": source.is_built or bool(paths),
        "places": [str(path) for path in paths],
        "how_to_get": source.how_to_get,
        "can_be_downloaded": source.is_complete_download,
        "is_verified": source.is_verified_here,
        "options": {parameter.name: parameter.default for parameter in parameters},
    }


def look_up_all(home: Path) -> list[dict[str, Any]]:
    """Describe all datasets, sorted by name."""
    return [look_up(name, home) for name in catalogue.names("datasets")]


def to_table(datasets: Sequence[dict[str, Any]]) -> str:
    """Write one line of numbers per dataset, followed by its title, license and source."""
    width = max(len(dataset["name"]) for dataset in datasets)
    lines = [f"{'name':<{width}}  {'train':>9}  {'test':>9}  {'classes':>7}  installed"]
    for dataset in datasets:
        train, test, classes = _format_sizes(dataset)
        name = dataset["name"]
        location = _format_location(dataset)
        lines.append(f"{name:<{width}}  {train:>9}  {test:>9}  {classes:>7}  {location}")
        details = [dataset["title"], f"license: {dataset['license']}"]
        if not dataset["is_here"]:
            details.append(dataset["how_to_get"])
        lines += align_columns([("  ", detail) for detail in details], _WIDTH)
    return "\n".join(lines)


def to_text(dataset: dict[str, Any], home: Path) -> str:
    """Write all facts about one dataset."""
    train, test, classes = _format_sizes(dataset)
    is_built = dataset["is_here"] and not dataset["places"]
    rows = {
        "name": dataset["name"],
        "title": dataset["title"],
        "published sizes": f"{train} training documents, {test} test documents, {classes} classes",
        "license": dataset["license"],
        "page": dataset["url"],
        "installed": _format_location(dataset),
        "how to get": dataset["how_to_get"],
        "folder": "" if is_built else f"{home / dataset['name']}",
        "options": ", ".join(f"{name}={value!r}" for name, value in dataset["options"].items()),
        "tested": "on the real corpus" if dataset["is_verified"] else "on samples only",
    }
    return "\n".join(align_columns([row for row in rows.items() if row[1]], _WIDTH))


def _format_sizes(dataset: dict[str, Any]) -> list[str]:
    return ["-" if dataset[key] is None else f"{dataset[key]:,}" for key in _SIZES]


def _format_location(dataset: dict[str, Any]) -> str:
    if not dataset["is_here"]:
        return "no"
    first, *more = dataset["places"] or ["built in"]
    return f"{first} and {len(more):,} more" if more else f"{first}"
