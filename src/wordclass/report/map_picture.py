"""The term map as a PNG file. The only file that needs matplotlib: import it when that is there."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

from wordclass.report.colors import palette
from wordclass.report.label_placement import Box, Placement, around, beside, heads
from wordclass.report.term_map import Panel, TermMap

_DPI = 200
_WIDTH, _HEIGHT = 10.6, 8.0  # inches
_INK, _QUIET, _PAPER = "#1b1f24", "#5c6670", "#ffffff"
_N_TERMS = 3  # written out for each class, where there is room
_BLANK = 20  # pixels of the large panel that stay free on every side


def draw(term_map: TermMap, title: str, path: Path) -> None:
    """Draw the panel of the word-class vectors large, the first and the last beside it."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT), dpi=_DPI, facecolor=_PAPER)
    canvas = FigureCanvasAgg(figure)
    without, by_class, both = term_map.panels
    figure.text(0.03, 0.96, title, size=15, weight="bold", color=_INK, va="center")
    figure.text(0.03, 0.926, _subtitle(term_map), size=8, color=_QUIET, va="center")
    # square panels: heights follow from widths, as shares of the figure
    ratio = _WIDTH / _HEIGHT
    bottom, wide, narrow = 0.05, 0.62, 0.275
    top = bottom + wide * ratio
    large = figure.add_axes((0.03, bottom, wide, wide * ratio))
    upper = figure.add_axes((0.695, top - narrow * ratio, narrow, narrow * ratio))
    lower = figure.add_axes((0.695, bottom, narrow, narrow * ratio))
    for axes, panel, size in ((large, by_class, 13), (upper, without, 5), (lower, both, 5)):
        _scatter(axes, term_map, panel, size)
        _head(axes, panel, is_large=axes is large)
    canvas.draw()  # type: ignore[no-untyped-call] # from here on, the size of a text can be asked for
    _write_labels(large, canvas, term_map, by_class)
    canvas.print_png(path)  # type: ignore[no-untyped-call]


def _subtitle(term_map: TermMap) -> str:
    n_terms, n_classes = len(term_map.terms), len(term_map.classes)
    return (
        f"{n_terms:,} terms, the most telling ones of {n_classes} classes, placed by t-SNE.  "
        "In percent: how many of a term's 10 nearest neighbors are of its class."
    )


def _scatter(axes: Axes, term_map: TermMap, panel: Panel, size: float) -> None:
    colors = np.array(palette(len(term_map.classes)))
    x, y = panel.places.T
    axes.scatter(x, y, s=size, c=colors[term_map.class_of], linewidths=0, alpha=0.85)
    margin = 0.035
    axes.set(xlim=(-margin, 1 + margin), ylim=(-margin, 1 + margin), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color="#d5dae0", linewidth=0.8)


def _head(axes: Axes, panel: Panel, is_large: bool) -> None:
    size = 10 if is_large else 8.5
    axes.set_title(panel.title, loc="left", size=size, weight="bold", color=_INK, pad=5)
    share = f"{panel.neighbor_share:.0%}"
    axes.set_title(share, loc="right", size=size, weight="bold", color=_INK, pad=5)
    axes.set_xlabel(panel.caption, loc="left", size=6.5, color=_QUIET, labelpad=5)


def _write_labels(axes: Axes, canvas: FigureCanvasAgg, term_map: TermMap, panel: Panel) -> None:
    """Write the classes where most of their terms are, then terms wherever there is room."""
    frame = axes.get_window_extent()
    placement = Placement(
        Box(
            (frame.x0 + frame.x1) / 2,
            (frame.y0 + frame.y1) / 2,
            frame.width - _BLANK,
            frame.height - _BLANK,
        )
    )
    colors = palette(len(term_map.classes))
    tops = heads(panel.places, term_map.class_of, len(term_map.classes))
    for column, name in enumerate(term_map.classes):
        text = _text(axes, name, 7.5, "bold", colors[column])
        width, height = _size(text, canvas)
        x, y = axes.transData.transform((tops[column].x, tops[column].y))
        _put(axes, text, placement.place(around(x, y + height, width + 8, height + 4, reach=160)))
    for row in _terms_to_write(term_map):
        text = _text(axes, term_map.terms[row], 5.2, "normal", _INK)
        x, y = axes.transData.transform(panel.places[row])
        width, height = _size(text, canvas)
        _put(axes, text, placement.place(beside(x, y, width + 4, height + 2, gap=6)))


def _terms_to_write(term_map: TermMap) -> list[int]:
    """Return the first terms that each class chose: rows are in the order of choosing."""
    seen = [0] * len(term_map.classes)
    rows = []
    for row, column in enumerate(term_map.class_of.tolist()):
        if seen[column] < _N_TERMS:
            seen[column] += 1
            rows.append(row)
    return rows


def _text(axes: Axes, written: str, size: float, weight: str, color: str) -> Text:
    halo = [withStroke(linewidth=2.2, foreground=_PAPER)]
    # a dollar sign would start a formula
    return axes.text(
        0, 0, written, size=size, weight=weight, color=color, ha="center", va="center",
        path_effects=halo, parse_math=False,
    )  # fmt: skip


def _size(text: Text, canvas: FigureCanvasAgg) -> tuple[float, float]:
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    extent = text.get_window_extent(renderer)
    return extent.width, extent.height


def _put(axes: Axes, text: Text, box: Box | None) -> None:
    if box is None:
        text.remove()
    else:
        x, y = axes.transData.inverted().transform((box.x, box.y)).tolist()
        text.set_position((x, y))
