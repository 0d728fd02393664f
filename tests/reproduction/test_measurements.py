"""Measurements: numbers of runs that train no classifier."""

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus
from scipy import sparse

import wordclass as wc
from wordclass.corpus.documents import Dataset, LabelledCorpus
from wordclass.reproduction import measurements
from wordclass.reproduction.runs import Run

_RATIO = "error ratio of shares"


def dataset(make, n_train, n_test):
    is_multilabel = make is multilabel_corpus
    sizes = enumerate((n_train, n_test))
    parts = [LabelledCorpus(*make(size, seed), is_multilabel) for seed, size in sizes]
    return Dataset("made up", *parts, ["garden", "music", "space"])


def test_prior_shift_is_measured_on_the_test_part_and_on_draws_of_it():
    run = Run("made up", "prior_shift", options={"classifier": "nearest"})
    documents = dataset(corpus, 150, 90)
    numbers, arrays = measurements.shift_priors(documents, None, run)
    assert not arrays
    assert all(np.isfinite(value) for value in numbers.values())
    model = wc.classifier("nearest").fit(documents.train.texts, documents.train.labels)
    plain, adjusted = (
        wc.evaluate(documents.test.labels, labels, classes=model.classes_.tolist()).macro_f1
        for labels in (
            model.predict(documents.test.texts),
            model.predict_adjusted(documents.test.texts),
        )
    )
    assert numbers["as it is: macro F1"] == pytest.approx(plain)
    assert numbers["as it is: macro F1, adjusted"] == pytest.approx(adjusted)
    counted, estimated = (
        numbers[f"strong shift: error of {kind} shares, by class, in percent"]
        for kind in ("counted", "estimated")
    )
    ratio = numbers["strong shift: " + _RATIO]
    assert ratio == pytest.approx(estimated / counted)
    of_all_draws = numbers["all draws: error of counted shares, by class, in percent"]
    by_strength = [
        numbers[f"{name} shift: error of counted shares, by class, in percent"]
        for name in ("strong", "middle", "weak")
    ]
    assert of_all_draws == pytest.approx(np.mean(by_strength))
    assert "all draws, exact probabilities: " + _RATIO in numbers
    assert measurements.shift_priors(documents, None, run)[0] == numbers


def test_shares_of_labels_drawn_by_probabilities_are_the_mean_probabilities():
    documents = dataset(corpus, 150, 1)
    model = wc.classifier("nearest").fit(documents.train.texts, documents.train.labels)
    scores = np.random.default_rng(0).normal(size=(5000, 3))
    known = measurements._TestedModel(model, scores, None, model.codeframe_)
    drawn = known.with_labels_by_probabilities(0).truth
    assert (drawn.getnnz(axis=1) == 1).all()
    expected = model.shift_of(scores).probabilities.mean(axis=0)
    assert 0.05 < expected.min() < expected.max() < 0.9
    np.testing.assert_allclose(np.asarray(drawn.mean(axis=0)).ravel(), expected, atol=0.03)


def test_prior_shift_of_several_labels_is_measured_by_weights_of_classes():
    documents = dataset(multilabel_corpus, 150, 90)
    run = Run("made up", "prior_shift", options={"classifier": "nearest"})
    numbers, _ = measurements.shift_priors(documents, None, run)
    assert all(np.isfinite(value) for value in numbers.values())
    assert {name.partition(":")[0] for name in numbers} == {
        *("as it is", "weak shift", "middle shift", "strong shift"),
        *("all draws", "all draws, exact probabilities"),
    }
    assert numbers["strong shift: " + _RATIO] > 0
    assert measurements.shift_priors(documents, None, run)[0] == numbers


def test_documents_of_heavy_classes_are_drawn_more_often():
    truth = sparse.csr_matrix(np.repeat([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], 500, 0))
    generator = np.random.default_rng(4)
    known = measurements._TestedModel(None, np.zeros((2000, 2)), truth, None)
    drawn = known._draw_by_weights(2.0, generator)
    weights = np.exp(np.random.default_rng(4).normal(0, 2.0, 2))
    expected = np.array([weights[0], weights[1], weights[0] * weights[1], 1.0])
    counts = np.bincount(drawn // 500, minlength=4)
    np.testing.assert_allclose(counts / 2000, expected / expected.sum(), atol=0.03)
