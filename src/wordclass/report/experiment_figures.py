"""Figures of experiments: bars of tables, curves by epoch, maps of terms.

Needs matplotlib: ask `naming.extra` for it before this is imported.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogFormatter, MaxNLocator

from wordclass import storage
from wordclass.experiment.plans import MEASUREMENTS, Plan
from wordclass.experiment.runs import Results, Run, RunResult
from wordclass.experiment.tables import Table, row_of, told_apart
from wordclass.experiment.term_map import Panel, TermMap
from wordclass.report.colors import palette
from wordclass.report.map_svg import SIDE, Box, beside, class_labels, in_units, place, size_of

ENDINGS = ("png", "pdf", "svg")
# of Okabe and Ito, made for all kinds of color vision; without yellow, which white drowns
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":")
_MARKERS = "osD^vP*X"
_STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.grid": True,
    "grid.color": "#e3e6ea",
    "axes.axisbelow": True,
    "text.parse_math": False,  # a dollar sign in a name is one
    "svg.hashsalt": "wordclass",  # the same figure gives the same file
    "pdf.fonttype": 42,
}
_CURVES = {
    "loss": "training loss",
    "validation_loss": "validation loss",
    "validation_macro_f1": "validation macro F1",
    "validation_micro_f1": "validation micro F1",
    "test_macro_f1": "test macro F1",
    "test_micro_f1": "test micro F1",
}
_TITLE = 26  # letters that fit above a panel of bars
_MOST_NAMED = 60  # terms of an enlarged part


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG, PDF and SVG; returns the paths."""
    stem = re.sub(r"[^\w.+-]+", "-", name)
    paths = [folder / f"{stem}.{ending}" for ending in ENDINGS]
    with storage.accessing(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    for path, stamp in zip(paths, ({}, {"CreationDate": None}, {"Date": None}), strict=True):
        with storage.replacing(path) as temporary, rc_context(_STYLE):
            figure.savefig(temporary, format=path.suffix[1:], dpi=160, metadata=stamp)
    return paths


def figures_of(
    plan: Plan,
    results: Results,
    tables: Sequence[Table],
    only: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[tuple[str, Figure]]:
    """Draw all there is to see of a plan: names, and figures.

    Parameters
    ----------
    plan, results, only
        As for `tables.make`.
    tables : list of Table
        What it made of them.
    """
    found = {result.identity: result for result in results.runs()}
    done = [(run, found[run.identity]) for run in plan.runs(only) if run.identity in found]
    for run, result in done:
        if run.learner == "map":
            term_map = TermMap.of_parts(result.extra, results.arrays(result.key))
            yield f"{plan.name}-{run.dataset}-map", draw_maps(term_map, run.dataset)
    for name, title, lines in _curve_groups(plan, done):
        yield name, draw_curves(title, lines)
    for table in tables:
        if any(cell.measured for cell in table.cells.values()) and table.kind != "count":
            yield f"{plan.name}-{_short(table.title)}", draw_bars(table)


def _short(title: str) -> str:
    return "-".join(re.findall(r"\w+", title.lower())[:4])


# --- curves -------------------------------------------------------------------------------------

# of each learner, the lines by name, and the results that make one
Lines = dict[str, dict[str, list[RunResult]]]


def _curve_groups(
    plan: Plan, done: Sequence[tuple[Run, RunResult]]
) -> Iterator[tuple[str, str, Lines]]:
    """Give a figure per data set, protocol and option that was varied, with its lines."""
    curved = [(run, result) for run, result in done if result.history]
    told = told_apart([run for run in plan.runs() if run.learner not in MEASUREMENTS])
    groups: dict[tuple[str, str, str], Lines] = {}
    for run, result in curved:
        _, variant, protocol, settings = row_of(run, told)
        varied = settings.partition("=")[0]
        figure = groups.setdefault((run.dataset, protocol, varied), {})
        name = settings if varied else variant
        name = f"{variant}, {settings}" if varied == "vectors" else name
        figure.setdefault(run.learner, {}).setdefault(name, []).append(result)
    for (dataset, protocol, varied), lines in groups.items():
        title = f"{dataset}, {protocol} protocol" + (f": {varied}" if varied else "")
        yield f"{plan.name}-{dataset}-{protocol}-{varied or 'curves'}", title, lines


@rc_context(_STYLE)
def draw_curves(title: str, lines: Lines) -> Figure:
    """Draw loss and F1 by epoch: a row per learner, a column per measure, a line per variant.

    Several seeds are averaged, epoch by epoch, over those that got so far.
    """
    histories = [
        epoch
        for named in lines.values()
        for results in named.values()
        for result in results
        for epoch in result.history or ()
    ]
    keys = [key for key in _CURVES if any(epoch.get(key) is not None for epoch in histories)]
    names = list(dict.fromkeys(name for named in lines.values() for name in named))
    size = (0.8 + 2.1 * len(keys), 1.0 + 1.9 * len(lines))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(len(lines), len(keys), squeeze=False, sharex="row", sharey="col")
    for row, (learner, named) in enumerate(lines.items()):
        axes[row, 0].set_ylabel(learner, weight="bold")
        for column, key in enumerate(keys):
            _draw_lines(axes[row, column], key, named, names)
            axes[0, column].set_title(_CURVES[key])
            axes[-1, column].set_xlabel("epoch")
    figure.suptitle(title, weight="bold", x=0.01, ha="left")
    handles = [Line2D([], [], label=name, **_line_style(k)) for k, name in enumerate(names)]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw_lines(
    axes: Axes, key: str, named: Mapping[str, list[RunResult]], names: Sequence[str]
) -> None:
    for name, results in named.items():
        values: dict[int, list[float]] = {}
        for result in results:
            for epoch in result.history or ():
                if epoch.get(key) is not None:
                    values.setdefault(epoch["epoch"], []).append(epoch[key])
        if values:
            epochs = sorted(values)
            means = [float(np.mean(values[each])) for each in epochs]
            axes.plot(epochs, means, **_line_style(names.index(name)))
    if "loss" in key:
        axes.set_yscale("log")
        _write_plainly(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))


def _write_plainly(axis: Axis) -> None:
    """Write the numbers of a logarithmic axis without formulas."""
    axis.set_major_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    axis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
    axis.set_tick_params(which="minor", labelsize="small")


def _line_style(number: int) -> dict[str, Any]:
    return {
        "color": _COLORS[number % len(_COLORS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "markersize": 3,
        "linewidth": 1.2,
    }


# --- bars ---------------------------------------------------------------------------------------


@rc_context(_STYLE)
def draw_bars(table: Table) -> Figure:
    """Draw a panel per column and a bar per row; a diamond is what the paper has."""
    columns = [
        column
        for column in table.columns
        if any(table.cells[place].measured for place in table.cells if place[1] == column)
    ]
    rows = [row for row in table.rows if any(_has(table, row, column) for column in columns)]
    leading = list(dict.fromkeys(row[0] for row in rows))
    names = ["  ".join(filter(None, row)) for row in rows]
    size = (0.5 + 0.06 * max(map(len, names)) + 2.3 * len(columns), 1.2 + 0.2 * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(columns), squeeze=False, sharey=True)[0]
    for axes, column in zip(panels, columns, strict=True):
        has_published = False
        for height, row in enumerate(rows):
            cell = table.cells.get((row, column))
            if cell is None or cell.measured is None:
                continue
            color = _COLORS[leading.index(row[0]) % len(_COLORS)] if len(row) > 1 else _COLORS[0]
            axes.barh(height, cell.measured.mean, 0.72, color=color,
                      xerr=cell.measured.deviation, error_kw={"linewidth": 0.8})  # fmt: skip
            if cell.published is not None:
                has_published = True
                axes.plot(cell.published.value, height, "D", ms=4, mfc="white", mec="black", mew=1)
        # a name that is wider than its panel goes on below
        title = "\n".join(textwrap.wrap(column, _TITLE))
        axes.set(title=title, ylim=(len(rows) - 0.4, -0.6))
        axes.grid(visible=False, axis="y")
        if table.kind == "seconds":
            axes.set(xscale="log", xlabel="seconds")
            _write_plainly(axes.xaxis)
        if has_published:
            axes.plot(
                [], [], "D", ms=4, mfc="white", mec="black", label="published", linestyle="none"
            )
    panels[0].set_yticks(range(len(rows)), names)
    figure.suptitle(table.title, weight="bold", x=0.01, ha="left")
    handles = [handle for axes in panels for handle in axes.get_legend_handles_labels()[0]]
    if handles:
        figure.legend(handles=handles[:1], loc="outside lower center", frameon=False)
    return figure


def _has(table: Table, row: tuple[str, ...], column: str) -> bool:
    cell = table.cells.get((row, column))
    return cell is not None and cell.measured is not None


# --- maps ---------------------------------------------------------------------------------------


@rc_context(_STYLE)
def draw_maps(term_map: TermMap, dataset: str) -> Figure:
    """Draw the panels of a map, and below each an enlarged part with its terms.

    The part is the same in all: around the terms of the class that is most gathered in the last.
    """
    n_panels, n_classes = len(term_map.panels), len(term_map.classes)
    figure = Figure(figsize=(5 * n_panels, 11.2), layout="constrained")
    axes = figure.subplots(2, n_panels, squeeze=False)
    chosen = _most_gathered(term_map, term_map.panels[-1])
    for column, panel in enumerate(term_map.panels):
        _draw_map(axes[0, column], term_map, panel)
        _draw_part(axes[0, column], axes[1, column], term_map, panel, chosen)
    figure.suptitle(
        f"{dataset}: {len(term_map.terms):,} terms, placed by t-SNE; below, the terms around "
        f"{term_map.classes[chosen]}", weight="bold", x=0.01, ha="left",
    )  # fmt: skip
    handles = [
        Line2D([], [], linestyle="none", marker=_marker(k), color=color, label=name, ms=5)
        for k, (name, color) in enumerate(zip(term_map.classes, palette(n_classes), strict=True))
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    return figure


def _marker(column: int) -> str:
    return _MARKERS[column % 5]


def _draw_map(axes: Axes, term_map: TermMap, panel: Panel) -> None:
    places = in_units(panel)
    _scatter(axes, term_map, places, size=5)
    axes.set(xlim=(0, SIDE), ylim=(SIDE, 0))
    axes.set_title(f"{panel.title} ({panel.neighbor_share:.0%})", loc="left")
    colors = palette(len(term_map.classes))
    for name, color, (box, is_shown) in zip(
        term_map.classes, colors, class_labels(term_map, panel), strict=True
    ):
        if is_shown:
            axes.text(box.x, box.y, name, size=5.5, weight="bold", color=color, **_halo())


def _draw_part(whole: Axes, axes: Axes, term_map: TermMap, panel: Panel, chosen: int) -> None:
    """Enlarge the part of a panel where a class has most of its terms, and name what is there."""
    places = in_units(panel)
    own = places[term_map.class_of == chosen]
    middle, half = np.median(own, axis=0), SIDE / 9
    low = np.clip(middle - half, 0, SIDE - 2 * half)
    scaled = (places - low) / (2 * half) * SIDE
    inside = np.flatnonzero(((scaled > 0) & (scaled < SIDE)).all(axis=1))
    _scatter(axes, term_map, scaled, size=12)
    axes.set(xlim=(0, SIDE), ylim=(SIDE, 0))
    colors = palette(len(term_map.classes))
    taken: list[Box] = []
    for k in inside:
        x, y = scaled[k]
        # six points are so many units high
        found = place(beside(x, y, *size_of(term_map.terms[k], 19), gap=8), taken)
        if found is not None and len(taken) <= _MOST_NAMED:
            color = colors[term_map.class_of[k]]
            axes.text(found.x, found.y, term_map.terms[k], size=6, color=color, **_halo())
    edges = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) * 2 * half + low
    whole.plot(*edges.T, color="black", linewidth=1)


def _scatter(axes: Axes, term_map: TermMap, places: Any, size: float) -> None:  # noqa: ANN401
    for column, color in enumerate(palette(len(term_map.classes))):
        x, y = places[term_map.class_of == column].T
        axes.scatter(x, y, s=size, marker=_marker(column), color=color, linewidths=0, alpha=0.8)
    axes.set(xticks=[], yticks=[])
    axes.set_box_aspect(1)
    for spine in axes.spines.values():
        spine.set(color="#d5dae0", visible=True)


def _halo() -> dict[str, Any]:
    stroke = [withStroke(linewidth=1.8, foreground="white")]
    return {"ha": "center", "va": "center", "path_effects": stroke}


def _most_gathered(term_map: TermMap, panel: Panel) -> int:
    """Return the class whose terms are closest to their median, of those that have some."""
    spreads = []
    for column in range(len(term_map.classes)):
        own = panel.places[term_map.class_of == column]
        gaps = np.linalg.norm(own - np.median(own, axis=0), axis=1) if len(own) else [np.inf]
        spreads.append(float(np.median(gaps)))
    return int(np.argmin(spreads))


def write_projector_files(term_map: TermMap, folder: Path, name: str) -> list[Path]:
    """Write vectors and metadata as the Embedding Projector reads them: two TSV files."""
    paths = [folder / f"{name}-{part}.tsv" for part in ("vectors", "metadata")]
    rows = ["\t".join(f"{value:.5g}" for value in row) for row in term_map.vectors.tolist()]
    named = [
        "\t".join(" ".join(each.split()) for each in (term, term_map.classes[column]))
        for term, column in zip(term_map.terms, term_map.class_of.tolist(), strict=True)
    ]
    with storage.accessing(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    for path, lines in zip(paths, (rows, ["term\tclass", *named]), strict=True):
        with storage.writing(path) as file:
            file.write("\n".join([*lines, ""]).encode("utf-8", "replace"))
    return paths
