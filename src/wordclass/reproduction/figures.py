"""Figures of experiments: curves by epoch, tables as dots, maps of terms.

Needs matplotlib: ask `catalogue.extra` for it before this is imported.
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
from matplotlib.ticker import LogLocator, MaxNLocator

from wordclass.explorer.colors import palette
from wordclass.explorer.map_layout import SIDE, Box, to_drawing_units
from wordclass.explorer.pictures import draw_terms, marker, save_figure, write_classes, write_term
from wordclass.explorer.term_map import N_NEIGHBORS, Panel, TermMap
from wordclass.reproduction.plan import MEASUREMENTS, Plan
from wordclass.reproduction.runs import Results, Run, RunResult
from wordclass.reproduction.tables import Cell, Table, row_of, settings_of, told_apart
from wordclass.storage import files

ENDINGS = ("png", "pdf", "svg")
_WIDTH = 7.0  # inches: the text of a page
# Of Okabe and Ito, made for all kinds of color vision. A color means one kind of vectors, in every
# figure; all that reads none of them (`linear`, `nearest`, measurements) is blue-grey.
_COLOR_OF = {
    "tfidf": "#000000",
    "random": "#0072B2",
    "vectors": "#D55E00",
    "vectors-trainable": "#D55E00",
    "vectors+random": "#CC79A7",
    "wce": "#56B4E9",
    "vectors+wce": "#009E73",
    "vectors+wce-trainable": "#009E73",
}
_OTHER_COLOR = "#5B6B7B"
# values of one option, from low to high
_SHADES = ("#440154", "#3B528B", "#21918C", "#5EC962", "#A5740D", "#8C2D04")
_DASHES = ("-", "--", "-.", ":")
_NAMES = {
    "newsgroups20": "20 Newsgroups",
    "reuters21578": "Reuters-21578",
    "ohsumed20k": "Ohsumed (20,000)",
    "ohsumed_single23_7400": "Ohsumed (single label)",
    "banking77": "Banking77",
    "goemotions": "GoEmotions",
    "arxiv_abstracts_120k": "arXiv",
    "eurlex_triples_eurovoc_1504": "EUR-Lex",
    "goemotions_sentiment": "Sentiment",
}
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
_LONGEST_NAME = 52  # letters of a row's name; what is longer goes on below
_FEW_VALUES = 6  # at most one outlier in so many
_RATIO = "error ratio"  # in the names of rows that are no shares
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
    with files.as_storage_error(folder, "written"):
        folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        stamp = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(path.suffix)
        with rc_context(_STYLE):
            save_figure(figure, path, dpi=160, metadata=stamp)
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
            yield f"{plan.name}-{short}", draw_dots(_of_one_unit(table), plan.title)


def _of_one_unit(table: Table) -> Table:
    """Return the table without the rows whose numbers have another unit than most: ratios."""
    cells = {place: cell for place, cell in table.cells.items() if _RATIO not in place[0][0]}
    return replace(table, cells=cells)


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
        title = f"{_name(dataset)}, {protocol} protocol: loss and F1 by epoch"
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
            style = _line(name, names, len(means))
            panel.plot(list(means), list(means.values()), **style)
            spreads = _deviations(results, key)
            low = [means[epoch] - spreads[epoch] for epoch in spreads]
            high = [means[epoch] + spreads[epoch] for epoch in spreads]
            panel.fill_between([*spreads], low, high, color=style["color"], alpha=0.15, lw=0)
        panel.set(xlabel="epoch", ylabel=_CURVES[key], yscale="log" if "loss" in key else "linear")
        panel.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        if is_grid:
            panel.set_title(learner if key == keys[0] else "")
            panel.label_outer()
    handles = [Line2D([], [], label=name, **_line(name, names)) for name in names]
    return _finished(figure, title, handles)


def _values(results: Sequence[RunResult], key: str) -> dict[int, list[float]]:
    """Return the values of all results at each epoch where some were measured."""
    values: dict[int, list[float]] = {}
    for epoch in (each for result in results for each in result.history or ()):
        if epoch.get(key) is not None:
            values.setdefault(epoch["epoch"], []).append(epoch[key])
    return dict(sorted(values.items()))


def _means(results: Sequence[RunResult], key: str) -> dict[int, float]:
    """Return the mean over results at each epoch where it was measured."""
    return {epoch: float(np.mean(own)) for epoch, own in _values(results, key).items()}


def _deviations(results: Sequence[RunResult], key: str) -> dict[int, float]:
    """Return the deviation over seeds at each epoch that all of several results have."""
    is_shared = len(results) > 1
    return {
        epoch: float(np.std(own, ddof=1))
        for epoch, own in _values(results, key).items()
        if is_shared and len(own) == len(results)
    }


def _line(name: str, names: Sequence[str], n_points: int = 1) -> dict[str, Any]:
    """Return the style of a line: a variant has its own color, values of an option have shades."""
    number = names.index(name)
    return {
        "color": _COLOR_OF.get(name, _SHADES[number % len(_SHADES)]),
        "linestyle": _DASHES[number % len(_DASHES)],
        "marker": _MARKERS[number % len(_MARKERS)],
        "markevery": -(-n_points // 12),
        "markersize": 3.5,
        "linewidth": 1.1,
    }


def _finished(figure: Figure, title: str, handles: Sequence[Line2D]) -> Figure:
    """Add a title and, in as many columns as have room, a legend; leave out empty panels."""
    figure.suptitle(textwrap.fill(title, 88), weight="bold", x=0.01, ha="left")
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
def draw_dots(table: Table, about: str = "") -> Figure:
    """Draw a panel per column and a dot per row; an open diamond is what the paper has.

    Dots, as a bar would have to begin at zero, where all of them look the same. The color of a dot
    says which vectors are read, its shape which learner reads them. `about` goes into the title.
    """
    table = table.measured()
    across = min(len(table.columns), _ACROSS - 1)
    starts = range(0, len(table.columns), across)
    parts = [table.measured(table.columns[k : k + across]) for k in starts]
    names = {row: textwrap.fill("  ".join(filter(None, row)), _LONGEST_NAME) for row in table.rows}
    n_lines = max(name.count("\n") + 1 for name in names.values())
    heights = [len(part.rows) for part in parts]
    height = 0.7 + 0.65 * len(parts) + (0.06 + 0.09 * n_lines) * sum(heights)
    figure = Figure((_WIDTH, height), layout="constrained")
    axes = figure.subplots(
        len(parts), across, squeeze=False, sharey="row", sharex=table.kind == "seconds",
        height_ratios=[height + 1 for height in heights],
    )  # fmt: skip
    longest = max(len(line) for name in names.values() for line in name.splitlines())
    room = int((_WIDTH - 0.06 * longest) / across / 0.065)  # letters
    first = list(dict.fromkeys(row[0] for row in table.rows))
    markers = {name: _MARKERS[number % len(_MARKERS)] for number, name in enumerate(first)}
    for row, part in zip(axes, parts, strict=True):
        row[0].set_yticks(range(len(part.rows)), [names[each] for each in part.rows])
        row[0].set_ylim(len(part.rows) - 0.4, -0.6)
        for panel, column in zip(row, part.columns, strict=False):
            _draw_column(panel, part, column, markers if len(table.heads) > 1 else {})
            # a name that is wider than its panel goes on below, in smaller letters if need be
            written = textwrap.fill(_name(column), room, break_long_words=False)
            widest = max(map(len, written.splitlines()))
            panel.set_title(written, fontsize=8 * min(1.0, room / widest))
    label = "measured, ± deviation over seeds"
    dot = Line2D([], [], marker="o", ls="-", color=_OTHER_COLOR, label=label, ms=4)
    diamond = Line2D([], [], label="published", **_PUBLISHED)
    has_published = any(cell.published for cell in table.cells.values() if cell.measured)
    title = f"{about} ({table.title})" if about else table.title
    return _finished(figure, title, [dot, diamond] if has_published else [dot])


def _name(dataset: str) -> str:
    """Return a readable name of a data set, of some of its classes, or of few documents."""
    base, _, classes = dataset.partition(":")
    base, _, n_per_class = base.partition("@")
    name = _NAMES.get(base, base)
    if classes:
        name += f": {classes.replace('+', ' + ')}"
    return f"{name}, {int(n_per_class):,} per class" if n_per_class else name


def _outliers(values: Sequence[float]) -> set[float]:
    """Return the lowest values that would squeeze all others into less than a third of an axis."""
    ordered = sorted(values)
    for number in range(1, len(ordered) // _FEW_VALUES + 1):
        spread = ordered[-1] - ordered[number]
        if ordered[number] - ordered[number - 1] > 2 * spread > 0:
            return set(ordered[:number])
    return set()


def _draw_column(axes: Axes, table: Table, column: str, markers: Mapping[str, str]) -> None:
    cells = {row: table.cells.get((row, column), Cell(None)) for row in table.rows}
    values = [cell.measured.mean for cell in cells.values() if cell.measured]
    outliers = _outliers(values) if table.kind != "seconds" else set()
    lowest = min(value for value in values if value not in outliers)
    for height, (row, cell) in enumerate(cells.items()):
        if cell.measured is None:
            continue
        color = _COLOR_OF.get(row[1] if len(row) > 1 else "", _OTHER_COLOR)
        if cell.measured.mean in outliers:  # an arrow, and the number, at the edge
            axes.plot(lowest, height, marker="<", color=color, ms=3.5)
            number = f"{cell.measured.mean:.3f}".removeprefix("0")
            axes.annotate(
                number, (lowest, height), (5, 0), textcoords="offset points", va="center", size=6
            )
            continue
        style: dict[str, Any] = {"marker": markers.get(row[0], "o"), "ms": 3.5, "ls": "none"}
        deviation = cell.measured.deviation
        axes.errorbar(cell.measured.mean, height, xerr=deviation, color=color, **style)
        if cell.published is not None:
            axes.plot(cell.published.value, height, zorder=1, **_PUBLISHED)
    axes.margins(x=0.1)
    if table.kind == "seconds":
        axes.set(xscale="log", xlabel="seconds")
        axes.tick_params(labelbottom=True)
    else:
        axes.locator_params(axis="x", nbins=3)


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
    places, colors = to_drawing_units(panel), palette(n_classes)
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
    title = f"{_name(name)}, {len(term_map.terms):,} terms: {panel.title}"
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
        with files.open_for_writing(path) as file:
            file.write("\n".join([*lines, ""]).encode("utf-8", "replace"))
    return paths
