"""Vectors of many terms and classes: made in blocks, with little memory beside them, or refused."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import wordclass as wc
from wordclass import catalogue, options
from wordclass.embedding import vectors
from wordclass.embedding.vectors import Recipe

GENERATOR = np.random.default_rng(0)


def documents(n_docs, n_terms, n_classes):
    X = sparse.random(n_docs, n_terms, density=20 / n_terms, format="csr", random_state=GENERATOR)
    own = GENERATOR.integers(0, n_classes, n_docs)
    return X, sparse.csr_matrix((np.ones(n_docs), (np.arange(n_docs), own)), (n_docs, n_classes))


@pytest.mark.parametrize("shrinkage", [0.0, 3.0])
@pytest.mark.parametrize("correlation", catalogue.names("correlations"))
def test_blocks_of_classes_make_the_same_bits(monkeypatch, correlation, shrinkage):
    recipe = Recipe.of(correlation, shrinkage)
    counts = recipe.count(*documents(300, 70, 11))
    whole = recipe.embed(counts)
    for n_cells in (1, 70 * 4, 70 * 10):
        monkeypatch.setattr(vectors, "_BLOCK_CELLS", n_cells)
        np.testing.assert_array_equal(recipe.embed(counts), whole)
        np.testing.assert_array_equal(recipe.embed(counts, np.float32), whole.astype(np.float32))


def test_a_function_of_the_users_sees_all_classes(monkeypatch):
    monkeypatch.setattr(vectors, "_BLOCK_CELLS", 10)
    seen = []

    def correlate(counts):
        seen.append(counts.n_classes)
        return counts.joint_weight

    recipe = Recipe.of(correlate, 0.0)
    recipe.embed(recipe.count(*documents(50, 30, 8)))
    assert seen == [8]


@pytest.mark.parametrize("correlation", ["dot", "information_gain"])
def test_little_memory_is_needed_beside_the_vectors(monkeypatch, correlation):
    monkeypatch.setattr(vectors, "_BLOCK_CELLS", 1 << 16)
    recipe = Recipe.of(correlation, 0.0)
    counts = recipe.count(*documents(2_000, 3_000, 300))
    tracemalloc.start()
    S = recipe.embed(counts, np.float32)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * S.nbytes  # at once: 8 times as much for the dot product, 18 for the other


def test_vectors_without_room_are_refused_with_what_would_fit(monkeypatch):
    texts = [f"w{k % 40} w{k % 30} w{k % 7}" for k in range(200)]
    labels = [f"c{k % 9}" for k in range(200)]
    monkeypatch.setattr(options, "free_bytes", lambda: 9 * 4 * 20)
    monkeypatch.setattr(vectors, "_BLOCK_CELLS", 100)
    with pytest.raises(wc.InputError, match=r"40 terms by 9 classes need .*min_docs=(\d+)") as told:
        wc.WordClassEmbeddings(min_docs=1).fit(texts, labels)
    fitting = int(str(told.value).partition("min_docs=")[2].split()[0])
    assert len(wc.WordClassEmbeddings(min_docs=fitting).fit(texts, labels)) <= 20
    with pytest.raises(wc.InputError, match="the weights of 40 terms by 9 classes from 200 doc"):
        wc.classifier("linear", min_docs=1).fit(texts, labels)
