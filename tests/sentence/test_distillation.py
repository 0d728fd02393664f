import numpy as np
import pytest
import reference
from made_up import corpus
from small_encoders import N_DIMS, static_folder

import wordclass as wc
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.text.vectorizer import DocumentVectorizer

TEXTS, LABELS = corpus()


@pytest.fixture
def folder(tmp_path):
    return static_folder(tmp_path / "model")


def test_a_term_has_the_vector_that_the_encoder_gives_it_reduced_and_weighted(folder):
    vectors = wc.distill(folder, TEXTS, 4, min_docs=2)
    vocabulary = DocumentVectorizer(min_docs=2).fit(TEXTS).vocabulary_
    assert list(vectors.terms) == vocabulary.terms
    encoded = SentenceEncoder.of(folder).vectors(vocabulary.terms)
    reduced = reference.pca(encoded.astype(float), 4)
    n_words = sum(text.split().count(term) for text in TEXTS for term in vocabulary.terms)
    for term, row, vector in zip(vectors.terms, reduced, vectors.matrix, strict=True):
        share = sum(text.split().count(term) for text in TEXTS) / n_words
        np.testing.assert_allclose(vector, row * 1e-3 / (1e-3 + share), atol=1e-5)


def test_without_smoothing_all_terms_are_as_long_as_the_encoder_made_them(folder):
    vectors = wc.distill(folder, TEXTS, None, smoothing=None, min_docs=2)
    encoded = SentenceEncoder.of(folder).vectors(vectors.terms)
    centered = encoded - encoded.mean(axis=0)
    assert vectors.n_dims == N_DIMS
    # all dimensions are kept, so only the axes differ
    np.testing.assert_allclose(vectors.matrix @ vectors.matrix.T, centered @ centered.T, atol=1e-5)


def test_no_more_dimensions_than_the_encoder_has(folder):
    assert wc.distill(folder, TEXTS, 300, min_docs=2).n_dims == N_DIMS
    assert wc.distill(folder, TEXTS, 3, min_docs=2).n_dims == 3


def test_fewer_terms_than_dimensions_are_no_problem(folder):
    vectors = wc.distill(folder, ["moon rose", "moon"], 10, min_docs=1)
    assert vectors.matrix.shape == (2, 10)
    assert vectors["moon"] @ vectors["rose"] < 0


def test_a_vocabulary_or_an_iterator_of_texts_will_do(folder):
    expected = wc.distill(folder, TEXTS, 4, min_docs=3)
    vocabulary = DocumentVectorizer(min_docs=3).fit(TEXTS).vocabulary_
    for texts in (vocabulary, iter(TEXTS)):
        vectors = wc.distill(folder, texts, 4, min_docs=3)
        assert list(vectors.terms) == list(expected.terms)
        np.testing.assert_array_equal(vectors.matrix, expected.matrix)


def test_n_grams_and_masked_numbers_are_written_as_people_write_them():
    encoded_texts = []

    def record(texts):
        encoded_texts.extend(texts)
        return np.eye(len(texts), 9)

    vectors = wc.distill(record, ["apollo 11", "apollo 13"], min_docs=1, ngrams=(1, 2))
    assert set(encoded_texts) == {"apollo", "number", "apollo number"}
    assert "apollo numbermask" in vectors


@pytest.mark.parametrize("name", ["svm", "cnn"])
def test_classifiers_read_the_vectors(folder, name, tmp_path):
    wc.distill(folder, TEXTS, 8, min_docs=2).save(tmp_path / "small.npz")
    vectors = wc.WordVectors.load(tmp_path / "small.npz")
    options = {"features": "vectors"} if name == "svm" else {"max_epochs": 2, "channels": 4}
    clf = wc.classifier(name, vectors=vectors, **options).fit(TEXTS, LABELS)
    assert len(clf.predict(TEXTS)) == len(TEXTS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_dims": 0}, "n_dims is 0"),
        ({"n_dims": "many"}, "n_dims is 'many'"),
        ({"smoothing": 0}, "smoothing is 0; expected a number above 0, or None"),
        ({"smoothing": float("nan")}, "smoothing is nan"),
        ({"min_docs": 0}, "min_docs is 0"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(wc.InputError, match=message):
        wc.distill(lambda texts: np.ones((len(texts), 2)), TEXTS, **options)


def test_the_encoder_is_checked_before_texts_are_read(tmp_path):
    def never():
        raise AssertionError
        yield

    with pytest.raises(wc.MissingDataError, match=r"the encoder .* does not exist"):
        wc.distill(tmp_path / "nothing", never())
