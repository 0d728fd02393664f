import numpy as np
import pytest
from made_up import corpus

import wordclass as wc
from wordclass.arrays import select_top_k
from wordclass.decision import scorers
from wordclass.decision.scorers import LinearScorer
from wordclass.native import extension
from wordclass.text.term_weigher import TermWeigher
from wordclass.text.vectorizer import DocumentVectorizer

TEXTS, LABELS = corpus(60)


def scorer(n_jobs=None):
    vectorizer = DocumentVectorizer(min_docs=2, n_jobs=n_jobs).fit(TEXTS)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(len(vectorizer.vocabulary_), 7)).astype(np.float32)
    return LinearScorer(vectorizer.weigher, weights, rng.normal(size=7).astype(np.float32))


def test_scores_are_the_sum_of_weighted_terms():
    made = scorer()
    expected = made.weigher.transform(TEXTS).toarray() @ made.weights + made.intercept
    np.testing.assert_allclose(made.scores(TEXTS), expected, rtol=1e-5, atol=1e-5)
    assert made.scores(TEXTS).dtype == np.float32


def test_a_text_without_a_known_term_scores_the_intercept():
    made = scorer()
    np.testing.assert_array_equal(made.scores(["", "мама"]), [made.intercept, made.intercept])
    assert made.scores([]).shape == (0, 7)


def test_neither_threads_nor_batch_mates_change_a_bit():
    together = scorer().scores(TEXTS)
    np.testing.assert_array_equal(scorer(n_jobs=2).scores(TEXTS), together)
    np.testing.assert_array_equal(scorer().scores(TEXTS[7:9]), together[7:9])


def test_the_plain_product_gives_the_same(monkeypatch):
    native_scores = scorer().scores(TEXTS)
    monkeypatch.setattr(extension, "solver", None)
    np.testing.assert_allclose(scorer().scores(TEXTS), native_scores, rtol=1e-6, atol=1e-6)


def test_contributions_and_intercept_sum_to_the_scores():
    made = scorer()
    for text in TEXTS[:10]:
        explained = made.contributions(text)
        added = explained.table()
        assert explained.intercept is made.intercept
        assert len(explained.terms) == len(added)
        np.testing.assert_array_equal(explained.columns([1, 0]), added[:, [1, 0]])
        np.testing.assert_allclose(
            added.sum(axis=0) + made.intercept, made.scores([text])[0], atol=1e-5
        )


def test_what_was_stored_scores_the_same_to_the_bit():
    made = scorer()
    again = LinearScorer.from_state(TermWeigher.of(min_docs=2), made.to_state())
    np.testing.assert_array_equal(again.scores(TEXTS), made.scores(TEXTS))


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_the_best_of_rows_are_those_of_a_complete_sort(k):
    scores = np.random.default_rng(k).integers(0, 4, (50, 9)).astype(np.float32)
    scores[3] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    found, best = select_top_k(np.arange(10, 19)[None], scores, k)
    np.testing.assert_array_equal(found, order + 10)
    np.testing.assert_array_equal(best, np.take_along_axis(scores, order, axis=1))


def test_the_best_classes_are_found_some_texts_at_a_time(monkeypatch):
    model = wc.classifier("nearest", min_docs=2).fit(TEXTS, LABELS)
    everything = model.class_scores(TEXTS)
    monkeypatch.setattr(scorers, "MAX_BLOCK_SCORES", 21)  # seven texts
    columns, scores = model.top_classes(TEXTS, 2)
    np.testing.assert_array_equal(columns, np.argsort(-everything, axis=1, kind="stable")[:, :2])
    np.testing.assert_array_equal(scores, np.take_along_axis(everything, columns, axis=1))
    assert model.top_classes(TEXTS, 99)[0].shape == (60, 3)
    assert model.top_classes([], 2)[0].shape == (0, 2)
    with pytest.raises(wc.InputError, match="k is 0; expected"):
        model.top_classes(TEXTS, 0)
