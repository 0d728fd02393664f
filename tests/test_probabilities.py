import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from wordclass.probabilities import Calibration


def made_up(n_docs=4_000, seed=0):
    """Scores (n, 2) and labels whose true probabilities are known sigmoids of them."""
    chance = np.random.default_rng(seed)
    scores = chance.normal(size=(n_docs, 2))
    true = 1 / (1 + np.exp(-(scores * [2.0, 0.5] + [-1.0, 0.3])))
    return scores, sparse.csr_matrix(chance.random((n_docs, 2)) < true), true


def test_the_sigmoids_are_found_again():
    scores, Y, true = made_up()
    found = Calibration.fit(scores, Y, is_single_label=False)
    np.testing.assert_allclose(found.parameters, [[2.0, -1.0], [0.5, 0.3]], atol=0.15)
    np.testing.assert_allclose(found.probabilities(scores), true, atol=0.04)


def test_they_are_those_of_a_logistic_regression_on_the_score():
    scores, Y, _ = made_up()
    found = Calibration.fit(scores, Y, is_single_label=False).probabilities(scores)
    for j in range(2):
        plain = LogisticRegression(C=1e6).fit(scores[:, [j]], Y.toarray()[:, j])
        np.testing.assert_allclose(
            found[:, j], plain.predict_proba(scores[:, [j]])[:, 1], atol=0.005
        )


def test_a_row_of_a_single_label_task_sums_to_1():
    chance = np.random.default_rng(0)
    labels = chance.integers(0, 3, 300)
    scores = np.eye(3)[labels] + chance.normal(size=(300, 3))
    found = Calibration.fit(scores, sparse.csr_matrix(np.eye(3)[labels]), is_single_label=True)
    made = found.probabilities(np.vstack([scores, np.full((1, 3), -1e9), np.full((1, 3), 1e9)]))
    np.testing.assert_allclose(made.sum(axis=1), 1.0)
    assert np.isfinite(made).all()


def test_a_higher_score_is_never_less_probable():
    chance = np.random.default_rng(1)
    scores = chance.normal(size=(200, 1))
    Y = sparse.csr_matrix(scores < 0)  # the wrong way round
    found = Calibration.fit(scores, Y, is_single_label=False)
    assert found.parameters[0, 0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("n_positive", [0, 1, 2])
def test_a_class_of_few_documents_is_never_certain(n_positive):
    scores = np.linspace(-3, 3, 100)[:, None] * [1.0, 1.0]
    Y = np.zeros((100, 2))
    Y[50:, 0] = 1
    Y[100 - n_positive :, 1] = 1
    found = Calibration.fit(scores, sparse.csr_matrix(Y), is_single_label=False)
    made = found.probabilities(scores)[:, 1]
    assert np.isfinite(found.parameters).all()
    assert 0 < made.min() < made.max() < 1


def test_equal_scores_of_all_classes_leave_all_equally_probable():
    calibration = Calibration.fit(
        np.zeros((4, 2)), sparse.csr_matrix(np.eye(2)[[0, 1, 0, 1]]), is_single_label=True
    )
    np.testing.assert_allclose(calibration.probabilities(np.zeros((1, 2))), [[0.5, 0.5]])
    assert calibration.probabilities(np.array([[1.0, 0.0]]))[0, 0] < 0.8
