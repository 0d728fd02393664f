import numpy as np
import pytest

from wordclass import progress
from wordclass.report.term_map import lay_out, neighbor_share, places

VECTORS = np.random.default_rng(0).normal(size=(40, 5))


def test_the_same_seed_gives_the_same_places():
    first = places(VECTORS, seed=3)
    assert np.array_equal(first, places(VECTORS, seed=3))
    assert first.shape == (40, 2)
    assert first.min() == 0
    assert first.max() == 1


@pytest.mark.parametrize("n_terms", [0, 1, 2, 3, 4])
def test_a_handful_of_terms_has_places_too(n_terms):
    found = places(VECTORS[:n_terms], seed=0)
    assert found.shape == (n_terms, 2)
    assert np.isfinite(found).all()


def test_vectors_of_one_dimension_have_places():
    assert np.isfinite(places(VECTORS[:, :1], seed=0)).all()


def test_the_neighbors_of_two_bundles_are_of_the_own_class():
    bundles = np.array([[1.0, 0.1], [1.0, 0.0], [1.0, 0.2], [0.1, 1.0], [0.0, 1.0], [0.2, 1.0]])
    assert neighbor_share(bundles, np.array([0, 0, 0, 1, 1, 1]), 2) == 1.0
    # of three in a bundle, one is of the other class now
    assert neighbor_share(bundles, np.array([0, 0, 1, 1, 1, 0]), 2) == pytest.approx(1 / 3)


def test_length_does_not_matter_to_neighbors():
    classes = np.arange(40) % 4
    longer = VECTORS * np.arange(1, 41)[:, None]
    assert neighbor_share(longer, classes) == neighbor_share(VECTORS, classes)


def test_more_neighbors_than_terms_are_all_terms():
    assert neighbor_share(VECTORS[:3], np.array([0, 0, 1]), 10) == pytest.approx(1 / 3)
    assert neighbor_share(VECTORS[:1], np.array([0]), 10) == 0.0


def test_every_panel_is_reported_as_progress():
    told = []
    with progress.told_to(lambda *step: told.append(step)):
        lay_out([VECTORS, VECTORS], [("a", ""), ("b", "")], np.arange(40) % 2, seed=0)
    assert [done for _, done, _ in told] == [0, 1, 2]
