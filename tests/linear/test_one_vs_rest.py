from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from wordclass import InputError
from wordclass.arrays import to_sparse
from wordclass.embedding.counts import sparse_times_dense
from wordclass.linear.newton import DenseOneVsRest
from wordclass.linear.one_vs_rest import OneVsRest
from wordclass.linear.problem import Costs, Features, Problem
from wordclass.native import extension

TIGHT = 1e-8
CLOSE = {"rtol": 2e-3, "atol": 2e-3}  # scikit-learn's own tolerance is 1e-4 of a gradient
N_DOCS, N_TERMS, N_CLASSES = 90, 150, 4


@pytest.fixture(params=["native", "plain"], autouse=True)
def solver(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(extension, "solver", None)
    elif extension.solver is None:
        pytest.skip("the native solver was not built")
    return request.param


@pytest.fixture
def task():
    """Sparse unit rows with something to learn, the class of each, and Y."""
    generator = np.random.default_rng(0)
    own = generator.integers(0, N_CLASSES, N_DOCS)
    X = np.where(generator.random((N_DOCS, N_TERMS)) < 0.1, generator.random((N_DOCS, N_TERMS)), 0)
    X[np.arange(N_DOCS), own] += 0.3
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return sparse.csr_matrix(X.astype(np.float32)), own, sparse.csr_matrix(np.eye(N_CLASSES)[own])


def machine(C, **options):
    return LinearSVC(C=C, dual=False, tol=TIGHT, max_iter=10**5, **options)


def equal(Y):
    return Costs.equal(*Y.shape)


def assert_same(ours, theirs):
    for name in ("weights", "block_weights", "class_column_weights", "intercept"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), **CLOSE)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_balanced_classes_of_one_task_are_those_of_scikit_learn(task, C):
    X, own, Y = task
    costs = Costs.balanced(Y, None, is_multilabel=False)
    solution = OneVsRest(Problem(Features.of(X), Y, costs)).solve(C)
    expected = machine(C, class_weight="balanced").fit(X, own)
    np.testing.assert_allclose(solution.weights.T, expected.coef_, **CLOSE)
    np.testing.assert_allclose(solution.intercept, expected.intercept_, **CLOSE)
    assert solution.block_weights.shape == (0, N_CLASSES)


def test_balanced_classes_on_their_own_are_those_of_scikit_learn(task):
    X, own, Y = task
    costs = Costs.balanced(Y, None, is_multilabel=True)
    C = np.array([0.1, 1.0, 10.0, 1.0])  # one a class
    solution = OneVsRest(Problem(Features.of(X), Y, costs)).solve(C)
    for j in range(N_CLASSES):
        expected = machine(C[j], class_weight="balanced").fit(X, own == j)
        np.testing.assert_allclose(solution.weights[:, j], expected.coef_[0], **CLOSE)
        np.testing.assert_allclose(solution.intercept[j], expected.intercept_[0], **CLOSE)


def test_a_document_of_weight_0_is_not_there_and_one_of_weight_2_is_there_twice(task):
    X, _, Y = task
    docs = np.ones(N_DOCS)
    docs[:20], docs[20:40] = 0, 2
    rows = np.concatenate([np.arange(20, N_DOCS), np.arange(20, 40)])
    weighted = Costs.balanced(Y, docs, is_multilabel=False)
    repeated = Costs.balanced(Y[rows], None, is_multilabel=False)
    assert_same(
        OneVsRest(Problem(Features.of(X), Y, weighted)).solve(1.0),
        OneVsRest(Problem(Features.of(X[rows]), Y[rows], repeated)).solve(1.0),
    )


def test_learning_from_some_rows_never_looks_at_the_others(task):
    X, _, Y = task
    rows = np.arange(0, N_DOCS, 2)
    some = Costs.balanced(Y, None, rows, is_multilabel=False)
    alone = Costs.balanced(Y[rows], None, is_multilabel=False)
    np.testing.assert_allclose(some.positive, alone.positive)
    assert_same(
        OneVsRest(Problem(Features.of(X), Y, some)).solve(1.0, rows),
        OneVsRest(Problem(Features.of(X[rows]), Y[rows], alone)).solve(1.0),
    )


def test_the_number_of_threads_changes_no_bit(task):
    X, _, Y = task
    one, three = (
        OneVsRest(Problem(Features.of(X), Y, equal(Y)), n_threads) for n_threads in (1, 3)
    )
    np.testing.assert_array_equal(one.solve(1.0).weights, three.solve(1.0).weights)
    C, rows, test_rows = np.array([0.1, 1.0]), np.arange(60), np.arange(60, N_DOCS)
    np.testing.assert_array_equal(
        one.validate(C, rows, test_rows), three.validate(C, rows, test_rows)
    )


@pytest.mark.parametrize("side", [0.0, 1.0])
def test_a_class_with_one_side_only_has_the_weights_that_are_best_for_it(task, side):
    X, own, _ = task
    Y = sparse.csr_matrix(np.column_stack([np.full(N_DOCS, side), own == 0]))
    costs = Costs.balanced(Y, None, is_multilabel=True)
    solution = OneVsRest(Problem(Features.of(X), Y, costs)).solve(1.0)
    best, intercept = DenseOneVsRest(Problem(X.toarray().astype(float), Y, costs)).solve(1.0)
    np.testing.assert_allclose(solution.weights[:, 0], best[:, 0], **CLOSE)
    np.testing.assert_allclose(solution.intercept[0], intercept[0], **CLOSE)
    assert ((X @ solution.weights + solution.intercept)[:, 0] > 0).mean() == side


def test_document_weights_that_leave_one_side_only_are_no_problem(task):
    X, own, Y = task
    costs = Costs.balanced(Y, np.where(own == 0, 1.0, 0.0), is_multilabel=True)
    solution = OneVsRest(Problem(Features.of(X), Y, costs)).solve(1.0)
    scores = X[own == 0] @ solution.weights + solution.intercept
    assert (scores[:, 0] > 0).all()
    assert (scores[:, 1:] < 0).all()


def test_empty_documents_move_the_intercept_only(task):
    _, own, Y = task
    nothing = sparse.csr_matrix((N_DOCS, N_TERMS), dtype=np.float32)
    solution = OneVsRest(Problem(Features.of(nothing), Y, equal(Y))).solve(1.0)
    assert not solution.weights.any()
    expected = machine(1.0).fit(nothing, own)
    np.testing.assert_allclose(solution.intercept, expected.intercept_, **CLOSE)


def test_a_block_is_as_good_as_columns_of_the_sparse_matrix(task):
    X, _, Y = task
    dense = X[:, :20].toarray()
    beside = OneVsRest(Problem(Features.of(X[:, 20:].tocsr(), dense), Y, equal(Y))).solve(1.0)
    within = OneVsRest(Problem(Features.of(X), Y, equal(Y))).solve(1.0)
    np.testing.assert_allclose(beside.block_weights, within.weights[:20], **CLOSE)
    np.testing.assert_allclose(beside.weights, within.weights[20:], **CLOSE)


def test_an_own_column_is_seen_by_its_class_alone(task):
    X, _, Y = task
    own_columns = np.random.default_rng(1).normal(size=Y.shape).astype(np.float32)
    features = Features.of(X, class_columns=own_columns)
    solution = OneVsRest(Problem(features, Y, equal(Y))).solve(1.0)
    rows, test_rows = np.arange(60), np.arange(60, N_DOCS)
    scores = OneVsRest(Problem(features, Y, equal(Y))).validate(
        np.array([1.0]), rows, test_rows, 1e-6
    )
    for j in range(N_CLASSES):
        wider = Features.of(sparse.hstack([X, own_columns[:, [j]]], format="csr"))
        alone = OneVsRest(Problem(wider, Y[:, [j]], equal(Y[:, [j]])))
        expected = alone.solve(1.0)
        np.testing.assert_allclose(solution.weights[:, j], expected.weights[:-1, 0], **CLOSE)
        np.testing.assert_allclose(
            solution.class_column_weights[j], expected.weights[-1, 0], **CLOSE
        )
        (made,) = alone.validate(np.array([1.0]), rows, test_rows, 1e-6)
        np.testing.assert_allclose(scores[0, :, j], made[:, 0], **CLOSE)


def test_scores_along_a_rising_penalty_equal_those_of_a_fresh_start_each(task):
    X, _, Y = task
    block = np.random.default_rng(1).normal(size=(N_DOCS, 3)).astype(np.float32)
    problem = OneVsRest(Problem(Features.of(X, block), Y, equal(Y)))
    rows, test_rows = np.arange(0, 60), np.arange(60, N_DOCS)
    C = np.array([0.01, 0.1, 1.0, 10.0])
    along = problem.validate(C, rows, test_rows, 1e-6)
    for made, value in zip(along, C, strict=True):
        fresh = problem.solve(value, rows, 1e-6)
        expected = X[test_rows] @ fresh.weights + block[test_rows] @ fresh.block_weights
        np.testing.assert_allclose(made, expected + fresh.intercept, **CLOSE)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_cannot_be_solved_with_are_refused_in_plain_words(bad, solver):
    if solver == "plain":
        pytest.skip("scikit-learn refuses them in its own words")
    Y = to_sparse(np.eye(4))
    X = np.full((4, 3), 0.5)
    X[2, 1] = bad
    with pytest.raises(InputError, match="not finite"):
        OneVsRest(Problem(Features.of(to_sparse(X)), Y, Costs.equal(4, 4))).solve(1.0)
    costs = replace(Costs.equal(4, 4), docs=np.array([1.0, bad, 1.0, 1.0]))
    with pytest.raises(InputError, match="expected costs"):
        OneVsRest(Problem(Features.of(to_sparse(np.ones((4, 3)))), Y, costs)).validate(
            np.ones(1), np.arange(3), np.arange(3, 4)
        )


@pytest.mark.parametrize("n_classes", [1, 3, 7, 8, 9, 33])
def test_a_product_is_a_sum_of_rows_one_after_the_other_to_the_bit(n_classes):
    generator = np.random.default_rng(n_classes)
    X = sparse.random(12, 40, 0.3, "csr", random_state=0)
    X.indptr[1:4] = X.indptr[0], X.indptr[0] + 1, X.indptr[0] + 3  # none, one and two terms
    X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape).sorted_indices()
    weights = generator.normal(size=(40, n_classes)).astype(np.float32)
    intercept = generator.normal(size=n_classes).astype(np.float32)
    made = sparse_times_dense(X, weights, intercept, 1)
    for k, row in enumerate(made):
        expected = intercept.copy()
        for place in range(X.indptr[k], X.indptr[k + 1]):
            expected += np.float32(X.data[place]) * weights[X.indices[place]]
        if extension.solver is not None:
            np.testing.assert_array_equal(row, expected)
        np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-5)
