"""Pictures: the map of terms, and which classes are taken for which.

Needs matplotlib: ask `catalogue.extra` for it before this is imported.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from wordclass.arrays import Floats, Ints
from wordclass.corpus.documents import Label
from wordclass.errors import InputError
from wordclass.explorer.colors import palette
from wordclass.explorer.map_layout import (
    LABEL,
    SIDE,
    Box,
    beside,
    class_labels,
    place,
    size_of,
    to_drawing_units,
)
from wordclass.explorer.term_map import N_NEIGHBORS, Panel, TermMap
from wordclass.storage import files
from wordclass.tables import one_line

_INK, _QUIET, _PAPER = "#1b1f24", "#5c6670", "#ffffff"
_WIDTH, _HEIGHT = 10.6, 8.0  # inches of the map
_CENTERED: dict[str, Any] = {"ha": "center", "va": "center"}
# a dollar sign would start a formula
_HALO = [withStroke(linewidth=2, foreground=_PAPER)]
_HALOED: dict[str, Any] = {**_CENTERED, "path_effects": _HALO, "parse_math": False}
_N_TERMS = 3  # written out for each class, where there is room
_MOST = 40  # classes of a confusion matrix that are drawn all
_CHOSEN = 30  # of more classes, the most confused


def draw_map(term_map: TermMap, title: str, path: Path) -> None:
    """Draw the panel of the word-class vectors large, the first and the last beside it."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT), facecolor=_PAPER)
    subtitle = (
        f"{len(term_map.terms):,} terms, the most telling ones of {len(term_map.classes)} classes, "
        f"placed by t-SNE.  In percent: how many of a term's {N_NEIGHBORS} nearest neighbors are "
        "of its class."
    )
    figure.text(0.03, 0.96, title, size=15, weight="bold", color=_INK, va="center")
    figure.text(0.03, 0.926, subtitle, size=8, color=_QUIET, va="center")
    without, by_class, both = term_map.panels
    # square panels: heights follow from widths, as shares of the figure
    ratio = _WIDTH / _HEIGHT
    bottom, wide, narrow = 0.05, 0.62, 0.275
    top = bottom + wide * ratio
    large = figure.add_axes((0.03, bottom, wide, wide * ratio))
    upper = figure.add_axes((0.695, top - narrow * ratio, narrow, narrow * ratio))
    lower = figure.add_axes((0.695, bottom, narrow, narrow * ratio))
    _draw_panel(large, term_map, by_class, dot=13, size=10)
    _draw_panel(upper, term_map, without, dot=5, size=8.5)
    _draw_panel(lower, term_map, both, dot=5, size=8.5)
    taken = write_classes(large, term_map, by_class, LABEL, size=7)
    n_written = [0] * len(term_map.classes)
    for term, column, at in zip(
        term_map.terms, term_map.class_of, to_drawing_units(by_class), strict=True
    ):
        n_written[column] += 1  # terms are in the order in which their class chose them
        if n_written[column] <= _N_TERMS:
            write_term(large, term, at, taken, letter=10, size=5.2, color=_INK)
    figure.savefig(path, dpi=200)


def _draw_panel(axes: Axes, term_map: TermMap, panel: Panel, dot: float, size: float) -> None:
    draw_terms(axes, term_map, to_drawing_units(panel), dot)
    title: dict[str, Any] = {"size": size, "weight": "bold", "color": _INK, "pad": 5}
    axes.set_title(panel.title, loc="left", **title)
    axes.set_title(f"{panel.neighbor_share:.0%}", loc="right", **title)
    axes.set_xlabel(panel.caption, loc="left", size=6.5, color=_QUIET, labelpad=5)


def marker(column: int) -> str:
    """Return the marker of a class: neighbors in color have different ones."""
    return "osD^v"[column % 5]


def draw_terms(axes: Axes, term_map: TermMap, places: Floats, dot: float) -> None:
    """Draw terms at places (n_terms, 2) in units, in the color of their class and its marker."""
    for column, color in enumerate(palette(len(term_map.classes))):
        x, y = places[term_map.class_of == column].T
        style: dict[str, Any] = {"color": color, "linewidths": 0, "alpha": 0.85}
        # thousands of points take megabytes as drawings
        axes.scatter(x, y, s=dot, marker=marker(column), rasterized=True, **style)
    axes.set(xlim=(0, SIDE), ylim=(SIDE, 0), xticks=[], yticks=[], box_aspect=1)
    for spine in axes.spines.values():
        spine.set(color="#d5dae0", linewidth=0.8, visible=True)


def write_classes(
    axes: Axes, term_map: TermMap, panel: Panel, letter: float, size: float
) -> list[Box]:
    """Write the classes where most of their terms are, and return the places that are taken.

    Letters are so many units high, which are `size` points.
    """
    labels = class_labels(term_map, panel, letter)
    colors = palette(len(labels))
    for name, color, (box, is_shown) in zip(term_map.classes, colors, labels, strict=True):
        if is_shown:
            axes.text(box.x, box.y, name, size=size, weight="bold", color=color, **_HALOED)
    return [box for box, is_shown in labels if is_shown]


def write_term(
    axes: Axes, term: str, at: Floats, taken: list[Box], letter: float, size: float, color: str
) -> None:
    """Write a term beside its place, if there is room."""
    x, y = at
    if found := place(beside(x, y, *size_of(term, letter), gap=letter / 2), taken):
        axes.text(found.x, found.y, term, size=size, color=color, **_HALOED)


def draw_confusion(
    path: Path, true: Sequence[Any], predicted: Sequence[Any], classes: Sequence[Label]
) -> None:
    """Draw a row per true class and a column per predicted one, shares of the row in the cells.

    Of more than 40 classes, the 30 with most documents on the wrong side are drawn. Labels outside
    the classes are left out.
    """
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(f"{path}: a picture ends in .png, .pdf or .svg")
    counts = confusion_counts(true, predicted, classes)
    chosen = most_confused(counts)
    shares = row_shares(counts)[np.ix_(chosen, chosen)]
    names = [_short(one_line(classes[j])) for j in chosen]
    size = 3.0 + 0.36 * len(names)
    figure = Figure(figsize=(size + 1, size), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="predicted class", ylabel="true class")
    for (row, column), share in np.ndenumerate(shares):
        if share >= 0.01:
            color = "white" if share > 0.5 else "black"
            axes.text(column, row, f"{100 * share:.0f}", color=color, fontsize=7, **_CENTERED)
    figure.colorbar(image, ax=axes, shrink=0.6, label="share of the true class")
    title = "Percent of each true class by predicted class"
    if len(names) < len(classes):
        title += f": the {len(names)} most confused of {len(classes)}"
    axes.set_title(title)
    save_figure(figure, path, dpi=130)


def save_figure(figure: Figure, path: Path, **options: Any) -> None:  # noqa: ANN401 - of savefig
    """Write a figure in the format that the ending of the file names."""
    content = io.BytesIO()  # matplotlib stumbles over a full disk itself where it writes a PDF
    figure.savefig(content, format=path.suffix.lower()[1:], **options)
    with files.open_for_writing(path) as stream:
        stream.write(content.getbuffer())


def confusion_counts(
    true: Sequence[Any], predicted: Sequence[Any], classes: Sequence[Label]
) -> Ints:
    """Count documents (m, m) by true and predicted class."""
    column = {label: j for j, label in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), np.int64)
    for given, found in zip(true, predicted, strict=True):
        if given in column:
            counts[column[given], column[found]] += 1
    return counts


def most_confused(counts: Ints) -> list[int]:
    """Return the classes to draw, in their order."""
    if len(counts) <= _MOST:
        return list(range(len(counts)))
    wrong = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    return sorted(np.argsort(-wrong, kind="stable")[:_CHOSEN].tolist())


def row_shares(counts: Ints) -> Floats:
    """Divide each row by its sum; a class without documents has zeros."""
    totals = counts.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    return shares


def _short(name: str) -> str:
    plain = name.replace("$", r"\$").encode("utf-8", "replace").decode("utf-8")
    return plain if len(plain) <= 28 else plain[:27] + "…"
