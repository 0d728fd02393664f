"""The map of terms in units of a drawing, its names where none covers another; and as SVG."""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from wordclass.arrays import Floats
from wordclass.experiment.term_map import Panel, TermMap
from wordclass.report.page import Markup, embedded_json, tag

SIDE = 1000  # units of a drawing
LABEL = 15  # height of a letter
_MARGIN = 30
_THUMB = 240
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


def in_units(panel: Panel, side: float = SIDE, margin: float = _MARGIN) -> Floats:
    """Return the places (n_terms, 2) of a panel in units of a drawing, whose y points downwards."""
    flipped = panel.places * (1, -1) + (0, 1)
    scaled: Floats = margin + flipped * (side - 2 * margin)
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
    places = in_units(panel)
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


def large_panel(term_map: TermMap, panel: Panel) -> Markup:
    """Draw a panel with a point per term; the name of a term shows when the mouse rests on it."""
    points = []
    for term, column, (x, y) in zip(
        term_map.terms, term_map.class_of.tolist(), in_units(panel), strict=True
    ):
        title = tag("title", f"{term} ({term_map.classes[column]})")
        points.append(tag("circle", title, class_=f"k{column}", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5))
    labels = [
        tag("text", name, class_=f"k{column}", x=x, y=y, display=None if is_shown else "none")
        for column, (name, (x, y, is_shown)) in enumerate(
            zip(term_map.classes, _label_values(term_map, panel), strict=True)
        )
    ]
    return tag(
        "svg",
        tag("g", points, class_="points"),
        tag("g", labels, class_="labels", aria_hidden="true"),
        tag("g", class_="marks", aria_hidden="true"),
        id="map",
        viewBox=f"0 0 {SIDE} {SIDE}",
        role="img",
        aria_label=f"Map of {len(term_map.terms)} terms, colored by class: {panel.title}",
    )


def small_panel(term_map: TermMap, panel: Panel) -> Markup:
    """Draw a panel as one path per class: a picture to compare, without names."""
    places = in_units(panel, _THUMB, margin=8)
    paths = []
    for column in range(len(term_map.classes)):
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places[term_map.class_of == column])
        paths.append(tag("path", d=dots, class_=f"k{column}"))
    return tag("svg", paths, viewBox=f"0 0 {_THUMB} {_THUMB}", role="img", aria_label=panel.title)


def map_values(term_map: TermMap) -> Markup:
    """Write down for the script what it needs to move, find and name the points."""
    values = {
        "terms": term_map.terms,
        "classes": term_map.classes,
        "classOf": term_map.class_of.tolist(),
        "panels": [
            {
                "title": panel.title,
                "places": in_units(panel).round(1).tolist(),
                "labels": _label_values(term_map, panel),
            }
            for panel in term_map.panels
        ],
    }
    return embedded_json(values, "map-values")


def _label_values(term_map: TermMap, panel: Panel) -> list[tuple[float, float, int]]:
    labels = class_labels(term_map, panel)
    return [(round(box.x, 1), round(box.y, 1), int(shown)) for box, shown in labels]
