"""What every classifier of texts must do: scikit-learn checks next to none of this on texts."""

import pickle

import numpy as np
import pandas as pd
import pytest
from made_up import corpus, multilabel_corpus
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline

import wordclass as wc
from wordclass import catalogue
from wordclass.classifiers import base

NAMES = catalogue.names("classifiers")
TEXTS, LABELS = corpus()


# enough for sixty short texts
_NETWORK = {"batch_size": 16, "lr": 0.05, "max_epochs": 12, "supervised_dropout": 0.2}
OPTIONS = {
    "cnn": {**_NETWORK, "channels": 16, "windows": (1, 3)},
    "lstm": {**_NETWORK, "hidden": 16},
    "attention": {**_NETWORK, "hidden": 16},
    "leam": {**_NETWORK, "batch_size": 8, "max_epochs": 20, "window": 3, "dropout": 0.1},
}


def make(name, **options):
    return wc.classifier(name, **{"min_docs": 2, **OPTIONS.get(name, {}), **options})


@pytest.fixture(params=[*NAMES, "linear, a tree"])
def classifier(request):
    name, _, is_tree = request.param.partition(", ")
    return make(name, classes="tree") if is_tree else make(name)


def test_it_learns_single_labels(classifier):
    assert classifier.fit(TEXTS, LABELS) is classifier
    assert list(classifier.classes_) == ["garden", "music", "space"]
    predicted = classifier.predict(["moon and orbit", "a rose with soil"])
    assert isinstance(predicted, np.ndarray)
    assert predicted.tolist() == ["space", "garden"]
    assert classifier.score(TEXTS, LABELS) > 0.9
    assert classifier.decision_function(TEXTS).shape == (len(TEXTS), 3)


def test_integers_stay_integers(classifier):
    numbers = [{"space": 10, "garden": 9, "music": 2}[label] for label in LABELS]
    classifier.fit(TEXTS, numbers)
    assert classifier.classes_.tolist() == [2, 9, 10]
    assert classifier.predict(["moon orbit"]).tolist() == [10]


def test_it_learns_several_labels_a_text(classifier):
    texts, labels = multilabel_corpus()
    classifier.fit(texts, labels)
    predicted = classifier.predict(
        ["moon orbit rocket star lunar", "moon orbit rocket rose soil seed"]
    )
    assert all(isinstance(each, tuple) for each in predicted)
    assert "space" in predicted[0]
    if classifier.name in OPTIONS:  # sixty texts are few for a network
        assert wc.evaluate(labels, classifier.predict(texts)).micro_f1 > 0.6
        return
    assert predicted == [("space",), ("garden", "space")]
    assert wc.evaluate(labels, classifier.predict(texts)).micro_f1 > 0.8
    assert classifier.score(texts, labels) > 0.5


def test_a_matrix_comes_back_as_a_matrix_with_its_columns(classifier):
    Y = np.array([[label == name for name in ("space", "garden", "music")] for label in LABELS])
    classifier.fit(TEXTS, Y.astype(int), class_names=["space", "garden", "music"])
    assert classifier.classes_.tolist() == ["garden", "music", "space"]
    predicted = classifier.predict(["moon orbit rocket lunar"])
    assert predicted.shape == (1, 3)
    assert predicted[0, 0] == 1  # space, the first column as it was given
    if classifier.name not in OPTIONS:
        assert predicted.tolist() == [[1, 0, 0]]
        assert classifier.score(TEXTS, Y.astype(int)) > 0.8


def test_two_classes_are_learned(classifier):
    texts, labels = corpus(classes=("space", "garden"))
    classifier.fit(texts, labels)
    assert classifier.predict(["moon", "rose"]).tolist() == ["space", "garden"]


def test_a_text_without_a_known_word_gets_a_prediction(classifier):
    classifier.fit(TEXTS, LABELS)
    assert set(classifier.predict(["", "!?", "мама 妈妈"])) <= set(LABELS)
    assert len(classifier.predict([])) == 0


def test_a_prediction_does_not_depend_on_its_batch_mates(classifier):
    classifier.fit(TEXTS, LABELS)
    together = classifier.decision_function(TEXTS)
    alone = np.vstack([classifier.decision_function([text]) for text in TEXTS[:9]])
    np.testing.assert_allclose(alone, together[:9], rtol=1e-6, atol=1e-6)


def test_texts_and_labels_may_be_series(classifier):
    frame = pd.DataFrame({"text": TEXTS, "label": LABELS}, index=range(100, 160))
    classifier.fit(frame["text"], frame["label"])
    assert classifier.predict(frame["text"]).tolist() == classifier.predict(TEXTS).tolist()


def test_it_has_the_manners_of_scikit_learn(classifier):
    assert is_classifier(classifier)
    assert clone(classifier).get_params() == classifier.get_params()
    with pytest.raises(NotFittedError):
        classifier.predict(TEXTS)
    classifier.fit(TEXTS, LABELS)
    again = pickle.loads(pickle.dumps(classifier))
    np.testing.assert_array_equal(
        again.decision_function(TEXTS), classifier.decision_function(TEXTS)
    )
    assert not hasattr(clone(classifier), "classes_")
    pipeline = make_pipeline(clone(classifier)).fit(TEXTS, LABELS)
    assert pipeline.score(TEXTS, LABELS) > 0.9
    assert (cross_val_predict(classifier, TEXTS, LABELS, cv=3) == LABELS).mean() > 0.8


def test_grid_search_works_with_single_labels_and_matrices(classifier):
    Y = np.array([[label == name for name in ("garden", "music", "space")] for label in LABELS])
    for labels in (LABELS, Y.astype(int)):
        search = GridSearchCV(classifier, {"min_docs": [2, 5]}, cv=2, error_score="raise")
        assert search.fit(TEXTS, labels).best_score_ > 0.5


def test_what_was_saved_is_loaded_to_the_bit(classifier, tmp_path):
    Y = np.array([[label == name for name in ("space", "garden", "music")] for label in LABELS])
    for number, (texts, labels) in enumerate([
        (TEXTS, LABELS), multilabel_corpus(), (TEXTS, Y.astype(int))
    ]):  # fmt: skip
        folder = tmp_path / str(number)
        classifier.fit(texts, labels).save(folder)
        again = wc.load(folder)
        assert type(again) is type(classifier)
        assert again.get_params() == {**classifier.get_params(), "n_jobs": None}
        assert again.classes_.tolist() == classifier.classes_.tolist()
        assert again.classes_.dtype == classifier.classes_.dtype
        asked = [*texts, "", "мама", "moon 12 rose"]
        for ask in ("decision_function", "predict_proba", "predict"):
            np.testing.assert_array_equal(
                as_array(getattr(again, ask)(asked)), as_array(getattr(classifier, ask)(asked))
            )
        np.testing.assert_array_equal(again.thresholds_, classifier.thresholds_)
        assert again.training_.n_shared(texts) == len(texts)


def as_array(values):
    return np.array(values, dtype=object) if isinstance(values, list) else values


def test_a_model_saved_twice_differs_in_its_date_only(classifier, tmp_path):
    classifier.fit(TEXTS, LABELS)
    for name in ("a", "b"):
        classifier.save(tmp_path / name)
    wc.load(tmp_path / "a").save(tmp_path / "c")
    first, *others = (tmp_path / name for name in "abc")
    for other in others:
        arrays = "model.safetensors"
        assert (other / arrays).read_bytes() == (first / arrays).read_bytes()
        lines = [(each / "manifest.json").read_text().splitlines() for each in (first, other)]
        differing = [ours for ours, theirs in zip(*lines, strict=True) if ours != theirs]
        assert all(line.strip().startswith(('"created"', '"digest"')) for line in differing)


def test_probabilities_are_probabilities(classifier):
    asked = [*TEXTS, "", "unknown"]
    made = classifier.fit(TEXTS, LABELS).predict_proba(asked)
    assert made.shape == (len(asked), 3)
    np.testing.assert_allclose(made.sum(axis=1), 1.0)
    assert ((made >= 0) & (made <= 1)).all()
    assert (classifier.classes_[made[: len(TEXTS)].argmax(axis=1)] == LABELS).mean() > 0.9
    texts, labels = multilabel_corpus()
    made = classifier.fit(texts, labels).predict_proba(texts)
    assert ((made >= 0) & (made <= 1)).all()
    assert classifier.predict_proba([]).shape == (0, 3)


def test_it_explains_itself_exactly(classifier):
    for texts, labels in ((TEXTS, LABELS), multilabel_corpus()):
        classifier.fit(texts, labels)
        text = "The moon, an orbit and 12 roses: rose rose"
        explanation = classifier.explanation(text)
        total = explanation.contributions.sum(axis=0) + explanation.intercept
        np.testing.assert_allclose(total, explanation.scores, atol=1e-5)
        np.testing.assert_array_equal(explanation.scores, classifier.class_scores([text])[0])
        shown = classifier.explain(text, n=None)
        assert set(shown) <= set(classifier.classes_.tolist())
        for label, terms in shown.items():
            j = classifier.classes_.tolist().index(label)
            assert sum(added for _, added in terms) == pytest.approx(
                float(explanation.contributions[:, j].sum()), abs=1e-5
            )
            sizes = [abs(added) for _, added in terms]
            assert sizes == sorted(sizes, reverse=True)
            assert classifier.explain(text, n=1)[label] == terms[:1]
        assert classifier.explain("").values()


@pytest.mark.parametrize("weight", [[1.0], ["a"] * 60, [-1.0] * 60, [float("nan")] * 60])
def test_weights_that_make_no_sense_are_refused(classifier, weight):
    with pytest.raises(wc.InputError, match="sample_weight"):
        classifier.fit(TEXTS, LABELS, sample_weight=weight)


def test_a_class_of_one_text_is_learned(classifier):
    classifier.fit([*TEXTS, "zebra zebra lion", "zebra lion"], [*LABELS, "zoo", "space"])
    assert "zoo" in classifier.classes_
    assert np.isfinite(classifier.predict_proba(TEXTS)).all()


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["aa"], ["a", "b"], "1 texts but 2 labels"),
        (["aa bb"] * 3, ["a"] * 3, "only one class"),
        (["aa bb"] * 3, ["a", "b", None], "label of document 2 is None"),
        ([b"aa"] * 3, ["a", "b", "a"], "text 0 is a bytes"),
        ([], [], "empty|no class"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_fitted(classifier, texts, labels, message):
    with pytest.raises(wc.InputError, match=message):
        classifier.fit(texts, labels)
    assert not hasattr(classifier, "classes_")


def test_labels_may_be_a_data_frame_and_are_scored_by_its_names(classifier):
    texts, labels = multilabel_corpus(60)
    names = ["space", "garden", "music"]
    columns = {name: [int(name in own) for own in labels] for name in names}
    frame = pd.DataFrame(columns)
    learned = classifier.fit(texts, frame)
    assert learned.predict(texts[:2]).shape == (2, 3)
    matrix = frame.to_numpy()
    assert learned.score(texts, frame) == learned.score(texts, matrix)
    assert wc.macro_f1(learned, texts, frame) == pytest.approx(wc.macro_f1(learned, texts, matrix))


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_fit_that_fails_leaves_what_was_fitted(classifier, error, monkeypatch):
    texts, labels = multilabel_corpus(60)
    learned = clone(classifier).fit(texts, labels)
    before = learned.predict(texts), learned.predict_proba(texts).tolist()

    def fail(*_given):
        raise error

    monkeypatch.setattr(base, "TrainingData", fail)  # the last step of a fit
    for again in (learned, clone(classifier)):
        with pytest.raises(error):
            again.fit(*corpus(30))
    assert (learned.predict(texts), learned.predict_proba(texts).tolist()) == before
    with pytest.raises(NotFittedError):
        again.predict(texts)


def test_texts_without_a_word_leave_what_was_fitted(classifier):
    texts, labels = multilabel_corpus(60)
    learned = clone(classifier).fit(texts, labels)
    before = learned.predict(texts), learned.predict_proba(texts).tolist()
    for again in (learned, clone(classifier)):
        with pytest.raises(wc.InputError, match="empty"):
            again.fit(["!", "?"] * 3, [["a"], ["b"]] * 3)
    assert (learned.predict(texts), learned.predict_proba(texts).tolist()) == before
    with pytest.raises(NotFittedError):
        again.predict(texts)
