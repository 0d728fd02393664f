"""Figures of experiments: curves by epoch, tables as dots, maps of terms.

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
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator

from wordclass import storage
from wordclass.experiment.plans import MEASUREMENTS, Plan
from wordclass.experiment.runs import Results, Run, RunResult
from wordclass.experiment.tables import Table, row_of, settings_of, told_apart
from wordclass.experiment.term_map import N_NEIGHBORS, Panel, TermMap
from wordclass.report.colors import palette
from wordclass.report.map_layout import SIDE, Box, in_units
from wordclass.report.pictures import draw_terms, marker, write_classes, write_term

ENDINGS = ("png", "pdf", "svg")
_WIDTH = 7.0  # inches: the text of a page
# of Okabe and Ito, made for all kinds of color vision; without yellow, which white drowns
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":")
_MARKERS = "osD^vPX*"
_PUBLISHED: dict[str, Any] = {"marker": "D", "ms": 5, "mfc": "white", "mec": "black", "ls": "none"}
_STYLE: dict[Any, Any] = {
    "font.size": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 8,
    "figure.titlesize": 9,
    "axes.grid": True,
    "grid.color": "#e3e6ea",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 6.5,
    "legend.handletextpad": 0.4,
    "legend.columnspacing": 1.2,
    "text.parse_math": False,  # a dollar sign in a name is one
    "svg.hashsalt": "wordclass",  # the same figure gives the same file
    "pdf.fonttype": 42,
}
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
# plans whose curves would be those of other plans once more: they are about the end of training
_NO_CURVES = {
    *("f1", "run_times", "correlations", "vectors"),
    *("binary", "cross_fitting", "encoders", "rivals", "several_tasks", "unseen_terms"),
}
_ACROSS = 4  # panels of a row, at most
_LETTER, _SIZE = 25, 5.5  # height of a letter on a map: units, and points
_N_ENLARGED = 60  # terms of an enlarged part, at most
_SQUARE = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
Only = Mapping[str, Sequence[str]]


def write(
    plan: Plan,
    results: Results,
    tables: Sequence[Table],
    folder: Path,
    only: Only | None = None,
    endings: Sequence[str] = ENDINGS,
) -> dict[Path, str]:
    """Write all there is to see of a plan.

    Parameters
    ----------
    plan, results, only
        As for `tables.make`.
    tables : list of Table
        What it made of them.
    folder : Path
        Where to write; made where it is missing.
    endings : list of str, default=("png", "pdf", "svg")
        Which kinds of pictures; with SVG, maps are written for the Embedding Projector as well.

    Returns
    -------
    The paths of what was written, and the title of each.
    """
    titles: dict[Path, str] = {}
    for name, figure in figures_of(plan, results, tables, only):
        titles |= dict.fromkeys(save(figure, folder, name, endings), figure.get_suptitle())
    for name, term_map in _maps(plan, results, only) if "svg" in endings else ():
        written = write_projector_files(term_map, folder, f"{plan.name}-{name}")
        titles |= dict.fromkeys(written, f"{name}, for the Embedding Projector")
    return titles


def save(figure: Figure, folder: Path, name: str, endings: Sequence[str] = ENDINGS) -> list[Path]:
    """Write a figure as PNG, PDF and SVG; returns the paths."""
    paths = [folder / f"{_stem(name)}.{ending}" for ending in endings]
    with storage.accessing(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        stamp = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(path.suffix)
        with storage.replacing(path) as temporary, rc_context(_STYLE):
            figure.savefig(temporary, format=path.suffix[1:], dpi=160, metadata=stamp)
    return paths


def _stem(name: str) -> str:
    return re.sub(r"[^\w.+=-]+", "-", name)


def figures_of(
    plan: Plan, results: Results, tables: Sequence[Table], only: Only | None = None
) -> Iterator[tuple[str, Figure]]:
    """Draw all there is to see of a plan: names, and figures; arguments as for `write`."""
    for name, term_map in _maps(plan, results, only):
        for number, panel in enumerate(term_map.panels, start=1):
            yield f"{plan.name}-{name}-map-{number}", draw_map(term_map, panel, name)
    done = [] if plan.is_our(*_NO_CURVES) else _done(plan, results, only)
    for name, title, lines in _curve_groups(plan, done):
        yield name, draw_curves(title, lines)
    for table in tables:
        if table.kind not in ("count", "difference") and any(
            cell.measured for cell in table.cells.values()
        ):
            short = "-".join(re.findall(r"\w+", table.title.lower())[:4])
            yield f"{plan.name}-{short}", draw_dots(table)


def _done(plan: Plan, results: Results, only: Only | None) -> list[tuple[Run, RunResult]]:
    found = {result.identity: result for result in results.runs()}
    return [(run, found[run.identity]) for run in plan.runs(only) if run.identity in found]


def _maps(plan: Plan, results: Results, only: Only | None) -> Iterator[tuple[str, TermMap]]:
    """Give the maps, each with a name of its own: the data set, and in what others differ."""
    runs = [run for run in plan.runs() if run.learner == "map"]
    told, seeds = told_apart(runs), {run.seed for run in runs}
    for run, result in _done(plan, results, only):
        if run.learner == "map":
            seed = f"seed={run.seed}" if len(seeds) > 1 else ""
            name = ", ".join(filter(None, [run.dataset, settings_of(run, told), seed]))
            yield name, TermMap.of_parts(result.extra, results.arrays(result.key))


# --- curves -------------------------------------------------------------------------------------

# of each learner, the lines by name, and the results that make one
Lines = dict[str, dict[str, list[RunResult]]]


def _curve_groups(
    plan: Plan, done: Sequence[tuple[Run, RunResult]]
) -> Iterator[tuple[str, str, Lines]]:
    """Give a figure per data set, protocol and option that was varied, with its lines."""
    told = told_apart([run for run in plan.runs() if run.learner not in MEASUREMENTS])
    groups: dict[tuple[str, str, str], Lines] = {}
    for run, result in done:
        if result.history:
            learner, variant, protocol, settings = row_of(run, told)
            varied = settings.partition("=")[0]
            figure = groups.setdefault((run.dataset, protocol, varied), {})
            name = f"{variant}, {settings}" if varied == "vectors" else settings or variant
            figure.setdefault(learner, {}).setdefault(name, []).append(result)
    for (dataset, protocol, varied), lines in groups.items():
        title = f"Loss and F1 by epoch: {dataset}, {protocol} protocol, {', '.join(lines)}"
        yield f"{plan.name}-{dataset}-{protocol}-{varied or 'curves'}", title, lines


@rc_context(_STYLE)
def draw_curves(title: str, lines: Lines) -> Figure:
    """Draw loss and F1 by epoch, a line per variant.

    There is a row per measure and a column per learner, as in the paper; the measures of a single
    learner stand side by side. Several seeds are averaged, epoch by epoch, over those that got so
    far.
    """
    every = [results for named in lines.values() for results in named.values()]
    keys = [key for key in _CURVES if any(_means(results, key) for results in every)]
    names = list(dict.fromkeys(name for named in lines.values() for name in named))
    is_grid = len(lines) > 1
    across = len(lines) if is_grid else min(len(keys), _ACROSS)
    down = -(-len(keys) * len(lines) // across)
    figure = Figure((_WIDTH, 0.8 + (1.1 if is_grid else 1.5) * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False, sharey="row" if is_grid else "none")
    panels = [(key, learner) for key in keys for learner in lines]
    for panel, (key, learner) in zip(axes.flat, panels, strict=False):
        for name, results in lines[learner].items():
            means = _means(results, key)
            panel.plot(list(means), list(means.values()), **_line(names.index(name), len(means)))
        panel.set(xlabel="epoch", ylabel=_CURVES[key], yscale="log" if "loss" in key else "linear")
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        if is_grid:
            panel.set_title(learner if key == keys[0] else "")
            panel.label_outer()
    handles = [Line2D([], [], label=name, **_line(k)) for k, name in enumerate(names)]
    return _finished(figure, title, handles)


def _means(results: Sequence[RunResult], key: str) -> dict[int, float]:
    """Return the mean over results at each epoch where it was measured."""
    values: dict[int, list[float]] = {}
    for epoch in (each for result in results for each in result.history or ()):
        if epoch.get(key) is not None:
            values.setdefault(epoch["epoch"], []).append(epoch[key])
    return {epoch: float(np.mean(values[epoch])) for epoch in sorted(values)}


def _line(number: int, n_points: int = 1) -> dict[str, Any]:
    return {
        "color": _COLORS[number % len(_COLORS)],
        "linestyle": _DASHES[number % len(_DASHES)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "markevery": -(-n_points // 12),
        "markersize": 3.5,
        "linewidth": 1.1,
    }


def _finished(figure: Figure, title: str, handles: Sequence[Line2D]) -> Figure:
    """Add a title and, in as many columns as have room, a legend; leave out empty panels."""
    figure.suptitle(title, weight="bold", x=0.01, ha="left")
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, min(5, int(_WIDTH * 18 / (longest + 7))))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    for panel in figure.axes:
        panel.set_visible(panel.has_data())
        for axis in (panel.xaxis, panel.yaxis):
            if axis.get_scale() == "log":  # numbers without powers, neither too many nor too few
                low, high = axis.get_view_interval()
                wide = LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,))
                narrow = MaxNLocator(4, steps=[1, 2, 5, 10])
                axis.set_major_locator(narrow if high < 4 * low else wide)
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter("")
    return figure


# --- dots ---------------------------------------------------------------------------------------


@rc_context(_STYLE)
def draw_dots(table: Table) -> Figure:
    """Draw a panel per column and a dot per row; an open diamond is what the paper has.

    Dots, as a bar would have to begin at zero, where all of them look the same.
    """
    table = table.measured()
    across = min(len(table.columns), _ACROSS - 1)
    starts = range(0, len(table.columns), across)
    parts = [table.measured(table.columns[k : k + across]) for k in starts]
    heights = [len(part.rows) for part in parts]
    figure = Figure((_WIDTH, 0.7 + 0.65 * len(parts) + 0.15 * sum(heights)), layout="constrained")
    axes = figure.subplots(
        len(parts), across, squeeze=False, sharey="row", sharex=table.kind == "seconds",
        height_ratios=[height + 1 for height in heights],
    )  # fmt: skip
    names = {row: "  ".join(filter(None, row)) for row in table.rows}
    room = int((_WIDTH - 0.06 * max(map(len, names.values()))) / across / 0.065)  # letters
    styles = list(dict.fromkeys(row[0] for row in table.rows))
    for row, part in zip(axes, parts, strict=True):
        row[0].set_yticks(range(len(part.rows)), [names[each] for each in part.rows])
        row[0].set_ylim(len(part.rows) - 0.4, -0.6)
        for panel, column in zip(row, part.columns, strict=False):
            _draw_column(panel, part, column, styles if len(table.heads) > 1 else ())
            # a name that is wider than its panel goes on below
            written = column.replace(":", ": ").replace("+", " + ")
            panel.set_title(textwrap.fill(written, room))
    dot = Line2D([], [], marker="o", ls="-", color=_COLORS[0], label="measured, ± deviation", ms=4)
    diamond = Line2D([], [], label="published", **_PUBLISHED)
    has_published = any(cell.published for cell in table.cells.values() if cell.measured)
    return _finished(figure, table.title, [dot, diamond] if has_published else [dot])


def _draw_column(axes: Axes, table: Table, column: str, styles: Sequence[str]) -> None:
    for height, row in enumerate(table.rows):
        cell = table.cells.get((row, column))
        if cell is None or cell.measured is None:
            continue
        style = _line(styles.index(row[0]) if styles else 0) | {"linestyle": "none"}
        axes.errorbar(cell.measured.mean, height, xerr=cell.measured.deviation, **style)
        if cell.published is not None:
            axes.plot(cell.published.value, height, zorder=1, **_PUBLISHED)
    axes.margins(x=0.1)
    if table.kind == "seconds":
        axes.set(xscale="log", xlabel="seconds")
        axes.tick_params(labelbottom=True)
    else:
        axes.locator_params(axis="x", nbins=4)


# --- maps ---------------------------------------------------------------------------------------


@rc_context(_STYLE)
def draw_map(term_map: TermMap, panel: Panel, name: str) -> Figure:
    """Draw a panel of a map, and beside it a part of it enlarged, with its terms.

    The part is around the class whose terms are most gathered in the last panel, so that those of
    all panels can be compared.
    """
    n_classes, chosen = len(term_map.classes), _most_gathered(term_map)
    figure = Figure((_WIDTH, 4.2 + 0.12 * n_classes / 4), layout="constrained")
    whole, part = figure.subplots(1, 2)
    places, colors = in_units(panel), palette(n_classes)
    draw_terms(whole, term_map, places, dot=4)
    write_classes(whole, term_map, panel, _LETTER, _SIZE)
    own = places[term_map.class_of == chosen]
    middle = np.median(own, axis=0)
    gaps = np.sort(np.abs(places - middle).max(axis=1))
    reach = max(gaps[: min(2 * len(own), _N_ENLARGED)][-1], 1.0)
    low = np.clip(middle - reach, 0, max(SIDE - 2 * reach, 0))
    whole.plot(*(low + 2 * reach * _SQUARE).T, color="black", linewidth=0.8)
    enlarged = (places - low) / (2 * reach) * SIDE
    draw_terms(part, term_map, enlarged, dot=10)
    taken: list[Box] = []
    for term, column, at in zip(term_map.terms, term_map.class_of, enlarged, strict=True):
        if (abs(at - SIDE / 2) < SIDE / 2).all():
            write_term(part, term, at, taken, _LETTER, _SIZE, color=colors[column])
    whole.set_title(panel.caption, loc="left")
    share = f"{panel.neighbor_share:.0%} of {N_NEIGHBORS} nearest neighbors have the same class"
    whole.set_xlabel(share, loc="left")
    part.set_title(f"the square, around {term_map.classes[chosen]}", loc="left")
    handles = [
        Line2D([], [], linestyle="none", marker=marker(k), color=colors[k], label=name, ms=4)
        for k, name in enumerate(term_map.classes)
    ]
    title = f"{name}, {len(term_map.terms):,} terms: {panel.title}"
    return _finished(figure, title, handles)


def _most_gathered(term_map: TermMap) -> int:
    """Return the class whose terms are closest to their median, of those that have some."""
    places, spreads = term_map.panels[-1].places, dict[int, float]()
    for column in set(term_map.class_of.tolist()):
        own = places[term_map.class_of == column]
        gaps = np.linalg.norm(own - np.median(own, axis=0), axis=1)
        spreads[column] = float(np.median(gaps))
    return min(spreads, key=lambda column: spreads[column])


def write_projector_files(term_map: TermMap, folder: Path, name: str) -> list[Path]:
    """Write vectors and metadata as the Embedding Projector reads them: two TSV files.

    A map keeps its vectors rounded (`TermMap.to_parts`): so are they here.
    """
    paths = [folder / f"{_stem(name)}-{part}.tsv" for part in ("vectors", "metadata")]
    rows = ["\t".join(f"{value:.4g}" for value in row) for row in term_map.vectors.tolist()]
    named = [
        "\t".join(" ".join(each.split()) for each in (term, term_map.classes[column]))
        for term, column in zip(term_map.terms, term_map.class_of.tolist(), strict=True)
    ]
    for path, lines in zip(paths, (rows, ["term\tclass", *named]), strict=True):
        with storage.writing(path) as file:
            file.write("\n".join([*lines, ""]).encode("utf-8", "replace"))
    return paths
