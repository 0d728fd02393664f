import re

import pytest
from reproduction.made_results import add

pytest.importorskip("matplotlib")

from wordclass.errors import InputError
from wordclass.reproduction.claims import CLAIMS
from wordclass.reproduction.plan import Plan
from wordclass.reproduction.report import PAGE_FORMATS, environment, write_report
from wordclass.reproduction.runs import Results, Run

pytestmark = pytest.mark.xdist_group("report")  # which makes its fixtures once

ONLY = {"dataset": ["newsgroups20"], "learner": ["svm"]}


@pytest.fixture(scope="module")
def results(tmp_path_factory, hostile):
    results = Results(tmp_path_factory.mktemp("results") / "out")
    for k, run in enumerate(Plan.read("f1").runs(ONLY)):
        machine = {"cpu": hostile, "cores": k % 2}
        add(results, run, 0.5 + k / 10, n_wrong=20 * k, machine=machine)
    return results


@pytest.fixture(scope="module")
def report(results, tmp_path_factory):
    """Return the folder of a page that replaced an earlier one, and its log."""
    folder = tmp_path_factory.mktemp("page") / "report"
    log = []
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "old.csv").touch()
    (folder / "index.html").write_text(PAGE_FORMATS["html"].mark)
    assert write_report(results, folder, log.append) == folder / "index.html"
    return folder, log


def test_one_page_holds_claims_tables_figures_environment_and_commands(report, hostile):
    folder, log = report
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count(PAGE_FORMATS["html"].mark) == 1
    for claim in CLAIMS:
        assert claim.text in page
    assert page.count("not run yet") > 10
    assert "<caption>Macro F1</caption>" in page
    assert "wordclass experiment run f1 -o" in page
    assert hostile not in page
    assert "&lt;/script&gt;" in page
    # everything is in the folder, nothing is fetched from elsewhere
    links = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert len(links) > 10
    for link in links:
        assert link.startswith("#s") or (folder / link).is_file()
    assert log == [
        "f1: tables and figures",
        "ablations: tables and figures",
        "encoders: tables and figures",
        "rivals: tables and figures",
        "run_times: tables and figures",
        "several_tasks: tables and figures",
        "training_sizes: tables and figures",
        "unseen_terms: tables and figures",
        "vectors: tables and figures",
    ]


def test_tables_are_also_written_to_files(report):
    folder, _ = report
    assert {path.name for path in folder.iterdir()} == {"index.html", "tables", "figures"}
    assert (folder / "tables" / "f1.csv").read_text().startswith("table,learner,variant,")
    assert r"\begin{tabular}" in (folder / "tables" / "f1.tex").read_text()


def test_markdown_pages_keep_other_files_and_replace_earlier_pages(results, tmp_path, hostile):
    figures = tmp_path / "docs" / "figures"
    figures.mkdir(parents=True)
    for name in ("f1-old.png", "f1-mine.png", "photo.png"):
        (figures / name).touch()
    (tmp_path / "docs" / "other.md").write_text("kept")
    (tmp_path / "docs" / "beyond.md").write_text(
        "Made by `wordclass experiment report out`\n![f1](figures/f1-old.png)\n"
        "![](figures/photo.png)![](figures/f1-../../other.md)"
    )
    page = write_report(results, tmp_path / "docs", lambda _: None, "markdown")
    assert page == tmp_path / "docs" / "replication.md"
    assert (tmp_path / "docs" / "other.md").read_text() == "kept"
    replicated = page.read_text(encoding="utf-8")
    assert "| 4.11 |" in replicated
    assert "| SVM | tfidf |" in replicated
    assert "experiment run f1 -o" in replicated.partition("## Unfinished runs")[2]
    extensions = (tmp_path / "docs" / "beyond.md").read_text(encoding="utf-8")
    written = replicated + extensions
    linked = re.findall(r"!\[[^]]*\]\(([^)]*)\)", written)
    drawn = {f"figures/{path.name}" for path in figures.iterdir()}
    assert drawn - set(linked) == {"figures/f1-mine.png", "figures/photo.png"}
    assert drawn > set(linked)
    assert "### Macro F1" in extensions
    assert "<details><summary>What the first adds to the second</summary>" in extensions
    assert "Micro F1</summary>" not in extensions
    assert hostile not in written
    # the best of all runs, of the paper's learners, and in the paper
    best = ".700 svm tfidf paper"
    assert (
        f"| newsgroups20 | Macro F1 | {best} | {best} | .706 cnn vectors+wce-trainable |" in written
    )
    # a generated page can be replaced
    assert write_report(results, tmp_path / "docs", lambda _: None, "markdown") == page


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("html", "index.html"),
        ("html", "tables"),
        ("markdown", "replication.md"),
        ("markdown", "beyond.md"),
    ],
)
def test_other_pages_are_replaced_by_force_only(tmp_path_factory, tmp_path, form, name):
    results = Results(tmp_path_factory.mktemp("few") / "out")
    add(results, Run("mine", "counts"), plan="mine")  # it has no figure
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "photo.png").touch()
    if name != "tables":
        (tmp_path / name).write_text("Made by hand, with `wordclass experiment report`")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=r"not made by wordclass experiment report; --force"):
        write_report(results, tmp_path, lambda _: None, form)
    assert sorted(tmp_path.rglob("*")) == before
    if name != "tables":
        page = write_report(results, tmp_path, lambda _: None, form, force=True)
        assert "4.11" in page.read_text(encoding="utf-8")


def test_an_unknown_format_is_refused(results, tmp_path):
    with pytest.raises(InputError, match="did you mean 'markdown'"):
        write_report(results, tmp_path, lambda _: None, "markdow")


def test_a_report_replaces_nothing_else(results, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(InputError, match=r"no report of experiments .it holds thesis.tex"):
        write_report(results, tmp_path / "mine", lambda _: None)


def test_runs_of_no_built_in_plan_have_a_chapter(tmp_path):
    results = Results(tmp_path / "out")
    for seed in (1, 2):
        for size in (8, 16):
            run = Run("mi|ne", "cnn", "vectors", seed, vectors="small", options={"channels": size})
            add(results, run, 0.4 + seed / 10, plan="mine", extra={})
    add(results, Run("mi|ne", "counts"), plan="mine", scores={})
    write_report(results, tmp_path / "docs", lambda _: None, "markdown")
    page = (tmp_path / "docs" / "beyond.md").read_text(encoding="utf-8")
    chapter = page.partition("## Other runs")[2].partition("## ")[0]
    assert f"`wordclass experiment table FILE.toml -o {results.folder}`" in chapter
    row = "| cnn | vectors | clean | channels={}, vectors=small | 2 | .550 | .550 |"
    assert row.format(8) in chapter
    assert row.format(16) in chapter
    assert "| mine | mi&#124;ne | counts | default | clean |  | 1 | - | - |" in chapter


def test_without_results_there_is_no_report(tmp_path):
    with pytest.raises(InputError, match="has no results"):
        write_report(Results(tmp_path / "none"), tmp_path / "report", lambda _: None)
    assert not (tmp_path / "report").exists()


def test_the_environment_has_all_that_occurred(results):
    assert environment(results.runs())["cores"] == "0, 1"
