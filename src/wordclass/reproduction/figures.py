"""Figures of experiments: curves by epoch or number of documents, dots, and maps of terms.

Needs matplotlib: call `catalogue.import_extra` before importing this module.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from wordclass.explorer.term_map import TermMap
from wordclass.reproduction.cells import Cell, Row, Table
from wordclass.reproduction.figure_style import (
    COLOR_NAMES,
    COLORS,
    DASHES,
    ENDINGS,
    LEARNER_MARKERS,
    MARKERS,
    OTHER_COLOR,
    PAGE_INCHES,
    PUBLISHED,
    SHADES,
    STYLE,
    VARIANT_NAMES,
    dataset_name,
    finish,
    learner_name,
    row_color,
    row_name,
    save,
)
from wordclass.reproduction.map_figures import draw_map, write_projector_files
from wordclass.reproduction.plan import MEASUREMENTS, Plan
from wordclass.reproduction.runs import Results, Run, RunResult
from wordclass.reproduction.tables import format_settings, row_of, varying_options

_CURVES = {
    "loss": "training loss",
    "validation_loss": "validation loss",
    "validation_macro_f1": "validation macro F1",
    "validation_micro_f1": "validation micro F1",
    "train_macro_f1": "training macro F1",
    "train_micro_f1": "training micro F1",
    "test_macro_f1": "test macro F1",
    "test_micro_f1": "test micro F1",
}
# plans about the end of training: their curves would repeat those of other plans
_PLANS_WITHOUT_CURVES = {
    *("f1", "run_times", "correlations", "vectors", "large_codeframes", "class_frequency"),
    *("binary", "cross_fitting", "encoders", "rivals", "several_tasks", "unseen_terms"),
    *("network_search", "text_lengths"),
}
_MAX_PANELS_PER_ROW = 4
_MAX_NAME_LETTERS = 52  # longer row names are wrapped
_VALUES_PER_OUTLIER = 6
_MAX_LINES = 8  # of a curve by number of documents
_RATIO = "error ratio"  # part of the names of rows that are no shares
Only = Mapping[str, Sequence[str]]


def write(
    plan: Plan,
    results: Results,
    tables: Sequence[Table],
    folder: Path,
    only: Only | None = None,
    endings: Sequence[str] = ENDINGS,
) -> dict[Path, str]:
    """Write all figures of a plan.

    Parameters
    ----------
    plan, results, only
        As for `tables.make`.
    tables : list of Table
        The tables of the plan.
    folder : Path
        The folder to write to. It is created if it is missing.
    endings : list of str, default=("png", "pdf", "svg")
        File types of the figures. With SVG, maps are also written for the Embedding Projector.

    Returns
    -------
    dict
        The titles of the written files by their paths.
    """
    titles: dict[Path, str] = {}
    for name, figure in figures_of(plan, results, tables, only):
        titles |= dict.fromkeys(save(figure, folder, name, endings), figure.get_suptitle())
    for name, term_map in _maps(plan, results, only) if "svg" in endings else ():
        written = write_projector_files(term_map, folder, f"{plan.name}-{name}")
        titles |= dict.fromkeys(written, f"{name}, for the Embedding Projector")
    return titles


def figures_of(
    plan: Plan, results: Results, tables: Sequence[Table], only: Only | None = None
) -> Iterator[tuple[str, Figure]]:
    """Draw all figures of a plan and yield them with their names. See `write` for arguments."""
    for name, term_map in _maps(plan, results, only):
        for number, panel in enumerate(term_map.panels, start=1):
            yield f"{plan.name}-{name}-map-{number}", draw_map(term_map, panel, name)
    has_curves = not plan.is_built_in(*_PLANS_WITHOUT_CURVES)
    finished = _finished_runs(plan, results, only) if has_curves else []
    for name, title, lines in _curve_groups(plan, finished):
        yield name, draw_curves(title, lines)
    for table in tables:
        if table.kind not in ("count", "difference"):
            yield from _table_figures(plan, table)


def _table_figures(plan: Plan, table: Table) -> Iterator[tuple[str, Figure]]:
    """Yield curves of the columns that differ in the number of documents, and dots of others."""
    short = "-".join(re.findall(r"\w+", table.title.lower())[:4])
    has_ratios = any(_RATIO in row[0] for row in table.rows)
    measure = "Macro F1" if has_ratios else table.title
    title = f"{plan.title}\n({measure})" if plan.title else measure
    by_size = _columns_by_size(table)
    if by_size:
        yield f"{plan.name}-{short}-by-documents", draw_sizes(table, by_size, title)
    drawn = {column for columns in by_size.values() for column in columns}
    columns = [column for column in table.columns if column not in drawn]
    cells = {
        (row, column): cell
        for (row, column), cell in table.cells.items()
        if column in columns and _RATIO not in row[0]  # one unit per axis
    }
    dots = replace(table, columns=tuple(columns), cells=cells).select_measured()
    if dots.cells:
        yield f"{plan.name}-{short}", draw_dots(dots, title)


def _finished_runs(plan: Plan, results: Results, only: Only | None) -> list[tuple[Run, RunResult]]:
    by_identity = {result.identity: result for result in results.runs()}
    return [
        (run, by_identity[run.identity]) for run in plan.runs(only) if run.identity in by_identity
    ]


def _maps(plan: Plan, results: Results, only: Only | None) -> Iterator[tuple[str, TermMap]]:
    """Yield the maps with unique names: the data set and the settings that differ."""
    runs = [run for run in plan.runs() if run.learner == "map"]
    varying = varying_options(runs)
    seeds = {run.seed for run in runs}
    for run, result in _finished_runs(plan, results, only):
        if run.learner == "map":
            seed = f"seed={run.seed}" if len(seeds) > 1 else ""
            name = ", ".join(filter(None, [run.dataset, format_settings(run, varying), seed]))
            yield name, TermMap.of_parts(result.extra, results.arrays(result.key))


# --- curves by epoch ----------------------------------------------------------------------------

# results by learner and name of the line
Lines = dict[str, dict[str, list[RunResult]]]


def _curve_groups(
    plan: Plan, finished: Sequence[tuple[Run, RunResult]]
) -> Iterator[tuple[str, str, Lines]]:
    """Yield name, title and lines of a figure per data set, protocol and varied option."""
    varying = varying_options([run for run in plan.runs() if run.learner not in MEASUREMENTS])
    groups: dict[tuple[str, str, str], Lines] = {}
    for run, result in finished:
        if result.history:
            learner, variant, protocol, settings = row_of(run, varying)
            option = settings.partition("=")[0]
            lines = groups.setdefault((run.dataset, protocol, option), {})
            name = f"{variant}, {settings}" if option == "vectors" else settings or variant
            lines.setdefault(learner, {}).setdefault(name, []).append(result)
    for (dataset, protocol, option), lines in groups.items():
        title = f"{dataset_name(dataset)}, {protocol} protocol: loss and F1 by epoch"
        yield f"{plan.name}-{dataset}-{protocol}-{option or 'curves'}", title, lines


@rc_context(STYLE)
def draw_curves(title: str, lines: Lines) -> Figure:
    """Draw loss and F1 by epoch with a line per variant.

    Several learners give a column each and a row per measure, as in the paper. The measures of a
    single learner stand side by side. A line is the mean over the seeds that reached an epoch.
    """
    every = [results for by_name in lines.values() for results in by_name.values()]
    keys = [key for key in _CURVES if any(_means(results, key) for results in every)]
    names = list(dict.fromkeys(name for by_name in lines.values() for name in by_name))
    is_grid = len(lines) > 1
    n_columns = len(lines) if is_grid else min(len(keys), _MAX_PANELS_PER_ROW)
    n_rows = -(-len(keys) * len(lines) // n_columns)
    height = 0.8 + (1.1 if is_grid else 1.5) * n_rows
    figure = Figure((PAGE_INCHES, height), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharey="row" if is_grid else "none")
    panels = [(key, learner) for key in keys for learner in lines]
    for panel, (key, learner) in zip(axes.flat, panels, strict=False):
        for name, results in lines[learner].items():
            means = _means(results, key)
            style = _line_style(name, names, len(means))
            panel.plot(list(means), list(means.values()), **style)
            deviations = _deviations(results, key)
            low = [means[epoch] - deviations[epoch] for epoch in deviations]
            high = [means[epoch] + deviations[epoch] for epoch in deviations]
            panel.fill_between([*deviations], low, high, color=style["color"], alpha=0.15, lw=0)
        panel.set(xlabel="epoch", ylabel=_CURVES[key], yscale="log" if "loss" in key else "linear")
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        if is_grid:
            panel.set_title(learner_name(learner) if key == keys[0] else "")
            panel.label_outer()
    handles = [Line2D([], [], label=_line_name(name), **_line_style(name, names)) for name in names]
    return finish(figure, title, handles)


def _values(results: Sequence[RunResult], key: str) -> dict[int, list[float]]:
    """Return the measured values of all results by epoch."""
    values: dict[int, list[float]] = {}
    for epoch in (epoch for result in results for epoch in result.history or ()):
        if epoch.get(key) is not None:
            values.setdefault(epoch["epoch"], []).append(epoch[key])
    return dict(sorted(values.items()))


def _means(results: Sequence[RunResult], key: str) -> dict[int, float]:
    """Return the means over results by epoch."""
    return {epoch: float(np.mean(values)) for epoch, values in _values(results, key).items()}


def _deviations(results: Sequence[RunResult], key: str) -> dict[int, float]:
    """Return the deviations over seeds by epoch, for epochs that all of several results have."""
    has_several = len(results) > 1
    return {
        epoch: float(np.std(values, ddof=1))
        for epoch, values in _values(results, key).items()
        if has_several and len(values) == len(results)
    }


def _line_style(name: str, names: Sequence[str], n_points: int = 1) -> dict[str, Any]:
    """Return the style of a line. Variants have their colors, values of an option have shades."""
    number = names.index(name)
    return {
        "color": COLORS.get(name, SHADES[number % len(SHADES)]),
        "linestyle": DASHES[number % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markevery": -(-n_points // 12),
        "markersize": 3.5,
        "linewidth": 1.1,
    }


def _line_name(name: str) -> str:
    return VARIANT_NAMES.get(name) or name.replace("_", " ").replace("=", " = ")


# --- curves by number of documents --------------------------------------------------------------


def _columns_by_size(table: Table) -> dict[str, list[str]]:
    """Return the columns of data sets that were measured with several sizes, by data set.

    Only learning curves with few lines are readable, so a data set with many rows has none.
    """
    measured = table.select_measured()
    groups: dict[str, list[str]] = {}
    for column in measured.columns:
        groups.setdefault(column.partition("@")[0], []).append(column)
    return {
        base: columns
        for base, columns in groups.items()
        if any("@" in column for column in columns)
        and len(columns) > 1
        and len(measured.select_measured(columns).rows) <= _MAX_LINES
    }


@rc_context(STYLE)
def draw_sizes(table: Table, by_size: Mapping[str, Sequence[str]], title: str) -> Figure:
    """Draw scores by the number of training documents, with a panel per data set.

    Parameters
    ----------
    table : Table
        A table of scores or times.
    by_size : dict of lists
        Columns of the table by data set.
    title : str
        The title of the figure.
    """
    figure = Figure((PAGE_INCHES, 3.2), layout="constrained")
    panels = figure.subplots(1, len(by_size), squeeze=False)[0]
    columns = [column for size_columns in by_size.values() for column in size_columns]
    rows = table.select_measured(columns).rows
    styles = {row: _row_style(row, rows) for row in rows}
    for panel, (base, size_columns) in zip(panels, by_size.items(), strict=True):
        for row in rows:
            cells = [table.cells.get((row, column), Cell(None)) for column in size_columns]
            points = sorted(
                (_n_docs(cell), cell.measured.mean, cell.measured.deviation or 0.0)
                for cell in cells
                if cell.measured
            )
            if points:
                sizes, means, deviations = zip(*points, strict=True)
                panel.errorbar(sizes, means, deviations, capsize=2, **styles[row])
        panel.set(xscale="log", xlabel="training documents", title=dataset_name(base))
        panel.set_ylabel(f"{table.title}, ± deviation over seeds" if panel is panels[0] else "")
    handles = [Line2D([], [], label=row_name(row), **styles[row]) for row in rows]
    return finish(figure, title, handles)


def _n_docs(cell: Cell) -> float:
    """Return the mean number of training documents of the runs of a cell."""
    return float(np.mean([result.data.get("n_train", 0) for result in cell.results]))


def _row_style(row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the style of a line: color by vectors, marker by learner, dashes by settings."""
    same = [other for other in rows if other[:2] == row[:2]]
    return {
        "color": row_color(row),
        "marker": LEARNER_MARKERS.get(row[0], "o"),
        "linestyle": DASHES[same.index(row) % len(DASHES)],
        "markersize": 3.5,
        "linewidth": 1.1,
    }


# --- dots ---------------------------------------------------------------------------------------


@rc_context(STYLE)
def draw_dots(table: Table, title: str = "") -> Figure:
    """Draw a panel per column and a dot per row, with a vertical bar for the paper's number.

    Dots allow an axis that does not start at zero, unlike bars. The color of a dot means the
    vectors that are read, its shape the learner that reads them.

    Parameters
    ----------
    table : Table
        The table.
    title : str, default=""
        The title of the figure. Empty: that of the table.
    """
    table = table.select_measured()
    n_columns = min(len(table.columns), _MAX_PANELS_PER_ROW - 1)
    starts = range(0, len(table.columns), n_columns)
    parts = [table.select_measured(table.columns[k : k + n_columns]) for k in starts]
    names = {row: textwrap.fill(row_name(row), _MAX_NAME_LETTERS) for row in table.rows}
    n_lines = max(name.count("\n") + 1 for name in names.values())
    heights = [len(part.rows) for part in parts]
    height = 0.7 + 0.65 * len(parts) + (0.06 + 0.09 * n_lines) * sum(heights)
    figure = Figure((PAGE_INCHES, height), layout="constrained")
    axes = figure.subplots(
        len(parts), n_columns, squeeze=False, sharey="row", sharex=table.kind == "seconds",
        height_ratios=[height + 1 for height in heights],
    )  # fmt: skip
    longest = max(len(line) for name in names.values() for line in name.splitlines())
    letters_per_panel = int((PAGE_INCHES - 0.06 * longest) / n_columns / 0.065)
    for panels, part in zip(axes, parts, strict=True):
        panels[0].set_yticks(range(len(part.rows)), [names[row] for row in part.rows])
        panels[0].set_ylim(len(part.rows) - 0.4, -0.6)
        for panel, column in zip(panels, part.columns, strict=False):
            _draw_column(panel, part, column)
            # a name that is wider than its panel is wrapped, and shrunk if a word does not fit
            name = textwrap.fill(dataset_name(column), letters_per_panel, break_long_words=False)
            widest = max(map(len, name.splitlines()))
            panel.set_title(name, fontsize=8 * min(1.0, letters_per_panel / widest))
    return finish(figure, title or table.title, _dot_legend(table))


def _dot_legend(table: Table) -> list[Line2D]:
    """Return the legend of dots: the paper's mark, and the colors if there are several."""
    has_deviation = any(
        cell.measured.deviation is not None for cell in table.cells.values() if cell.measured
    )
    label = "here, ± deviation over seeds" if has_deviation else "here, one run"
    line = "-" if has_deviation else "none"
    handles = [Line2D([], [], marker="o", ls=line, color=OTHER_COLOR, label=label, ms=4)]
    if any(cell.published for cell in table.cells.values() if cell.measured):
        handles.append(Line2D([], [], label="the paper", **PUBLISHED))
    colors = dict.fromkeys(map(row_color, table.rows))
    named = [color for color in colors if color in COLOR_NAMES]
    if len(named) > 1:
        handles += [
            Line2D([], [], marker="o", ls="none", color=color, label=COLOR_NAMES[color], ms=4)
            for color in named
        ]
    return handles


def _outliers(values: Sequence[float]) -> set[float]:
    """Return the lowest values that would compress all others into a third of the axis."""
    ordered = sorted(values)
    for number in range(1, len(ordered) // _VALUES_PER_OUTLIER + 1):
        spread = ordered[-1] - ordered[number]
        if ordered[number] - ordered[number - 1] > 2 * spread > 0:
            return set(ordered[:number])
    return set()


def _draw_column(axes: Axes, table: Table, column: str) -> None:
    cells = {row: table.cells.get((row, column), Cell(None)) for row in table.rows}
    values = [cell.measured.mean for cell in cells.values() if cell.measured]
    outliers = _outliers(values) if table.kind != "seconds" else set()
    lowest = min(value for value in values if value not in outliers)
    for height, (row, cell) in enumerate(cells.items()):
        if cell.measured is None:
            continue
        color = row_color(row)
        if cell.measured.mean in outliers:  # an arrow with the number at the edge
            axes.plot(lowest, height, marker="<", color=color, ms=3.5)
            number = f"{cell.measured.mean:.3f}".removeprefix("0")
            axes.annotate(
                number, (lowest, height), (5, 0), textcoords="offset points", va="center", size=6
            )
            continue
        shape = LEARNER_MARKERS.get(row[0], "o")
        deviation = cell.measured.deviation
        axes.errorbar(
            cell.measured.mean, height, xerr=deviation, color=color, marker=shape, ms=3.5, ls="none"
        )
        if cell.published is not None:
            axes.plot(cell.published.value, height, zorder=1, **PUBLISHED)
    axes.margins(x=0.1)
    if table.kind == "seconds":
        axes.set(xscale="log", xlabel="seconds")
        axes.tick_params(labelbottom=True)
    else:
        axes.locator_params(axis="x", nbins=3)
