import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import corpus, multilabel_corpus
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import wordclass as wc
from wordclass import naming
from wordclass.arrays import to_sparse
from wordclass.counts import WordClassCounts
from wordclass.folds import fold_numbers, stratified_folds
from wordclass.labels import encode
from wordclass.text.supervised import term_factors

TEXTS, LABELS = corpus()
NAMES = ["tf_ig", "tf_chi", "tf_rf", "tf_conf_weight"]


def vectorizer(name="tf_ig", **options):
    return wc.DocumentVectorizer(**{"weighting": name, "min_docs": 2, **options})


@pytest.mark.parametrize("over_classes", ["max", "sum"])
@pytest.mark.parametrize("name", NAMES)
def test_a_row_of_training_is_made_by_the_other_folds(name, over_classes):
    made = vectorizer(name, over_classes=over_classes)
    X = made.fit_transform(TEXTS, LABELS)
    expected = reference.supervised(
        *(TEXTS, list(made.get_feature_names_out()), encode(LABELS).Y.toarray().tolist()),
        getattr(reference, naming.entry("weightings", name).CORRELATION),
        {"max": max, "sum": sum}[over_classes],
        fold_numbers(TEXTS, 10, 0),
    )
    np.testing.assert_allclose(X.toarray(), expected, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(k=st.integers(0, 59), label=st.sampled_from(["space", "garden", "music"]))
def test_its_own_label_is_not_in_the_row_of_a_document(name, k, label):
    changed = [*LABELS[:k], label, *LABELS[k + 1 :]]
    before = vectorizer(name).fit_transform(TEXTS, LABELS)
    after = vectorizer(name).fit_transform(TEXTS, changed)
    np.testing.assert_array_equal(before[k].toarray(), after[k].toarray())


def test_without_cross_fitting_it_is():
    changed = ["music", *LABELS[1:]]
    assert LABELS[0] != "music"
    rows = [
        vectorizer(cross_fit_weights=False).fit_transform(TEXTS, labels)[0].toarray()
        for labels in (LABELS, changed)
    ]
    assert not np.allclose(*rows)


@pytest.mark.parametrize("name", NAMES)
def test_new_texts_are_weighted_by_all_training_documents(name):
    leaky = vectorizer(name, cross_fit_weights=False)
    X = leaky.fit_transform(TEXTS, LABELS)
    crossed = vectorizer(name)
    crossed.fit_transform(TEXTS, LABELS)
    for fitted in (leaky, crossed, vectorizer(name).fit(TEXTS, LABELS)):
        np.testing.assert_array_equal(fitted.transform(TEXTS).toarray(), X.toarray())


@settings(max_examples=10)
@given(order=st.permutations(range(20)))
def test_the_order_of_documents_does_not_matter(order):
    texts, labels = TEXTS[:20], LABELS[:20]
    X = vectorizer("tf_chi").fit_transform(texts, labels)
    moved = vectorizer("tf_chi").fit_transform(
        [texts[k] for k in order], [labels[k] for k in order]
    )
    np.testing.assert_allclose(moved.toarray(), X[list(order)].toarray(), atol=1e-12)


def test_the_names_of_classes_do_not_matter():
    renamed = [{"space": "a", "garden": "z", "music": "k"}[label] for label in LABELS]
    for over_classes in ("max", "sum"):
        made = [
            vectorizer("tf_rf", over_classes=over_classes).fit_transform(TEXTS, labels).toarray()
            for labels in (LABELS, renamed)
        ]
        np.testing.assert_allclose(*made, atol=1e-12)


def test_scikit_learn_is_told_that_labels_are_needed():
    assert vectorizer().__sklearn_tags__().target_tags.required
    assert not wc.DocumentVectorizer().__sklearn_tags__().target_tags.required
    pipeline = make_pipeline(vectorizer(), LinearSVC()).fit(TEXTS, LABELS)
    assert pipeline.score(TEXTS, LABELS) > 0.9


def test_labels_may_come_in_any_form():
    texts, labels = multilabel_corpus()
    encoded = encode(labels)
    made = [vectorizer().fit_transform(texts, each) for each in (labels, encoded)]
    made.append(vectorizer().fit_transform(texts, encoded.Y.toarray()))
    for each in made[1:]:
        np.testing.assert_array_equal(each.toarray(), made[0].toarray())


def test_documents_held_out_are_seen_by_no_weight():
    Y = encode(LABELS).Y
    folds = stratified_folds(TEXTS, Y, 10, 0)
    is_held_out = np.isin(folds, [2, 3])
    changed = [
        "music" if held_out else label for label, held_out in zip(LABELS, is_held_out, strict=True)
    ]
    X, other = (
        vectorizer().fit_supervised(TEXTS, labels, folds).cross_fitted((2, 3)).toarray()
        for labels in (LABELS, changed)
    )
    np.testing.assert_array_equal(X, other)
    # these are weighted as new documents are: by all others
    rest = vectorizer().fit_supervised(TEXTS, LABELS, folds).weighted((2, 3)).toarray()
    np.testing.assert_array_equal(X[is_held_out], rest[is_held_out])


def test_factors_are_those_of_all_terms_however_many_are_looked_at_at_once(monkeypatch):
    generator = np.random.default_rng(0)
    X, Y = generator.random((30, 40)) < 0.2, generator.random((30, 3)) < 0.4
    counts = WordClassCounts.of(to_sparse(X.astype(float)), to_sparse(Y.astype(float)))
    whole = term_factors(counts, "chi_square", "sum")
    monkeypatch.setattr("wordclass.text.supervised._CELLS_AT_ONCE", 7)
    np.testing.assert_array_equal(term_factors(counts, "chi_square", "sum"), whole)


@pytest.mark.parametrize("name", NAMES)
def test_weighted_sums_are_x_times_weights(name):
    texts = [*TEXTS, "", "unknown words", "the and with"]
    fitted = vectorizer(name).fit(TEXTS, LABELS)
    weights = np.random.default_rng(0).normal(size=(len(fitted.vocabulary_), 3)).astype(np.float32)
    intercept = np.ones(3, np.float32)
    made = fitted.weighted_sums(texts, weights, intercept)
    assert np.isfinite(made).all()
    np.testing.assert_allclose(made, fitted.transform(texts) @ weights + intercept, atol=1e-5)


def test_plain_python_weighs_as_the_engine_does(monkeypatch):
    made = vectorizer("tf_conf_weight").fit_transform(TEXTS, LABELS)
    monkeypatch.setattr("wordclass.native.engine", None)
    monkeypatch.setattr("wordclass.native.warn_if_missing", lambda: None)
    plain = vectorizer("tf_conf_weight").fit_transform(TEXTS, LABELS)
    np.testing.assert_allclose(plain.toarray(), made.toarray(), atol=1e-12)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: vectorizer().fit(TEXTS), "weighting='tf_ig' sees labels, and there are none"),
        (lambda: vectorizer().fit_transform(TEXTS), "sees labels, and there are none"),
        (lambda: vectorizer().fit_blocks([TEXTS]), "sees labels: fit"),
        (lambda: vectorizer().fit(TEXTS, LABELS[1:]), "59"),
        (lambda: vectorizer().fit(TEXTS, ["x"] * 60), "only one class"),
        (lambda: vectorizer(over_classes="mean").fit(TEXTS, LABELS), "over_classes is 'mean'"),
        (
            lambda: vectorizer(cross_fit_weights="no").fit(TEXTS, LABELS),
            "cross_fit_weights is 'no'",
        ),
        (lambda: vectorizer("tfidf", over_classes="mean").fit(TEXTS), "over_classes is 'mean'"),
        (
            lambda: wc.WordClassEmbeddings(weighting="tf_ig").fit(TEXTS, LABELS),
            "sees labels, as word-class embeddings do themselves",
        ),
        (lambda: wc.classifier("nearest", weighting="tf_rf").fit(TEXTS, LABELS), "sees labels"),
        (
            lambda: wc.classifier("svm", features="wce", weighting="tf_rf").fit(TEXTS, LABELS),
            "sees labels",
        ),
        (
            lambda: wc.classifier("linear", classes="tree", weighting="tf_rf").fit(TEXTS, LABELS),
            "a tree of classes needs one that does not",
        ),
    ],
)
def test_what_cannot_be_is_refused(use, message):
    with pytest.raises(wc.InputError, match=message):
        use()


@pytest.mark.parametrize("name", ["svm", "linear"])
def test_a_corpus_in_parts_is_refused(name, tmp_path):
    path = tmp_path / "docs.csv"
    rows = [f"{text},{label}" for text, label in zip(TEXTS, LABELS, strict=True)]
    path.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    with pytest.raises(wc.InputError, match="which a corpus in parts cannot"):
        wc.classifier(name, weighting="tf_ig").fit_parts(str(path))
