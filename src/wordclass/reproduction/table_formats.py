"""Tables of experiments as text, Markdown, LaTeX, HTML and CSV.

CSV has every cell. The others leave out rows and columns in which nothing was measured, and give
the commands that would run them; a table in which nothing was is written as a whole.
"""

import csv
import html
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wordclass.catalogue import unknown_name_error
from wordclass.reproduction.page import Markup, tag
from wordclass.reproduction.rivals.plan_options import RECORDED
from wordclass.reproduction.tables import Cell, Kind, Table
from wordclass.tables import align_columns, one_line

FORMATS = ("text", "markdown", "latex", "html", "csv")
_BEST, _SHADED = "best of the column", "best of its learner"
_RUNS = "±: standard deviation over n runs; without it there is one run"
_DAGGER = (
    "not different from the best neural cell of several runs by a two-tailed t-test over runs (p > "
    ".005; twice: p > .05), as in the paper, which has 10 runs: fewer show fewer differences"
)
_EQUAL = (
    "no significant difference (p > .05): from the best of the column, by a paired randomization "
    "test over test documents of at most three runs per cell, with Holm's correction; of an "
    "improvement, by a paired t-test"
)
_COMPARED = "in brackets: the paper's number, and the difference from it (=: none in these digits)"
_PAIRED = (
    "p: of a paired randomization test over test documents, of at most three runs each, with "
    "Holm's correction for all cells of the measure"
)
_LEAST_P = 0.001  # that is written as a number
_LEFT_OUT = "rows of which nothing was run are left out"


def check_format(form: str) -> None:
    """Refuse a format that there is not."""
    if form not in FORMATS:
        raise unknown_name_error("format", form, FORMATS)


def format_tables(tables: Sequence[Table], form: str) -> str:
    """Write tables in one of `FORMATS`, one after the other; in CSV, one line per cell of all."""
    check_format(form)
    if form == "csv":
        return _csv(tables)
    write = {"text": _text, "markdown": _markdown, "latex": _latex, "html": _html}[form]
    return "\n\n".join(write(_Content(table, _STYLES[form])) for table in tables)


def _csv(tables: Sequence[Table]) -> str:
    lines = [{"table": table.title, **cell} for table in tables for cell in table.facts()]
    heads = [head for table in tables for head in table.heads]
    file = io.StringIO()
    writer = csv.DictWriter(file, dict.fromkeys(["table", *heads, *lines[0]]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()


# --- what a format writes, and how --------------------------------------------------------------


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
    return escaped.replace("--", "-{}-")  # which would be a dash


def _escape_html(text: str) -> str:
    return html.escape(one_line(text))


@dataclass(frozen=True)
class _Style:
    """How a format writes names, the best numbers, marks, and references to notes."""

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
    """What is written of a table: its title, lines of cells and notes, in the style of a format."""

    def __init__(self, table: Table, style: _Style) -> None:
        measured = table.measured()
        self.shown, self.style = measured if measured.cells else table, style
        left_out = [run for run in table.missing if run.dataset not in self.shown.columns]
        left = [run for run in table.missing if run.dataset in self.shown.columns]
        self.learners = list(dict.fromkeys(run.learner for run in left))  # that miss some
        self.title = style.escape(table.title)
        self.heads = [style.escape(name) for name in (*table.heads, *self.shown.columns)]
        self.rows = [
            [*map(style.escape, row), *(self._cell(row, column) for column in self.shown.columns)]
            for row in self.shown.rows
        ]
        self.notes = self._legend()
        for number, learner in enumerate(self.learners, start=1):
            runs = [run for run in left if run.learner == learner]
            told = style.escape(f"not all run: {table.command(runs, ['dataset', 'learner'])}")
            self.notes.append(f"{style.reference.format(number)} {told}")
        if len(self.shown.rows) < len(table.rows):
            self.notes.append(_LEFT_OUT)
        if left_out:
            names = ", ".join(dict.fromkeys(run.dataset for run in left_out))
            command = table.command(left_out, ["dataset"])
            self.notes.append(style.escape(f"nothing was run on {names}: {command}"))

    def _cell(self, row: tuple[str, ...], column: str) -> str:
        cell = self.shown.cells.get((row, column))
        if cell is None:
            return ""
        style = self.style
        main, compared = (style.escape(part) for part in _numbers(self.shown.kind, cell))
        if cell.is_best:
            main = style.best.format(main)
        if cell.is_best_of_learner:
            main = style.shaded.format(main)
        main += style.dagger * cell.n_daggers + style.equal * self._is_marked(cell)
        main += style.record * self._is_shown_record(cell)
        if cell.missing:
            main += style.reference.format(self.learners.index(cell.missing[0].learner) + 1)
        return f"{main} {compared}".rstrip()

    def _is_marked(self, cell: Cell) -> bool:
        """Whether a cell is marked as equal to another; differences have their p instead."""
        return cell.is_equal and self.shown.kind != "difference"

    def _is_shown_record(self, cell: Cell) -> bool:
        return cell.is_record and cell.measured is not None

    def _legend(self) -> list[str]:
        """Explain the marks that occur."""
        style, kind, cells = self.style, self.shown.kind, self.shown.cells.values()
        marks = [
            (style.best.format(_BEST), any(cell.is_best for cell in cells)),
            (style.shaded.format(_SHADED), any(cell.is_best_of_learner for cell in cells)),
            (style.escape(_RUNS), any("±" in _numbers(kind, cell)[0] for cell in cells)),
            (f"{style.dagger}: {style.escape(_DAGGER)}", any(cell.n_daggers for cell in cells)),
            (f"{style.equal}: {style.escape(_EQUAL)}", any(map(self._is_marked, cells))),
            (f"{style.record}: {style.escape(RECORDED)}", any(map(self._is_shown_record, cells))),
            (style.escape(_COMPARED), any(cell.published for cell in cells)),
            (style.escape(_PAIRED), kind == "difference"),
        ]
        return [note for note, occurs in marks if occurs]


def _numbers(kind: Kind, cell: Cell) -> tuple[str, str]:
    """Return what was measured, and over how many runs and beside what, in brackets."""
    published = "" if cell.published is None else written_number(kind, cell.published.value)
    if cell.measured is None:
        return "-", f"({published})" if published else ""
    measured, compared = written_number(kind, cell.measured.mean), ""
    if kind == "difference" and cell.p is not None:
        least = written_number("share", max(cell.p, _LEAST_P))
        compared = f"(p {'<' if cell.p < _LEAST_P else '='} {least})"
    if published == measured:
        compared = "(=)"
    elif cell.difference is not None:
        compared = f"({published} {written_number(kind, cell.difference, signed=True)})"
    if cell.measured.deviation is not None:
        measured += f"±{written_number(kind, cell.measured.deviation)}"
        compared = f"n={cell.measured.n_runs} {compared}"
    return measured, compared


def written_number(kind: Kind, value: float, *, signed: bool = False) -> str:
    """Write a number: .706 for shares, +.012 for differences, 5m 58s, 17,184 for counts."""
    sign = "-" if value < 0 else "+" if signed else ""
    size = abs(value)
    if kind == "difference":
        return written_number("share", value, signed=True)
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
    """Write a table element and a list of notes; what is shaded elsewhere is emphasized."""
    n_names = len(content.heads) - len(content.shown.columns)

    def cells(row: Sequence[str]) -> list[Markup]:
        names = [tag("th", Markup(name), scope="row") for name in row[:n_names]]
        return [*names, *(tag("td", Markup(each)) for each in row[n_names:])]

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
