import warnings

import numpy as np
import pytest
from nasty_documents import documents

import wordclass as wc
from wordclass.corpus.labels import encode_labels
from wordclass.embedding.counts import WordClassCounts
from wordclass.native import extension
from wordclass.text import counting
from wordclass.text.analyzer import Analyzer


@pytest.fixture
def without_engine(monkeypatch):
    def remove():
        monkeypatch.setattr(extension, "engine", None)
        monkeypatch.setattr(extension, "_has_warned", False)

    return remove


def test_the_native_engine_was_built():
    assert extension.engine is not None
    assert isinstance(counting.count(["aa"], Analyzer()), counting.NativeCountedTexts)


def test_weights_are_equal_to_the_bit_with_and_without_the_engine(without_engine):
    texts = documents(600, seed=5)
    with_engine = wc.DocumentVectorizer(min_docs=2).fit(texts)
    X = with_engine.transform(texts)
    without_engine()
    with pytest.warns(extension.SlowPathWarning):
        without = wc.DocumentVectorizer(min_docs=2).fit(texts)
    assert without.vocabulary_.terms == with_engine.vocabulary_.terms
    assert without.transform(texts).data.tobytes() == X.data.tobytes()


def test_without_the_engine_everything_works_with_one_warning(without_engine):
    texts = ["aa bb", "bb cc", "aa cc dd"] * 4
    labels = ["x", "y", "x"] * 4
    expected = wc.WordClassEmbeddings(min_docs=1).fit(texts, labels)
    without_engine()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        embeddings = wc.WordClassEmbeddings(min_docs=1).fit(texts, labels)
        embeddings.transform(texts)
        wc.DocumentVectorizer(ngrams=(1, 2)).fit(texts).transform(texts)
    assert [warning.category for warning in caught] == [extension.SlowPathWarning]
    assert embeddings.terms_ == expected.terms_
    np.testing.assert_allclose(embeddings.vectors_, expected.vectors_, atol=1e-6)
    np.testing.assert_allclose(embeddings.transform(texts), expected.transform(texts), atol=1e-6)


@pytest.mark.parametrize("is_multilabel", [False, True])
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_sums_are_equal_with_and_without_the_engine(ngrams, is_multilabel, without_engine):
    texts = documents(600, seed=6)
    if is_multilabel:
        labels = [("x", "y", "z")[k % 4 % 3 :] for k in range(len(texts))]
    else:
        labels = [k % 7 for k in range(len(texts))]

    def fit(n_jobs=None):
        return wc.WordClassEmbeddings(
            ngrams=ngrams, min_docs=2, correlation="information_gain", n_jobs=n_jobs
        ).fit(texts, labels)

    ours = fit()
    in_threads = fit(n_jobs=3)
    X = wc.DocumentVectorizer(ngrams=ngrams, min_docs=2).fit_transform(texts)
    Y = encode_labels(labels).Y
    sums = WordClassCounts.of(X, Y)
    without_engine()
    expected = WordClassCounts.of(X, Y)
    for name in ("joint_weight", "joint_docs", "term_docs", "term_weight", "term_squares"):
        np.testing.assert_array_equal(getattr(sums, name), getattr(expected, name))
    with pytest.warns(extension.SlowPathWarning):
        slow = fit()
    assert ours.vectors_.tobytes() == in_threads.vectors_.tobytes()
    np.testing.assert_allclose(ours.vectors_, slow.vectors_, atol=1e-4)
