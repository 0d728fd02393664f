"""Tables: what was measured beside what the paper has, and how sure a difference is.

`make` turns a plan and its results into `Table` values, which write themselves in five formats.
"""

import csv
import html
import io
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal

from wordclass.errors import InputError
from wordclass.experiment import paper
from wordclass.experiment.paper import Published
from wordclass.experiment.plans import MEASUREMENTS, NETWORKS, VARIANTS, Plan
from wordclass.experiment.runs import Results, Run, RunResult
from wordclass.experiment.statistics import (
    Summary,
    daggers,
    holm,
    randomization_test,
    relative_improvement,
    t_test,
)
from wordclass.naming import unknown

FORMATS = ("text", "markdown", "latex", "html", "csv")
MEASURES = {"macro_f1": "Macro F1", "micro_f1": "Micro F1"}
Kind = Literal["share", "seconds", "count"]
Row = tuple[str, ...]

_CSV_ORDER = (
    "table", "learner", "variant", "protocol", "settings", "data set", "what", "of", "column",
    "measured", "deviation", "runs", "published", "published_deviation", "difference", "best",
    "best_of_learner", "daggers", "p_documents", "command",
)  # fmt: skip
_ALPHA = 0.05
_MOST_PAIRS = 3  # runs of a system whose documents are compared
_SEEDED = ("fasttext", *NETWORKS)
_LEARNERS = ("svm", *_SEEDED, "linear", "nearest")
_VARIANTS = ("tfidf", "random", *(each for each in VARIANTS["cnn"] if each != "random"), "default")
_LEGEND = {
    "best": "best of the column",
    "shaded": "best of its learner",
    "dagger": "not different from the best neural learner by a two-tailed t-test over runs "
    "(p > .005; twice: p > .05), as in the paper",
    "equal": "not different from the best by a paired randomization test over test documents "
    "(p > .05 after Holm's correction within the column)",
}


@dataclass(frozen=True)
class Cell:
    """One cell: a summary of the runs that are done, and what it is compared with.

    `command` runs what is missing of it; None where nothing is.
    """

    measured: Summary | None
    published: Published | None = None
    is_best: bool = False
    is_best_of_learner: bool = False
    n_daggers: int = 0
    p: float | None = None  # of the paired test against the best, after Holm's correction
    command: str | None = None
    results: tuple[RunResult, ...] = field(default=(), repr=False)

    @property
    def difference(self) -> float | None:
        """What was measured less what was published."""
        if self.measured is None or self.published is None:
            return None
        return self.measured.mean - self.published.value

    @property
    def is_equal(self) -> bool:
        """Whether the paired test sees no difference from the best."""
        return self.p is not None and self.p > _ALPHA and not self.is_best


@dataclass(frozen=True)
class Table:
    """Cells by row and column; `heads` name the parts of a row."""

    title: str
    kind: Kind
    heads: Row
    columns: tuple[str, ...]
    cells: Mapping[tuple[Row, str], Cell]
    best: Literal["highest", "lowest"] | None = None

    @property
    def rows(self) -> list[Row]:
        """The rows, in order."""
        return list(dict.fromkeys(row for row, _ in self.cells))

    def measured(self, columns: Sequence[str] = ()) -> "Table":
        """Return the rows and columns that have something measured; of some columns, if given."""
        wanted = columns or self.columns
        done = [at for at, cell in self.cells.items() if cell.measured and at[1] in wanted]
        rows, kept = {row for row, _ in done}, {column for _, column in done}
        cells = {at: self.cells[at] for at in self.cells if at[0] in rows and at[1] in kept}
        return replace(self, columns=tuple(each for each in wanted if each in kept), cells=cells)

    def facts(self) -> dict[str, list[dict[str, Any]]]:
        """Return the cells as JSON can hold them, one after the other."""
        cells = []
        for (row, column), cell in self.cells.items():
            measured, published = cell.measured, cell.published
            cells.append(
                {
                    **dict(zip(self.heads, row, strict=True)),
                    "column": column,
                    "measured": measured and measured.mean,
                    "deviation": measured and measured.deviation,
                    "runs": measured.n_runs if measured else 0,
                    "published": published and published.value,
                    "published_deviation": published and published.deviation,
                    "difference": cell.difference,
                    "best": int(cell.is_best),
                    "best_of_learner": int(cell.is_best_of_learner),
                    "daggers": cell.n_daggers,
                    "p_documents": cell.p,
                    "command": cell.command,
                }
            )
        return {"cells": cells}

    def written(self, form: str) -> str:
        """Write the table in one of `FORMATS`."""
        return written([self], form)


def check_format(form: str) -> None:
    """Refuse a format that there is not."""
    if form not in FORMATS:
        raise unknown("format", form, FORMATS)


def written(tables: Sequence[Table], form: str) -> str:
    """Write tables one after the other; in CSV, one line per cell of all of them."""
    check_format(form)
    if form != "csv":
        write = {"html": _html, "latex": _latex}.get(form, _lines)
        return "\n\n".join(write(table, form) for table in tables)
    lines = [{"table": each.title, **cell} for each in tables for cell in each.facts()["cells"]]
    names = sorted({name: None for line in lines for name in line}, key=_CSV_ORDER.index)
    file = io.StringIO()
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


# --- from results to cells ----------------------------------------------------------------------

# a row, a column, a run, and what it gave, if it was done
Entry = tuple[Row, str, Run, float | None]


def make(
    plan: Plan,
    results: Results,
    only: Mapping[str, Sequence[str]] | None = None,
    *,
    tests: bool = True,
) -> list[Table]:
    """Make the tables of a plan.

    Parameters
    ----------
    plan : Plan
    results : Results
        Whatever plan they were done for.
    only : dict of lists, optional
        Some of the runs, as for `Plan.runs`.
    tests : bool, default=True
        Whether cells are compared by the paired test over documents, which takes seconds.
    """
    runs = plan.runs(only)
    trials = {each.identity for run in runs for each in run.needs}
    runs = [run for run in runs if run.identity not in trials]
    if not runs:
        raise InputError(f"the plan {plan.name} has no such runs")
    found = {result.identity: result for result in results.runs()}
    maker = _Maker(plan.name, results, found)
    trained = [run for run in runs if run.learner not in MEASUREMENTS]
    made = [
        maker.of_measurements([run for run in runs if run.learner == kind], kind)
        for kind in MEASUREMENTS
        if any(run.learner == kind for run in runs)
    ]
    if trained and plan.name != "run_times":
        scores = [maker.of_scores(trained, measure) for measure in MEASURES]
        if tests:
            scores = [
                maker.tested(table, measure)
                for table, measure in zip(scores, MEASURES, strict=True)
            ]
        made += [*scores, *improvements(*scores)]
    if trained and plan.name in ("run_times", "smoke"):
        made.append(maker.of_times(trained))
    return made


@dataclass(frozen=True)
class _Maker:
    plan: str
    results: Results
    found: Mapping[str, RunResult]

    def of_scores(self, runs: Sequence[Run], measure: str) -> Table:
        def score(result: RunResult) -> float:
            return result.scores[measure]

        return self._of_trainings(runs, MEASURES[measure], measure, score, "share", "highest")

    def of_times(self, runs: Sequence[Run]) -> Table:
        """Return the time of training and testing, without the choice of settings."""

        def seconds(result: RunResult) -> float:
            return result.times["fit_cpu"] + result.times["predict_cpu"]

        title = "Seconds of the processor for training and testing"
        return self._of_trainings(runs, title, "run_times", seconds, "seconds", "lowest")

    def _of_trainings(
        self,
        runs: Sequence[Run],
        title: str,
        source: str,
        value: Callable[[RunResult], float],
        kind: Kind,
        best: Literal["highest", "lowest"],
    ) -> Table:
        told = told_apart(runs)
        names = {run.identity: row_of(run, told) for run in runs}
        # a part that is the same in all rows tells nothing
        used = [0, 1, *(k for k in (2, 3) if len({name[k] for name in names.values()}) > 1)]
        entries = [
            (tuple(names[run.identity][k] for k in used), run.dataset, run, self._value(run, value))
            for run in sorted(runs, key=_order)
        ]
        cells = self._cells(entries)
        for (column, learner, variant), published in paper.cells(source).items():
            for place in [(row, column) for row, _ in cells if row[:2] == (learner, variant)]:
                # the paper has no other settings
                if place in cells and not (3 in used and place[0][-1]):
                    cells[place] = replace(cells[place], published=published)
        heads = tuple(("learner", "variant", "protocol", "settings")[k] for k in used)
        columns = tuple(dict.fromkeys(run.dataset for run in runs))
        return _marked(Table(title, kind, heads, columns, cells, best))

    def _value(self, run: Run, value: Callable[[RunResult], float]) -> float | None:
        result = self.found.get(run.identity)
        return None if result is None else value(result)

    def _cells(self, entries: Iterable[Entry]) -> dict[tuple[Row, str], Cell]:
        groups: dict[tuple[Row, str], list[tuple[Run, float | None]]] = {}
        for row, column, run, value in entries:
            groups.setdefault((row, column), []).append((run, value))
        cells, left = dict[tuple[Row, str], Cell](), dict[Row, list[Run]]()
        for place, members in groups.items():
            values = [value for _, value in members if value is not None]
            missing = [run for run, value in members if value is None]
            left.setdefault(place[0], []).extend(missing)
            done = (self.found[run.identity] for run, value in members if value is not None)
            cells[place] = Cell(
                Summary.of(values) if values else None,
                command="?" if missing else None,
                results=tuple(done),
            )
        commands = {row: self._command(runs) for row, runs in left.items()}
        return {
            place: replace(cell, command=commands[place[0]]) if cell.command else cell
            for place, cell in cells.items()
        }

    def _command(self, runs: Sequence[Run]) -> str:
        """Return the command that does some runs of one row."""
        names = ("dataset", "learner", "variant", "protocol", "vectors")
        told = dict.fromkeys(
            f"{name}={value}"
            for name in names
            for run in runs
            if (value := getattr(run, name)) is not None
        )
        parts = ["-o", str(self.results.folder), "--only", ",".join(told)]
        return shlex.join(["wordclass", "experiment", "run", self.plan, *parts])

    def of_measurements(self, runs: Sequence[Run], kind: str) -> Table:
        """Make a table of what runs measured that are no trainings."""
        title, number_kind, is_by_dataset = _MEASURED[kind]
        numbers = paper.numbers().get({"counts": "datasets"}.get(kind, kind), {})
        entries: list[Entry] = []
        for run in runs:
            result = self.found.get(run.identity)
            facts = {} if result is None else _measured(kind, result.extra)
            for name in facts or _names(kind, self.found.values()):
                place = ((run.dataset,), name) if is_by_dataset else ((name,), run.dataset)
                entries.append((*place, run, facts.get(name)))
        cells = {}
        for (row, column), cell in self._cells(entries).items():
            name, dataset = (column, row[0]) if is_by_dataset else (row[0], column)
            cells[row, column] = replace(cell, published=_published(kind, numbers, name, dataset))
        columns = tuple(dict.fromkeys(column for _, column in cells))
        head = "data set" if is_by_dataset else "what"
        return Table(title, number_kind, (head,), columns, cells)

    def tested(self, table: Table, measure: str) -> Table:
        """Compare the cells of each column with its best one over the test documents."""
        cells = dict(table.cells)
        for column in table.columns:
            done = [place for place in cells if place[1] == column and cells[place].results]
            best = next((place for place in done if cells[place].is_best), None)
            others = [place for place in done if place != best]
            if best is None:
                continue
            raw = [self._p(cells[place], cells[best], measure) for place in others]
            adjusted = iter(holm([p for p in raw if p is not None]))
            for place, p in zip(others, raw, strict=True):
                if p is not None:
                    cells[place] = replace(cells[place], p=next(adjusted))
        return replace(table, cells=cells)

    def _p(self, cell: Cell, best: Cell, measure: str) -> float | None:
        """Return the p-value of the paired test; None where the documents are not the same."""
        first, second = cell.results[:_MOST_PAIRS], best.results[:_MOST_PAIRS]
        if len({each.data["fingerprint"] for each in (*first, *second)}) > 1:
            return None
        return randomization_test(
            self.results.truth(first[0].key),
            [self.results.predictions(each.key) for each in first],
            [self.results.predictions(each.key) for each in second],
            is_multilabel=first[0].data["multilabel"],
        )[measure]


def told_apart(runs: Sequence[Run]) -> list[str]:
    """Return the options that differ between runs which are the same in all else."""

    def group(run: Run) -> str:
        return str((run.dataset, run.learner, run.variant, run.protocol, run.seed))

    told: dict[str, None] = {}
    for _, same in groupby(sorted(runs, key=group), group):
        options = [_options(run) for run in same]
        for name in sorted({name for each in options for name in each}):
            if len({json.dumps(each.get(name)) for each in options}) > 1:
                told[name] = None
    return list(told)


def _options(run: Run) -> dict[str, Any]:
    return {**run.options, **({} if run.vectors is None else {"vectors": run.vectors})}


def row_of(run: Run, told: Sequence[str]) -> Row:
    """Return learner, variant, protocol, and those of the told options that the run has."""
    options = _options(run)
    settings = [f"{name}={options[name]}" for name in told if name in options]
    return run.learner, run.variant, run.protocol, ", ".join(settings)


def _order(run: Run) -> tuple[int, int]:
    def rank(name: str, known: Sequence[str]) -> int:
        return known.index(name) if name in known else len(known)

    return rank(run.learner, _LEARNERS), rank(run.variant, _VARIANTS)


def _marked(table: Table) -> Table:
    """Mark the best cells, and those that a t-test cannot tell from the best neural one."""
    cells = dict(table.cells)
    sign = -1 if table.best == "lowest" else 1
    for column in table.columns:
        done = {
            place: cell.measured
            for place, cell in cells.items()
            if place[1] == column and cell.measured is not None
        }

        def best_of(learners: Iterable[str], among: Any = done) -> Any:  # noqa: ANN401 - a place
            own = [place for place in among if place[0][0] in learners]
            return max(own, key=lambda place: sign * among[place].mean, default=None)

        neural = best_of(_SEEDED)
        tops = {best_of([learner]) for learner in {row[0] for row, _ in done}}
        overall = best_of({row[0] for row, _ in done})
        for place, summary in done.items():
            is_compared = place[0][0] in _SEEDED and place != neural and table.kind == "share"
            cells[place] = replace(
                cells[place],
                is_best=place == overall,
                is_best_of_learner=place in tops,
                n_daggers=daggers(t_test(summary, done[neural])) if is_compared else 0,
            )
    return replace(table, cells=cells)


def improvements(*tables: Table) -> list[Table]:
    """Return the average relative improvements of the paper's text, over what was measured.

    Over the networks and data sets for which both variants are done, under the same protocol.
    """
    cells: dict[tuple[Row, str], Cell] = {}
    for comparison, published in paper.numbers()["improvements"].items():
        new, old = comparison.split(" over ")
        for table, measure in zip(tables, MEASURES, strict=True):
            pairs = [
                (cell.measured.mean, other.measured.mean)
                for (row, column), cell in table.cells.items()
                if row[0] in paper.NETWORKS and row[1] == new and cell.measured
                if (other := table.cells.get(((row[0], old, *row[2:]), column))) and other.measured
            ]
            if pairs:
                share = relative_improvement(*zip(*pairs, strict=True))
                said = Published(published[measure] / 100)
                cells[(comparison, f"{len(pairs)} pairs"), MEASURES[measure]] = Cell(
                    Summary(share, None, len(pairs)), said
                )
    heads = ("what", "of")
    title = "Average relative improvement (networks)"
    return [Table(title, "share", heads, tuple(MEASURES.values()), cells)] if cells else []


# what is measured without training: title, kind of number, whether data sets are rows
_MEASURED: Mapping[str, tuple[str, Kind, bool]] = {
    "counts": ("Data sets", "count", True),
    "embedding_times": ("Seconds to make word-class embeddings", "seconds", False),
    "unseen_terms": ("Terms outside the vocabulary, in test texts", "count", False),
    "map": ("Share of a term's nearest neighbors that have its class", "share", False),
}


def _measured(kind: str, extra: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a measurement by name."""
    if kind == "map":
        return {panel["title"]: panel["neighbor_share"] for panel in extra["panels"]}
    if kind == "embedding_times":
        others = {f"S ({name})": each for name, each in extra.get("by_correlation", {}).items()}
        return {"X": extra["X"], "S": extra["S"], "total": extra["X"] + extra["S"], **others}
    return {name: float(value) for name, value in extra.items()}


def _names(kind: str, results: Iterable[RunResult]) -> list[str]:
    """Return the names of what would be measured, as far as another run tells."""
    own = [each for each in results if each.learner == kind]
    return list(_measured(kind, own[0].extra)) if own else ["(not measured)"]


def _published(kind: str, numbers: Mapping[str, Any], name: str, dataset: str) -> Published | None:
    by_dataset = kind in ("counts", "unseen_terms")
    first, second = (dataset, name) if by_dataset else (name, dataset)
    value = numbers.get(first, {}).get(second)
    if value is None:
        return None
    return Published(float(value[0] if isinstance(value, list) else value))


# --- formats ------------------------------------------------------------------------------------


def _number(kind: Kind, value: float, *, signed: bool = False) -> str:
    """Write a number: .706 for shares, 5m 58s for seconds, 17,184 for counts."""
    sign = "-" if value < 0 else "+" if signed else ""
    size = abs(value)
    if kind == "share":
        return sign + f"{size:.3f}".removeprefix("0")
    if kind == "count":
        digits = ".3g" if size < 10 and size != int(size) else ".1f"
        return sign + f"{size:,{digits}}".removesuffix(".0")
    if size < 59.5:
        return sign + (f"{size:.2f}s" if size < 10 else f"{size:.0f}s")
    minutes, seconds = divmod(round(size), 60)
    hours, minutes = divmod(minutes, 60)
    return sign + (f"{hours}h {minutes}m {seconds}s" if hours else f"{minutes}m {seconds}s")


def _content(table: Table, cell: Cell) -> tuple[str, str]:
    """Return what was measured, and what it is compared with, in brackets."""
    compared = ""
    if cell.published is not None:
        compared = _number(table.kind, cell.published.value)
        if cell.difference is not None:
            compared += " " + _number(table.kind, cell.difference, signed=True)
        compared = f"({compared})"
    if cell.measured is None:
        return "-", compared
    written = _number(table.kind, cell.measured.mean)
    if cell.measured.deviation is not None:
        written += "±" + _number(table.kind, cell.measured.deviation)
    return written, compared


@dataclass(frozen=True)
class _Style:
    """How a format writes names, the best numbers and marks."""

    escape: Callable[[str], str]
    best: str
    shaded: str
    dagger: str
    equal: str
    reference: str


def _clean(text: str) -> str:
    """Return a text on one line, without control characters."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~!$&])", r"\\\1", _clean(text))


_LATEX = {
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
}


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in _clean(text))


def _escape_html(text: str) -> str:
    return html.escape(_clean(text))


_STYLES = {
    "text": _Style(_clean, "{}*", "{}'", "†", "≈", "[{}]"),
    "markdown": _Style(_escape_markdown, "**{}**", "*{}*", "†", "≈", "<sup>{}</sup>"),
    "latex": _Style(
        _escape_latex, r"\textbf{{{}}}", r"\cellcolor{{gray!30}}{}", r"$^\dagger$",
        r"$^\approx$", r"\textsuperscript{{{}}}",
    ),
    "html": _Style(
        _escape_html, "<strong>{}</strong>", "{}", "†", "≈", "<sup>{}</sup>",
    ),
}  # fmt: skip


def _commands(table: Table) -> dict[str, int]:
    """Give each command that runs what is missing a number."""
    wanted = dict.fromkeys(cell.command for cell in table.cells.values() if cell.command)
    return {command: number for number, command in enumerate(wanted, start=1)}


def _cell(table: Table, cell: Cell | None, style: _Style, commands: Mapping[str, int]) -> str:
    if cell is None:
        return ""
    main, compared = (style.escape(part) for part in _content(table, cell))
    if cell.is_best:
        main = style.best.format(main)
    if cell.is_best_of_learner:
        main = style.shaded.format(main)
    main += style.dagger * cell.n_daggers + (style.equal if cell.is_equal else "")
    if cell.command:
        main += style.reference.format(commands[cell.command])
    return f"{main} {compared}".rstrip()


def _grid(table: Table, form: str) -> list[list[str]]:
    style, commands = _STYLES[form], _commands(table)
    heads = [style.escape(name) for name in (*table.heads, *table.columns)]
    body = []
    for row in table.rows:
        cells = (table.cells.get((row, column)) for column in table.columns)
        written = (_cell(table, cell, style, commands) for cell in cells)
        body.append([*map(style.escape, row), *written])
    return [heads, *body]


def _notes(table: Table, form: str) -> list[str]:
    """Explain the marks that occur, then give the commands of what is missing."""
    style, cells = _STYLES[form], list(table.cells.values())
    best, shaded = (
        pattern.format(word) for pattern, word in ((style.best, "best"), (style.shaded, "shaded"))
    )
    marks = [
        (best, "best", any(cell.is_best for cell in cells)),
        (shaded, "shaded", any(cell.is_best_of_learner for cell in cells)),
        (style.dagger, "dagger", any(cell.n_daggers for cell in cells)),
        (style.equal, "equal", any(cell.is_equal for cell in cells)),
    ]  # fmt: skip
    notes = [f"{mark}: {style.escape(_LEGEND[name])}" for mark, name, occurs in marks if occurs]
    if any(cell.published for cell in cells):
        notes.append(style.escape("in brackets: the paper's number, and the difference from it"))
    for command, number in _commands(table).items():
        reference = style.reference.format(number)
        notes.append(f"{reference} not (all) run: {style.escape(command)}")
    return notes


def _lines(table: Table, form: str) -> str:
    """Write lines with cells under one another, as text or as Markdown."""
    rows = _grid(table, form)
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lined = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    if form == "text":
        lines = ["  ".join(row).rstrip() for row in lined]
        return "\n".join([_clean(table.title), "", *lines, "", *_notes(table, form)])
    lined.insert(1, ["-" * width for width in widths])
    lines = [f"| {' | '.join(row)} |" for row in lined]
    notes = [f"- {note}" for note in _notes(table, form)]
    return "\n".join([f"### {_escape_markdown(table.title)}", "", *lines, "", *notes])


def _latex(table: Table, form: str) -> str:
    """Write a table environment, for the packages booktabs and colortbl."""
    heads, *rows = _grid(table, form)
    n_heads = len(table.heads)
    notes = r" \\ ".join(_notes(table, form))
    lines = [
        r"\begin{table}", r"\centering",
        rf"\begin{{tabular}}{{{'l' * n_heads}{'r' * len(table.columns)}}}", r"\toprule",
        " & ".join(heads) + r" \\", r"\midrule",
        *(" & ".join(row) + r" \\" for row in rows),
        r"\bottomrule", r"\end{tabular}",
        rf"\caption{{{_escape_latex(table.title)}}}", r"\par\footnotesize\raggedright", notes,
        r"\end{table}",
    ]  # fmt: skip
    return "\n".join(lines)


def _html(table: Table, form: str) -> str:
    """Write a table element and a list of notes; shading is the class `shaded`."""
    heads, *grid = _grid(table, form)
    n_heads, body = len(table.heads), []
    for row, written in zip(table.rows, grid, strict=True):
        names = "".join(f'<th scope="row">{name}</th>' for name in written[:n_heads])
        data = []
        for column, content in zip(table.columns, written[n_heads:], strict=True):
            cell = table.cells.get((row, column))
            is_shaded = cell is not None and cell.is_best_of_learner
            data.append(
                f'<td class="shaded">{content}</td>' if is_shaded else f"<td>{content}</td>"
            )
        body.append(f"<tr>{names}{''.join(data)}</tr>")
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    notes = "".join(f"<li>{note}</li>" for note in _notes(table, form))
    caption = f"<caption>{_escape_html(table.title)}</caption>"
    lines = ["<table>", caption, f"<thead><tr>{top}</tr></thead>", "<tbody>", *body, "</tbody>"]
    return "\n".join([*lines, "</table>", f'<ul class="notes">{notes}</ul>'])
