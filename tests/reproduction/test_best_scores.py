"""The best scores that pages state: means over seeds, without trials."""

from dataclasses import replace

import pytest
from reproduction.made_results import add

from wordclass.reproduction.best_scores import best, best_of_paper, best_published, mean_scores
from wordclass.reproduction.plan import Plan
from wordclass.reproduction.runs import Results, Run

SVM = Run("newsgroups20", "svm", "tfidf", 0, "paper")


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "out")


def macro_scores(results):
    return mean_scores(results.runs(), "macro_f1")["newsgroups20"]


def test_scores_are_means_over_seeds(results):
    for seed, score in ((0, 0.5), (1, 0.7)):
        add(results, replace(SVM, seed=seed), score)
    add(results, replace(SVM, variant="wce"), 0.55)
    assert best(macro_scores(results)).value == pytest.approx(0.6)


def test_the_best_of_the_paper_has_its_learners_vectors_and_options(results):
    add(results, SVM, 0.5)
    for run in (
        Run("newsgroups20", "linear"),
        replace(SVM, variant="vectors", vectors="pte"),
        replace(SVM, variant="vectors", vectors="glove.6B.100d+wce_without_l1"),
        replace(SVM, options={"weighting": "tf_rf"}),
    ):
        add(results, run, 0.9)
    cnn = Run("newsgroups20", "cnn", "random", 1, "paper", options={"channels": 128})
    add(results, cnn, 0.6)
    chosen = best_of_paper(macro_scores(results))
    assert chosen.parts() == ["cnn", "random", "paper", "channels=128"]
    assert best(macro_scores(results)).value == 0.9


def test_trials_and_parts_of_data_sets_do_not_count(results):
    trials = Plan.read("fasttext_settings").runs(
        {"dataset": ["newsgroups20"], "variant": ["random"]}
    )
    add(results, trials[0], 0.9)
    add(results, replace(SVM, dataset="newsgroups20@5"), 0.9)
    add(results, SVM, 0.5)
    assert [score.value for score in macro_scores(results)] == [0.5]


def test_the_best_published_score_is_that_of_the_papers_table():
    score = best_published("newsgroups20", "macro_f1")
    assert (score.value, score.learner, score.variant) == (0.706, "cnn", "vectors+wce-trainable")
    assert best_published("banking77", "macro_f1") is None
    assert best([]) is None
