import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from wordclass.linear.problem import Costs, Features, Problem
from wordclass.linear.softmax import Softmax

N_DOCS, N_CLASSES = 40, 4
rng = np.random.default_rng(0)
X = sparse.random_array((N_DOCS, 30), density=0.2, rng=rng, format="csr")
BLOCK = rng.normal(size=(N_DOCS, 3)).astype(np.float32)
CLASSES = rng.permutation(np.arange(N_DOCS) % N_CLASSES)
Y = sparse.csr_matrix(np.eye(N_CLASSES)[CLASSES])
EQUAL = Costs.equal(N_DOCS, N_CLASSES)
ALL = np.arange(N_DOCS)


def softmax(costs=EQUAL):
    return Softmax(Problem(Features.of(X, BLOCK), Y, costs))


def scikit_learn(rows, C, weights=None):
    dense = np.hstack([X.toarray(), BLOCK])
    machine = LogisticRegression(C=C, tol=1e-10, max_iter=10_000)
    return machine.fit(dense[rows], CLASSES[rows], weights), dense


@pytest.mark.parametrize("C", [0.1, 3.0])
def test_weights_are_those_of_scikit_learn(C):
    rows = ALL[:30]
    solved = softmax().solve(C, rows, 1e-8)
    machine, _ = scikit_learn(rows, C)
    expected = machine.coef_.T
    np.testing.assert_allclose(solved.weights, expected[:30], atol=1e-4)
    np.testing.assert_allclose(solved.block_weights, expected[30:], atol=1e-4)
    # all intercepts may be moved together
    own = solved.intercept - solved.intercept.mean()
    np.testing.assert_allclose(own, machine.intercept_ - machine.intercept_.mean(), atol=1e-4)
    np.testing.assert_array_equal(solved.class_column_weights, np.zeros(N_CLASSES))


def test_costs_of_documents_and_classes_multiply():
    docs, positive = rng.uniform(0.5, 2, N_DOCS), rng.uniform(0.5, 2, N_CLASSES)
    solved = softmax(Costs(positive, np.ones(N_CLASSES), docs)).solve(1.0, None, 1e-8)
    machine, _ = scikit_learn(ALL, 1.0, docs * positive[CLASSES])
    np.testing.assert_allclose(solved.weights, machine.coef_.T[:30], atol=1e-4)


def test_a_document_that_costs_nothing_is_not_there():
    docs = np.ones(N_DOCS)
    docs[30:] = 0.0
    problem = softmax(Costs(np.ones(N_CLASSES), np.ones(N_CLASSES), docs))
    some = softmax().solve(1.0, ALL[:30], 1e-8)
    np.testing.assert_allclose(problem.solve(1.0, None, 1e-8).weights, some.weights, atol=1e-5)


def test_scores_of_other_documents():
    rows, tested = ALL[:30], ALL[30:]
    scores = softmax().validate(np.array([0.1, 3.0]), rows, tested, 1e-8)
    assert scores.shape == (2, 10, N_CLASSES)
    for own, C in zip(scores, (0.1, 3.0), strict=True):
        machine, dense = scikit_learn(rows, C)
        expected = machine.decision_function(dense[tested])
        own = own - own.mean(axis=1, keepdims=True)
        expected -= expected.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(own, expected, atol=2e-4)


def test_a_class_without_documents_is_below_all_others():
    rows = np.flatnonzero(CLASSES != 2)
    problem = softmax()
    scores = problem.solve(1.0, rows).scores(problem.problem.features, ALL)
    assert (scores.argmin(axis=1) == 2).all()
    assert (scores.argmax(axis=1)[rows] == CLASSES[rows]).mean() > 0.8


@pytest.mark.parametrize("rows", [ALL[:0], ALL[:1], np.flatnonzero(CLASSES == 1)])
def test_one_class_or_none_is_no_problem(rows):
    problem = softmax()
    scores = problem.solve(1.0, rows).scores(problem.problem.features, ALL)
    assert np.isfinite(scores).all()
    if len(rows):
        assert (scores.argmax(axis=1) == CLASSES[rows[0]]).all()
