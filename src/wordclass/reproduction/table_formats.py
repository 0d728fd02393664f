"""Tables of experiments as text, Markdown, LaTeX, HTML and CSV.

CSV has every cell. The other formats omit rows and columns without a measured cell and print the
commands that execute their runs. A table without any measured cell is printed completely.
"""

import csv
import html
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wordclass.catalogue import unknown_name_error
from wordclass.reproduction.cells import Cell, Kind, Table
from wordclass.reproduction.page import Markup, tag
from wordclass.reproduction.rivals.plan_options import RECORDED
from wordclass.tables import align_columns, one_line

FORMATS = ("text", "markdown", "latex", "html", "csv")
_BEST = "best of the column"
_SHADED = "best of its learner"
_DEVIATION_NOTE = "±: standard deviation over n runs; cells without it have one run"
_DAGGER_NOTE = (
    "not significantly different from the best neural cell with several runs (two-tailed t-test "
    "over runs, p > .005; two marks: p > .05), as in the paper. The paper has 10 runs; fewer runs "
    "show fewer differences"
)
_EQUAL_NOTE = (
    "no significant difference from the best of the column (p > .05; paired randomization test "
    "over the test documents of at most three runs per cell, with Holm's correction); for an "
    "improvement: paired t-test"
)
_PUBLISHED_NOTE = "in brackets: the paper's number and the difference from it (=: equal digits)"
_DIFFERENCE_NOTE = (
    "p: paired randomization test over the test documents of at most three runs each, with "
    "Holm's correction for all cells of the measure"
)
_MIN_PRINTED_P = 0.001
_OMITTED_NOTE = "rows without a finished run are omitted"


def check_format(format_name: str) -> None:
    """Refuse the name of an unknown format."""
    if format_name not in FORMATS:
        raise unknown_name_error("format", format_name, FORMATS)


def format_tables(tables: Sequence[Table], format_name: str) -> str:
    """Write tables in one of `FORMATS`, one after the other. CSV has one line per cell of all."""
    check_format(format_name)
    if format_name == "csv":
        return _csv(tables)
    write = {"text": _text, "markdown": _markdown, "latex": _latex, "html": _html}[format_name]
    return "\n\n".join(write(_Content(table, _STYLES[format_name])) for table in tables)


def _csv(tables: Sequence[Table]) -> str:
    lines = [{"table": table.title, **cell} for table in tables for cell in table.to_dicts()]
    heads = [head for table in tables for head in table.heads]
    file = io.StringIO()
    writer = csv.DictWriter(file, dict.fromkeys(["table", *heads, *lines[0]]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


# --- content and style of a table ---------------------------------------------------------------


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~!$&])", r"\\\1", one_line(text))


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
    escaped = "".join(_LATEX.get(sign, sign) for sign in one_line(text))
    return escaped.replace("--", "-{}-")  # LaTeX would print a dash


def _escape_html(text: str) -> str:
    return html.escape(one_line(text))


@dataclass(frozen=True)
class _Style:
    """Markup of a format for names, best numbers, marks, and references to notes."""

    escape: Callable[[str], str]
    best: str
    shaded: str
    dagger: str = "†"
    equal: str = "≈"
    record: str = "°"
    reference: str = "<sup>{}</sup>"


_STYLES = {
    "text": _Style(one_line, "{}*", "{}'", reference="[{}]"),
    "markdown": _Style(_escape_markdown, "**{}**", "*{}*"),
    "latex": _Style(
        _escape_latex,
        r"\textbf{{{}}}",
        r"\colorbox{{gray!30}}{{{}}}",
        r"$^\dagger$",
        r"$^\approx$",
        r"$^\circ$",
        r"\textsuperscript{{{}}}",
    ),
    "html": _Style(_escape_html, "<strong>{}</strong>", "<em>{}</em>"),
}


class _Content:
    """Title, cells and notes of a table, in the style of a format."""

    def __init__(self, table: Table, style: _Style) -> None:
        measured = table.select_measured()
        self.shown = measured if measured.cells else table
        self.style = style
        columns = self.shown.columns
        of_omitted_columns = [run for run in table.missing if run.dataset not in columns]
        of_shown_columns = [run for run in table.missing if run.dataset in columns]
        self.unfinished_learners = list(dict.fromkeys(run.learner for run in of_shown_columns))
        self.title = style.escape(table.title)
        self.heads = [style.escape(name) for name in (*table.heads, *self.shown.columns)]
        self.rows = [
            [*map(style.escape, row), *(self._cell(row, column) for column in self.shown.columns)]
            for row in self.shown.rows
        ]
        self.notes = self._legend()
        for number, learner in enumerate(self.unfinished_learners, start=1):
            runs = [run for run in of_shown_columns if run.learner == learner]
            command = table.command(runs, ["dataset", "learner"])
            note = style.escape(f"unfinished: {command}")
            self.notes.append(f"{style.reference.format(number)} {note}")
        if len(self.shown.rows) < len(table.rows):
            self.notes.append(_OMITTED_NOTE)
        if of_omitted_columns:
            names = ", ".join(dict.fromkeys(run.dataset for run in of_omitted_columns))
            command = table.command(of_omitted_columns, ["dataset"])
            self.notes.append(style.escape(f"no finished run on {names}: {command}"))

    def _cell(self, row: tuple[str, ...], column: str) -> str:
        cell = self.shown.cells.get((row, column))
        if cell is None:
            return ""
        style = self.style
        measured, compared = (style.escape(text) for text in _numbers(self.shown.kind, cell))
        if cell.is_best:
            measured = style.best.format(measured)
        if cell.is_best_of_learner:
            measured = style.shaded.format(measured)
        measured += style.dagger * cell.n_daggers + style.equal * self._has_equal_mark(cell)
        measured += style.record * self._is_shown_record(cell)
        if cell.missing:
            number = self.unfinished_learners.index(cell.missing[0].learner) + 1
            measured += style.reference.format(number)
        return f"{measured} {compared}".rstrip()

    def _has_equal_mark(self, cell: Cell) -> bool:
        """Return True for a cell that is equal to the best. Differences show p instead."""
        return cell.is_equal and self.shown.kind != "difference"

    def _is_shown_record(self, cell: Cell) -> bool:
        return cell.is_record and cell.measured is not None

    def _legend(self) -> list[str]:
        """Explain the marks that occur."""
        style = self.style
        kind = self.shown.kind
        cells = self.shown.cells.values()
        has_deviation = any("±" in _numbers(kind, cell)[0] for cell in cells)
        marks = [
            (style.best.format(_BEST), any(cell.is_best for cell in cells)),
            (style.shaded.format(_SHADED), any(cell.is_best_of_learner for cell in cells)),
            (style.escape(_DEVIATION_NOTE), has_deviation),
            (
                f"{style.dagger}: {style.escape(_DAGGER_NOTE)}",
                any(cell.n_daggers for cell in cells),
            ),
            (
                f"{style.equal}: {style.escape(_EQUAL_NOTE)}",
                any(map(self._has_equal_mark, cells)),
            ),
            (f"{style.record}: {style.escape(RECORDED)}", any(map(self._is_shown_record, cells))),
            (style.escape(_PUBLISHED_NOTE), any(cell.published for cell in cells)),
            (
                style.escape(_DIFFERENCE_NOTE),
                kind == "difference" and any(cell.p is not None for cell in cells),
            ),
        ]
        return [note for note, occurs in marks if occurs]


def _numbers(kind: Kind, cell: Cell) -> tuple[str, str]:
    """Return the measured number, and the number of runs with the comparison in brackets."""
    published = "" if cell.published is None else format_number(kind, cell.published.value)
    if cell.measured is None:
        return "-", f"({published})" if published else ""
    measured = format_number(kind, cell.measured.mean)
    compared = ""
    if kind == "difference" and cell.p is not None:
        bound = format_number("share", max(cell.p, _MIN_PRINTED_P))
        compared = f"(p {'<' if cell.p < _MIN_PRINTED_P else '='} {bound})"
    if published == measured:
        compared = "(=)"
    elif cell.difference is not None:
        compared = f"({published} {format_number(kind, cell.difference, signed=True)})"
    if cell.measured.deviation is not None:
        measured += f"±{format_number(kind, cell.measured.deviation)}"
        compared = f"n={cell.measured.n_runs} {compared}"
    return measured, compared


def format_number(kind: Kind, value: float, *, signed: bool = False) -> str:
    """Format a number by its kind: .706, +.012 for differences, 5m 58s, 17,184 for counts."""
    sign = "-" if value < 0 else "+" if signed else ""
    size = abs(value)
    if kind == "difference":
        return format_number("share", value, signed=True)
    if kind == "share":
        return sign + f"{size:.3f}".removeprefix("0")
    if kind == "count":
        digits = ".3g" if size < 10 and size != int(size) else ".1f"
        return sign + f"{size:,{digits}}".removesuffix(".0")
    if size < 59.5:
        return f"{sign}{size:.3g}s"
    minutes, seconds = divmod(round(size), 60)
    hours, minutes = divmod(minutes, 60)
    return sign + (f"{hours}h {minutes}m {seconds}s" if hours else f"{minutes}m {seconds}s")


# --- formats ------------------------------------------------------------------------------------


def _text(content: _Content) -> str:
    lines = align_columns([content.heads, *content.rows])
    return "\n".join([content.title, "", *lines, "", *content.notes])


def _markdown(content: _Content) -> str:
    rows = [content.heads, ["---"] * len(content.heads), *content.rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(
        [f"### {content.title}", "", *lines, "", *(f"- {note}" for note in content.notes)]
    )


def _latex(content: _Content) -> str:
    """Write a table environment, for the packages booktabs and xcolor."""
    n_columns = len(content.shown.columns)
    layout = "l" * (len(content.heads) - n_columns) + "r" * n_columns
    lines = [" & ".join(row) + r" \\" for row in (content.heads, *content.rows)]
    notes = r" \\ ".join(content.notes).replace(",", r",\allowbreak{}")  # commands are long
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            r"\setlength{\fboxsep}{1pt}",
            rf"\begin{{tabular}}{{{layout}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{content.title}}}",
            rf"\par\footnotesize\raggedright {notes}",
            r"\end{table}",
        ]
    )


def _html(content: _Content) -> str:
    """Write a table element and a list of notes. Shaded numbers are emphasized."""
    n_names = len(content.heads) - len(content.shown.columns)

    def cells(row: Sequence[str]) -> list[Markup]:
        names = [tag("th", Markup(name), scope="row") for name in row[:n_names]]
        return [*names, *(tag("td", Markup(cell)) for cell in row[n_names:])]

    heads = [tag("th", Markup(head), scope="col") for head in content.heads]
    rows = [tag("tr", cells(row)) for row in content.rows]
    table = tag(
        "table",
        tag("caption", Markup(content.title)),
        tag("thead", tag("tr", heads)),
        tag("tbody", Markup("\n".join(rows))),
    )
    notes = tag("ul", [tag("li", Markup(note)) for note in content.notes], class_="notes")
    return f"{table}\n{notes}"
