import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import optimize, sparse, special
from sklearn.linear_model import LogisticRegression

from wordclass.arrays import to_sparse
from wordclass.corpus.labels import Codeframe
from wordclass.decision.measures import score
from wordclass.decision.thresholds import (
    Calibration,
    best_thresholds,
    decide,
    score_decisions,
    tuned_thresholds,
    without_absent_classes,
)

SCORES = hnp.arrays(np.float64, (12, 2), elements=st.integers(-4, 4).map(float))
TRUTH = hnp.arrays(np.int8, (12, 2), elements=st.integers(0, 1))


def f1(scores, truth, threshold):
    predicted = scores > threshold
    positives = predicted.sum() + truth.sum()
    return 2 * (predicted & (truth > 0)).sum() / positives if positives else 1.0


@given(scores=SCORES, truth=TRUTH)
def test_no_other_threshold_is_better(scores, truth):
    truth[:3] = 1  # enough positives for a separate threshold
    thresholds = best_thresholds(scores, to_sparse(truth))
    for j in range(2):
        best = f1(scores[:, j], truth[:, j], thresholds[j])
        qualities = [f1(scores[:, j], truth[:, j], threshold) for threshold in np.arange(-5.5, 5)]
        assert best >= max(qualities) - 1e-12


def best_of_all_cuts(scores, truth):
    """Return the threshold with the best F1, the highest of equals, by trying all."""
    distinct = np.unique(scores.astype(np.float64))[::-1]
    cuts = [*((distinct[:-1] + distinct[1:]) / 2), distinct[-1] - 0.5]
    return max(cuts, key=lambda cut: f1(scores, truth, cut))  # the first of equals


@pytest.mark.parametrize("share", [0.004, 0.05, 0.5])
@pytest.mark.parametrize("gap", [-1.0, 0.0, 1.0, 4.0])
@pytest.mark.parametrize("digits", [1, 7])
def test_the_best_of_many_cuts_is_found_without_sorting_all_scores(share, gap, digits):
    rng = np.random.default_rng(5)
    truth = rng.random((1_500, 1)) < share
    truth[:3] = True
    scores = (gap * truth + rng.normal(size=truth.shape)).round(digits).astype(np.float32)
    thresholds = best_thresholds(scores, to_sparse(truth.astype(int)))
    np.testing.assert_allclose(thresholds, [best_of_all_cuts(scores, truth)], rtol=1e-6)


def test_a_threshold_lies_half_way_between_scores():
    scores = np.array([[1.0], [2.0], [3.0], [8.0], [9.0], [10.0]])
    truth = np.array([[0], [0], [0], [1], [1], [1]])
    assert best_thresholds(scores, to_sparse(truth)).tolist() == [5.5]
    scores = np.array([[1.0], [3.0], [3.5], [4.0]])
    truth = np.array([[0], [1], [1], [1]])
    assert best_thresholds(scores, to_sparse(truth)).tolist() == [2.0]
    # half a point below the lowest score
    assert best_thresholds(scores[1:], to_sparse(truth[1:])).tolist() == [2.5]


def test_a_rare_class_takes_the_threshold_of_all_classes_together():
    scores = np.array([[0.0, 9.0], [0.0, 0.0], [5.0, 0.0], [5.0, 1.0], [5.0, 0.0]])
    truth = np.array([[0, 0], [0, 0], [1, 0], [1, 1], [1, 0]])
    thresholds = best_thresholds(scores, to_sparse(truth))
    pooled = best_thresholds(scores.reshape(-1, 1), to_sparse(truth.reshape(-1, 1)))
    assert thresholds[1] == pooled[0] == 0.5


def test_without_a_positive_nothing_is_predicted():
    assert best_thresholds(np.ones((3, 1)), to_sparse(np.zeros((3, 1)))).tolist() == [np.inf]


def test_an_infinite_pull_gives_all_classes_the_same_threshold():
    rng = np.random.default_rng(0)
    truth = (rng.random((50, 4)) < 0.3).astype(int)
    scores = truth + rng.normal(size=(50, 4))
    pooled = best_thresholds(scores.reshape(-1, 1), to_sparse(truth.reshape(-1, 1)))
    assert best_thresholds(scores, to_sparse(truth), np.inf).tolist() == [pooled[0]] * 4


def test_a_pull_moves_small_classes_more_than_large_ones():
    rng = np.random.default_rng(1)
    truth = np.zeros((200, 2), int)
    truth[:100, 0] = 1
    truth[:5, 1] = 1
    scores = truth + rng.normal(size=(200, 2))
    separate, pulled, common = (
        best_thresholds(scores, to_sparse(truth), pull) for pull in (0.0, 10.0, np.inf)
    )
    moved = (pulled - separate) / (common - separate)
    np.testing.assert_allclose(moved, [10 / 110, 10 / 15])


def test_tuned_thresholds_do_better_on_new_documents_than_the_best_of_each_class():
    rng = np.random.default_rng(2)

    def documents(n):
        truth = (rng.random((n, 60)) < 0.02).astype(int)
        return truth, 2 * truth + rng.normal(size=(n, 60))

    truth, scores = documents(400)
    new_truth, new_scores = documents(4000)
    folds = np.arange(400) % 5
    codeframe = Codeframe(tuple(range(60)), "multilabel")

    def quality(thresholds):
        return score(to_sparse(new_truth), to_sparse(new_scores > thresholds), codeframe).macro_f1

    tuned = tuned_thresholds(scores, to_sparse(truth), folds, "macro_f1")
    assert quality(tuned) > quality(best_thresholds(scores, to_sparse(truth))) + 0.01


def cross_validated(scores, truth, folds, pull, target):
    """Return the mean quality of thresholds with this pull on held-out folds, in slow loops."""
    qualities = []
    for fold in sorted(set(folds.tolist())):
        thresholds = best_thresholds(scores[folds != fold], to_sparse(truth[folds != fold]), pull)
        predicted = scores[folds == fold] > thresholds
        true = truth[folds == fold]
        columns = zip(predicted.T, true.T, strict=True)
        macro = np.mean([f1(decisions, column, 0.5) for decisions, column in columns])
        micro = f1(predicted.ravel(), true.ravel(), 0.5)
        measures = {"macro_f1": macro, "micro_f1": micro, "both": (macro + micro) / 2}
        qualities.append(measures[target])
    return np.mean(qualities)


@pytest.mark.parametrize("seed", [8, 15, 45])
def test_the_pull_that_is_best_for_the_target_is_chosen(seed):
    rng = np.random.default_rng(seed)
    truth = (rng.random((120, 5)) < [0.5, 0.04, 0.04, 0.04, 0.04]).astype(int)
    scores = 2.0 * truth + rng.normal(size=(120, 5)) + [1.0, 0, 0, 0, 0]
    folds = np.arange(120) % 3
    tuned = {}
    for target in ("macro_f1", "micro_f1", "both"):
        quality = {
            pull: cross_validated(scores, truth, folds, pull, target)
            for pull in (10.0, 0.0, 3.0, 50.0, np.inf)
        }
        tuned[target] = tuned_thresholds(scores, to_sparse(truth), folds, target).tolist()
        best = max(quality, key=quality.get)
        assert tuned[target] == best_thresholds(scores, to_sparse(truth), best).tolist()
    assert tuned["macro_f1"] != tuned["micro_f1"]
    assert tuned_thresholds(scores, to_sparse(truth), folds).tolist() == tuned["both"]


def test_a_single_fold_takes_the_default_pull():
    rng = np.random.default_rng(3)
    truth = (rng.random((50, 4)) < 0.3).astype(int)
    scores = truth + rng.normal(size=(50, 4))
    tuned = tuned_thresholds(scores, to_sparse(truth), np.zeros(50, int))
    assert tuned.tolist() == best_thresholds(scores, to_sparse(truth), 10.0).tolist()


def test_the_pull_has_a_lower_bound():
    rng = np.random.default_rng(4)
    truth = (rng.random((400, 4)) < 0.5).astype(int)
    scores = truth * 3 + rng.normal(size=(400, 4)) + np.arange(4) * 5  # a common threshold is poor
    Y = to_sparse(truth)
    folds = np.arange(400) % 4
    apart = tuned_thresholds(scores, Y, folds)
    assert apart.tolist() in [best_thresholds(scores, Y, pull).tolist() for pull in (0.0, 3.0)]
    pulled = tuned_thresholds(scores, Y, folds, least_pull=50.0)
    assert pulled.tolist() == best_thresholds(scores, Y, 50.0).tolist()
    one_fold = tuned_thresholds(scores, Y, np.zeros(400, int), least_pull=50.0)
    assert one_fold.tolist() == pulled.tolist()


def test_scores_above_thresholds_decide_or_the_highest_score():
    scores = np.array([[1.0, 3.0, 2.0], [5.0, 5.0, 0.0]])
    assert decide(scores, None).tolist() == [[False, True, False], [True, False, False]]
    above = decide(scores, np.array([1.0, 2.0, 0.5]))
    assert above.tolist() == [[False, True, True], [True, True, False]]
    assert decide(np.zeros((0, 3)), None).shape == (0, 3)


def test_single_labels_are_scored_by_the_highest_score():
    truth = to_sparse(np.array([[1, 0], [0, 1], [0, 1]]))
    scores = np.array([[-3.0, -4.0], [-9.0, -8.0], [7.0, 6.0]])
    quality = score_decisions(scores, truth, Codeframe((0, 1), "single"))
    assert (quality.accuracy, quality.true_positives.tolist()) == (2 / 3, [1, 1])


def test_multilabel_scores_are_scored_by_the_best_common_threshold():
    truth = np.array([[1, 0], [0, 1], [0, 0]])
    codeframe = Codeframe((0, 1), "multilabel")
    assert score_decisions(truth * 2.0, to_sparse(truth), codeframe).macro_f1 == 1
    assert score_decisions(-truth * 2.0, to_sparse(truth), codeframe).macro_f1 < 0.7


# --- probabilities ---------------------------------------------------------------------------


def sigmoid_case(n_docs=4_000, seed=0):
    """Return scores (n, 2), labels, and their true probabilities, which are sigmoids of scores."""
    chance = np.random.default_rng(seed)
    scores = chance.normal(size=(n_docs, 2))
    true = 1 / (1 + np.exp(-(scores * [2.0, 0.5] + [-1.0, 0.3])))
    return scores, sparse.csr_matrix(chance.random((n_docs, 2)) < true), true


def test_known_sigmoids_are_recovered():
    scores, Y, true = sigmoid_case()
    calibration = Calibration.fit(scores, Y, is_single_label=False)
    np.testing.assert_allclose(calibration.parameters, [[2.0, -1.0], [0.5, 0.3]], atol=0.15)
    np.testing.assert_allclose(calibration.probabilities(scores), true, atol=0.04)


def test_the_sigmoids_equal_a_logistic_regression_on_the_score():
    scores, Y, _ = sigmoid_case()
    fitted = Calibration.fit(scores, Y, is_single_label=False).probabilities(scores)
    for j in range(2):
        plain = LogisticRegression(C=1e6).fit(scores[:, [j]], Y.toarray()[:, j])
        np.testing.assert_allclose(
            fitted[:, j], plain.predict_proba(scores[:, [j]])[:, 1], atol=0.005
        )


def test_a_row_of_a_single_label_task_sums_to_1():
    chance = np.random.default_rng(0)
    labels = chance.integers(0, 3, 300)
    scores = np.eye(3)[labels] + chance.normal(size=(300, 3))
    calibration = Calibration.fit(
        scores, sparse.csr_matrix(np.eye(3)[labels]), is_single_label=True
    )
    probabilities = calibration.probabilities(
        np.vstack([scores, np.full((1, 3), -1e9), np.full((1, 3), 1e9)])
    )
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.isfinite(probabilities).all()


def test_a_higher_score_is_never_less_probable():
    chance = np.random.default_rng(1)
    scores = chance.normal(size=(200, 1))
    Y = sparse.csr_matrix(scores < 0)  # high scores mean the opposite
    calibration = Calibration.fit(scores, Y, is_single_label=False)
    assert calibration.parameters[0, 0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("n_positive", [0, 1, 2])
def test_a_class_of_few_documents_is_never_certain(n_positive):
    scores = np.linspace(-3, 3, 100)[:, None] * [1.0, 1.0]
    Y = np.zeros((100, 2))
    Y[50:, 0] = 1
    Y[100 - n_positive :, 1] = 1
    calibration = Calibration.fit(scores, sparse.csr_matrix(Y), is_single_label=False)
    probabilities = calibration.probabilities(scores)[:, 1]
    assert np.isfinite(calibration.parameters).all()
    assert 0 < probabilities.min() < probabilities.max() < 1


@pytest.mark.parametrize("n_docs", [12, 500])
def test_the_slope_of_single_labels_makes_them_most_likely(n_docs):
    chance = np.random.default_rng(2)
    labels = chance.integers(0, 3, n_docs)
    scores = 4.0 * np.eye(3)[labels] + 4.0 * chance.normal(size=(n_docs, 3))
    Y = sparse.csr_matrix(np.eye(3)[labels])
    calibration = Calibration.fit(scores, Y, is_single_label=True)
    assert calibration.parameters.shape == (3, 2)
    assert (calibration.parameters[:, 1] == 0).all()
    assert len(set(calibration.parameters[:, 0])) == 1

    def loss(slope):
        true_scores = scores[np.arange(n_docs), labels]
        doubt = 1 / (n_docs + 2)
        aim = (1 - doubt) * true_scores + doubt * scores.mean(axis=1)
        return np.mean(special.logsumexp(slope * scores, axis=1) - slope * aim)

    slopes = np.geomspace(0.01, 10, 2001)
    best = slopes[np.argmin([loss(slope) for slope in slopes])]
    assert calibration.parameters[0, 0] == pytest.approx(best, rel=0.005)
    # scores of another size have the same probabilities
    for size in (1e-4, 1e4):
        other = Calibration.fit(scores * size, Y, is_single_label=True)
        np.testing.assert_allclose(
            other.probabilities(scores * size), calibration.probabilities(scores), atol=1e-3
        )


@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_the_sigmoid_of_a_class_is_pulled_to_that_of_all_classes(spread):
    scores = np.array([[-2.0, -1.0], [-1.0, 0.0], [0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    scores *= [spread, 1.0]  # the sigmoids of the two classes differ
    truth = np.array([[0, 0], [0, 1], [1, 0], [0, 1], [1, 1]])
    calibration = Calibration.fit(scores, sparse.csr_matrix(truth), is_single_label=False)

    def fitted(values, is_true, start, prior):
        n_true = is_true.sum()
        n_false = (1 - is_true).sum()
        aim = np.where(is_true, (n_true + 1) / (n_true + 2), 1 / (n_false + 2))

        def loss(parameters):
            p = special.expit(parameters[0] * values + parameters[1])
            likelihood = np.sum(aim * np.log(p) + (1 - aim) * np.log(1 - p))
            return prior / 2 * np.sum((parameters - start) ** 2) - likelihood

        return optimize.minimize(loss, start, method="Nelder-Mead", tol=1e-10).x

    pooled = fitted(scores.ravel(), truth.ravel(), np.array([1.0, 0.0]), 0.0)
    for j in range(2):
        expected = fitted(scores[:, j], truth[:, j], pooled, 1.0)
        np.testing.assert_allclose(calibration.parameters[j], expected, atol=1e-3)


def test_sigmoids_fitted_together_equal_those_fitted_alone(monkeypatch):
    rng = np.random.default_rng(6)
    truth = rng.random((300, 40)) < np.geomspace(0.002, 0.6, 40)
    scores = truth * rng.normal(1, 2, 40) + rng.normal(size=truth.shape) * np.geomspace(
        0.01, 30, 40
    )
    Y = sparse.csr_matrix(truth)
    together = Calibration.fit(scores, Y, is_single_label=False).parameters
    monkeypatch.setattr("wordclass.decision.thresholds._CELLS_PER_FIT", 1)
    alone = Calibration.fit(scores, Y, is_single_label=False).parameters
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)
    assert (together[:, 0] >= 0).all()
    assert (together[:, 0] == 0).any()


def test_a_sample_of_documents_gives_nearly_the_same_common_sigmoid(monkeypatch):
    scores, Y, _ = sigmoid_case()
    every = Calibration.fit(scores, Y, is_single_label=False).parameters
    monkeypatch.setattr("wordclass.decision.thresholds._MAX_POOLED_CELLS", 2_000)
    some = Calibration.fit(scores, Y, is_single_label=False).parameters
    np.testing.assert_allclose(some, every, atol=0.01)
    assert (some != every).any()


@pytest.mark.parametrize("size", [0.0, 1e-6, 1e6])
def test_scores_of_any_size_have_finite_sigmoids(size):
    truth = np.arange(60)[:, None] % [2, 3, 7] == 0
    scores = size * (truth + np.sin(np.arange(180)).reshape(60, 3))
    calibration = Calibration.fit(scores, sparse.csr_matrix(truth), is_single_label=False)
    probabilities = calibration.probabilities(scores)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.mean(axis=0), truth.mean(axis=0), atol=0.08)


def test_equal_scores_of_all_classes_leave_all_equally_probable():
    calibration = Calibration.fit(
        np.zeros((4, 2)), sparse.csr_matrix(np.eye(2)[[0, 1, 0, 1]]), is_single_label=True
    )
    np.testing.assert_allclose(calibration.probabilities(np.zeros((1, 2))), [[0.5, 0.5]])
    assert calibration.probabilities(np.array([[1.0, 0.0]]))[0, 0] < 0.8


# --- with the shares of the classes -----------------------------------------------------------


def softmax_case(n_docs=20_000, seed=3):
    """Return scores (n, 3), labels, and their true probabilities, a softmax of the scores."""
    chance = np.random.default_rng(seed)
    scores = 5.0 * chance.normal(size=(n_docs, 3)) + [0.0, 2.0, 7.0]
    logits = 0.4 * scores + [0.0, -1.0, -4.0]
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (chance.random((n_docs, 1)) > np.cumsum(true, axis=1)).sum(axis=1)
    return scores, sparse.csr_matrix(np.eye(3)[labels]), true


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
def test_a_known_softmax_with_shares_is_recovered_for_scores_of_any_size(factor):
    scores, Y, true = softmax_case()
    calibration = Calibration.fit(factor * scores, Y, is_single_label=True, shares=True)
    probabilities = calibration.probabilities(factor * scores)
    np.testing.assert_allclose(probabilities, true, atol=0.03)
    np.testing.assert_allclose(
        probabilities.mean(axis=0), np.asarray(Y.mean(axis=0)).ravel(), atol=1e-3
    )
    slope, offset = calibration.parameters.T
    np.testing.assert_allclose(slope * factor, 0.4, atol=0.02)
    np.testing.assert_allclose(offset - offset[0], [0.0, -1.0, -4.0], atol=0.1)


def test_a_pull_shrinks_the_offsets():
    scores, Y, _ = softmax_case()
    sample = slice(0, 60)
    free, shrunk, fixed = (
        Calibration.fit(scores[sample], Y[sample], is_single_label=True, shares=True, pull=pull)
        for pull in (0.0, 5.0, 1e5)
    )
    spread = [np.ptp(calibration.parameters[:, 1]) for calibration in (free, shrunk, fixed)]
    assert spread[0] > 1.2 * spread[1] > 10 * spread[2]
    truth = Y[sample].toarray().astype(bool)

    def loss(parameters):
        probabilities = Calibration(parameters, True).probabilities(scores[sample])
        doubt = 1 / 62
        aim = (1 - doubt) * truth + doubt / truth.shape[1]
        centered = parameters[:, 1] - parameters[:, 1].mean()
        return -(aim * np.log(probabilities)).sum() / 60 + 5.0 * (centered @ centered) / 120

    least = loss(shrunk.parameters)
    for column in range(3):
        for step in (-0.05, 0.05):
            moved = shrunk.parameters.copy()
            moved[column, 1] += step
            assert loss(moved) > least - 1e-3


@pytest.mark.parametrize("rounding", [0.0, 1e-7])
def test_uninformative_scores_give_the_shares(rounding):
    chance = np.random.default_rng(0)
    scores = np.array([[0.3, -0.3]] * 200) + rounding * chance.normal(size=(200, 2))
    Y = sparse.csr_matrix(np.eye(2)[[0, 0, 0, 1] * 50])
    calibration = Calibration.fit(scores, Y, is_single_label=True, shares=True)
    # also for the scores of another model, which learned from all documents
    probabilities = calibration.probabilities(np.array([[0.3, -0.3], [-0.3, 0.3]]))
    np.testing.assert_allclose(probabilities, [[0.75, 0.25]] * 2, atol=0.005)


def test_reversed_scores_give_the_shares():
    scores = np.array([[1.0, 0.0], [0.0, 1.0]] * 20)
    Y = sparse.csr_matrix(np.eye(2)[[1, 0] * 20])
    calibration = Calibration.fit(scores, Y, is_single_label=True, shares=True)
    np.testing.assert_allclose(calibration.probabilities(scores), 0.5, atol=1e-6)


def test_a_class_without_documents_is_improbable_and_finite():
    scores, Y, _ = softmax_case(200)
    with_none = sparse.hstack([Y, sparse.csr_matrix((200, 1))]).tocsr()
    wider = np.hstack([scores, np.zeros((200, 1))])
    probabilities = Calibration.fit(
        wider, with_none, is_single_label=True, shares=True
    ).probabilities(wider)
    assert np.isfinite(probabilities).all()
    assert 0 < probabilities[:, 3].mean() < 0.01


def test_the_mean_of_sigmoids_with_shares_is_the_share():
    generator = np.random.default_rng(3)
    truth = generator.random((3000, 7)) < [0.5, 0.1, 0.01, 0.0, 0.0, 0.0, 1.0]
    truth[:3, 3] = truth[5:7, 4] = True  # three documents, and two
    scores = generator.normal(size=truth.shape) + 2 * truth
    Y = sparse.csr_matrix(truth.astype(float))
    plain = Calibration.fit(scores, Y, is_single_label=False)
    calibration = plain.with_shares(scores, Y)
    known = slice(0, 4)
    means = calibration.probabilities(scores).mean(axis=0)
    np.testing.assert_allclose(means[known], truth.mean(axis=0)[known], rtol=1e-3)
    np.testing.assert_array_equal(calibration.parameters[known, 0], plain.parameters[known, 0])
    assert (calibration.parameters[4:, 0] == 0).all()  # too few documents for a slope
    np.testing.assert_allclose(means[4:], [3 / 3002, 1 / 3002, 3001 / 3002])
    assert calibration.is_single_label is False


# --- weights of documents ---------------------------------------------------------------------


def weighted_case(seed=0, n_docs=120, n_classes=3):
    """Return scores (n, m), single labels, and integer weights, some of them 0."""
    chance = np.random.default_rng(seed)
    labels = chance.integers(0, n_classes, n_docs)
    scores = np.eye(n_classes)[labels] + chance.normal(size=(n_docs, n_classes))
    return scores, sparse.csr_matrix(np.eye(n_classes)[labels]), chance.integers(0, 4, n_docs)


@pytest.mark.parametrize("options", [{}, {"shares": True}, {"shares": True, "pull": 1.0}])
@pytest.mark.parametrize("is_single_label", [True, False])
def test_documents_of_weight_0_have_no_effect(options, is_single_label):
    if not is_single_label and options:
        return
    scores, Y, weights = weighted_case()
    weights = np.minimum(weights, 1).astype(float)
    rows = np.flatnonzero(weights)
    all_documents = Calibration.fit(
        scores, Y, is_single_label=is_single_label, weights=weights, **options
    )
    counted = Calibration.fit(scores[rows], Y[rows], is_single_label=is_single_label, **options)
    np.testing.assert_allclose(all_documents.parameters, counted.parameters, rtol=1e-9)


@pytest.mark.parametrize("is_single_label", [True, False])
def test_a_weight_counts_as_that_number_of_copies(is_single_label):
    scores, Y, weights = weighted_case(n_docs=3_000)
    rows = np.repeat(np.arange(len(weights)), weights)
    options = {"shares": True} if is_single_label else {}
    fit = Calibration.fit
    weighted = fit(scores, Y, is_single_label=is_single_label, weights=weights * 0.5, **options)
    copied = fit(scores[rows], Y[rows], is_single_label=is_single_label, **options)
    # copies count as more documents, which make a calibration slightly more certain
    np.testing.assert_allclose(
        weighted.probabilities(scores), copied.probabilities(scores), atol=0.01
    )
    unweighted = fit(scores, Y, is_single_label=is_single_label, **options)
    assert np.abs(weighted.parameters - unweighted.parameters).max() > 1e-3


def test_shares_of_sigmoids_are_weighted():
    scores, Y, weights = weighted_case(n_docs=2_000)
    weights = weights.astype(float)
    weights[Y.toarray()[:, 0] > 0] *= 3
    fitted = Calibration.fit(scores, Y, is_single_label=False, weights=weights)
    probabilities = fitted.with_shares(scores, Y, weights).probabilities(scores)
    shares = weights @ Y / weights.sum()
    np.testing.assert_allclose(weights @ probabilities / weights.sum(), shares, atol=1e-3)


# --- the most probable class is the predicted one ---------------------------------------------


@given(
    scores=hnp.arrays(np.float32, (6, 3), elements=st.floats(-3, 3, width=32)),
    offsets=hnp.arrays(np.float64, 3, elements=st.floats(-5, 5)),
    slope=st.floats(0, 4),
)
def test_no_class_is_more_probable_than_the_one_with_the_highest_score(scores, offsets, slope):
    parameters = np.column_stack([np.full(3, slope), offsets])
    probabilities = Calibration(parameters, True, keeps_highest=True).probabilities(scores)
    assert probabilities.argmax(axis=1).tolist() == scores.argmax(axis=1).tolist()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    plain = Calibration(parameters, True).probabilities(scores)
    is_same = plain.argmax(axis=1) == scores.argmax(axis=1)
    np.testing.assert_allclose(probabilities[is_same], plain[is_same], atol=1e-5)


def test_fitted_offsets_keep_the_slope_and_give_the_shares():
    chance = np.random.default_rng(0)
    labels = (chance.random(400) < 0.2).astype(int)
    scores = np.eye(2)[labels] + chance.normal(size=(400, 2))
    Y = sparse.csr_matrix(np.eye(2)[labels])
    fitted = Calibration.fit_offsets(scores, Y)
    np.testing.assert_allclose(fitted.parameters[:, 0], 1.0)
    probabilities = fitted.probabilities(scores).mean(axis=0)
    np.testing.assert_allclose(probabilities, np.asarray(Y.mean(axis=0)).ravel(), atol=0.005)
    same = Calibration.fit_offsets(np.zeros((4, 2)), sparse.csr_matrix(np.eye(2)[[0, 0, 0, 1]]))
    np.testing.assert_allclose(same.probabilities(np.zeros((1, 2))), [[2 / 3, 1 / 3]], atol=0.05)


# --- classes without training documents -------------------------------------------------------


def test_a_class_without_a_share_has_an_infinite_threshold():
    thresholds = without_absent_classes(np.array([-1.0, 0.5, -2.0]), np.array([0.5, 0.0, 0.1]))
    assert thresholds.tolist() == [-1.0, np.inf, -2.0]
