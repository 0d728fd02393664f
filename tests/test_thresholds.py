import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wordclass.arrays import to_sparse
from wordclass.thresholds import best_thresholds

SCORES = hnp.arrays(np.float64, (12, 2), elements=st.integers(-4, 4).map(float))
TRUTH = hnp.arrays(np.int8, (12, 2), elements=st.integers(0, 1))


def f1(scores, truth, threshold):
    predicted = scores > threshold
    positives = predicted.sum() + truth.sum()
    return 2 * (predicted & (truth > 0)).sum() / positives if positives else 1.0


@given(scores=SCORES, truth=TRUTH)
def test_no_other_threshold_is_better(scores, truth):
    truth[:3] = 1  # enough positives for a threshold of its own
    thresholds = best_thresholds(scores, to_sparse(truth))
    for j in range(2):
        best = f1(scores[:, j], truth[:, j], thresholds[j])
        others = [f1(scores[:, j], truth[:, j], each) for each in np.arange(-5.5, 5)]
        assert best >= max(others) - 1e-12


def test_a_threshold_lies_half_way_between_scores():
    scores = np.array([[1.0], [2.0], [3.0], [8.0], [9.0], [10.0]])
    truth = np.array([[0], [0], [0], [1], [1], [1]])
    assert best_thresholds(scores, to_sparse(truth)).tolist() == [5.5]


def test_a_rare_class_takes_the_threshold_of_all_classes_together():
    scores = np.array([[0.0, 9.0], [0.0, 0.0], [5.0, 0.0], [5.0, 1.0], [5.0, 0.0]])
    truth = np.array([[0, 0], [0, 0], [1, 0], [1, 1], [1, 0]])
    thresholds = best_thresholds(scores, to_sparse(truth))
    pooled = best_thresholds(scores.reshape(-1, 1), to_sparse(truth.reshape(-1, 1)))
    assert thresholds[1] == pooled[0] == 0.5


def test_without_a_positive_nothing_is_predicted():
    assert best_thresholds(np.ones((3, 1)), to_sparse(np.zeros((3, 1)))).tolist() == [np.inf]
