import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from wordclass.report.telling_terms import gains, round_robin

SCORES = hnp.arrays(np.float64, (12, 3), elements=st.integers(0, 5).map(float))


def test_the_classes_choose_in_turn():
    scores = np.array([[9.0, 8.0], [7.0, 0.0], [3.0, 6.0], [1.0, 5.0], [0.0, 0.0]])
    rows, columns = round_robin(scores, 2)
    # term 0 is the favorite of both, and goes to the class that chooses first
    assert rows.tolist() == [0, 2, 1, 3]
    assert columns.tolist() == [0, 1, 0, 1]


def test_a_term_without_score_is_never_chosen():
    rows, columns = round_robin(np.array([[1.0, 0.0], [0.0, 0.0]]), 2)
    assert (rows.tolist(), columns.tolist()) == ([0], [0])


def test_terms_that_are_not_allowed_are_passed_over():
    scores = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
    rows, _ = round_robin(scores, 1, np.array([False, True, True]))
    assert rows.tolist() == [1, 2]


def test_nothing_to_choose_from_gives_empty_arrays():
    rows, columns = round_robin(np.zeros((0, 2)), 3)
    assert rows.shape == columns.shape == (0,)


@given(scores=SCORES, n_per_class=st.integers(1, 5))
def test_each_term_is_chosen_once_and_no_class_gets_more_than_its_number(scores, n_per_class):
    rows, columns = round_robin(scores, n_per_class)
    assert len(set(rows.tolist())) == len(rows)
    assert np.bincount(columns, minlength=3).max() <= n_per_class
    assert (scores[rows, columns] > 0).all()


@given(scores=SCORES.map(lambda scores: scores + 1))
def test_every_class_gets_the_same_number_where_there_are_enough(scores):
    _, columns = round_robin(scores, 4)
    assert np.bincount(columns).tolist() == [4, 4, 4]


def test_a_term_has_no_gain_for_a_class_that_it_keeps_away_from():
    X = sparse.csr_matrix([[1.0], [1.0], [0.0], [0.0]])
    Y = sparse.csr_matrix([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert gains(X, Y).tolist() == [[1.0, 0.0]]
