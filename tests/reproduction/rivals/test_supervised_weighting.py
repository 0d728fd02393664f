"""Supervised term weighting, as a weighting that learns from labels."""

import json

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus, multilabel_corpus
from saved_by_0_1_0.make_files import TEXTS as ASKED
from saved_by_0_1_0.make_files import corpus as corpus_0_1
from saved_with_removed_options.make_files import HERE
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import wordclass as wc
from wordclass.arrays import to_sparse
from wordclass.embedding.counts import WordClassCounts
from wordclass.reproduction.rivals import supervised_weighting
from wordclass.reproduction.rivals.supervised_weighting import (
    CORRELATIONS,
    SupervisedWeighting,
    term_factors,
)

TEXTS, LABELS = corpus(90)
SHORT = st.lists(
    st.lists(st.sampled_from(["aa", "bb", "cc", "dd"]), max_size=8).map(" ".join),
    min_size=2,
    max_size=7,
).filter(lambda texts: any(texts))


def vectorizer(name="tf_ig", over_classes="max", min_docs=2):
    return wc.DocumentVectorizer(
        weighting=SupervisedWeighting(name, over_classes), min_docs=min_docs
    )


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize("over_classes", ["max", "sum"])
@pytest.mark.parametrize("name", CORRELATIONS)
@given(texts=SHORT, new=SHORT)
def test_supervised_weights_equal_slow_loops(name, over_classes, texts, new):
    labels = [("x", "y", "z")[k % 3] for k in range(len(texts))]
    fitted = vectorizer(name, over_classes, min_docs=1).fit(texts, labels)
    Y = [[float(label == name) for name in sorted(set(labels))] for label in labels]
    correlation = getattr(reference, CORRELATIONS[name])
    joined = {"max": max, "sum": sum}[over_classes]
    terms = list(fitted.get_feature_names_out())
    expected = reference.supervised(new, terms, Y, correlation, joined, training_texts=texts)
    # a correlation that is 0 but for rounding is no reason for a row of length 1
    is_sure = np.abs(np.array(expected)).sum(axis=1) > 0
    factors = fitted.weight_.factors
    if (factors[factors > 0] > 1e-12).all():
        X = fitted.transform(new).toarray()
        np.testing.assert_allclose(X[is_sure], np.array(expected)[is_sure], atol=1e-9)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_training_documents_are_weighted_like_new_ones(name):
    fitted = vectorizer(name)
    X = fitted.fit_transform(TEXTS, LABELS)
    np.testing.assert_array_equal(fitted.transform(TEXTS).toarray(), X.toarray())
    again = vectorizer(name).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(again.transform(TEXTS).toarray(), X.toarray())


def test_tags_say_that_labels_are_required():
    assert vectorizer().__sklearn_tags__().target_tags.required
    assert not wc.DocumentVectorizer().__sklearn_tags__().target_tags.required
    pipeline = make_pipeline(vectorizer(), LinearSVC()).fit(TEXTS, LABELS)
    assert pipeline.score(TEXTS, LABELS) > 0.9


def test_linear_reads_leaky_weights_as_in_version_0_1():
    expected = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))["models"]
    fixed = {"min_docs": 2, "C": 1.0, "shrinkage": 5.0, "block_weight": 0.1, "characters": (2, 3)}
    model = wc.classifier("linear", weighting=SupervisedWeighting("tf_rf"), **fixed)
    model.fit(*corpus_0_1())
    scores = expected["linear_tf_rf_characters"]["scores"]
    # the folds of version 0.1 depended on the names of the classes
    np.testing.assert_allclose(model.decision_function(ASKED), scores, atol=1e-3)


@pytest.mark.parametrize("classes", ["flat", "tree"])
def test_linear_reads_supervised_weights_in_a_flat_model_and_in_a_tree(classes):
    options = {"weighting": SupervisedWeighting("tf_chi"), "classes": classes, "min_docs": 2}
    for texts, labels in ((TEXTS, LABELS), multilabel_corpus()):
        assert wc.classifier("linear", **options).fit(texts, labels).score(texts, labels) > 0.8


def test_svm_equals_linear_svc_on_supervised_weights():
    weighting = SupervisedWeighting("tf_chi")
    options = {"C": 1.0, "probabilities": False, "min_docs": 2}
    model = wc.classifier("svm", weighting=weighting, **options).fit(TEXTS, LABELS)
    fitted = vectorizer("tf_chi")
    machine = LinearSVC(C=1.0, class_weight="balanced", tol=1e-7, max_iter=100_000)
    machine.fit(fitted.fit_transform(TEXTS, LABELS), LABELS)
    new = ["moon and orbit", "the song", "rose soil water moon"]
    expected = machine.decision_function(fitted.transform(new))
    np.testing.assert_allclose(model.decision_function(new), expected, atol=2e-3)


def test_factors_do_not_depend_on_the_block_size(monkeypatch):
    generator = np.random.default_rng(0)
    X = generator.random((30, 40)) < 0.2
    Y = generator.random((30, 3)) < 0.4
    counts = WordClassCounts.of(to_sparse(X.astype(float)), to_sparse(Y.astype(float)))
    expected = term_factors(counts, "chi_square", "sum")
    monkeypatch.setattr(supervised_weighting, "_MAX_CELLS", 7)
    np.testing.assert_array_equal(term_factors(counts, "chi_square", "sum"), expected)


@pytest.mark.parametrize(
    ("name", "over_classes", "message"),
    [("tf_gi", "max", "weighting is 'tf_gi'"), ("tf_ig", "mean", "over_classes is 'mean'")],
)
def test_unknown_names_are_refused(name, over_classes, message):
    with pytest.raises(wc.InputError, match=message):
        vectorizer(name, over_classes).fit(TEXTS, LABELS)


def test_a_saved_model_needs_the_fitted_weights_again(tmp_path):
    options = {"weighting": SupervisedWeighting("tf_rf"), "C": 1.0, "min_docs": 2}
    model = wc.classifier("svm", **options).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    with pytest.raises(
        wc.InputError, match=r"SupervisedWeighting, a function that the file does not hold"
    ):
        wc.load(tmp_path / "model")
    with pytest.raises(wc.WordClassError, match="learns from labels, which is not possible here"):
        wc.load(tmp_path / "model", weighting=options["weighting"])
    fitted = model.scorer_.weigher.weight.function
    again = wc.load(tmp_path / "model", weighting=fitted)
    np.testing.assert_array_equal(again.class_scores(TEXTS), model.class_scores(TEXTS))
