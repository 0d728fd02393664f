"""Many documents and classes, few of them at the margin: most are looked at a few times only."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from wordclass.linear import one_vs_rest
from wordclass.linear.newton import DenseOneVsRest
from wordclass.linear.one_vs_rest import OneVsRest
from wordclass.linear.problem import Costs, Features, Problem
from wordclass.native import extension

pytestmark = pytest.mark.skipif(extension.solver is None, reason="the native solver was not built")

CLOSE = {"rtol": 1e-3, "atol": 1e-3}
N_DOCS, N_TERMS, N_CLASSES = 2_600, 400, 21  # more than one line of classes, and no whole one
ROWS = np.arange(N_DOCS)
EMPTY, FULL, LARGE = 3, 4, 5


def set_number_of_passes(monkeypatch, n_passes):
    monkeypatch.setattr(one_vs_rest, "_MIN_PASSES", n_passes)
    monkeypatch.setattr(one_vs_rest, "_MAX_PASSES", n_passes)


@pytest.fixture(scope="module")
def task():
    """Features, and Y with an empty class, one that all documents have and one that most have."""
    generator = np.random.default_rng(0)
    own = generator.integers(0, N_CLASSES, N_DOCS)
    words = generator.integers(0, N_TERMS, (N_DOCS, 12))
    X = np.zeros((N_DOCS, N_TERMS), np.float32)
    X[ROWS[:, None], words] = generator.random(words.shape)
    X[ROWS, own] += 1.5
    X[ROWS, own + N_CLASSES] += generator.random(N_DOCS)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = np.eye(N_CLASSES)[own]
    Y[:, EMPTY], Y[:, FULL], Y[:, LARGE] = 0, 1, generator.random(N_DOCS) < 0.7
    block = generator.normal(size=(N_DOCS, 5)).astype(np.float32) / 5
    columns = (generator.normal(size=Y.shape) / 5 + 0.2 * Y).astype(np.float32)
    return Features.of(sparse.csr_matrix(X), block, columns), sparse.csr_matrix(Y)


def assert_same(ours, theirs):
    for name in ("weights", "block_weights", "class_column_weights", "intercept"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), **CLOSE)


def balanced(Y, docs=None, rows=None):
    return Costs.balanced(Y, docs, rows, is_multilabel=True)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_every_class_has_the_solution_of_newtons_method(task, C, monkeypatch):
    features, Y = task
    # random labels with a large C need more passes than anyone should wait for
    set_number_of_passes(monkeypatch, 10**5)
    costs, each = balanced(Y), C * np.linspace(0.5, 2, N_CLASSES)
    solution = OneVsRest(Problem(features, Y, costs)).solve(each, tolerance=1e-6)
    shared = np.hstack([features.X.toarray(), features.block]).astype(float)
    for j in range(N_CLASSES):
        columns = np.column_stack([shared, features.class_columns[:, j]])
        alone = Costs(costs.positive[[j]], costs.negative[[j]], costs.docs)
        expected, intercept = DenseOneVsRest(Problem(columns, Y[:, [j]], alone)).solve(each[j])
        ours = (
            solution.weights[:, j],
            solution.block_weights[:, j],
            solution.class_column_weights[j],
        )
        np.testing.assert_allclose(np.hstack(ours), expected[:, 0], **CLOSE)
        np.testing.assert_allclose(solution.intercept[j], intercept[0], **CLOSE)


def test_the_number_of_threads_changes_no_bit(task):
    features, Y = task
    C = np.array([0.1, 1.0])
    one, *others = (
        OneVsRest(Problem(features, Y, balanced(Y)), n_threads) for n_threads in (1, 2, 5)
    )
    solved, validated = one.solve(1.0), one.validate(C, ROWS[:-300], ROWS[-300:])
    for other in others:
        for name in ("weights", "block_weights", "class_column_weights", "intercept"):
            expected = getattr(solved, name)
            np.testing.assert_array_equal(getattr(other.solve(1.0), name), expected)
        np.testing.assert_array_equal(other.validate(C, ROWS[:-300], ROWS[-300:]), validated)


def test_scores_along_a_rising_penalty_equal_those_of_a_fresh_start_each(task):
    features, Y = task
    problem = OneVsRest(Problem(features, Y, balanced(Y)))
    C, rows, test_rows = np.array([0.03, 0.3, 3.0]), ROWS[ROWS % 6 > 0], ROWS[ROWS % 6 == 0]
    along = problem.validate(C, rows, test_rows, 1e-5)
    for made, value in zip(along, C, strict=True):
        expected = problem.solve(value, rows, 1e-5).scores(features, test_rows)
        np.testing.assert_allclose(made, expected, **CLOSE)


def test_a_document_of_weight_0_is_not_there_and_one_of_weight_2_is_there_twice(task):
    features, Y = task
    docs = np.ones(N_DOCS)
    docs[:200], docs[200:400] = 0, 2
    rows = np.concatenate([ROWS[200:], ROWS[200:400]])  # a row may be there twice, too
    costs = balanced(Y, docs)
    once = replace(costs, docs=np.ones(N_DOCS))
    assert_same(
        OneVsRest(Problem(features, Y, costs)).solve(1.0, tolerance=1e-6),
        OneVsRest(Problem(features, Y, once)).solve(1.0, rows, 1e-6),
    )


def test_a_side_of_cost_0_is_not_there(task):
    features, Y = task
    costs = replace(Costs.equal(*Y.shape), negative=np.zeros(N_CLASSES))
    solution = OneVsRest(Problem(features, Y, costs)).solve(1.0)
    assert (solution.intercept[np.arange(N_CLASSES) != EMPTY] > 0.5).all()
    assert not solution.weights[:, EMPTY].any()
    assert not solution.intercept[EMPTY]
    nobody = replace(costs, docs=np.zeros(N_DOCS))
    assert not OneVsRest(Problem(features, Y, nobody)).solve(1.0).weights.any()


def test_documents_of_a_few_classes_in_rows_are_found_whatever_their_order(task):
    features, Y = task
    order = np.argsort(Y.toarray()[:, 6:].argmax(1), kind="stable")
    problem = OneVsRest(Problem(features, Y, balanced(Y)))
    assert_same(problem.solve(1.0, order, 1e-6), problem.solve(1.0, tolerance=1e-6))


@pytest.mark.parametrize("max_passes", [0, 1, 5, 19, 20, 21, 30])
def test_passes_are_bounded_and_numbers_finite_for_any_tolerance(task, max_passes, monkeypatch):
    features, Y = task
    problem = OneVsRest(Problem(features, Y, balanced(Y)))
    set_number_of_passes(monkeypatch, max_passes)
    solution = problem.solve(1000.0, tolerance=0.0)
    assert np.isfinite(solution.weights).all()
    assert np.isfinite(solution.intercept).all()
    assert solution.weights.any() == (max_passes > 0)


def test_single_precision_does_not_keep_the_rounds_going(task):
    features, Y = task
    large = Features.of(features.X * 1000, features.block * 1000)  # scores are sums of large terms
    problem = OneVsRest(Problem(large, Y, balanced(Y)))
    loose, tight = (problem.solve(1e-6, tolerance=each) for each in (1e-5, 0.0))
    np.testing.assert_allclose(loose.weights, tight.weights, rtol=1e-3, atol=1e-6)


def test_features_that_overflow_are_refused_or_solved_but_never_lost(task):
    features, Y = task
    X = features.X.copy()
    X.data[:3] = 3e38
    solution = OneVsRest(Problem(Features.of(X), Y, balanced(Y))).solve(1.0)
    assert np.isfinite(solution.weights).all()
