"""Adding, merging and removing documents, frozen and with documents kept."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus, multilabel_corpus

import wordclass as wc

TEXTS, LABELS = corpus()


def fitted(texts, labels, **options):
    return wc.WordClassEmbeddings(**{"min_docs": 2, **options}).fit(texts, labels)


def assert_same(one, other):
    assert one.terms_ == other.terms_
    assert one.classes_ == other.classes_
    np.testing.assert_allclose(one.vectors_, other.vectors_, atol=1e-5)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("correlation", ["dot", "information_gain", "fisher"])
@given(cut=st.integers(25, 59), start=st.integers(0, 3))
def test_removing_undoes_adding(keep, correlation, cut, start):
    options = {"keep_documents": keep, "correlation": correlation, "shrinkage": 3.0 * start}
    wce = fitted(TEXTS[:cut], LABELS[:cut], **options)
    before = wce.vectors_.copy(), wce.terms_, wce.classes_
    wce.partial_fit(TEXTS[cut:], LABELS[cut:])
    wce.remove(TEXTS[cut:], LABELS[cut:])
    assert (wce.terms_, wce.classes_) == before[1:]
    np.testing.assert_allclose(wce.vectors_, before[0], atol=1e-5)


@given(cuts=st.sets(st.integers(1, 59), max_size=4), rotation=st.integers(0, 4))
def test_kept_documents_equal_a_fresh_fit_in_any_order(cuts, rotation):
    ends = [0, *sorted(cuts), 60]
    parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
    parts = parts[rotation:] + parts[:rotation]
    # a first part of one document has no term in two documents, so min_docs is 1 here
    grown = wc.WordClassEmbeddings(min_docs=1, keep_documents=True)
    for part in parts:
        grown.partial_fit(TEXTS[part], LABELS[part])
    assert_same(grown, fitted(TEXTS, LABELS, min_docs=1))


def test_frozen_sums_equal_a_fit_with_that_vocabulary_and_idf():
    grown = fitted(TEXTS[:30], LABELS[:30])
    X = wc.DocumentVectorizer(min_docs=2).fit(TEXTS[:30]).transform(TEXTS)
    grown.partial_fit(TEXTS[30:], LABELS[30:])
    Y = np.array([[label == name for name in grown.classes_] for label in LABELS])
    A = (X.T @ Y) / X.sum(axis=0).T
    S = (A - A.mean(axis=0)) / A.std(axis=0, ddof=1)
    np.testing.assert_allclose(grown.vectors_, S, atol=1e-5)


@pytest.mark.parametrize("keep", [False, True])
def test_the_first_partial_fit_is_a_fit(keep):
    grown = wc.WordClassEmbeddings(min_docs=2, keep_documents=keep).partial_fit(TEXTS, LABELS)
    assert_same(grown, fitted(TEXTS, LABELS))


@pytest.mark.parametrize("keep", [False, True])
def test_new_classes_are_welcome_and_leave_with_their_documents(keep):
    wce = fitted(TEXTS, LABELS, keep_documents=keep)
    before = wce.vectors_.copy()
    wce.partial_fit(["goal team moon", "goal team ball"], ["sport", "sport"])
    assert wce.classes_ == ["garden", "music", "space", "sport"]
    assert wce.vectors_.shape[1] == 4
    wce.remove(["goal team moon", "goal team ball"], ["sport", "sport"])
    assert wce.classes_ == ["garden", "music", "space"]
    np.testing.assert_allclose(wce.vectors_, before, atol=1e-5)


def test_the_columns_of_a_matrix_stay_without_documents():
    texts, Y = ["aa bb", "aa cc", "bb cc"], np.array([[1, 0], [1, 0], [0, 1]])
    for keep in (False, True):
        wce = wc.WordClassEmbeddings(min_docs=1, keep_documents=keep).fit(texts, Y)
        wce.remove(texts[2:], Y[2:])
        assert wce.classes_ == [0, 1]


def test_single_labels_and_lists_unite_to_multilabel():
    wce = fitted(TEXTS, LABELS).partial_fit(["moon rose"], [["space", "garden"]])
    assert wce.learned_.codeframe.is_multilabel


@pytest.mark.parametrize("keep", [False, True])
def test_merging_equals_adding(keep):
    texts, labels = multilabel_corpus()
    one = fitted(texts[:40], labels[:40], keep_documents=keep)
    if keep:
        other = fitted(texts[40:], labels[40:], keep_documents=True)
    else:
        other = fitted(texts[:40], labels[:40]).partial_fit(texts[40:], labels[40:])
        other.remove(texts[:40], labels[:40])
    expected = fitted(texts[:40], labels[:40], keep_documents=keep)
    assert_same(one.merge(other), expected.partial_fit(texts[40:], labels[40:]))


def test_embeddings_that_do_not_fit_together_are_not_merged():
    one = fitted(TEXTS[:30], LABELS[:30])
    for other, message in (
        (fitted(TEXTS[30:], LABELS[30:]), "different vocabularies or document frequencies"),
        (fitted(TEXTS, LABELS, shrinkage=5.0, correlation="ppmi"), "correlation, shrinkage"),
    ):
        before = one.vectors_
        with pytest.raises(wc.InputError, match=message):
            one.merge(other)
        assert one.vectors_ is before


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["moon moon moon star"] * 50, ["space"] * 50, "of them were not fitted with these labels"),
        (TEXTS[:1], ["nothing"], "unknown class 'nothing'|were not fitted with these labels"),
        (TEXTS, LABELS, "at least one must remain"),
    ],
)
def test_documents_that_were_not_there_cannot_be_removed(keep, texts, labels, message):
    wce = fitted(TEXTS, LABELS, keep_documents=keep)
    before = wce.vectors_
    with pytest.raises(wc.InputError, match=message):
        wce.remove(texts, labels)
    assert wce.vectors_ is before


def test_kept_documents_notice_a_text_with_another_label():
    wce = fitted(TEXTS, LABELS, keep_documents=True)
    other = "music" if LABELS[0] != "music" else "space"
    with pytest.raises(wc.InputError, match="cannot remove 1 documents: 1 of them were not fitted"):
        wce.remove(TEXTS[:1], [other])


def test_a_text_that_is_there_twice_is_removed_once():
    texts, labels = [*TEXTS, TEXTS[0]], [*LABELS, LABELS[0]]
    wce = fitted(texts, labels, keep_documents=True).remove(TEXTS[:1], LABELS[:1])
    assert_same(wce, fitted(TEXTS, LABELS))


def test_a_failing_step_changes_nothing():
    wce = fitted(TEXTS, LABELS, keep_documents=True)
    before = wce.learned_
    with pytest.raises(wc.InputError, match="mix str and int"):
        wce.partial_fit(["moon"], [5])
    assert wce.learned_ is before
