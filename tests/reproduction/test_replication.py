"""The page that answers whether the paper replicates."""

import re
from pathlib import Path

import pytest
from reproduction.made_results import add

from wordclass.reproduction.plan import Plan
from wordclass.reproduction.replication import Page, figure_names
from wordclass.reproduction.runs import Results

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "replication.md"


def test_the_committed_page_is_the_one_that_the_results_give():
    figures = [name for name in figure_names() if (ROOT / f"docs/figures/{name}.png").exists()]
    text = Page.of(Results(ROOT / "results")).text(figures)
    assert text == PAGE.read_text(encoding="utf-8"), "run `make results` and commit the pages"


def test_the_page_is_short_and_answers_in_ten_sentences():
    text = PAGE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    answer = text.partition("## The answer")[2].partition("## ")[0]
    assert 8 <= len(re.findall(r"^\d+\. ", answer, re.MULTILINE)) <= 10


def test_no_claim_waits_without_hours_and_few_cannot_be_run():
    claims = PAGE.read_text(encoding="utf-8").partition("## Claims")[2].partition("## ")[0]
    waiting = re.findall(r"\*\*not run yet\*\* \(([\d.]+) h\)", claims)
    assert len(waiting) == claims.count("**not run yet**")
    assert all(float(hours) > 0 for hours in waiting)
    assert claims.count("**cannot be run here**") <= 5


@pytest.fixture
def page(tmp_path):
    """Results of SVM: word-class vectors gain .1 with both protocols' one."""
    results = Results(tmp_path / "out")
    scores = {"tfidf": 0.67, "vectors": 0.5, "vectors+wce": 0.6}
    for run in Plan.read("f1").runs({"learner": ["svm"], "dataset": ["newsgroups20"]}):
        add(results, run, scores[run.variant])
    return Page.of(results).text()


def test_gains_stand_beside_those_of_the_paper_in_the_same_cells(page):
    assert "WCEs beside static GloVe help: 1 of 1 cells, +.100 macro F1 on average" in page
    assert "the paper, same cells: +.043." in page  # .678 - .635
    assert "| SVM | tfidf | .670 | .670 | - | .636 | not yet | - |" in page


def test_what_can_be_run_has_hours_and_what_cannot_has_none(page):
    coverage = page.partition("## What was run")[2].partition("## ")[0]
    assert re.search(r"F1, Reuters-21578 \(4.4\) \| 0 of 3, [\d.]+ h \|", coverage)
    assert "| F1, RCV1-v2 (4.4) | no data | no data |" in coverage
    missing = page.partition("## What is missing")[2]
    assert "--only learner=svm,dataset=reuters21578" in missing
    assert "rcv1" not in missing


def test_figures_are_shown_if_there_are_any(page, tmp_path):
    assert "## Figures" not in page
    text = Page.of(Results(tmp_path / "out")).text(["f1-macro-f1", "unknown"])
    assert text.count("![") == 1


def test_protocols_are_compared_over_the_cells_that_both_have(tmp_path):
    results = Results(tmp_path / "out")
    only = {"learner": ["cnn"], "variant": ["vectors", "vectors+wce"], "seed": ["1"]}
    for run in Plan.read("f1").runs(only | {"dataset": ["newsgroups20", "reuters21578"]}):
        gain = 0.5 if run.dataset == "reuters21578" else 0.04 if run.protocol == "clean" else 0.02
        if run.dataset == "newsgroups20" or run.protocol == "clean":
            add(results, run, 0.3 + gain * (run.variant == "vectors+wce"))
    text = Page.of(results).text()
    assert "+.040 macro F1, in the paper's protocol +.020 (1 cells that have both)" in text
