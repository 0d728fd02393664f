"""Tests of the commands that show the results of experiments."""

import csv
import io
import json

import pytest
from reproduction.made_results import add

from wordclass.reproduction.plan import Plan
from wordclass.reproduction.runs import Results

ONLY = "dataset=newsgroups20,learner=svm"


@pytest.fixture
def folder(tmp_path):
    results = Results(tmp_path / "out")
    for run in Plan.read("f1").runs({"dataset": ["newsgroups20"], "learner": ["svm"]}):
        if run.variant != "vectors":
            add(results, run, 0.67 if run.variant == "tfidf" else 0.68)
    return results.folder


def test_a_table_shows_measured_and_missing_cells(run, folder):
    status, out, err = run("experiment", "table", "f1", "-o", folder, "--only", ONLY)
    assert (status, err) == (0, "")
    assert ".670≈ (=)" in out  # with the same predictions
    assert ".680*' (.678 +.002)" in out
    assert "[1] unfinished: wordclass experiment run f1" in out
    assert "rows without a finished run are omitted" in out


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html", "csv"])
def test_a_table_has_every_format(run, folder, form):
    status, out, _ = run(
        "experiment", "table", "f1", "-o", folder, "--only", ONLY, "--format", form
    )
    assert status == 0
    assert "newsgroups20" in out


def test_csv_has_columns_for_measured_and_published_values(run, folder):
    _, out, _ = run("experiment", "table", "f1", "-o", folder, "--only", ONLY, "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(out)))
    assert len(lines) == 6
    assert {"measured", "published", "difference"} <= lines[0].keys()
    assert float(lines[0]["difference"]) == pytest.approx(0)


def test_json_has_the_cells(run, folder):
    _, out, _ = run("experiment", "table", "f1", "-o", folder, "--only", ONLY, "--json")
    macro, _ = json.loads(out)["tables"]
    assert macro["title"] == "Macro F1"
    assert [cell["measured"] for cell in macro["cells"]] == [0.67, None, 0.68]


def test_figures_are_listed(run, folder, tmp_path):
    pytest.importorskip("matplotlib")
    to = tmp_path / "figures"
    status, out, _ = run("experiment", "figure", "f1", "-o", folder, "--only", ONLY, "--to", to)
    assert status == 0
    paths = out.split()
    assert sorted(paths) == sorted(str(path) for path in to.iterdir())
    assert {path.rpartition(".")[2] for path in paths} == {"png", "pdf", "svg"}


def test_the_path_of_a_report_is_printed(run, folder, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from wordclass.reproduction import figures

    monkeypatch.setattr(figures, "write", lambda *_: {})  # because drawing takes long
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "index.html").write_text("mine")
    words = ("experiment", "report", folder, "--to", tmp_path / "report", "--json")
    status, _, err = run(*words)
    assert status == 1
    assert "--force" in err
    assert (tmp_path / "report" / "index.html").read_text() == "mine"
    status, out, err = run(*words, "--force")
    assert status == 0
    assert json.loads(out) == {"report": str(tmp_path / "report" / "index.html")}
    assert "f1: tables and figures" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table", "f2"), "unknown plan 'f2'"),
        (("table", "f1", "--format", "pdf"), "unknown format 'pdf'"),
        (("table", "f1", "--only", "learner=smv"), "did you mean 'svm'"),
        (("figure", "dropout", "--to", "figures"), "has no results of the plan dropout"),
        (("report", "nowhere", "--to", "report"), "has no results"),
    ],
)
def test_errors_are_one_line(run, folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    place = () if arguments[0] == "report" else ("-o", folder)
    status, out, err = run("experiment", *arguments, *place)
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_a_truncated_line_is_reported(run, folder):
    with (folder / "runs.jsonl").open("a") as file:
        file.write('{"key": "12')
    status, _, err = run("experiment", "table", "f1", "-o", folder, "--only", ONLY)
    assert status == 0
    assert "line 3: skipped, because it cannot be parsed" in err
