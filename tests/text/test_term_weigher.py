"""The core of the vectorizer, which needs no estimator."""

import numpy as np
import pytest
from made_up import corpus

import wordclass as wc
from wordclass.corpus.labels import encode_labels
from wordclass.text.term_weigher import TermWeigher

TEXTS, LABELS = corpus(40)
NEW_TEXTS = ["the moon in orbit", "", "unknown words"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weighting": "bm25", "ngrams": (1, 2)},
        {"analyzer": "characters", "ngrams": (2, 3)},
        {"analyzer": str.split, "max_terms": 20},
        {"stop_words": ["the"], "mask_numbers": False, "max_df": 0.9},
    ],
)
def test_it_gives_the_weights_of_the_vectorizer(options):
    vectorizer = wc.DocumentVectorizer(min_docs=2, **options)
    expected = vectorizer.fit_transform(TEXTS)
    weigher, X = TermWeigher.of(min_docs=2, **options).fit_transform(TEXTS)
    assert (expected != X).nnz == 0
    assert weigher.terms == vectorizer.get_feature_names_out().tolist()
    assert (weigher.transform(NEW_TEXTS) != vectorizer.transform(NEW_TEXTS)).nnz == 0


def test_fitting_returns_a_new_weigher():
    unfitted = TermWeigher.of(min_docs=2)
    weigher, _ = unfitted.fit_transform(TEXTS)
    assert unfitted.terms == []
    assert len(weigher.terms) > 10
    again = unfitted.with_vocabulary(weigher.vocabulary)
    assert (again.transform(TEXTS) != weigher.transform(TEXTS)).nnz == 0


def test_a_vectorizer_uses_the_number_of_threads_that_was_set_last():
    vectorizer = wc.DocumentVectorizer(min_docs=2).fit(TEXTS)
    vectorizer.n_jobs = 2
    assert vectorizer.weigher.n_jobs == 2
    assert (vectorizer.transform(TEXTS) != wc.DocumentVectorizer(min_docs=2).fit_transform(TEXTS)
            ).nnz == 0  # fmt: skip


class LabelFrequency:
    """Weighs each term by the share of its occurrences in the first class."""

    def fit(self, occurrences, Y):
        in_first = occurrences.T @ Y[:, 0].toarray().ravel()
        shares = in_first / np.asarray(occurrences.sum(axis=0)).ravel()
        return lambda occurrences, _vocabulary: occurrences.multiply(shares).tocsr()


def test_a_weighting_may_learn_from_labels():
    weighting = LabelFrequency()
    unfitted = TermWeigher.of(weighting=weighting, min_docs=2)
    weigher, X = unfitted.fit_transform(TEXTS, encode_labels(LABELS))
    expected = wc.DocumentVectorizer(weighting=weighting, min_docs=2).fit_transform(TEXTS, LABELS)
    assert abs(X - expected).max() == 0
    assert weigher.weighted_sums(TEXTS, np.ones((1, 1)), np.zeros(1)) is None
    with pytest.raises(wc.InputError, match="learns from labels, and there are none"):
        unfitted.fit_transform(TEXTS)
    with pytest.raises(wc.InputError, match="which is not possible here"):
        weigher.with_vocabulary(weigher.vocabulary)
