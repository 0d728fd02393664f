import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import LABELS, N_DOCS, WEIGHTS
from scipy import sparse

from wordclass import InputError
from wordclass.embedding.counts import JOINTS, WordClassCounts

FIELDS = (
    "n_docs", "class_docs", "term_docs", "term_weight", "term_squares", "joint_weight", "joint_docs"
)  # fmt: skip


def assert_same(one, other):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@given(X=WEIGHTS, Y=LABELS)
def test_sums_are_what_loops_add_up(X, Y):
    counts = WordClassCounts.of(X, Y)
    assert counts.n_docs == len(X)
    for t in range(X.shape[1]):
        assert counts.term_docs[t] == sum(x != 0 for x in X[:, t])
        assert counts.term_weight[t] == sum(X[:, t])
        assert counts.term_squares[t] == sum(x * x for x in X[:, t])
        for c in range(Y.shape[1]):
            assert counts.class_docs[c] == sum(Y[:, c])
            inside = [x for x, y in zip(X[:, t], Y[:, c], strict=True) if y]
            assert counts.joint_weight[t, c] == sum(inside)
            assert counts.joint_docs[t, c] == sum(x != 0 for x in inside)


@given(X=WEIGHTS, Y=LABELS, cuts=st.sets(st.integers(1, N_DOCS - 1)), data=st.data())
def test_the_counts_of_the_shards_add_up_to_the_counts_of_the_whole_in_any_order(X, Y, cuts, data):
    ends = [0, *sorted(cuts), N_DOCS]
    shards = [WordClassCounts.of(X[a:b], Y[a:b]) for a, b in itertools.pairwise(ends)]
    first, *rest = data.draw(st.permutations(shards))
    assert_same(sum(rest, first), WordClassCounts.of(X, Y))


@given(X=WEIGHTS, Y=LABELS, order=st.permutations(range(N_DOCS)))
def test_permuting_documents_changes_nothing(X, Y, order):
    assert_same(WordClassCounts.of(X[order], Y[order]), WordClassCounts.of(X, Y))


@given(X=WEIGHTS, Y=LABELS, cut=st.integers(0, N_DOCS))
def test_taking_documents_out_undoes_adding_them(X, Y, cut):
    rest = WordClassCounts.of(X, Y) - WordClassCounts.of(X[cut:], Y[cut:])
    assert_same(rest, WordClassCounts.of(X[:cut], Y[:cut]))


def test_a_term_that_is_taken_out_leaves_no_rounding_error_behind():
    weights = np.array([[0.1, 0.7], [0.2, 0.0], [0.3, 0.0]])
    labels = np.array([[1, 0], [0, 1], [1, 0]])
    everything = WordClassCounts.of(weights, labels)
    rest = everything - WordClassCounts.of(weights[1:], labels[1:])
    rest -= WordClassCounts.of(weights[:1] * [1, 0], labels[:1])
    assert not rest.known[0]
    assert rest.term_weight[0] == rest.term_squares[0] == 0
    assert not rest.joint_weight[0].any()


def test_an_explicit_zero_is_no_presence():
    X = sparse.csr_matrix(([0.0, 2.0], [0, 1], [0, 2]), shape=(1, 2))
    assert WordClassCounts.of(X, [[1]]).term_docs.tolist() == [0, 1]
    assert X.nnz == 2  # and the caller's matrix is as it was


def test_sums_that_nobody_asked_for_are_not_made():
    counts = WordClassCounts.of([[1.0]], [[1]], {"joint_weight"})
    assert set(counts.joints) == {"joint_weight"} < JOINTS
    with pytest.raises(InputError, match="made without joint_docs"):
        _ = counts.joint_docs


def test_counts_of_different_sizes_do_not_add_up():
    with pytest.raises(InputError, match="do not add up"):
        WordClassCounts.of([[1.0]], [[1]]) + WordClassCounts.of([[1.0, 1.0]], [[1]])


def test_columns_move_to_a_larger_codeframe_and_out_again():
    counts = WordClassCounts.of([[2.0], [3.0]], [[1, 0], [0, 1]])
    wide = counts.with_classes([2, 0], 3)
    assert wide.class_docs.tolist() == [1, 0, 1]
    assert wide.joint_weight.tolist() == [[3, 0, 2]]
    narrow = wide.without_classes(np.array([False, True, False]))
    assert narrow.joint_weight.tolist() == [[3, 2]]


def test_more_taken_out_than_was_there_is_noticed():
    one, two = WordClassCounts.of([[1.0]], [[1]]), WordClassCounts.of([[1.0], [1.0]], [[1], [1]])
    assert (one - two).has_negative()
    assert not (two - one).has_negative()
