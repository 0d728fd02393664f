"""Options of version 0.1 in plans: rivals repeat some of the runs, the others are records."""

import numpy as np
import pytest
from made_up import corpus

import wordclass as wc
from wordclass.reproduction.plan import Plan
from wordclass.reproduction.rivals.plan_options import is_record, make_classifier
from wordclass.reproduction.rivals.structural_columns import StructuralEmbeddings
from wordclass.reproduction.rivals.supervised_weighting import SupervisedWeighting

TEXTS, LABELS = corpus(60)


def records_of(plan):
    runs = Plan.read(plan).runs()
    return [run for run in runs if is_record(run.learner, run.variant, run.options)], runs


def test_the_records_of_plans_are_the_runs_that_cannot_be_repeated():
    records, _ = records_of("binary")
    assert {(run.learner, run.variant) for run in records} == {
        ("svm", "tfidf"),
        ("linear", "default"),
    }
    assert {run.options["structural_problems"] for run in records} == {20, 100}
    records, runs = records_of("rivals")
    assert all(run.options.get("cross_fit_weights", True) for run in records)
    repeated = [run for run in runs if "cross_fit_weights" in run.options]
    assert len(repeated) == 24
    assert not {run.identity for run in records} & {run.identity for run in repeated}
    assert not records_of("smoke")[0]


def test_a_run_with_structural_columns_reads_them_with_the_options_of_its_classifier():
    options = {"features": "wce", "wce": {"shrinkage": 2.0}, "min_docs": 2, "C": 1.0}
    model = make_classifier("svm", **options, structural_problems=3)
    wce = model.wce
    assert isinstance(wce, StructuralEmbeddings)
    assert (wce.structural_problems, wce.shrinkage, wce.min_docs) == (3, 2.0, 2)
    plain = make_classifier("svm", **options, structural_problems=0)
    assert plain.get_params() == wc.classifier("svm", **options).get_params()
    scores = [classifier.fit(TEXTS, LABELS).class_scores(TEXTS) for classifier in (model, plain)]
    assert not np.allclose(*scores)


def test_a_run_with_leaky_weights_has_a_supervised_weighting():
    leaky = {"weighting": "tf_rf", "cross_fit_weights": False}
    model = make_classifier("linear", **leaky, over_classes="sum")
    assert model.weighting == SupervisedWeighting("tf_rf", "sum")
    assert make_classifier("svm", **leaky).weighting == SupervisedWeighting("tf_rf")
    assert make_classifier("svm", weighting="bm25").weighting == "bm25"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("svm", {"weighting": "tf_rf"}),
        ("linear", {"weighting": "tf_ig", "over_classes": "sum"}),
        ("linear", {"structural_problems": 20}),
        ("svm", {"features": "tfidf", "structural_problems": 20}),
    ],
)
def test_a_record_is_not_made_again(name, options):
    with pytest.raises(wc.InputError, match=r"made by wordclass 0\.1, and cannot be repeated"):
        make_classifier(name, **options)
