"""What holds for every projector, and each against an independent way."""

import numpy as np
import pytest
import reference
from sklearn.decomposition import PCA

from wordclass import catalogue

NAMES = catalogue.names("projectors")
ROWS = np.random.default_rng(5).normal(size=(80, 12)) * np.arange(1, 13)


@pytest.mark.parametrize("name", NAMES)
def test_it_gives_the_wanted_dimensions_and_projects_other_rows_alike(name):
    projector = catalogue.entry("projectors", name).make(4, 0)
    projected = projector.fit_transform(ROWS)
    assert projected.shape == (80, 4)
    np.testing.assert_allclose(projector.transform(ROWS[:7]), projected[:7])


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bits(name):
    make = catalogue.entry("projectors", name).make
    np.testing.assert_array_equal(
        make(4, 3).fit_transform(ROWS), make(4, 3).fit_transform(ROWS.copy())
    )


def test_another_seed_gives_another_random_projection():
    make = catalogue.entry("projectors", "random").make
    assert not np.allclose(make(4, 0).transform(ROWS), make(4, 1).transform(ROWS))


def test_random_projection_keeps_lengths_on_average():
    make = catalogue.entry("projectors", "random").make
    squares = [(make(30, seed).transform(ROWS) ** 2).sum() for seed in range(200)]
    assert np.mean(squares) == pytest.approx((ROWS**2).sum(), rel=0.03)


def test_pca_equals_independent_ways_of_doing_it():
    projected = catalogue.entry("projectors", "pca").make(5, 0).fit_transform(ROWS)
    np.testing.assert_allclose(projected, reference.pca(ROWS, 5), atol=1e-9)
    theirs = PCA(5, svd_solver="full").fit_transform(ROWS)
    np.testing.assert_allclose(np.abs(projected), np.abs(theirs), atol=1e-9)


def test_truncated_svd_is_the_best_approximation_of_its_rank():
    projector = catalogue.entry("projectors", "truncated_svd").make(5, 0)
    approximation = projector.fit_transform(ROWS) @ projector.components_.T
    left, values, right = np.linalg.svd(ROWS, full_matrices=False)
    best = left[:, :5] * values[:5] @ right[:5]
    np.testing.assert_allclose(approximation, best, atol=1e-9)


def test_the_largest_component_of_every_direction_is_positive():
    for name in ("pca", "truncated_svd"):
        projector = catalogue.entry("projectors", name).make(12, 0)
        projector.fit_transform(-ROWS)
        components = projector.components_
        largest = np.abs(components).argmax(axis=0)
        assert (components[largest, np.arange(12)] > 0).all()


def test_fewer_rows_than_dimensions_are_no_problem():
    projected = catalogue.entry("projectors", "pca").make(10, 0).fit_transform(ROWS[:3])
    assert projected.shape == (3, 10)
    assert np.isfinite(projected).all()
