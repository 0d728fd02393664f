import re

import pytest
from experiment.made_results import add

pytest.importorskip("matplotlib")

from wordclass.errors import InputError
from wordclass.experiment.claims import CLAIMS
from wordclass.experiment.plans import Plan
from wordclass.experiment.runs import Results
from wordclass.report.experiment_report import environment, write_report

ONLY = {"dataset": ["newsgroups20"], "learner": ["svm"]}


@pytest.fixture
def results(tmp_path, hostile):
    found = Results(tmp_path / "out")
    for k, run in enumerate(Plan.read("f1").runs(ONLY)):
        machine = {"cpu": hostile, "cores": k % 2}
        add(found, run, 0.5 + k / 10, n_wrong=20 * k, machine=machine)
    return found


def test_one_page_holds_claims_tables_figures_environment_and_commands(results, tmp_path, hostile):
    told = []
    page = write_report(results, tmp_path / "report", told.append).read_text(encoding="utf-8")
    for claim in CLAIMS:
        assert claim.text.replace("'", "&#x27;") in page
    assert page.count("could not be run") > 10
    assert "<caption>Macro F1</caption>" in page
    assert "wordclass experiment run f1 -o" in page
    assert hostile not in page
    assert "&lt;/script&gt;" in page
    # nothing is fetched from elsewhere
    assert all(link.startswith("data:") for link in re.findall(r'(?:src|href)="([^"]*)"', page))
    assert told == [
        "f1: tables and figures",
        "run_times: tables and figures",
        "vectors: tables and figures",
    ]


def test_tables_and_figures_are_files_too(results, tmp_path):
    folder = write_report(results, tmp_path / "report", lambda _: None).parent
    assert {path.name for path in folder.iterdir()} == {
        "index.html",
        "results.md",
        "tables",
        "figures",
    }
    assert (folder / "tables" / "f1.csv").read_text().startswith("table,learner,variant,")
    assert r"\begin{tabular}" in (folder / "tables" / "f1.tex").read_text()
    written = (folder / "results.md").read_text(encoding="utf-8")
    for name in re.findall(r"!\[[^]]*\]\(([^)]*)\)", written):
        assert (folder / name).is_file()
    assert "| 4.11 |" in written
    assert "### Macro F1" in written


def test_a_report_replaces_one_and_nothing_else(results, tmp_path):
    first = write_report(results, tmp_path / "report", lambda _: None)
    write_report(results, tmp_path / "report", lambda _: None)
    assert first.is_file()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(InputError, match=r"no report of experiments .it holds thesis.tex"):
        write_report(results, tmp_path / "mine", lambda _: None)


def test_without_results_there_is_no_report(tmp_path):
    with pytest.raises(InputError, match="has no results"):
        write_report(Results(tmp_path / "none"), tmp_path / "report", lambda _: None)
    assert not (tmp_path / "report").exists()


def test_the_environment_has_all_that_occurred(results):
    assert environment(results.runs())["cores"] == "0, 1"
