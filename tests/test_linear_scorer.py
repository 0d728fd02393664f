import numpy as np
from made_up import corpus

from wordclass import native
from wordclass.linear_scorer import LinearScorer
from wordclass.text.vectorizer import DocumentVectorizer

TEXTS, _ = corpus(60)


def scorer(n_jobs=None):
    vectorizer = DocumentVectorizer(min_docs=2, n_jobs=n_jobs).fit(TEXTS)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(len(vectorizer.vocabulary_), 7)).astype(np.float32)
    return LinearScorer(vectorizer, weights, rng.normal(size=7).astype(np.float32))


def test_scores_are_the_sum_of_weighted_terms():
    made = scorer()
    expected = made.vectorizer.transform(TEXTS).toarray() @ made.weights + made.intercept
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
    monkeypatch.setattr(native, "solver", None)
    np.testing.assert_allclose(scorer().scores(TEXTS), native_scores, rtol=1e-6, atol=1e-6)


def test_contributions_and_intercept_sum_to_the_scores():
    made = scorer()
    for text in TEXTS[:10]:
        terms, added = made.contributions(text)
        assert len(terms) == len(added)
        np.testing.assert_allclose(
            added.sum(axis=0) + made.intercept, made.scores([text])[0], atol=1e-5
        )


def test_what_was_stored_scores_the_same_to_the_bit():
    made = scorer()
    again = LinearScorer.from_parts(DocumentVectorizer(min_docs=2), made.to_parts())
    np.testing.assert_array_equal(again.scores(TEXTS), made.scores(TEXTS))
