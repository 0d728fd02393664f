import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wordclass.embedding.vectors import standardize

VALUES = hnp.arrays(np.float64, (6, 3), elements=st.integers(-40, 40).map(lambda k: k / 8))
ALL = np.ones(6, bool)


@given(A=VALUES)
def test_z_scores_have_mean_0_and_deviation_1_unless_the_column_is_constant(A):
    S = standardize(A, ALL)
    np.testing.assert_allclose(S.mean(axis=0), 0, atol=1e-12)
    is_constant = np.ptp(A, axis=0) == 0
    np.testing.assert_allclose(S.std(axis=0, ddof=1), np.where(is_constant, 0, 1), atol=1e-12)


@given(A=VALUES, known=hnp.arrays(np.bool_, 6))
def test_it_equals_slow_loops_also_where_terms_are_unknown(A, known):
    S = standardize(A, known)
    np.testing.assert_allclose(S, reference.standardize(A, known.tolist()), atol=1e-9)
    assert not S[~known].any()


def test_a_constant_column_becomes_zeros_whatever_rounding_says():
    A = np.full((1000, 1), 0.1)
    assert not standardize(A, np.ones(1000, bool)).any()


def test_the_deviation_is_floored_as_in_the_runs_of_the_paper():
    S = standardize(np.array([[0.0], [1e-6]]), np.ones(2, bool))
    np.testing.assert_allclose(S.ravel(), [-0.05, 0.05])


def test_its_argument_stays_as_it_was():
    A = np.arange(6.0).reshape(3, 2)
    standardize(A, np.ones(3, bool))
    assert A.tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("n_known", [0, 1])
def test_fewer_than_two_known_terms_have_no_deviation(n_known):
    known = np.arange(3) < n_known
    assert not standardize(np.eye(3), known).any()
