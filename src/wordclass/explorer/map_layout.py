"""The map of terms in units of a drawing, its names where none covers another."""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from wordclass.arrays import Floats
from wordclass.explorer.term_map import Panel, TermMap

SIDE = 1000  # units of a drawing
LABEL = 15  # height of a letter
_MARGIN = 30
_LETTER = 0.62  # mean width of a letter, as a share of its height
_FAR = 113  # terms of a class so far apart make no cluster


class Box(NamedTuple):
    """A rectangle, given by its middle and its size."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: "Box") -> bool:
        """Whether two boxes share more than an edge."""
        return (
            abs(self.x - other.x) * 2 < self.width + other.width
            and abs(self.y - other.y) * 2 < self.height + other.height
        )

    @property
    def is_inside(self) -> bool:
        """Whether all of it is within the drawing."""
        return (
            abs(self.x - SIDE / 2) * 2 <= SIDE - self.width
            and abs(self.y - SIDE / 2) * 2 <= SIDE - self.height
        )


def size_of(text: str, letter: float = LABEL) -> tuple[float, float]:
    """Return about how wide and high a text is, whose letters are so high."""
    return _LETTER * letter * len(text) + 6, 1.3 * letter


def place(candidates: Iterable[Box], taken: list[Box]) -> Box | None:
    """Return the first candidate that has room, and add it to those that are taken."""
    for box in candidates:
        if box.is_inside and not any(map(box.overlaps, taken)):
            taken.append(box)
            return box
    return None


def around(x: float, y: float, width: float, height: float, reach: float) -> Iterator[Box]:
    """Give the place itself, then places around it, further and further, up to `reach`."""
    yield Box(x, y, width, height)
    step = height / 2
    for ring in range(1, int(reach / step) + 1):
        n_places = 8 + 4 * ring
        for k in range(n_places):
            angle = 2 * math.pi * k / n_places - math.pi / 2
            dx, dy = ring * step * math.cos(angle), ring * step * math.sin(angle)
            yield Box(x + dx, y + dy, width, height)


def beside(x: float, y: float, width: float, height: float, gap: float) -> Iterator[Box]:
    """Give the four places next to a point: right, left, above, below."""
    yield Box(x + gap + width / 2, y, width, height)
    yield Box(x - gap - width / 2, y, width, height)
    yield Box(x, y - gap - height / 2, width, height)
    yield Box(x, y + gap + height / 2, width, height)


def to_drawing_units(panel: Panel) -> Floats:
    """Return the places (n_terms, 2) of a panel in units of a drawing, whose y points downwards."""
    flipped = panel.places * (1, -1) + (0, 1)
    scaled: Floats = _MARGIN + flipped * (SIDE - 2 * _MARGIN)
    return scaled


def head(places: Floats) -> tuple[float, float, bool]:
    """Return where to write the name of a class whose terms have these places (k, 2).

    That is the top of the half of its terms that is closest: the top of all of them would be that
    of a stray one, and their mean that between two clusters. Also returned is whether this half is
    close together.
    """
    if not len(places):
        return SIDE / 2, SIDE / 2, False
    n_close = max(len(places) // 2, 1)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)  # (k, k)
    heart = int(np.sort(gaps, axis=1)[:, :n_close].sum(axis=1).argmin())
    close = np.argsort(gaps[heart], kind="stable")[:n_close]
    x, y = places[close, 0].mean(), places[close, 1].min()
    return float(x), float(y), bool(gaps[heart, close].max() < _FAR)


def class_labels(term_map: TermMap, panel: Panel, letter: float = LABEL) -> list[tuple[Box, bool]]:
    """Return the place of each class's name, in letters so high, and whether to show it.

    It is not shown where there is no room, or where the terms of the class are all over the map.
    """
    places = to_drawing_units(panel)
    taken: list[Box] = []
    found = []
    for column, name in enumerate(term_map.classes):
        x, y, is_gathered = head(places[term_map.class_of == column])
        width, height = size_of(name, letter)
        # a name at the edge moves inwards
        wanted = Box(min(max(x, width / 2), SIDE - width / 2), y - 0.9 * letter, width, height)
        box = place(around(*wanted, reach=3 * letter), taken) if is_gathered else None
        found.append((box or wanted, box is not None))
    return found
