import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_info

from wordclass.linear.newton import DenseOneVsRest
from wordclass.linear.problem import Costs, Problem

C_VALUES = [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1e3]


def problem(seed, n_docs=40, n_dims=6, n_classes=3, scale=1.0, n_threads=1):
    """Documents with a little to learn from, one class each, and balanced costs."""
    generator = np.random.default_rng(seed)
    own = np.arange(n_docs) % n_classes
    documents = scale * generator.normal(size=(n_docs, n_dims))
    documents[:, 0] += scale * (own == 0)
    Y = sparse.csr_matrix(np.eye(n_classes)[own])
    costs = Costs.balanced(Y, None, is_multilabel=False)
    return DenseOneVsRest(Problem(documents, Y, costs), n_threads), own


def loss(dense, own, j, C, w, b):
    """What the machine of class j is to make small."""
    sign = np.where(own == j, 1, -1)
    cost = np.where(own == j, dense.problem.costs.positive[j], dense.problem.costs.negative[j])
    slack = np.maximum(0, 1 - sign * (dense.problem.features @ w + b))
    return (w @ w + b * b) / 2 + C * cost @ slack**2


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n_docs=st.integers(6, 60),
    n_dims=st.integers(1, 20),
    n_classes=st.integers(3, 5),
    C=st.sampled_from(C_VALUES),
)
def test_it_equals_scikit_learn(seed, n_docs, n_dims, n_classes, C):
    dense, own = problem(seed, n_docs, n_dims, n_classes)
    weights, intercept = dense.solve(C)
    machine = LinearSVC(C=C, dual=False, tol=1e-10, class_weight="balanced", max_iter=10**5)
    machine.fit(dense.problem.features, own)
    np.testing.assert_allclose(weights.T, machine.coef_, atol=1e-5)
    np.testing.assert_allclose(intercept, machine.intercept_, atol=1e-5)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_no_direction_leads_down_from_the_solution(seed):
    dense, own = problem(seed)
    generator = np.random.default_rng(seed)
    C = np.array([1e-3, 1.0, 1e3])  # one a class
    weights, intercept = dense.solve(C)

    for j in range(3):
        best = loss(dense, own, j, C[j], weights[:, j], intercept[j])
        for size in (1e-4, 1e-2, 1.0):
            aside = weights[:, j] + size * generator.normal(size=len(weights))
            beside = intercept[j] + size * generator.normal()
            assert loss(dense, own, j, C[j], aside, beside) > best


def test_scores_along_a_rising_penalty_equal_those_of_a_fresh_start_each():
    dense, _ = problem(0, n_docs=200, n_classes=20)
    rows, test_rows = np.arange(0, 200, 2), np.arange(1, 200, 2)
    along = dense.validate(np.array(C_VALUES), rows, test_rows)
    assert along.shape == (len(C_VALUES), 100, 20)
    for made, C in zip(along, C_VALUES, strict=True):
        weights, intercept = dense.solve(C, rows)
        fresh = dense.problem.features[test_rows] @ weights + intercept
        np.testing.assert_allclose(made, fresh, rtol=1e-5, atol=1e-5)


def test_the_number_of_threads_changes_no_bit():
    one, _ = problem(1, n_docs=150, n_dims=30, n_classes=20)
    two, _ = problem(1, n_docs=150, n_dims=30, n_classes=20, n_threads=3)
    for ours, theirs in zip(one.solve(1.0), two.solve(1.0), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_threads_of_blas_are_as_many_as_before():
    before = [each["num_threads"] for each in threadpool_info()]
    problem(0)[0].solve(1.0)
    assert [each["num_threads"] for each in threadpool_info()] == before


def test_a_document_of_cost_0_is_not_there_and_one_of_cost_2_is_there_twice():
    dense, _ = problem(3, n_docs=30)
    docs = np.ones(30)
    docs[:5], docs[5:10] = 0, 2
    costs = Costs(dense.problem.costs.positive, dense.problem.costs.negative, docs)
    weighted = DenseOneVsRest(Problem(dense.problem.features, dense.problem.Y, costs))
    rows = np.concatenate([np.arange(5, 30), np.arange(5, 10)])
    for ours, theirs in zip(weighted.solve(10.0), dense.solve(10.0, rows), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("side", [0, 1])
def test_a_class_with_one_side_only_gets_the_weights_of_all_on_that_side(side):
    generator = np.random.default_rng(0)
    documents = generator.normal(size=(20, 3)) + 1
    Y = sparse.csr_matrix(np.full((20, 1), side))
    weights, intercept = DenseOneVsRest(Problem(documents, Y, Costs.equal(20, 1))).solve(0.01)
    scores = documents @ weights + intercept
    assert (scores > 0).mean() == pytest.approx(side, abs=0.2)
    assert abs(scores).max() > 0.1


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1e6, 1e12])
def test_documents_of_any_size_and_columns_that_repeat_are_coped_with(scale):
    dense, own = problem(0, n_docs=60, n_dims=4, scale=scale)
    twice = DenseOneVsRest(
        Problem(np.hstack([dense.problem.features] * 2), dense.problem.Y, dense.problem.costs)
    )
    weights, intercept = twice.solve(1e3)
    assert np.isfinite(weights).all()
    generator = np.random.default_rng(0)
    for j in range(3):
        best = loss(twice, own, j, 1e3, weights[:, j], intercept[j])
        for _ in range(20):
            factors = 1 + 0.05 * generator.normal(size=len(weights))
            aside = loss(twice, own, j, 1e3, factors * weights[:, j], intercept[j])
            assert aside >= best * (1 - 1e-9)
