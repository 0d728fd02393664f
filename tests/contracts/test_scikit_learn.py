"""What scikit-learn's own tools expect of every estimator here; two classes are the hard case."""

from inspect import signature

import numpy as np
import pytest
import sklearn
from made_up import corpus, multilabel_corpus
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline

import wordclass as wc
from wordclass import catalogue

NAMES = catalogue.names("classifiers")
NETWORKS = ("cnn", "lstm", "attention", "leam")
_NETWORK = {"batch_size": 16, "lr": 0.05, "max_epochs": 2}
OPTIONS = {
    "cnn": {**_NETWORK, "channels": 4, "windows": (1,)},
    "lstm": {**_NETWORK, "hidden": 4},
    "attention": {**_NETWORK, "hidden": 4},
    "leam": {**_NETWORK, "window": 1},
    "fasttext": {"epochs": 20, "random_dims": 10},
    "linear": {"ngrams": (1, 1), "C": 1.0},
    "svm": {"C": 1.0},
}
TEXTS, NAMED = corpus(36, classes=("space", "garden"))
LABELS = [int(name == "space") for name in NAMED]


@pytest.fixture(params=NAMES)
def classifier(request):
    return wc.classifier(request.param, min_docs=2, **OPTIONS.get(request.param, {}))


def test_two_single_labels_have_one_score_a_text_which_is_for_the_second_class(classifier):
    for labels in (NAMED, LABELS):
        scores = classifier.fit(X=TEXTS, y=labels).decision_function(X=TEXTS)
        assert scores.shape == (len(TEXTS),)
        assert scores.dtype == np.float32
        predicted = classifier.classes_[(scores > 0).astype(int)]
        assert classifier.predict(X=TEXTS).tolist() == predicted.tolist()
        assert classifier.class_scores(TEXTS).shape == (len(TEXTS), 2)
        ranked = classifier.predict_proba(X=TEXTS)[np.argsort(scores), 1]
        assert (np.diff(ranked) > -1e-6).all()


def test_all_others_have_a_score_per_class(classifier):
    assert classifier.fit(*corpus(36)).decision_function(TEXTS).shape == (len(TEXTS), 3)
    both = np.array([LABELS, LABELS]).T
    assert classifier.fit(TEXTS, both).decision_function(TEXTS).shape == (len(TEXTS), 2)


def test_scorers_that_rank_work(classifier):
    scoring = ["roc_auc", "average_precision", "neg_log_loss"]
    search = GridSearchCV(
        classifier, {"min_docs": [2]}, scoring=scoring, refit="roc_auc", cv=2, error_score="raise"
    ).fit(TEXTS, LABELS)
    found = {name: search.cv_results_[f"mean_test_{name}"][0] for name in scoring}
    assert np.isfinite([*found.values()]).all()
    if classifier.name not in NETWORKS:  # two epochs are few
        assert found["roc_auc"] > 0.9
        assert found["average_precision"] > 0.9
        assert found["neg_log_loss"] > -0.7
    assert search.score(TEXTS, LABELS) == pytest.approx(
        roc_auc_score(LABELS, search.decision_function(TEXTS))
    )
    assert cross_val_score(classifier, TEXTS, NAMED, cv=2, scoring="roc_auc").min() >= 0


def test_texts_held_out_have_one_score_each(classifier):
    made = cross_val_predict(classifier, TEXTS, NAMED, cv=2, method="decision_function")
    assert made.shape == (len(TEXTS),)


def test_it_is_a_part_of_what_scikit_learn_puts_together(classifier):
    pipeline = Pipeline([("classify", clone(classifier))]).set_params(classify__min_docs=1)
    assert pipeline.fit(TEXTS, NAMED).decision_function(TEXTS).shape == (len(TEXTS),)
    for around in (
        CalibratedClassifierCV(classifier, cv=2),
        VotingClassifier([("a", classifier), ("b", wc.classifier("nearest"))], voting="soft"),
        StackingClassifier([("a", classifier)], LogisticRegression(), cv=2),
    ):
        learned = around.fit(TEXTS, NAMED)
        assert learned.predict_proba(TEXTS).shape == (len(TEXTS), 2)
        assert set(learned.predict(TEXTS)) <= set(NAMED)


def test_the_score_counts_texts_by_their_weights(classifier):
    predicted = classifier.fit(TEXTS, LABELS).predict(TEXTS)
    truth = np.where(np.arange(len(TEXTS)) % 3 == 0, 1 - predicted, predicted)
    weights = np.arange(len(TEXTS), dtype=float)
    found = classifier.score(X=TEXTS, y=truth, sample_weight=weights)
    assert found == pytest.approx(weights[truth == predicted].sum() / weights.sum())
    assert classifier.score(TEXTS, truth) == pytest.approx((truth == predicted).mean())
    with pytest.raises(wc.InputError, match="sample_weight has shape"):
        classifier.score(TEXTS, truth, sample_weight=[1.0])


def test_the_score_of_several_labels_counts_them_by_weight_too():
    texts, labels = multilabel_corpus(30)
    learned = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    is_right = [set(a) == set(b) for a, b in zip(learned.predict(texts), labels, strict=True)]
    assert 0 < sum(is_right) < 30
    weights = np.arange(1.0, 31.0)
    expected = np.average(is_right, weights=weights)
    assert learned.score(texts, labels, sample_weight=weights) == pytest.approx(expected)


def test_arguments_have_the_names_of_scikit_learn(classifier):
    for estimator in (classifier, wc.WordClassEmbeddings(), wc.DocumentVectorizer()):
        for method in ("fit", "fit_transform", "partial_fit", "score"):
            if hasattr(estimator, method):
                assert list(signature(getattr(estimator, method)).parameters)[:2] == ["X", "y"]
        for method in ("predict", "predict_proba", "decision_function", "transform"):
            if hasattr(estimator, method):
                assert list(signature(getattr(estimator, method)).parameters) == ["X"]


def test_weights_are_routed_to_a_fit_that_asks_for_them():
    with sklearn.config_context(enable_metadata_routing=True):
        asking = wc.classifier("svm", min_docs=2, C=1.0).set_fit_request(sample_weight=True)
        asking.set_score_request(sample_weight=True)
        search = GridSearchCV(asking, {"C": [0.1, 1.0]}, cv=2, error_score="raise")
        weights = np.where(LABELS, 1.0, 0.5)
        assert search.fit(TEXTS, LABELS, sample_weight=weights).best_score_ > 0.5


def test_what_scikit_learn_is_told(classifier):
    for estimator in (classifier, wc.WordClassEmbeddings(), wc.DocumentVectorizer()):
        tags = estimator.__sklearn_tags__()
        assert tags.input_tags.string
        assert not tags.input_tags.two_d_array
        assert tags.target_tags.required == (not isinstance(estimator, wc.DocumentVectorizer))
    assert classifier.__sklearn_tags__().classifier_tags.multi_label


def test_embeddings_and_vectors_of_documents_are_steps_of_pipelines():
    for step in (wc.WordClassEmbeddings(min_docs=2), wc.DocumentVectorizer(min_docs=2)):
        pipeline = make_pipeline(step, LogisticRegression())
        assert cross_val_score(pipeline, TEXTS, LABELS, cv=2, scoring="roc_auc").min() > 0.9
        made = clone(step).fit_transform(X=TEXTS, y=LABELS)
        assert made.shape[0] == clone(step).fit(X=TEXTS, y=LABELS).transform(X=TEXTS).shape[0]
    wce = wc.WordClassEmbeddings(min_docs=1).partial_fit(X=TEXTS, y=LABELS)
    assert len(wce.remove(X=TEXTS[:3], y=LABELS[:3])) > 0


# --- one word for one thing -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["svm", "fasttext", "cnn", "lstm", "attention", "leam"])
def test_word_class_embeddings_are_given_in_the_same_ways(name):
    options = {"min_docs": 2, **OPTIONS[name]} | ({"features": "wce"} if name == "svm" else {})
    given = wc.WordClassEmbeddings(correlation="chi_square", min_docs=2)
    nested = wc.classifier(name, wce=wc.WordClassEmbeddings(min_docs=2), **options)
    nested.set_params(wce__correlation="chi_square")
    assert clone(nested).get_params()["wce__correlation"] == "chi_square"
    made = [
        model.fit(TEXTS, LABELS).class_scores(TEXTS)
        for model in (
            wc.classifier(name, wce=given, **options),
            nested,
            wc.classifier(name, wce={"correlation": "chi_square"}, **options),
            wc.classifier(name, wce=True, **options),
        )
    ]
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[0], made[2])
    assert (made[0] != made[3]).any()
    for wrong, message in (
        (3, "wce is 3; expected True, False, WordClassEmbeddings or a dict"),
        ({"shrink": 1}, "WordClassEmbeddings has no option 'shrink'"),
    ):
        with pytest.raises(wc.InputError, match=message):
            wc.classifier(name, wce=wrong, **options).fit(TEXTS, LABELS)


@pytest.mark.parametrize("target", ["both", "macro_f1", "accuracy", "micro"])
def test_targets_are_the_same_everywhere(target):
    for name in ("linear", "svm", "cnn"):
        model = wc.classifier(name, min_docs=2, target=target, **OPTIONS[name])
        assert model.fit(TEXTS, LABELS).score(TEXTS, LABELS) > 0.4
        with pytest.raises(wc.InputError, match="target is 'f1'; expected 'both', 'macro_f1'"):
            clone(model).set_params(target="f1").fit(TEXTS, LABELS)
    tuned = wc.tune(TEXTS, LABELS, "svm", grid={"C": [1.0]}, target=target)
    expected = f"{target}_f1" if target in ("macro", "micro") else target
    assert (tuned.target, tuned.model.target) == (expected, expected)


def test_a_model_dict_of_embeddings_is_saved_and_loaded(tmp_path):
    options = {"features": "wce", "wce": {"correlation": "chi_square", "max_dims": None}, "C": 1.0}
    model = wc.classifier("svm", min_docs=2, **options).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))
