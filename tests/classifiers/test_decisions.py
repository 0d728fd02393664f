"""Labels of classes and texts of which nothing is known, and probabilities where little is."""

import json

import numpy as np
import pytest

import wordclass as wc
from wordclass.batch.predictions import predict_rows
from wordclass.cli.file_info import describe

TEXTS = ["orbit moon launch", "ball goal team"] * 40
ABSENT = np.array([[1, 0, 0], [0, 1, 0]] * 40)  # the third class has no document
OPTIONS = {
    "nearest": {},
    "linear": {},
    "linear tree": {"classes": "tree"},
    "svm": {},
    "svm tuned": {"thresholds": "tuned"},
}
UNKNOWN = ["", "  ", "zzz qqq"]


def fitted(name, labels=ABSENT, texts=TEXTS, **options):
    return wc.classifier(name.split()[0], **OPTIONS[name]).fit(texts, labels, **options)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_class_without_training_texts_is_never_predicted(name, tmp_path):
    model = fitted(name)
    assert model.predict(TEXTS[:2]).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert np.isposinf(model.thresholds_[2])
    model.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    assert again.predict(TEXTS[:2]).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert json.loads(json.dumps(describe(tmp_path / "model"), allow_nan=False, default=str))
    # nor by a probability that is asked for, nor under other shares of the classes
    made = predict_rows(model, [*TEXTS[:2], *UNKNOWN], threshold=0.0)
    assert all(2 not in each["labels"] for each in made)
    assert not model.predict_adjusted(TEXTS)[:, 2].any()


@pytest.mark.parametrize("name", ["linear", "svm"])
def test_a_class_whose_texts_count_nothing_is_never_predicted(name):
    texts = [*TEXTS, *["piano song chord"] * 20]
    labels = np.vstack([ABSENT, [[0, 0, 1]] * 20])
    weights = np.repeat([1.0, 0.0], [80, 20])
    model = fitted(name, labels, texts, sample_weight=weights)
    assert np.isposinf(model.thresholds_[2])
    assert model.predict(["piano song chord", "orbit moon"])[:, 2].tolist() == [0, 0]


@pytest.mark.parametrize("name", OPTIONS)
def test_a_text_without_a_known_term_has_only_labels_of_most_texts(name):
    model = fitted(name)
    assert not model.predict(UNKNOWN).any()
    assert [each["labels"] for each in predict_rows(model, UNKNOWN)] == [[]] * 3


@pytest.mark.parametrize("name", ["nearest", "linear", "svm"])
def test_a_text_without_a_known_term_may_have_a_class_of_most_texts(name):
    texts = [f"{text} common{k % 7}" for k, text in enumerate(TEXTS)]
    labels = np.array([[int(k % 10 != 3), k % 2] for k in range(80)])
    model = fitted(name, labels, texts)
    scores, thresholds = model.class_scores([""])[0], model.thresholds_
    expected = (scores > thresholds) & (model.training_.shares > 0.5)
    assert model.predict(UNKNOWN).tolist() == [expected.astype(int).tolist()] * 3


def test_what_says_something_is_decided_by_thresholds_alone():
    model = fitted("linear")
    scores = model.class_scores([*TEXTS[:2], "moon ball", "zzz"])
    decisions = model.decide(scores)
    np.testing.assert_array_equal(decisions[:3], scores[:3] > model.thresholds_)
    assert not decisions[3].any()


# --- probabilities ----------------------------------------------------------------------------


def noise(seed, n_texts):
    """Texts of random words, of which a tenth is of the class "rare"."""
    generator = np.random.default_rng(seed)
    words = [f"{first}{second}word" for first in "abcdefghij" for second in "abcdefghijklmnopqrst"]
    texts = [" ".join(generator.choice(words, 12)) for _ in range(n_texts)]
    return texts, np.where(generator.random(n_texts) < 0.1, "rare", "usual")


@pytest.mark.parametrize("seed", [0, 1])
def test_probabilities_of_noise_are_near_the_shares(seed):
    texts, labels = noise(seed, 600)
    model = wc.classifier("linear").fit(texts, labels)
    others = noise(seed + 100, 500)[0]
    probabilities = model.predict_proba(others)[:, 0]
    is_rare = model.predict(others) == "rare"
    share = np.mean(labels == "rare")
    np.testing.assert_allclose(probabilities[~is_rare], share, atol=0.1)
    # what is predicted is the most probable class, but by no more than that takes
    np.testing.assert_allclose(probabilities[is_rare], 0.5, atol=1e-3)


@pytest.mark.parametrize("n_texts", [40, 200])
def test_texts_that_are_all_alike_have_the_shares_of_the_classes(n_texts, tmp_path):
    model = wc.classifier("linear").fit(["the same words"] * n_texts, list("aaab") * (n_texts // 4))
    model.save(tmp_path / "model")
    for each in (model, wc.load(tmp_path / "model")):
        made = each.predict_proba(["the same words"])
        np.testing.assert_allclose(made, [[0.75, 0.25]], atol=0.02)
        assert each.predict(["the same words"]) == ["a"]


@pytest.mark.parametrize("name", ["linear", "svm"])
def test_a_class_whose_texts_count_nothing_is_the_least_probable(name):
    texts = ["apple pie", "apple tart", "banana split", "banana boat", "cherry cake", "cherry jam"]
    weights = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0] * 20)
    model = wc.classifier(name).fit(texts * 20, list("aabbcc") * 20, sample_weight=weights)
    probabilities = model.predict_proba([*texts, "zzz"])
    assert (probabilities.argmin(axis=1) == 0).all()
    assert (model.predict([*texts, "zzz"]) != "a").all()


@pytest.mark.parametrize("name", ["linear", "linear tree"])
def test_the_most_probable_class_is_the_predicted_one(name, tmp_path):
    texts, labels = noise(3, 400)
    model = fitted(name, labels.tolist(), texts)
    model.save(tmp_path / "model")
    others = [*noise(4, 300)[0], *UNKNOWN]
    for each in (model, wc.load(tmp_path / "model")):
        best = each.classes_[each.predict_proba(others).argmax(axis=1)]
        assert best.tolist() == each.predict(others).tolist()
