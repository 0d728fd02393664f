"""Weights that see labels, in the classifiers that can have them."""

import numpy as np
import pytest
import reference
from made_up import corpus, multilabel_corpus
from sklearn.svm import LinearSVC

import wordclass as wc
from wordclass.embedding.cross_fit import FoldScores
from wordclass.folds import stratified_folds
from wordclass.labels import encode
from wordclass.search import Documents

TEXTS, LABELS = corpus(90)
NAMES = ["tf_ig", "tf_chi", "tf_rf", "tf_conf_weight"]
SETTINGS = {
    **{"ngrams": (1, 1), "characters": None},
    **dict.fromkeys(("vector_weight", "other_weight", "encoder_weight"), 0.0),
    **{"structural_problems": 0, "structural_weight": 0.0, "block_weight": 0.5, "shrinkage": 5.0},
    **{"C": 1.0, "loss": "squared_hinge"},
}


def features_of(labels, folds, settings=SETTINGS, weights=None):
    model = wc.classifier("linear", weighting="tf_ig", min_docs=2)
    documents = Documents(TEXTS, encode(labels), weights)
    return model._corpus(documents, folds, None).features(settings)


@pytest.mark.parametrize("weighting", NAMES)
@pytest.mark.parametrize("name", ["svm", "linear"])
def test_what_was_saved_is_loaded_to_the_bit(name, weighting, tmp_path):
    for number, (texts, labels) in enumerate([(TEXTS, LABELS), multilabel_corpus()]):
        options = {"weighting": weighting, "over_classes": "sum", "min_docs": 2}
        model = wc.classifier(name, **options).fit(texts, labels)
        assert model.score(texts, labels) > 0.8
        model.save(tmp_path / str(number))
        again = wc.load(tmp_path / str(number))
        np.testing.assert_array_equal(again.class_scores(texts), model.class_scores(texts))
        assert again.explain(texts[0]) == model.explain(texts[0])
        assert again.weighting == weighting


def test_svm_is_a_machine_on_cross_fitted_weights():
    options = {"weighting": "tf_chi", "min_docs": 2}
    model = wc.classifier("svm", C=1.0, probabilities=False, **options).fit(TEXTS, LABELS)
    vectorizer = wc.DocumentVectorizer(**options)
    machine = LinearSVC(C=1.0, class_weight="balanced", tol=1e-7, max_iter=100_000)
    machine.fit(vectorizer.fit_transform(TEXTS, LABELS), LABELS)
    new = ["moon and orbit", "the song", "rose soil water moon"]
    expected = machine.decision_function(vectorizer.transform(new))
    np.testing.assert_allclose(model.decision_function(new), expected, atol=2e-3)


def test_word_class_scores_are_made_by_weights_that_never_saw_the_fold():
    folds = stratified_folds(TEXTS, encode(LABELS).Y, 10, 0)
    features = features_of(LABELS, folds)
    made = features._own(5.0, np.arange(90))
    Y = encode(LABELS).Y.toarray().tolist()
    terms = features.vectorizers[0].vocabulary_.terms
    for k in (0, 7, 40):
        others = [i for i in range(90) if folds[i] != folds[k]]
        texts, Y_others = [TEXTS[i] for i in others], [Y[i] for i in others]
        given = terms, Y_others, reference.information_gain, max, None
        X = reference.supervised(texts, *given)
        known = [any(row[t] != 0 for row in X) for t in range(len(terms))]
        S = reference.standardize(reference.shrunken_dot(X, Y_others, 5.0), known)
        (own,) = reference.supervised([TEXTS[k]], *given, training_texts=texts)
        expected = reference.multiply([own], S)[0]
        np.testing.assert_allclose(made[k], expected, rtol=1e-4, atol=1e-4)


def test_a_document_never_sees_its_own_label():
    folds = stratified_folds(TEXTS, encode(LABELS).Y, 10, 0)
    features, rows = features_of(LABELS, folds), np.arange(90)
    for k in (3, 50):
        changed = [*LABELS[:k], "music" if LABELS[k] != "music" else "space", *LABELS[k + 1 :]]
        others = features_of(changed, folds)
        np.testing.assert_array_equal(others.X[k].toarray(), features.X[k].toarray())
        assert (others.X != features.X).nnz
        np.testing.assert_allclose(
            others._own(5.0, rows)[k], features._own(5.0, rows)[k], atol=1e-5
        )


def test_documents_held_out_are_seen_by_nothing_that_was_learned():
    folds = stratified_folds(TEXTS, encode(LABELS).Y, 10, 0)
    rows = np.flatnonzero(folds // 2 != 0)
    changed = [LABELS[(k + 1) % 90] if folds[k] < 2 else LABELS[k] for k in range(90)]
    problems = [
        features_of(labels, folds)._problem(SETTINGS, rows)[0] for labels in (LABELS, changed)
    ]
    one, two = (problem.features for problem in problems)
    np.testing.assert_array_equal(one.X.toarray(), two.X.toarray())
    np.testing.assert_array_equal(one.own, two.own)
    scores = [
        features_of(labels, folds).held_out_scores(SETTINGS, [1.0], 1)[1]
        for labels in (LABELS, changed)
    ]
    np.testing.assert_array_equal(*scores)


def test_weights_of_documents_count_in_word_class_scores():
    folds = stratified_folds(TEXTS, encode(LABELS).Y, 10, 0)
    rows = np.arange(90)
    plain, ones = features_of(LABELS, folds), features_of(LABELS, folds, weights=np.ones(90))
    np.testing.assert_allclose(plain._own(5.0, rows), ones._own(5.0, rows), atol=1e-6)
    some = np.where(np.array(LABELS) == "music", 3.0, 1.0)
    heavier = features_of(LABELS, folds, weights=some)._own(5.0, rows)
    assert np.abs(heavier - plain._own(5.0, rows)).max() > 0.01


def test_words_that_are_all_rare_are_left_out_beside_characters(tmp_path):
    texts = [f"{'alpha' if k % 2 else 'omega'}{k}" for k in range(40)]
    labels = ["a" if k % 2 else "o" for k in range(40)]
    options = {"weighting": "tf_rf", "characters": (2, 4), "loss": "squared_hinge"}
    model = wc.classifier("linear", **options).fit(texts, labels)
    assert model.score(texts, labels) == 1.0
    model.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    np.testing.assert_array_equal(again.class_scores(texts), model.class_scores(texts))


def test_linear_may_have_any_weighting():
    for weighting in ("bm25", "count", "binary"):
        model = wc.classifier("linear", weighting=weighting).fit(TEXTS, LABELS)
        assert model.score(TEXTS, LABELS) > 0.9


def test_leaky_weights_are_those_of_new_documents():
    folds = np.arange(90) % 10
    options = {"weighting": "tf_ig", "min_docs": 2, "cross_fit_weights": False}
    model = wc.classifier("linear", **options)
    features = model._corpus(Documents(TEXTS, encode(LABELS)), folds, None).features(SETTINGS)
    expected = wc.DocumentVectorizer(**options).fit(TEXTS, LABELS).transform(TEXTS)
    np.testing.assert_array_equal(features.X.toarray(), expected.toarray())
    assert isinstance(features._fold_scores, FoldScores)


def test_a_model_without_the_factors_of_its_terms_is_refused(tmp_path):
    model = wc.classifier("svm", weighting="tf_ig", C=1.0, min_docs=2).fit(TEXTS, LABELS)
    parts = model._to_parts()
    del parts.arrays["factors"]
    model._to_parts = lambda: parts
    model.save(tmp_path / "model")
    with pytest.raises(wc.FormatError, match="needs the factors of the terms"):
        wc.load(tmp_path / "model")
