"""Draw pictures: the map of terms, and the confusion matrix.

This module needs matplotlib. Call `catalogue.import_extra` before importing it.
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
    LETTER_HEIGHT,
    SIDE,
    Box,
    class_labels,
    next_to,
    place,
    text_size,
    to_drawing_units,
)
from wordclass.explorer.term_map import N_NEIGHBORS, Panel, TermMap
from wordclass.storage import files
from wordclass.tables import one_line

_INK = "#1b1f24"
_QUIET = "#5c6670"
_PAPER = "#ffffff"
_WIDTH_INCHES = 10.6
_HEIGHT_INCHES = 8.0
_CENTERED: dict[str, Any] = {"ha": "center", "va": "center"}
_HALO = [withStroke(linewidth=2, foreground=_PAPER)]
# without parse_math, a dollar sign would start a formula
_WITH_HALO: dict[str, Any] = {**_CENTERED, "path_effects": _HALO, "parse_math": False}
_N_TERMS_PER_CLASS = 3  # written on the map, if there is space
_MAX_CLASSES = 40  # of a complete confusion matrix
_N_MOST_CONFUSED = 30  # classes to draw if there are more


def draw_map(term_map: TermMap, title: str, path: Path) -> None:
    """Draw a map: a large panel of word-class vectors between two small ones."""
    figure = Figure(figsize=(_WIDTH_INCHES, _HEIGHT_INCHES), facecolor=_PAPER)
    subtitle = (
        f"The {len(term_map.terms):,} most discriminative terms of {len(term_map.classes)} "
        f"classes, laid out by t-SNE. Percentages: the share of a term's {N_NEIGHBORS} nearest "
        "neighbors with the same class."
    )
    figure.text(0.03, 0.96, title, size=15, weight="bold", color=_INK, va="center")
    figure.text(0.03, 0.926, subtitle, size=8, color=_QUIET, va="center")
    without, by_class, both = term_map.panels
    # panels are square; widths and heights are shares of the figure
    ratio = _WIDTH_INCHES / _HEIGHT_INCHES
    bottom = 0.05
    wide = 0.62
    narrow = 0.275
    top = bottom + wide * ratio
    large = figure.add_axes((0.03, bottom, wide, wide * ratio))
    upper = figure.add_axes((0.695, top - narrow * ratio, narrow, narrow * ratio))
    lower = figure.add_axes((0.695, bottom, narrow, narrow * ratio))
    _draw_panel(large, term_map, by_class, dot=13, size=10)
    _draw_panel(upper, term_map, without, dot=5, size=8.5)
    _draw_panel(lower, term_map, both, dot=5, size=8.5)
    occupied = write_classes(large, term_map, by_class, LETTER_HEIGHT, size=7)
    positions = to_drawing_units(by_class)
    n_terms = [0] * len(term_map.classes)
    for term, column, position in zip(term_map.terms, term_map.class_of, positions, strict=True):
        n_terms[column] += 1  # terms are in the order in which their class chose them
        if n_terms[column] <= _N_TERMS_PER_CLASS:
            write_term(large, term, position, occupied, letter_height=10, size=5.2, color=_INK)
    figure.savefig(path, dpi=200)


def _draw_panel(axes: Axes, term_map: TermMap, panel: Panel, dot: float, size: float) -> None:
    draw_terms(axes, term_map, to_drawing_units(panel), dot)
    title: dict[str, Any] = {"size": size, "weight": "bold", "color": _INK, "pad": 5}
    axes.set_title(panel.title, loc="left", **title)
    axes.set_title(f"{panel.neighbor_share:.0%}", loc="right", **title)
    axes.set_xlabel(panel.caption, loc="left", size=6.5, color=_QUIET, labelpad=5)


def marker(column: int) -> str:
    """Return the marker of a class. Classes with similar colors have different markers."""
    return "osD^v"[column % 5]


def draw_terms(axes: Axes, term_map: TermMap, places: Floats, dot: float) -> None:
    """Draw terms at positions (n_terms, 2) with the color and marker of their class."""
    for column, color in enumerate(palette(len(term_map.classes))):
        x, y = places[term_map.class_of == column].T
        style: dict[str, Any] = {"color": color, "linewidths": 0, "alpha": 0.85}
        # thousands of points would take megabytes as vector graphics
        axes.scatter(x, y, s=dot, marker=marker(column), rasterized=True, **style)
    axes.set(xlim=(0, SIDE), ylim=(SIDE, 0), xticks=[], yticks=[], box_aspect=1)
    for spine in axes.spines.values():
        spine.set(color="#d5dae0", linewidth=0.8, visible=True)


def write_classes(
    axes: Axes, term_map: TermMap, panel: Panel, letter_height: float, size: float
) -> list[Box]:
    """Write the names of classes near their terms.

    Parameters
    ----------
    axes : Axes
        The axes to write on.
    term_map : TermMap
        The map.
    panel : Panel
        The panel of the map that the axes show.
    letter_height : float
        The height of letters in units of the drawing.
    size : float
        The height of letters in points.

    Returns
    -------
    list of Box
        The boxes of the names.
    """
    labels = class_labels(term_map, panel, letter_height)
    colors = palette(len(labels))
    for name, color, (box, is_shown) in zip(term_map.classes, colors, labels, strict=True):
        if is_shown:
            axes.text(box.x, box.y, name, size=size, weight="bold", color=color, **_WITH_HALO)
    return [box for box, is_shown in labels if is_shown]


def write_term(
    axes: Axes,
    term: str,
    position: Floats,
    occupied: list[Box],
    letter_height: float,
    size: float,
    color: str,
) -> None:
    """Write a term next to its position if there is space, and add its box to `occupied`."""
    x, y = position
    width, height = text_size(term, letter_height)
    if box := place(next_to(x, y, width, height, gap=letter_height / 2), occupied):
        axes.text(box.x, box.y, term, size=size, color=color, **_WITH_HALO)


def draw_confusion(
    path: Path, true: Sequence[Any], predicted: Sequence[Any], classes: Sequence[Label]
) -> None:
    """Draw the confusion matrix as shares of each true class.

    If there are more than 40 classes, the 30 classes with most errors are drawn. Labels that are
    not classes are ignored.
    """
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise InputError(
            f"{path} is not a picture", expected="a name that ends in .png, .pdf or .svg"
        )
    counts = confusion_counts(true, predicted, classes)
    columns = select_confused_classes(counts)
    shares = row_shares(counts)[np.ix_(columns, columns)]
    names = [_shorten(one_line(classes[j])) for j in columns]
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
    title = "Percentage of each true class by predicted class"
    if len(names) < len(classes):
        title += f": the {len(names)} most confused of {len(classes)}"
    axes.set_title(title)
    save_figure(figure, path, dpi=130)


def save_figure(figure: Figure, path: Path, **options: Any) -> None:  # noqa: ANN401 - of savefig
    """Write a figure in the format of the file's ending."""
    content = io.BytesIO()  # matplotlib fails with unclear errors if it writes to a full disk
    figure.savefig(content, format=path.suffix.lower()[1:], **options)
    with files.open_for_writing(path) as stream:
        stream.write(content.getbuffer())


def confusion_counts(
    true: Sequence[Any], predicted: Sequence[Any], classes: Sequence[Label]
) -> Ints:
    """Count documents (m, m) by true and predicted class."""
    column = {label: j for j, label in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), np.int64)
    for true_label, predicted_label in zip(true, predicted, strict=True):
        if true_label in column:
            counts[column[true_label], column[predicted_label]] += 1
    return counts


def select_confused_classes(counts: Ints) -> list[int]:
    """Return the columns of the classes to draw, in ascending order."""
    if len(counts) <= _MAX_CLASSES:
        return list(range(len(counts)))
    n_errors = counts.sum(axis=0) + counts.sum(axis=1) - 2 * np.diag(counts)
    return sorted(np.argsort(-n_errors, kind="stable")[:_N_MOST_CONFUSED].tolist())


def row_shares(counts: Ints) -> Floats:
    """Divide each row by its sum. The row of a class without documents is zero."""
    totals = counts.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    return shares


def _shorten(name: str) -> str:
    plain = name.replace("$", r"\$").encode("utf-8", "replace").decode("utf-8")
    return plain if len(plain) <= 28 else plain[:27] + "…"
