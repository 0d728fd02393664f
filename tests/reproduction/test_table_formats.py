import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest

from wordclass.errors import InputError
from wordclass.reproduction.cells import Cell, Table
from wordclass.reproduction.paper import Published
from wordclass.reproduction.runs import Run
from wordclass.reproduction.statistics import Summary
from wordclass.reproduction.table_formats import format_tables

HOSTILE = 'a|b_*<script>&"\\$%#{}~^\n=1'


def hostile_table():
    best = Cell(Summary(0.7064, 0.004, 3), Published(0.703), True, True, 0)
    alike = Cell(Summary(0.7, 0.01, 3), None, False, False, 2, 0.3)
    missing = Cell(None, Published(0.5), missing=(Run(HOSTILE, "svm"),))
    single = Cell(Summary(0.25, None, 1), Published(0.2504))
    cells = {
        ((HOSTILE, "x"), "one"): best,
        ((HOSTILE, "x"), HOSTILE): single,
        (("svm", "y"), "one"): alike,
        (("svm", "y"), HOSTILE): missing,
    }
    heads = ("learner", "variant")
    columns = ("one", HOSTILE)
    return Table(HOSTILE, "share", heads, columns, cells, "wordclass experiment run f1")


def test_text_has_a_line_per_row_and_note():
    lines = format_tables([hostile_table()], "text").splitlines()
    # a heading, two rows, each column under its head
    assert {line.index(".7") for line in lines[3:5]} == {lines[2].index("one")}
    assert any(".706±.004*' n=3 (.703 +.003)" in line for line in lines)
    assert any(".700±.010††≈ n=3" in line and "-[1] (.500)" in line for line in lines)
    assert any(".250 (=)" in line for line in lines)
    assert sum("wordclass" in line for line in lines) == 1


def test_differences_have_a_sign_and_their_p():
    cells = {
        (("a", "b"), "one"): Cell(Summary(0.0123, None, 1), p=0.00031),
        (("a", "b"), "two"): Cell(Summary(-0.002, None, 1), p=0.25),
        (("a", "b"), "three"): Cell(Summary(0.0, None, 1)),
    }
    table = Table("What", "difference", ("first", "second"), ("one", "two", "three"), cells)
    written = format_tables([table], "markdown")
    assert "| a | b | +.012 (p \\< .001) | -.002 (p = .250) | +.000 |" in written
    assert "Holm's correction for all cells of the measure" in written
    assert "≈" not in written


def test_markdown_has_as_many_cells_in_every_row():
    written = format_tables([hostile_table()], "markdown")
    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
    assert "***.706±.004*** n=3 (.703 +.003)" in written
    assert "<script>" not in written


def test_latex_escapes_every_special_sign():
    written = format_tables([hostile_table()], "latex")
    assert r"\colorbox{gray!30}{\textbf{.706$\pm$.004}}" in written
    assert r"$^\dagger$$^\dagger$$^\approx$" in written
    escaped = (
        r"a\textbar{}b\_*\textless{}script\textgreater{}\&" + '"' + r"\textbackslash{}\$\%\#\{\}"
    )
    assert escaped in written
    assert written.count(r"\begin") == written.count(r"\end") == 2


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []
        self.started = []
        self.texts = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.started.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_html_is_closed_and_escaped():
    parser = Elements()
    parser.feed(format_tables([hostile_table()], "html"))
    assert parser.open == []
    assert "script" not in {tag for tag, _ in parser.started}
    assert {"em", "strong", "sup"} <= {tag for tag, _ in parser.started}
    assert any('<script>&"' in text for text in parser.texts)


def test_csv_has_separate_columns_for_measured_published_and_difference():
    lines = list(csv.DictReader(io.StringIO(format_tables([hostile_table()], "csv"))))
    assert [line["column"] for line in lines] == ["one", HOSTILE] * 2
    assert lines[0]["learner"] == HOSTILE
    assert (float(lines[0]["measured"]), float(lines[0]["published"])) == (0.7064, 0.703)
    assert float(lines[0]["difference"]) == pytest.approx(0.0034)
    assert (lines[3]["measured"], lines[3]["runs"], lines[3]["difference"]) == ("", "0", "")
    assert HOSTILE in lines[3]["command"]
    assert lines[2]["daggers"] == "2"


def test_tables_with_other_rows_share_one_csv():
    counts = Table(
        "Counts",
        "count",
        ("data set",),
        ("terms",),
        {(("one",), "terms"): Cell(Summary(3.0, None, 1))},
    )
    lines = list(csv.DictReader(io.StringIO(format_tables([hostile_table(), counts], "csv"))))
    assert [line["table"] for line in lines] == [HOSTILE] * 4 + ["Counts"]
    assert (lines[4]["data set"], lines[4]["learner"]) == ("one", "")


def test_the_cells_of_a_table_are_json():
    cells = json.loads(json.dumps(hostile_table().to_dicts()))
    assert cells[0]["measured"] == 0.7064


def test_an_unknown_format_is_refused():
    with pytest.raises(InputError, match=r"unknown format 'latx' .did you mean 'latex'"):
        format_tables([hostile_table()], "latx")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("share", 0.70649, ".706"), ("share", 1.0, "1.000"), ("share", -0.0034, "-.003"),
        ("seconds", 0.0014, "0.0014s"), ("seconds", 42.44, "42.4s"), ("seconds", 358, "5m 58s"),
        ("seconds", 59.9, "1m 0s"), ("seconds", 15093, "4h 11m 33s"), ("count", 17184, "17,184"),
        ("count", 565.7, "565.7"), ("count", 0.07109, "0.0711"), ("count", 3, "3"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_in_the_paper(kind, value, expected):
    cells = {(("row",), "column"): Cell(Summary(value, None, 1))}
    table = Table("title", kind, ("what",), ("column",), cells)
    assert format_tables([table], "text").splitlines()[3] == f"row   {expected}"


def test_unfinished_runs_are_named_once_with_their_command():
    done = Cell(Summary(0.5, None, 1), missing=(Run("one", "cnn", "vectors", 2),))
    cells = {
        (("cnn", "vectors"), "one"): done,
        (("cnn", "vectors"), "two"): Cell(None, missing=(Run("two", "cnn", "vectors"),)),
        (("svm", "tfidf"), "one"): Cell(None, missing=(Run("one", "svm", "tfidf"),)),
        (("svm", "tfidf"), "two"): Cell(None, missing=(Run("two", "svm", "tfidf"),)),
    }
    table = Table("title", "share", ("learner", "variant"), ("one", "two"), cells, "run it")
    assert format_tables([table], "text").splitlines()[2:] == [
        "learner  variant  one",
        "cnn      vectors  .500[1]",
        "",
        "[1] unfinished: run it --only dataset=one,learner=cnn",
        "[2] unfinished: run it --only dataset=one,learner=svm",
        "rows without a finished run are omitted",
        "no finished run on two: run it --only dataset=two",
    ]
    assert len(format_tables([table], "csv").splitlines()) == 5


def test_latex_keeps_the_hyphens_of_a_command():
    missing = Cell(None, missing=(Run("one", "svm"),))
    table = Table("title", "share", ("learner",), ("one",), {(("svm",), "one"): missing})
    assert "run -{}-only dataset=one,\\allowbreak{}learner=svm" in format_tables([table], "latex")
