"""Word-class embeddings of very many classes: projected without the m x m products, or refused."""

import numpy as np
import pytest

import wordclass as wc
from wordclass import options as checks
from wordclass.embedding import vectors
from wordclass.embedding.projectors import _eigenvectors
from wordclass.embedding.projectors._eigenvectors import EigenvectorProjector
from wordclass.errors import InputError

N_CLASSES = 120
GENERATOR = np.random.default_rng(0)
WORDS = [f"w{chr(97 + k)}" for k in range(26)]
TEXTS = [" ".join(GENERATOR.choice(WORDS, 6)) for _ in range(4 * N_CLASSES)]
LABELS = [f"class {k % N_CLASSES}" for k in range(len(TEXTS))]


@pytest.fixture
def by_rows(monkeypatch):
    """Take the products of rows wherever they are fewer than columns."""

    def switch():
        monkeypatch.setattr(_eigenvectors, "_MAX_COLUMN_PRODUCTS", 1)
        monkeypatch.setattr(_eigenvectors, "_BLOCK_COLUMNS", 7)

    return switch


@pytest.mark.parametrize("is_centered", [True, False])
def test_products_of_rows_give_the_directions_of_products_of_columns(is_centered, by_rows):
    S = GENERATOR.standard_normal((40, 90)) * GENERATOR.random(90)
    expected = EigenvectorProjector(12, is_centered).fit(S)
    by_rows()
    projector = EigenvectorProjector(12, is_centered).fit(S)
    np.testing.assert_allclose(projector.components_, expected.components_, atol=1e-10)
    other = GENERATOR.standard_normal((5, 90))
    np.testing.assert_allclose(projector.transform(other), expected.transform(other), atol=1e-10)


def test_directions_without_spread_are_zero(by_rows):
    by_rows()
    S = np.outer(np.arange(5.0), np.ones(50))
    projector = EigenvectorProjector(8, is_centered=True).fit(S)
    assert projector.components_.shape == (50, 8)
    assert np.abs(projector.components_[:, 0]).max() > 0.1
    assert not projector.components_[:, 1:].any()


@pytest.mark.parametrize("projector", ["pca", "truncated_svd", "random"])
def test_vectors_are_the_same_if_neither_table_nor_products_are_held(
    projector, by_rows, monkeypatch
):
    options = {"projector": projector, "max_dims": 10, "min_docs": 1}
    expected = wc.WordClassEmbeddings(**options).fit(TEXTS, LABELS)
    by_rows()
    monkeypatch.setattr(vectors, "MAX_DENSE_CELLS", 1)
    embeddings = wc.WordClassEmbeddings(**options).fit(TEXTS, LABELS)
    assert embeddings.class_vectors_ is None
    np.testing.assert_allclose(embeddings.vectors_, expected.vectors_, atol=1e-5)


def test_products_that_do_not_fit_are_refused_before_any_vector_is_made(monkeypatch):
    monkeypatch.setattr(checks, "free_bytes", lambda: 200_000)
    expected = r"projector='pca' for 26 terms by 120 classes need 0\.\d MB .*projector='random'"
    with pytest.raises(InputError, match=expected):
        wc.WordClassEmbeddings(max_dims=10, min_docs=1).fit(TEXTS, LABELS)
    wc.WordClassEmbeddings(max_dims=10, min_docs=1, projector="random").fit(TEXTS, LABELS)


def test_features_that_do_not_fit_are_refused_before_texts_are_counted(monkeypatch):
    embeddings = wc.WordClassEmbeddings(max_dims=None, min_docs=1)
    monkeypatch.setattr(checks, "free_bytes", lambda: 200_000)
    with pytest.raises(InputError, match=r"features of 480 documents by 120 dimensions need 0\.2"):
        embeddings.fit_transform(TEXTS, LABELS)
    assert wc.WordClassEmbeddings(max_dims=10, min_docs=1, projector="random").fit_transform(
        TEXTS, LABELS
    ).shape == (480, 10)
