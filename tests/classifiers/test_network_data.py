"""What a network is trained on, and who sees which labels."""

from itertools import combinations

import numpy as np
import pytest
import reference
from made_up import corpus, multilabel_corpus
from scipy import sparse

pytest.importorskip("torch")

import wordclass as wc
from wordclass.classifiers import network
from wordclass.corpus.labels import encode_labels
from wordclass.corpus.splits import stratified_folds, validation_split
from wordclass.network.training import Schedule


def data_of(texts, labels, **options):
    """What the classifier trains on."""
    classifier = wc.classifier("cnn", min_docs=2, **options)
    return classifier._prepare(texts, encode_labels(labels), None)


def rows_read(data, number):
    """The word-class rows with which a training text is read: one a word."""
    batch = data.training.batch(np.array([number]))
    block = data.E.blocks["word_class"]
    rows = data.E.matrix[batch.ids.numpy()[0]][:, block]
    return rows + (batch.shift["word_class"].numpy() if batch.shift else 0)


def reference_rows(texts, labels, seen, classes):
    """S of some documents, by the paper's formulas; vocabulary and idf are those of all."""
    terms = reference.vocabulary(texts, 2)
    X = reference.tfidf([texts[k] for k in seen], terms, training_texts=texts)
    Y = [[int(name in own) for name in classes] for own in (labels[k] for k in seen)]
    known = [any(row[t] for row in X) for t in range(len(terms))]
    S = reference.standardize(reference.dot(X, Y), known)
    return dict(zip(terms, S, strict=True))


def test_a_text_is_read_with_rows_of_texts_outside_its_fold_and_outside_validation():
    texts, labels = corpus(40)
    data = data_of(texts, labels)
    trained_on = [k for k in range(40) if k not in data.validation_rows]
    assert len(data.validation_rows) == 8
    folds = data.training.fold_vectors.folds
    assert len(np.unique(folds)) == 10
    for number in (0, 7, 31):
        own = trained_on[number]
        seen = [k for k, fold in zip(trained_on, folds, strict=True) if fold != folds[number]]
        assert own not in seen
        lists = [[label] for label in labels]
        S = reference_rows(texts, lists, seen, data.labels.codeframe.classes)
        expected = [S.get(word, [0.0] * 3) for word in reference.tokens(texts[own])]
        np.testing.assert_allclose(rows_read(data, number), expected, atol=1e-4)
    # new texts, and those that validate, are read with rows of all texts that train
    S = reference_rows(texts, lists, trained_on, data.labels.codeframe.classes)
    block = data.E.blocks["word_class"]
    for term, row in zip(data.E.terms, data.E.matrix[:, block], strict=False):
        np.testing.assert_allclose(row, S[term], atol=1e-4)
    assert data.validation.fold_vectors is None


def with_one_label_changed(labels, k, name):
    changed = [list(own) for own in labels]
    changed[k] = sorted({*changed[k]} ^ {name})
    return changed


def test_a_label_of_a_training_text_leaves_the_rows_that_it_is_read_with():
    texts, labels = multilabel_corpus(40)
    before = data_of(texts, labels)
    trained_on = [k for k in range(40) if k not in before.validation_rows]
    n_found = n_others = 0
    for number, k in enumerate(trained_on):
        for name in ("space", "garden", "music"):
            after = data_of(texts, with_one_label_changed(labels, k, name))
            # folds have the same share of every class, so that some changes deal them anew
            folds = [each.training.fold_vectors.folds.tolist() for each in (before, after)]
            if (
                after.validation_rows.tolist() != before.validation_rows.tolist()
                or folds[0] != folds[1]
            ):
                continue
            n_found += 1
            np.testing.assert_allclose(
                rows_read(after, number), rows_read(before, number), atol=1e-5
            )
            others = [row for row in range(len(trained_on)) if folds[0][row] != folds[0][number]]
            n_others += any(
                np.abs(rows_read(after, row) - rows_read(before, row)).max() > 1e-3
                for row in others
            )
        if n_found > 3:
            break
    assert n_found > 3
    assert n_others == n_found


def test_labels_of_validation_texts_are_in_no_row_and_in_no_fold(monkeypatch):
    texts, labels = corpus(40)
    split = validation_split(texts, encode_labels(labels).Y, 0)
    # which texts validate depends on the labels of all: here they stay the same
    monkeypatch.setattr(network, "validation_split", lambda *_: split)
    embeddings = wc.WordClassEmbeddings(min_docs=2, seed=7)
    before = data_of(texts, labels, wce=embeddings)
    n_found = n_telling = 0
    for k, other in combinations(before.validation_rows.tolist(), 2):
        swapped = list(labels)
        swapped[k], swapped[other] = swapped[other], swapped[k]
        after = data_of(texts, swapped, wce=embeddings)
        if swapped == labels:
            continue
        n_found += 1
        np.testing.assert_allclose(after.E.matrix, before.E.matrix, atol=1e-5)
        ours, theirs = before.training.fold_vectors, after.training.fold_vectors
        np.testing.assert_array_equal(theirs.folds, ours.folds)
        np.testing.assert_allclose(theirs.differences, ours.differences, atol=1e-5)
        # dealt from all texts, the folds of those that train would not be the same
        dealt = [stratified_folds(texts, each.labels.Y, 10, 7) for each in (before, after)]
        n_telling += bool((dealt[0] != dealt[1]).any())
    assert n_found >= n_telling > 0


def test_held_out_labels_change_no_rows_of_folds_that_are_given():
    texts, labels = corpus(40)
    folds = np.arange(40) % 5 - 1
    made = wc.WordClassEmbeddings(min_docs=2).fit_folds(texts, labels, folds)
    others = [label if fold >= 0 else "music" for label, fold in zip(labels, folds, strict=True)]
    again = wc.WordClassEmbeddings(min_docs=2).fit_folds(texts, others, folds)
    np.testing.assert_allclose(again, made, atol=1e-5)
    assert made.shape[0] == 4


def test_the_papers_protocol_lets_all_texts_into_the_rows():
    texts, labels = corpus(40)
    data = data_of(texts, labels, protocol="paper")
    block = data.E.blocks["word_class"]
    expected = wc.WordClassEmbeddings(min_docs=2).fit(texts, labels).vectors_
    np.testing.assert_array_equal(data.E.matrix[: len(expected), block], expected)
    assert data.training.fold_vectors is None
    assert (data.training.pad, data_of(texts, labels).training.pad) == ("left", "right")
    assert len(data.validation_rows) == 8
    changed = list(labels)
    changed[int(data.validation_rows[0])] = next(
        name for name in ("space", "garden") if name != changed[int(data.validation_rows[0])]
    )
    again = data_of(texts, changed, protocol="paper")
    assert again.validation_rows.tolist() == data.validation_rows.tolist()
    assert np.abs(again.E.matrix - data.E.matrix).max() > 1e-3


def test_copies_of_one_text_leave_something_to_learn_from():
    texts, labels = ["moon rose soil"] * 12, ["a", "b"] * 6
    data = data_of(texts, labels)
    assert len(data.training) == 12
    assert data.validation is None


def test_texts_without_any_label_make_a_key_too():
    Y = sparse.csr_matrix((12, 2), dtype=int)
    texts = [f"moon w{k}" for k in range(12)]
    keys = set()
    for name in ("cnn", "lstm"):
        classifier = wc.classifier(name, min_docs=1, checkpoint="state")
        data = classifier._prepare(texts, encode_labels(Y, ["a", "b"]), None)
        keys.add(classifier._open_checkpoint(data, Schedule()).key)
    assert len(keys) == 2
