"""Projections of an S that is never whole."""

import numpy as np
import pytest
from made_up import corpus

import wordclass as wc
from wordclass import catalogue
from wordclass.embedding import vectors


@pytest.mark.parametrize("correlation", catalogue.names("correlations"))
@pytest.mark.parametrize("shrinkage", [0.0, 3.0])
def test_rows_made_by_themselves_are_those_of_the_whole(correlation, shrinkage, monkeypatch):
    monkeypatch.setattr(vectors, "_BLOCK_CELLS", 30)
    counts = wc.WordClassEmbeddings(correlation=correlation).fit(*corpus(90)).learned_.counts
    recipe = vectors.Recipe.of(correlation, shrinkage)
    S = vectors.RowVectors(recipe, counts)
    assert len(list(S.blocks())) > 1
    np.testing.assert_allclose(
        np.concatenate(list(S.blocks())), recipe.embed(counts), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("projector", ["pca", "truncated_svd"])
def test_a_projection_needs_no_dense_table(projector, monkeypatch, tmp_path):
    texts, labels = corpus(90)
    options = {"projector": projector, "max_dims": 2, "min_docs": 2, "shrinkage": 2.0}
    whole = wc.WordClassEmbeddings(**options).fit(texts, labels)
    monkeypatch.setattr(vectors, "MAX_DENSE_CELLS", 10)
    monkeypatch.setattr(vectors, "_BLOCK_CELLS", 30)
    made = wc.WordClassEmbeddings(**options).fit(texts, labels)
    assert made.class_vectors_ is None
    np.testing.assert_allclose(made.vectors_, whole.vectors_, rtol=1e-5, atol=1e-6)
    made.save(tmp_path / "a.wce")
    for each in (made, wc.WordClassEmbeddings.load(tmp_path / "a.wce")):
        for one, other in ((each.top_terms("space", 5), whole.top_terms("space", 5)),
                           (each.profile("moon"), whole.profile("moon"))):  # fmt: skip
            assert [name for name, _ in one] == [name for name, _ in other]
            np.testing.assert_allclose(
                [score for _, score in one], [score for _, score in other], rtol=1e-5
            )
        np.testing.assert_array_equal(each.transform(texts), made.transform(texts))


def test_random_projections_hold_no_table_either(monkeypatch):
    whole = wc.WordClassEmbeddings(projector="random", max_dims=2).fit(*corpus(90))
    monkeypatch.setattr(vectors, "MAX_DENSE_CELLS", 10)
    by_rows = wc.WordClassEmbeddings(projector="random", max_dims=2).fit(*corpus(90))
    assert by_rows.class_vectors_ is None
    np.testing.assert_allclose(by_rows.vectors_, whole.vectors_, atol=1e-6)
