"""The term map as SVG within a page: one large panel, and all of them small."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.report.label_placement import Box, Placement, around, heads
from wordclass.report.markup import Markup, embedded_json, tag
from wordclass.report.term_map import Panel, TermMap

_SIDE = 1000  # units of the large panel
_MARGIN = 30
_THUMB = 240
_LABEL = 15  # height of a letter
_LETTER = 0.56  # its mean width, as a share of the height


def large_panel(term_map: TermMap, panel: Panel) -> Markup:
    """Draw a panel with a point a term; the name of a term shows when the mouse rests on it."""
    places = _scaled(panel.places, _SIDE, _MARGIN)
    points = [
        tag(
            "circle",
            tag("title", f"{term} ({term_map.classes[column]})"),
            class_=f"k{column}",
            cx=f"{x:.1f}",
            cy=f"{y:.1f}",
            r=5,
        )
        for term, column, (x, y) in zip(
            term_map.terms, term_map.class_of.tolist(), places.tolist(), strict=True
        )
    ]
    labels = [
        tag("text", name, class_=f"k{column}", x=x, y=y, display=None if has_room else "none")
        for column, (name, (x, y, has_room)) in enumerate(
            zip(term_map.classes, label_places(term_map, panel), strict=True)
        )
    ]
    return tag(
        "svg",
        tag("g", points, class_="points"),
        tag("g", labels, class_="labels", aria_hidden="true"),
        tag("g", class_="marks", aria_hidden="true"),
        id="map",
        viewBox=f"0 0 {_SIDE} {_SIDE}",
        role="img",
        aria_label=f"Map of {len(term_map.terms)} terms, colored by class: {panel.title}",
    )


def small_panel(term_map: TermMap, panel: Panel) -> Markup:
    """Draw a panel as one path a class: a picture to compare, without names."""
    places = _scaled(panel.places, _THUMB, 8)
    paths = []
    for column in range(len(term_map.classes)):
        dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places[term_map.class_of == column])
        paths.append(tag("path", d=dots, class_=f"k{column}"))
    return tag("svg", paths, viewBox=f"0 0 {_THUMB} {_THUMB}", role="img", aria_label=panel.title)


def map_values(term_map: TermMap) -> Markup:
    """Write down for the script what it needs to move, find and name the points."""
    panels = [
        {
            "title": panel.title,
            "places": _scaled(panel.places, _SIDE, _MARGIN).round(1).tolist(),
            "labels": label_places(term_map, panel),
        }
        for panel in term_map.panels
    ]
    values = {
        "terms": term_map.terms,
        "classes": term_map.classes,
        "classOf": term_map.class_of.tolist(),
        "panels": panels,
    }
    return embedded_json(values, "map-values")


def label_places(term_map: TermMap, panel: Panel) -> list[tuple[float, float, int]]:
    """Return the middle of each class's label, and whether to show it: 1 or 0.

    It is not shown where there is no room, or where the terms of the class are all over the map.
    """
    tops = heads(panel.places, term_map.class_of, len(term_map.classes))
    points = _scaled(np.array([(top.x, top.y) for top in tops]), _SIDE, _MARGIN)
    placement = Placement(Box(_SIDE / 2, _SIDE / 2, _SIDE, _SIDE))
    found = []
    for name, head, (x, y) in zip(term_map.classes, tops, points.tolist(), strict=True):
        width = _LETTER * _LABEL * len(name) + 6
        top = y - 0.9 * _LABEL
        # a name at the edge moves inwards
        middle = min(max(x, width / 2), _SIDE - width / 2)
        candidates = around(middle, top, width, 1.3 * _LABEL, reach=3 * _LABEL)
        box = placement.place(candidates) if head.is_gathered else None
        x, y = (middle, top) if box is None else (box.x, box.y)
        found.append((round(x, 1), round(y, 1), int(box is not None)))
    return found


def _scaled(places: Floats, side: float, margin: float) -> Floats:
    """Turn places in the unit square into units of the drawing, whose y points downwards."""
    flipped = places * (1, -1) + (0, 1)
    scaled: Floats = margin + flipped * (side - 2 * margin)
    return scaled
