"""The quick way to cross-fitted scores gives the numbers of the plain one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wordclass.arrays import to_sparse
from wordclass.embedding import cross_fit as fold_scores
from wordclass.embedding.cross_fit import FoldScores, cross_fit_features
from wordclass.embedding.vectors import Recipe

WEIGHTS = hnp.arrays(np.float64, (12, 5), elements=st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0]))
LABELS = hnp.arrays(np.int8, (12, 3), elements=st.integers(0, 1))
FOLDS = np.arange(12) % 4


@pytest.fixture(params=["dense", "sparse", "not kept"], autouse=True)
def _kind_of_table(request, monkeypatch):
    if request.param != "dense":
        monkeypatch.setattr(fold_scores, "_MAX_DENSE_CELLS", 0)
    if request.param == "not kept":
        monkeypatch.setattr(fold_scores, "_MAX_KEPT_VALUES", 0)


def embedding(scores, shrinkage):
    n_terms, n_classes = scores._X.shape[1], scores._Y.shape[1]
    weights = np.ones((n_terms, n_classes), np.float32)
    scores.add_embedding(weights, shrinkage, np.full(n_classes, 0.5, np.float32))
    return 2 * (weights - 1)


@given(X=WEIGHTS, Y=LABELS, shrinkage=st.sampled_from([0.0, 1.0, 20.0]))
def test_scores_equal_those_of_cross_fitting(X, Y, shrinkage):
    recipe = Recipe.of("dot", shrinkage)
    expected = cross_fit_features(to_sparse(X), to_sparse(Y), FOLDS, recipe.count, recipe.embed)
    made = FoldScores(to_sparse(X), to_sparse(Y), FOLDS, 4)
    made.scores(7.0)  # one set of sums serves them all
    np.testing.assert_allclose(made.scores(shrinkage), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 60])  # fewer, and more cells than X has
@pytest.mark.parametrize("held_out", [(), (0, 3)])
def test_scores_of_few_documents_with_many_labels_too(n_classes, held_out):
    rng = np.random.default_rng(0)
    X = rng.random((40, 30)) * (rng.random((40, 30)) < 0.3)
    Y = (rng.random((40, n_classes)) < 0.3).astype(int)
    folds, weight = np.arange(40) % 5, rng.integers(0, 3, 40).astype(float)
    recipe, is_in = Recipe.of("dot", 2.0), ~np.isin(folds, held_out)
    made = FoldScores(to_sparse(X), to_sparse(Y), folds, 5, weight).scores(2.0, held_out)
    counted = to_sparse(X * weight[:, None])
    for fold in range(5):
        others = np.flatnonzero(is_in & (folds != fold))
        S = recipe.embed(recipe.count(counted[others], to_sparse(Y)[others]))
        expected = X[folds == fold] @ S
        np.testing.assert_allclose(made[folds == fold], expected, rtol=1e-3, atol=1e-3)


@given(X=WEIGHTS, Y=LABELS)
def test_documents_held_out_are_unknown_to_all(X, Y):
    made = FoldScores(to_sparse(X), to_sparse(Y), FOLDS, 4).scores(1.0, held_out=(1, 3))
    other = Y.copy()
    other[FOLDS % 2 == 1] = 1 - other[FOLDS % 2 == 1]
    again = FoldScores(to_sparse(X), to_sparse(other), FOLDS, 4).scores(1.0, held_out=(1, 3))
    np.testing.assert_allclose(made, again, rtol=1e-4, atol=1e-4)
    # the rest alone gives the same scores, and an S that scores those held out the same
    rest = FOLDS % 2 == 0
    alone = FoldScores(to_sparse(X[rest]), to_sparse(Y[rest]), FOLDS[rest] // 2, 3)
    np.testing.assert_allclose(made[rest], alone.scores(1.0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(made[~rest], X[~rest] @ embedding(alone, 1.0), rtol=1e-4, atol=1e-4)


@given(X=WEIGHTS, Y=LABELS, shrinkage=st.sampled_from([0.0, 5.0]))
def test_the_embedding_is_that_of_the_recipe(X, Y, shrinkage):
    recipe = Recipe.of("dot", shrinkage)
    expected = recipe.embed(recipe.count(to_sparse(X), to_sparse(Y)))
    made = embedding(FoldScores(to_sparse(X), to_sparse(Y), FOLDS, 4), shrinkage)
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)


def test_a_weight_of_two_is_a_document_twice_and_of_zero_none():
    rng = np.random.default_rng(0)
    X, Y = rng.random((9, 6)), rng.integers(0, 2, (9, 2))
    folds = np.arange(9) % 3
    weight = np.array([2.0, 0.0, *np.ones(7)])
    weighted = FoldScores(to_sparse(X), to_sparse(Y), folds, 3, weight)
    rows = [0, 0, *range(2, 9)]
    repeated = FoldScores(to_sparse(X[rows]), to_sparse(Y[rows]), folds[rows], 3)
    np.testing.assert_allclose(embedding(weighted, 0.0), embedding(repeated, 0.0), atol=1e-5)
    np.testing.assert_allclose(weighted.scores(0.0)[rows], repeated.scores(0.0), atol=1e-5)
