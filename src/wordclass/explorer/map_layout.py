"""The layout of a map of terms: coordinates of a drawing, and labels that do not overlap."""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from wordclass.arrays import Floats
from wordclass.explorer.term_map import Panel, TermMap

SIDE = 1000  # width and height of a drawing, in units
LETTER_HEIGHT = 15  # of a label, in units
_MARGIN = 30  # units
_LETTER_ASPECT = 0.62  # mean width of a letter divided by its height
_MAX_CLUSTER_DISTANCE = 113  # units between terms of a class that form a cluster


class Box(NamedTuple):
    """A rectangle with its center and size."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: "Box") -> bool:
        """Return True if two boxes share more than an edge."""
        return (
            abs(self.x - other.x) * 2 < self.width + other.width
            and abs(self.y - other.y) * 2 < self.height + other.height
        )

    @property
    def is_inside(self) -> bool:
        """True if the whole box is within the drawing."""
        return (
            abs(self.x - SIDE / 2) * 2 <= SIDE - self.width
            and abs(self.y - SIDE / 2) * 2 <= SIDE - self.height
        )


def text_size(text: str, letter_height: float = LETTER_HEIGHT) -> tuple[float, float]:
    """Return the approximate width and height of a text."""
    return _LETTER_ASPECT * letter_height * len(text) + 6, 1.3 * letter_height


def place(candidates: Iterable[Box], occupied: list[Box]) -> Box | None:
    """Return the first candidate that overlaps no occupied box, and add it to these."""
    for box in candidates:
        if box.is_inside and not any(map(box.overlaps, occupied)):
            occupied.append(box)
            return box
    return None


def around(x: float, y: float, width: float, height: float, reach: float) -> Iterator[Box]:
    """Yield the box at a position, then boxes on circles around it up to the radius `reach`."""
    yield Box(x, y, width, height)
    step = height / 2
    for ring in range(1, int(reach / step) + 1):
        n_boxes = 8 + 4 * ring
        for k in range(n_boxes):
            angle = 2 * math.pi * k / n_boxes - math.pi / 2
            dx = ring * step * math.cos(angle)
            dy = ring * step * math.sin(angle)
            yield Box(x + dx, y + dy, width, height)


def next_to(x: float, y: float, width: float, height: float, gap: float) -> Iterator[Box]:
    """Yield the four boxes next to a point: right, left, above, below."""
    yield Box(x + gap + width / 2, y, width, height)
    yield Box(x - gap - width / 2, y, width, height)
    yield Box(x, y - gap - height / 2, width, height)
    yield Box(x, y + gap + height / 2, width, height)


def to_drawing_units(panel: Panel) -> Floats:
    """Return the positions (n_terms, 2) of a panel in units of a drawing, with y downwards."""
    flipped = panel.places * (1, -1) + (0, 1)
    scaled: Floats = _MARGIN + flipped * (SIDE - 2 * _MARGIN)
    return scaled


def label_position(positions: Floats) -> tuple[float, float, bool]:
    """Return the position of the label of a class whose terms have these positions (k, 2).

    The label is at the top of the densest half of the terms: the top of all terms would depend on
    single outliers, and their mean could lie between two clusters.

    Returns
    -------
    x, y, is_cluster
        The position, and whether these terms are close together.
    """
    if not len(positions):
        return SIDE / 2, SIDE / 2, False
    n_close = max(len(positions) // 2, 1)
    distances = np.linalg.norm(positions[:, None] - positions[None], axis=2)  # (k, k)
    center = int(np.sort(distances, axis=1)[:, :n_close].sum(axis=1).argmin())
    close = np.argsort(distances[center], kind="stable")[:n_close]
    x = float(positions[close, 0].mean())
    y = float(positions[close, 1].min())
    return x, y, bool(distances[center, close].max() < _MAX_CLUSTER_DISTANCE)


def class_labels(
    term_map: TermMap, panel: Panel, letter_height: float = LETTER_HEIGHT
) -> list[tuple[Box, bool]]:
    """Return the box of each class label and whether to show it.

    A label is hidden if there is no space for it, or if the terms of the class form no cluster.
    """
    positions = to_drawing_units(panel)
    occupied: list[Box] = []
    labels = []
    for column, name in enumerate(term_map.classes):
        x, y, is_cluster = label_position(positions[term_map.class_of == column])
        width, height = text_size(name, letter_height)
        # a label at the edge moves inwards
        x = min(max(x, width / 2), SIDE - width / 2)
        preferred = Box(x, y - 0.9 * letter_height, width, height)
        box = None
        if is_cluster:
            box = place(around(*preferred, reach=3 * letter_height), occupied)
        labels.append((box or preferred, box is not None))
    return labels
