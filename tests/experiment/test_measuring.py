"""What runs measure that are no trainings."""

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.corpus import Dataset, LabelledCorpus
from wordclass.experiment import measuring
from wordclass.experiment.runs import Run

_RATIO = "error ratio of shares"


def dataset(make, n_train, n_test):
    is_multilabel = make is multilabel_corpus
    sizes = enumerate((n_train, n_test))
    parts = [LabelledCorpus(*make(size, seed), is_multilabel) for seed, size in sizes]
    return Dataset("made up", *parts, ["garden", "music", "space"])


def test_prior_shift_is_measured_on_the_test_part_and_on_draws_of_it():
    run = Run("made up", "prior_shift", options={"classifier": "nearest"})
    given = dataset(corpus, 150, 90)
    facts, arrays = measuring.shift_priors(given, None, run)
    assert not arrays
    assert all(np.isfinite(value) for value in facts.values())
    model = wc.classifier("nearest").fit(given.train.texts, given.train.labels)
    plain, adjusted = (
        wc.evaluate(given.test.labels, labels, classes=model.classes_.tolist()).macro_f1
        for labels in (model.predict(given.test.texts), model.predict_adjusted(given.test.texts))
    )
    assert facts["as it is: macro F1"] == pytest.approx(plain)
    assert facts["as it is: macro F1, adjusted"] == pytest.approx(adjusted)
    counted, estimated = (
        facts[f"concentration 0.1: error of {kind} shares, by class, in percent"]
        for kind in ("counted", "estimated")
    )
    ratio = facts["concentration 0.1: " + _RATIO]
    assert ratio == pytest.approx(estimated / counted)
    of_all = facts["all draws: error of counted shares, by class, in percent"]
    each = [
        facts[f"concentration {c}: error of counted shares, by class, in percent"]
        for c in ("0.1", "1", "10")
    ]
    assert of_all == pytest.approx(np.mean(each))
    assert "all draws, exact probabilities: " + _RATIO in facts
    assert measuring.shift_priors(given, None, run)[0] == facts


def test_labels_drawn_by_probabilities_have_these_as_shares():
    given = dataset(corpus, 150, 1)
    model = wc.classifier("nearest").fit(given.train.texts, given.train.labels)
    scores = np.random.default_rng(0).normal(size=(5000, 3))
    known = measuring._Tested(model, scores, None, model.codeframe_)
    drawn = known.with_labels_by_probabilities(0).truth
    assert (drawn.getnnz(axis=1) == 1).all()
    expected = model.shift_of(scores).probabilities.mean(axis=0)
    assert 0.05 < expected.min() < expected.max() < 0.9
    np.testing.assert_allclose(np.asarray(drawn.mean(axis=0)).ravel(), expected, atol=0.03)


def test_shares_of_several_labels_per_text_are_not_drawn():
    with pytest.raises(wc.InputError, match="multilabel; shares are drawn for one label per text"):
        measuring.shift_priors(
            dataset(multilabel_corpus, 90, 60), None, Run("made up", "prior_shift")
        )
