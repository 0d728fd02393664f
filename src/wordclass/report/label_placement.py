"""Where to write labels so that none covers another."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from wordclass.arrays import Floats, Ints

_FAR = 0.12  # of the side of the square: terms of a class so far apart make no cluster


@dataclass(frozen=True)
class Box:
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

    def is_within(self, other: "Box") -> bool:
        """Whether the other box holds all of this one."""
        return (
            abs(self.x - other.x) * 2 <= other.width - self.width
            and abs(self.y - other.y) * 2 <= other.height - self.height
        )


@dataclass
class Placement:
    """Labels that have a place within bounds; they are given out first come, first served."""

    bounds: Box
    taken: list[Box] = field(default_factory=list)

    def place(self, candidates: Iterable[Box]) -> Box | None:
        """Take the first of the candidates that covers no label and is within the bounds."""
        for box in candidates:
            if box.is_within(self.bounds) and not any(map(box.overlaps, self.taken)):
                self.taken.append(box)
                return box
        return None


def around(x: float, y: float, width: float, height: float, reach: float) -> Iterator[Box]:
    """Give the place itself, then places around it, further and further, up to `reach`."""
    yield Box(x, y, width, height)
    step = height / 2
    for ring in range(1, int(reach / step) + 1):
        n_places = 8 + 4 * ring
        for k in range(n_places):
            angle = 2 * math.pi * k / n_places + math.pi / 2
            yield Box(
                x + ring * step * math.cos(angle),
                y + ring * step * math.sin(angle),
                width,
                height,
            )


def beside(x: float, y: float, width: float, height: float, gap: float) -> Iterator[Box]:
    """Give the four places next to a point: right, left, above, below."""
    yield Box(x + gap + width / 2, y, width, height)
    yield Box(x - gap - width / 2, y, width, height)
    yield Box(x, y + gap + height / 2, width, height)
    yield Box(x, y - gap - height / 2, width, height)


@dataclass(frozen=True)
class Head:
    """Where to write the name of a class: above the half of its terms that is closest, y upwards.

    The top of all its terms would be that of a stray one, and the mean of two clusters between
    them. Where not even that half is close together, `is_gathered` is False.
    """

    x: float
    y: float
    is_gathered: bool


def heads(places: Floats, class_of: Ints, n_classes: int) -> list[Head]:
    """Return the head of each class of terms with places (n_terms, 2) in the unit square."""
    return [_head(places[class_of == column]) for column in range(n_classes)]


def _head(places: Floats) -> Head:
    if not len(places):
        return Head(0.5, 0.5, is_gathered=False)
    n_close = max(len(places) // 2, 1)
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)  # (k, k)
    heart = int(np.sort(gaps, axis=1)[:, :n_close].sum(axis=1).argmin())
    close = np.argsort(gaps[heart], kind="stable")[:n_close]
    is_gathered = bool(gaps[heart, close].max() < _FAR)
    x, y = places[close, 0].mean(), places[close, 1].max()
    return Head(float(x), float(y), is_gathered)
