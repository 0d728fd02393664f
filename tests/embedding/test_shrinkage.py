import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from made_up import LABELS, WEIGHTS

import wordclass as wc
from wordclass import catalogue
from wordclass.embedding.counts import WordClassCounts
from wordclass.embedding.vectors import shrink
from wordclass.errors import InputError


@given(X=WEIGHTS.filter(np.any), Y=LABELS, strength=st.sampled_from([0.5, 5, 20]))
def test_the_shrunken_dot_product_is_that_of_the_definition(X, Y, strength):
    A = catalogue.entry("correlations", "dot").correlate(shrink(WordClassCounts.of(X, Y), strength))
    np.testing.assert_allclose(A, reference.shrunken_dot(X, Y, strength), atol=1e-12)


@pytest.mark.parametrize("name", catalogue.names("correlations"))
def test_a_rare_term_is_pulled_further_than_a_frequent_one(name):
    # both occur in class 0 only: term 0 in 2 documents, term 1 in 20; class 0 has half of all
    X = np.zeros((40, 3))
    X[:2, 0] = X[:20, 1] = X[:, 2] = 1.0
    Y = np.repeat([[1, 0], [0, 1]], 20, axis=0)
    correlate = catalogue.entry("correlations", name).correlate
    counts = WordClassCounts.of(X, Y)
    plain, shrunken = correlate(counts), correlate(shrink(counts, 20))
    assert np.isfinite(shrunken).all()
    preference = shrunken[:, 0] - shrunken[:, 1]
    assert abs(preference[0]) <= abs(preference[1])
    if name in ("dot", "pmi"):
        loss = (plain - shrunken)[:, 0]
        assert loss[0] > loss[1] > 0


@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_all_sums_are_those_of_documents_added(unit):
    X = unit * np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 6.0]])
    counts = shrink(WordClassCounts.of(X, [[1, 0], [0, 1], [0, 1]]), 2)  # the mean weight is 3
    assert counts.n_docs == 5
    np.testing.assert_allclose(counts.class_docs, [5 / 3, 10 / 3])
    np.testing.assert_allclose(counts.term_docs, [4, 3])
    np.testing.assert_allclose(counts.term_weight, unit * np.array([9, 12]))
    np.testing.assert_allclose(counts.term_squares, unit**2 * np.array([23, 54]))
    weights = np.array([[5 / 3, 22 / 3], [2 / 3, 34 / 3]])
    np.testing.assert_allclose(counts.joint_weight, unit * weights)
    np.testing.assert_allclose(counts.joint_docs, [[5 / 3, 7 / 3], [2 / 3, 7 / 3]])


def test_one_occurrence_alone_has_the_mean_weight():
    counts = shrink(WordClassCounts.of([[3.0]], [[1]]), 2)
    assert counts.term_weight.tolist() == [9.0]


def test_no_strength_changes_nothing():
    counts = WordClassCounts.of([[1.0]], [[1]])
    assert shrink(counts, 0) is counts


def test_an_unseen_term_stays_unknown():
    counts = shrink(WordClassCounts.of([[1.0, 0.0]], [[1, 0]]), 5)
    assert counts.known.tolist() == [True, False]


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "much", None])
def test_a_strength_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError, match="shrinkage is"):
        wc.WordClassEmbeddings(shrinkage=wrong).fit(["aa", "bb"], ["x", "y"])
