"""What holds for every weighting, and the formulas against slow loops."""

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import wordclass as wc
from wordclass import catalogue

NAMES = catalogue.names("weightings")
TEXTS = st.lists(
    st.lists(st.sampled_from(["aa", "bb", "cc", "dd"]), max_size=8).map(" ".join),
    min_size=2,
    max_size=7,
).filter(lambda texts: any(texts))


def fitted(name, texts):
    return wc.DocumentVectorizer(weighting=name, min_docs=1).fit(texts)


@pytest.mark.parametrize("name", ["tfidf", "bm25"])
@given(texts=TEXTS, new=TEXTS)
def test_it_equals_slow_loops_written_from_its_definition(name, texts, new):
    vectorizer = fitted(name, texts)
    terms = list(vectorizer.get_feature_names_out())
    assert terms == reference.vocabulary(texts, 1)
    loops = getattr(reference, name)
    np.testing.assert_allclose(vectorizer.transform(texts).toarray(), loops(texts, terms))
    expected = loops(new, terms, training_texts=texts)
    np.testing.assert_allclose(vectorizer.transform(new).toarray(), expected)


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize("name", NAMES)
@given(texts=TEXTS)
def test_a_row_depends_on_its_document_only(name, texts):
    vectorizer = fitted(name, texts)
    together = vectorizer.transform(texts).toarray()
    for k, text in enumerate(texts):
        np.testing.assert_array_equal(vectorizer.transform([text]).toarray()[0], together[k])


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize("name", NAMES)
@given(texts=TEXTS)
def test_weights_are_positive_where_a_term_occurs_and_nowhere_else(name, texts):
    X = fitted(name, texts).transform(texts)
    assert isinstance(X, sparse.csr_matrix)
    assert X.dtype == np.float64
    assert (X.data > 0).all()
    occurs = wc.DocumentVectorizer(weighting="count", min_docs=1).fit_transform(texts) > 0
    np.testing.assert_array_equal((X > 0).toarray(), occurs.toarray())
