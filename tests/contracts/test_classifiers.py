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
from wordclass import naming

NAMES = naming.names("classifiers")
TEXTS, LABELS = corpus()


@pytest.fixture(params=NAMES)
def classifier(request):
    return wc.classifier(request.param, min_docs=2)


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
    predicted = classifier.predict(["moon orbit rocket star lunar", "moon orbit rose soil seed"])
    assert all(isinstance(each, tuple) for each in predicted)
    assert predicted[0] == ("space",)
    assert predicted[1] == ("garden", "space")
    assert wc.evaluate(labels, classifier.predict(texts)).micro_f1 > 0.8
    assert classifier.score(texts, labels) > 0.5


def test_a_matrix_comes_back_as_a_matrix_with_its_columns(classifier):
    Y = np.array([[label == name for name in ("space", "garden", "music")] for label in LABELS])
    classifier.fit(TEXTS, Y.astype(int), class_names=["space", "garden", "music"])
    assert classifier.classes_.tolist() == ["garden", "music", "space"]
    predicted = classifier.predict(["moon orbit rocket lunar"])
    assert predicted.tolist() == [[1, 0, 0]]
    assert classifier.score(TEXTS, Y.astype(int)) > 0.8


def test_two_classes_are_no_special_case(classifier):
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
    np.testing.assert_allclose(alone, together[:9], rtol=1e-6)


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
