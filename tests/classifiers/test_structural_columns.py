"""Columns for the presence of telling terms, which binary tasks lack dimensions for."""

import numpy as np
import pytest
import reference
from made_up import corpus
from sklearn.svm import LinearSVC

import wordclass as wc
from wordclass.classifiers import linear
from wordclass.classifiers._text_classifier import StructuralColumns
from wordclass.counts import WordClassCounts
from wordclass.embedding.state import telling_terms
from wordclass.folds import stratified_folds
from wordclass.labels import encode

TEXTS, LABELS = corpus(90, classes=("space", "garden"))
FIXED = {
    **{"ngrams": (1, 1), "characters": None, "shrinkage": 5.0, "block_weight": 0.0, "C": 1.0},
    **{"min_docs": 2, "class_weight": None, "probabilities": False},
}


def presence_of_telling_terms(X, Y, n_terms):
    columns = telling_terms(WordClassCounts.of(X, Y), n_terms)
    return (X[:, list(columns)].toarray() != 0).astype(float)


def test_they_stand_beside_x_in_linear():
    options = {"structural_problems": 4, "structural_weight": 0.5}
    model = wc.classifier("linear", **FIXED, **options).fit(TEXTS[:60], LABELS[:60])
    v = wc.DocumentVectorizer(min_docs=2)
    X, Y = v.fit_transform(TEXTS[:60]), encode(LABELS[:60]).Y
    P = presence_of_telling_terms(X, Y, 4)
    folds = stratified_folds(TEXTS[:60], Y, 10, 0)
    block = np.array(reference.cross_fitted_scores(X.toarray(), P, folds, 5.0))
    factor = 0.5 / np.sqrt(np.mean(np.sum(block**2, axis=1)))
    S = np.array(reference.standardize(reference.shrunken_dot(X.toarray(), P, 5.0)))
    new = v.transform(TEXTS[60:]).toarray()
    machine = LinearSVC(C=1.0, tol=1e-7, max_iter=100_000)
    machine.fit(np.hstack([X.toarray(), block * factor]), np.array(LABELS[:60]) == "space")
    expected = machine.decision_function(np.hstack([new, new @ S * factor]))
    np.testing.assert_allclose(model.decision_function(TEXTS[60:]), expected, atol=2e-3)


def test_they_stand_beside_x_in_svm():
    options = {"structural_problems": 4, "probabilities": False, "C": 1.0, "min_docs": 2}
    model = wc.classifier("svm", class_weight=None, **options).fit(TEXTS[:60], LABELS[:60])
    v = wc.DocumentVectorizer(min_docs=2)
    X, Y = v.fit_transform(TEXTS[:60]), encode(LABELS[:60]).Y
    P = presence_of_telling_terms(X, Y, 4)
    S = np.array(reference.standardize(reference.dot(X.toarray(), P)))
    S /= np.sqrt(np.mean(np.sum((X @ S) ** 2, axis=1)))
    machine = LinearSVC(C=1.0, tol=1e-7, max_iter=100_000)
    machine.fit(np.hstack([X.toarray(), X @ S]), np.array(LABELS[:60]) == "space")
    new = v.transform(TEXTS[60:])
    expected = machine.decision_function(np.hstack([new.toarray(), new @ S]))
    np.testing.assert_allclose(model.decision_function(TEXTS[60:]), expected, atol=2e-3)


def test_those_of_word_class_vectors_are_read_by_svm_and_networks():
    given = {"C": 1.0, "min_docs": 2, "features": "wce", "probabilities": False}
    ours = wc.classifier("svm", structural_problems=4, **given).fit(TEXTS, LABELS)
    nested = wc.classifier("svm", wce={"structural_problems": 4}, **given).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(ours.class_scores(TEXTS), nested.class_scores(TEXTS))
    plain = wc.classifier("svm", **given).fit(TEXTS, LABELS)
    assert not np.allclose(ours.class_scores(TEXTS), plain.class_scores(TEXTS))
    assert nested.structural_columns() == StructuralColumns(4, 4)
    assert plain.structural_columns() is None


def test_a_network_reads_them():
    pytest.importorskip("torch")
    options = {"channels": 2, "max_epochs": 1, "min_docs": 2, "structural_problems": 4}
    model = wc.classifier("cnn", **options).fit(TEXTS, LABELS)
    block = model.embedding_.blocks["word_class"]
    assert block.stop - block.start == 2 + 4
    assert model.structural_columns() == StructuralColumns(4, 4)
    with pytest.raises(wc.InputError, match="structural_problems are columns of word-class vec"):
        wc.classifier("cnn", **options, wce=False).fit(TEXTS, LABELS)


@pytest.mark.parametrize("features", ["vectors", "vectors+wce"])
def test_they_stand_beside_sums_of_vectors(features):
    U = wc.WordVectors.of(["moon", "rose"], np.eye(2, 3, dtype=np.float32))
    options = {"features": features, "vectors": U, "C": 1.0, "min_docs": 2}
    model = wc.classifier("svm", **options, structural_problems=3).fit(TEXTS, LABELS)
    plain = wc.classifier("svm", **options).fit(TEXTS, LABELS)
    assert not np.allclose(model.class_scores(TEXTS), plain.class_scores(TEXTS))


@pytest.mark.parametrize("probabilities", [False, True])
def test_they_never_win_in_nearest(probabilities, tmp_path):
    options = {"min_docs": 2, "probabilities": probabilities}
    model = wc.classifier("nearest", structural_problems=4, **options).fit(TEXTS, LABELS)
    plain = wc.classifier("nearest", **options).fit(TEXTS, LABELS)
    assert len(model.embeddings_.columns_) == 6
    np.testing.assert_array_equal(model.class_scores(TEXTS), plain.class_scores(TEXTS))
    assert model.predict(TEXTS).tolist() == plain.predict(TEXTS).tolist()
    assert model.structural_columns() == StructuralColumns(4, 0, 0)
    model.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    np.testing.assert_array_equal(again.class_scores(TEXTS), plain.class_scores(TEXTS))


def test_documents_held_out_choose_no_telling_terms():
    settings = {**FIXED, "structural_problems": 3, "structural_weight": 0.5}
    settings |= dict.fromkeys(("vector_weight", "other_weight", "encoder_weight"), 0.0)
    settings["loss"] = "squared_hinge"
    folds = stratified_folds(TEXTS, encode(LABELS).Y, 10, 0)
    rows = np.flatnonzero(folds > 1)
    changed = ["garden" if folds[k] < 2 else LABELS[k] for k in range(90)]

    def block(labels):
        model = wc.classifier("linear", min_docs=2)
        documents = linear.Documents(TEXTS, encode(labels))
        features = model._corpus(documents, folds, None).features(settings)
        return features._problem(settings, rows)[0].features.block

    np.testing.assert_array_equal(block(LABELS), block(changed))


@pytest.mark.parametrize("helps", [True, False])
def test_documents_held_out_decide_whether_they_are_used(helps, monkeypatch, tmp_path):
    original = linear.LinearFeatures.trials

    def judged(self, settings, penalties):
        quality = 0.75 if (settings["structural_weight"] > 0) == helps else 0.5
        quality += 0.125 * (settings["structural_problems"] == 100)
        return [
            linear.Trial(each.settings, 0.0, quality, quality, quality)
            for each in original(self, settings, penalties)
        ]

    monkeypatch.setattr(linear.LinearFeatures, "trials", judged)
    options = {"structural_problems": "auto", "C": 1.0, "characters": None, "block_weight": 0.0}
    model = wc.classifier("linear", **options).fit(TEXTS, LABELS)
    n_used = len(model.scorer_.vectorizer.vocabulary_) if helps else 0  # of 100
    assert model.settings_["structural_weight"] == (0.3 if helps else 0.0)
    gain = 0.375 if helps else -0.25
    expected = StructuralColumns("auto", n_used, n_used, gain, gain)
    assert model.structural_columns() == expected
    assert f"{n_used} of auto structural columns used, {n_used} helped" in str(expected)
    model.save(tmp_path / "model")
    assert wc.load(tmp_path / "model").structural_columns() == expected


def test_where_nothing_is_searched_they_are_used():
    options = {"structural_problems": 3, "characters": None}
    model = wc.classifier("linear", **options).fit(TEXTS[:12], LABELS[:12])
    assert model.structural_columns() == StructuralColumns(3, 3)
    assert wc.classifier("linear").fit(TEXTS, LABELS).structural_columns() is None


@pytest.mark.parametrize("wrong", [-1, 1.5, "many", True])
@pytest.mark.parametrize("name", ["linear", "svm", "nearest"])
def test_a_number_that_makes_no_sense_is_refused(name, wrong):
    with pytest.raises(wc.InputError, match="structural_problems is"):
        wc.classifier(name, structural_problems=wrong, min_docs=2).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("linear", {"classes": "tree"}, "a tree of classes reads words alone; leave out struct"),
        ("svm", {"features": "encoder", "encoder": len}, "features='encoder' reads none"),
    ],
)
def test_where_there_are_no_words_to_choose_they_are_refused(name, options, message):
    with pytest.raises(wc.InputError, match=message):
        wc.classifier(name, structural_problems=3, **options).fit(TEXTS, LABELS)
