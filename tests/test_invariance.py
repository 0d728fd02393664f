"""Results depend neither on the order of the documents nor on the names of the classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import COMMON, WORDS

import wordclass as wc
from wordclass.classifiers.tuning import split
from wordclass.corpus.labels import encode_labels
from wordclass.corpus.splits import class_order, document_order, fingerprint_texts, stratified_folds
from wordclass.linear.search import Documents

NAMES = ("space", "garden", "music", "zoo")
ANIMALS = ("zebra", "lion", "tiger", "okapi", "panda", "lemur")
# "space" and "garden" have as many documents, as have "music" and "zoo": only texts tell them apart
SIZES = {"space": 25, "garden": 25, "music": 15, "zoo": 15}
CLASSIFIERS = {
    "linear": {},
    "linear_without_search": {"C": 1.0, "ngrams": (1, 1), "block_weight": 0.1, "shrinkage": 5.0},
    "linear_softmax": {"loss": "softmax"},
    "linear_tree": {"classes": "tree"},
    "nearest": {"min_docs": 2},
    "svm": {"min_docs": 2},
    "svm_wce": {"features": "wce", "min_docs": 2},
    "svm_tuned": {"thresholds": "tuned", "min_docs": 2},
}
SINGLE = sorted(CLASSIFIERS.keys() - {"svm_tuned"})
MULTILABEL = sorted(CLASSIFIERS.keys() - {"linear_softmax"})


def drawn_corpus(seed, *, is_multilabel):
    """Return texts and labels with noise, blank texts, copies, and copies with other labels."""
    generator = np.random.default_rng(seed)
    words = WORDS | {"zoo": ANIMALS}
    texts, labels = [], []
    for name, size in SIZES.items():
        for _ in range(size):
            others = generator.choice([other for other in NAMES if other != name], 2)
            parts = [*generator.choice(words[name], 3), *generator.choice(words[others[0]], 2)]
            texts.append(" ".join([*parts, *generator.choice(COMMON, 3)]))
            labels.append([name, str(others[1])] if generator.random() < 0.3 else [name])
    for place in (3, 30, 55, 70):
        texts[place] = " " * (place % 2)
    texts[4], texts[31], texts[56] = texts[5], texts[6], texts[71]
    if is_multilabel:
        labels[8] = []
        return texts, labels
    return texts, [names[0] for names in labels]


def fitted(name, texts, labels):
    kind = name.partition("_")[0]
    return wc.classifier(kind, **CLASSIFIERS[name]).fit(texts, labels)


def renamed(labels, names):
    if isinstance(labels[0], str):
        return [names[label] for label in labels]
    return [[names[label] for label in own] for own in labels]


def random_names(seed):
    """Return other names of the classes, in another order."""
    return dict(zip(NAMES, np.random.default_rng(seed).permutation(NAMES).tolist(), strict=True))


def assert_alike(model, other, names, rtol):
    """Compare scores, probabilities and thresholds, class by class; `names` has the other's."""
    columns = [other.classes_.tolist().index(names[name]) for name in model.classes_.tolist()]
    texts = [*drawn_corpus(99, is_multilabel=False)[0][:40], "", "never seen"]
    scores, expected = other.class_scores(texts)[:, columns], model.class_scores(texts)
    np.testing.assert_allclose(scores, expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    probabilities = other.predict_proba(texts)[:, columns]
    np.testing.assert_allclose(probabilities, model.predict_proba(texts), atol=100 * rtol)
    if model.thresholds_ is not None:
        np.testing.assert_allclose(other.thresholds_[columns], model.thresholds_, atol=10 * rtol)


CASES = [(name, False) for name in SINGLE] + [(name, True) for name in MULTILABEL]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "is_multilabel"), CASES)
def test_the_order_of_the_documents_changes_no_bit(name, is_multilabel, seed):
    texts, labels = drawn_corpus(seed, is_multilabel=is_multilabel)
    order = np.random.default_rng(seed).permutation(len(texts))
    model = fitted(name, texts, labels)
    moved = fitted(name, [texts[k] for k in order], [labels[k] for k in order])
    assert_alike(model, moved, dict(zip(NAMES, NAMES, strict=True)), rtol=0.0)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "is_multilabel"), CASES)
def test_the_names_of_the_classes_change_rounding_only(name, is_multilabel, seed):
    texts, labels = drawn_corpus(seed, is_multilabel=is_multilabel)
    names = random_names(seed)
    model = fitted(name, texts, labels)
    other = fitted(name, texts, renamed(labels, names))
    assert_alike(model, other, names, rtol=1e-6)


def test_weights_move_with_their_documents():
    texts, labels = drawn_corpus(0, is_multilabel=False)
    texts = [*texts, *texts[:20]]
    labels = [*labels, *labels[:20]]
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], len(texts))
    order = np.random.default_rng(1).permutation(len(texts))
    for name in ("linear", "svm"):
        model = wc.classifier(name, C=1.0).fit(texts, labels, sample_weight=weights)
        moved = wc.classifier(name, C=1.0).fit(
            [texts[k] for k in order], [labels[k] for k in order], sample_weight=weights[order]
        )
        assert_alike(model, moved, dict(zip(NAMES, NAMES, strict=True)), rtol=0.0)


@pytest.mark.parametrize("is_multilabel", [False, True])
def test_word_class_embeddings_depend_on_neither(is_multilabel):
    texts, labels = drawn_corpus(0, is_multilabel=is_multilabel)
    names = random_names(3)
    order = np.random.default_rng(2).permutation(len(texts))
    features = wc.WordClassEmbeddings(min_docs=2).fit_transform(texts, labels)
    changed = wc.WordClassEmbeddings(min_docs=2)
    moved = changed.fit_transform(
        [texts[k] for k in order], [renamed(labels, names)[k] for k in order]
    )
    columns = [changed.classes_.index(names[name]) for name in sorted(NAMES)]
    np.testing.assert_allclose(moved[:, columns], features[order], rtol=1e-5, atol=1e-6)


TEXTS = st.sampled_from(["", " ", "moon", "rose", "song", "moon rose", "soil", "star"])
DOCUMENTS = st.lists(st.tuples(TEXTS, st.sets(st.sampled_from(NAMES))), min_size=1, max_size=30)


def dealt(documents, n_folds):
    """Return how often each document, as text and labels, is in each fold."""
    texts = [text for text, _ in documents]
    folds = stratified_folds(
        texts, encode_labels([[*own] for _, own in documents] + [NAMES]).Y[:-1], n_folds, 0
    )
    return sorted(
        (text, sorted(own), fold)
        for (text, own), fold in zip(documents, folds.tolist(), strict=True)
    )


@settings(max_examples=100, deadline=None)
@given(documents=DOCUMENTS, data=st.data())
def test_folds_follow_from_the_documents_alone(documents, data):
    moved = data.draw(st.permutations(documents))
    assert dealt(moved, 3) == dealt(documents, 3)


@settings(max_examples=100, deadline=None)
@given(documents=DOCUMENTS, data=st.data())
def test_folds_do_not_depend_on_names(documents, data):
    # classes with the same texts cannot be told apart: each has a text of its own
    own = [(f"only of {name}", {name}) for name in NAMES]
    names = dict(zip(NAMES, data.draw(st.permutations(NAMES)), strict=True))
    every = [*documents, *own]
    other = [(text, {names[name] for name in own}) for text, own in every]
    expected = sorted(
        (text, sorted(names[name] for name in own), fold) for text, own, fold in dealt(every, 3)
    )
    assert dealt(other, 3) == expected


def test_equal_classes_are_ordered_by_their_texts():
    texts = ["moon", "star", "rose", "soil", "song"]
    Y = encode_labels([["a"], ["a"], ["b"], ["b"], ["c"]]).Y
    hashes = fingerprint_texts(texts)
    order = class_order(hashes, Y)
    assert order[0] == 2  # the smallest first
    swapped = class_order(hashes, Y[:, [1, 0, 2]])
    assert swapped.tolist() == [2, *(1 - order[1:])]


def test_documents_are_sorted_by_text_then_labels_then_weight():
    texts = ["moon", "rose", "moon", "moon", "star"]
    Y = encode_labels(["a", "b", "b", "a", "a"]).Y
    weights = np.array([2.0, 1.0, 1.0, 1.0, 1.0])
    order = document_order(fingerprint_texts(texts), Y, weights)
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]
    ordered = [texts[k] for k in order]
    first = ordered.index("moon")
    assert ordered[first : first + 3] == ["moon"] * 3  # copies stand together
    places = np.argsort(order)
    assert places[0] == places[3] + 1  # the lighter of two equal documents first


@pytest.mark.parametrize("is_multilabel", [False, True])
def test_tuning_validates_with_the_same_texts(is_multilabel):
    texts, labels = drawn_corpus(0, is_multilabel=is_multilabel)
    order = np.random.default_rng(4).permutation(len(texts))
    names = random_names(5)
    moved = [texts[k] for k in order], encode_labels([renamed(labels, names)[k] for k in order])
    parts = [split(Documents(*each), 0.2, 0) for each in ((texts, encode_labels(labels)), moved)]
    for part, other in zip(*parts, strict=True):
        assert sorted(part.texts) == sorted(other.texts)
