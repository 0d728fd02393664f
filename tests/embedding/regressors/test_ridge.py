import numpy as np
import pytest

from wordclass.embedding.unseen_terms import regressor
from wordclass.errors import InputError


def normal_equations(U, S, penalty):
    """Weights and intercept, with the intercept as one more, unpunished column."""
    n_dims = U.shape[1]
    X = np.hstack([U, np.ones((len(U), 1))])
    punished = np.diag([penalty] * n_dims + [0.0])
    solved = np.linalg.solve(X.T @ X + punished, X.T @ S)
    return solved[:n_dims], solved[n_dims]


def left_out_error(U, S, penalty):
    """The squared error of each term, predicted from all others, by as many fits."""
    total = 0.0
    for k in range(len(U)):
        others = np.arange(len(U)) != k
        W, b = normal_equations(U[others], S[others], penalty)
        total += ((U[k] @ W + b - S[k]) ** 2).sum()
    return total


def drawn(n_terms=60, n_dims=8, n_targets=3, noise=1.0, seed=0):
    generator = np.random.default_rng(seed)
    U = generator.normal(size=(n_terms, n_dims)) * np.arange(1, n_dims + 1) + 2
    W = generator.normal(size=(n_dims, n_targets))
    S = U @ W + [5, -1, 0] + noise * generator.normal(size=(n_terms, n_targets))
    # as float32, which is what regressors read
    return U.astype(np.float32).astype(float), S.astype(np.float32).astype(float)


@pytest.mark.parametrize("penalty", [1e-3, 2, 1e4])
@pytest.mark.parametrize("n_terms", [5, 60])
def test_it_solves_the_normal_equations(penalty, n_terms):
    U, S = drawn(n_terms)
    made = regressor("ridge", penalty=penalty).fit(U, S)
    W, b = normal_equations(U, S, penalty)
    np.testing.assert_allclose(made.weights_, W, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(made.predict(U), U @ W + b, rtol=1e-5, atol=1e-5)
    assert made.penalty_ == penalty


def test_many_rows_are_summed_block_by_block():
    U, S = drawn(9_001)
    made = regressor("ridge", penalty=3.0).fit(U, S)
    np.testing.assert_allclose(made.weights_, normal_equations(U, S, 3.0)[0], rtol=1e-8)


def test_a_planted_linear_map_is_recovered():
    U, S = drawn(200, noise=0)
    others, _ = drawn(50, seed=1)
    W, b = np.linalg.lstsq(np.hstack([U, np.ones((200, 1))]), S, rcond=None)[0][:8], [5, -1, 0]
    predicted = regressor("ridge").fit(U, S).predict(others)
    np.testing.assert_allclose(predicted, others @ W + b, atol=1e-3)


@pytest.mark.parametrize("noise", [0.5, 30, 200])
def test_the_chosen_penalty_is_nearly_the_best_of_leaving_one_out(noise):
    U, S = drawn(noise=noise)
    chosen = regressor("ridge").fit(U, S).penalty_
    tried = [left_out_error(U, S, penalty) for penalty in 10.0 ** np.arange(-3, 9)]
    assert left_out_error(U, S, chosen) <= 1.02 * min(tried)


def cross_validation_score(U, S, penalty):
    """Generalized cross-validation by its definition, with the matrix that turns S into its fit."""
    X = np.hstack([U, np.ones((len(U), 1))])
    punished = np.diag([penalty] * U.shape[1] + [0.0])
    left = np.eye(len(U)) - X @ np.linalg.solve(X.T @ X + punished, X.T)
    return ((left @ S) ** 2).sum() / np.trace(left) ** 2


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_terms", [6, 12])
def test_the_penalty_is_chosen_by_generalized_cross_validation(n_terms, seed):
    U, S = drawn(n_terms, n_dims=4, noise=8, seed=seed)
    grid = U.var(axis=0).mean() * n_terms * 10.0 ** np.arange(-6, 6.5, 0.5)
    scores = [cross_validation_score(U, S, penalty) for penalty in grid]
    assert regressor("ridge").fit(U, S).penalty_ == pytest.approx(grid[np.argmin(scores)], rel=1e-3)


def test_more_noise_is_answered_by_a_larger_penalty():
    chosen = [regressor("ridge").fit(*drawn(noise=noise)).penalty_ for noise in (0.1, 10, 1000)]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1]


def test_pure_noise_is_predicted_by_its_mean():
    generator = np.random.default_rng(3)
    U, S = generator.normal(size=(400, 50)), generator.normal(size=(400, 4)) + 7
    predicted = regressor("ridge").fit(U, S).predict(generator.normal(size=(100, 50)))
    assert abs(predicted - S.mean(axis=0)).max() < 0.25


def test_more_columns_than_terms_are_no_problem():
    generator = np.random.default_rng(4)
    U = generator.normal(size=(20, 100))
    S = U[:, :2] * 3
    made = regressor("ridge").fit(U, S)
    # nothing tells the other 80 directions apart, so at best they go unused
    W, b = normal_equations(U, S, made.penalty_)
    np.testing.assert_allclose(made.predict(U), U @ W + b, atol=1e-4)


@pytest.mark.parametrize("penalty", [0, -1, np.nan, np.inf, "1", True])
def test_an_impossible_penalty_is_refused(penalty):
    with pytest.raises(InputError, match=r"penalty is .*; expected a number above 0, or None"):
        regressor("ridge", penalty=penalty)
