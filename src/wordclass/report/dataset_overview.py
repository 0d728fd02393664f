"""What data sets there are, which of them are here, and how to get the others."""

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordclass import naming
from wordclass.datasets._source import Source

_WIDTH = 96


@dataclass(frozen=True)
class DatasetFacts:
    """What can be told of a data set without reading it.

    `places` are the files and folders that hold it; none where it is not here, or is built.
    """

    source: Source
    options: dict[str, Any]
    places: list[Path]

    @property
    def is_here(self) -> bool:
        """Whether it can be loaded at once."""
        return self.source.is_built or bool(self.places)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, for programs."""
        source, sizes = self.source, self.source.sizes
        return {
            "name": source.name,
            "title": source.title,
            "n_train": sizes.n_train if sizes else None,
            "n_test": sizes.n_test if sizes else None,
            "n_classes": sizes.n_classes if sizes else None,
            "license": source.license,
            "url": source.url,
            "is_here": self.is_here,
            "places": [str(place) for place in self.places],
            "how_to_get": source.how_to_get,
            "can_be_downloaded": source.is_complete_download,
            "is_verified": source.is_verified_here,
            "options": self.options,
        }


def look_up(name: str, home: Path) -> DatasetFacts:
    """Gather the facts about one data set."""
    entry = naming.entry("datasets", name)
    parameters = [*inspect.signature(entry.load).parameters.values()][1:]
    options = {each.name: each.default for each in parameters}
    return DatasetFacts(entry.SOURCE, options, entry.SOURCE.find(home))


def look_up_all(home: Path) -> list[DatasetFacts]:
    """Gather the facts about all data sets, sorted by name."""
    return [look_up(name, home) for name in naming.names("datasets")]


def to_table(facts: Sequence[DatasetFacts]) -> str:
    """Write a line with the numbers of each data set, and below it what else to know."""
    width = max(len(each.source.name) for each in facts)
    lines = [f"{'name':<{width}}  {'train':>9}  {'test':>9}  {'classes':>7}  here"]
    for each in facts:
        numbers = "  ".join(_numbers(each.source))
        lines.append(f"{each.source.name:<{width}}  {numbers}  {_where(each)}")
        lines += _indented(each.source.title)
        lines += _indented(f"license: {each.source.license}")
        if not each.is_here:
            lines += _indented(each.source.how_to_get)
    return "\n".join(lines)


def to_text(facts: DatasetFacts, home: Path) -> str:
    """Write all there is to know of one data set."""
    source = facts.source
    train, test, classes = (number.strip() for number in _numbers(source))
    known = {
        "name": source.name,
        "what": source.title,
        "published": f"{train} training, {test} test documents, {classes} classes",
        "license": source.license,
        "page": source.url,
        "here": _where(facts),
        "how to get": source.how_to_get,
        "put it into": "" if source.is_built else f"{home / source.name}",
        "options": ", ".join(f"{name}={value!r}" for name, value in facts.options.items()),
        "checked": "on the real corpus" if source.is_verified_here else "on samples only",
    }
    lines = []
    for name, value in known.items():
        if value:
            first, *rest = _wrapped(value, _WIDTH - 13)
            lines += [f"{name:<13}{first}", *(f"{'':13}{line}" for line in rest)]
    return "\n".join(lines)


def _numbers(source: Source) -> tuple[str, str, str]:
    if source.sizes is None:
        return f"{'-':>9}", f"{'-':>9}", f"{'-':>7}"
    sizes = source.sizes
    return f"{sizes.n_train:>9,}", f"{sizes.n_test:>9,}", f"{sizes.n_classes:>7,}"


def _where(facts: DatasetFacts) -> str:
    if facts.source.is_built:
        return "yes, built when asked for"
    if not facts.places:
        return "no"
    more = f" and {len(facts.places) - 1:,} more" if len(facts.places) > 1 else ""
    return f"{facts.places[0]}{more}"


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in _wrapped(text, _WIDTH - 4)]


def _wrapped(text: str, width: int) -> list[str]:
    """Break between words only: paths and addresses stay whole."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
