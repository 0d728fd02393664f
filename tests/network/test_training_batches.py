"""Which texts make a batch, what it holds, and the thread that prepares it."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

torch = pytest.importorskip("torch")

from wordclass.network.text_network import split_into_batches  # noqa: E402
from wordclass.network.training import (  # noqa: E402
    FoldVectors,
    LabelledSequences,
    iterate_ahead,
    shuffle_into_batches,
)
from wordclass.text.sequences import Sequences  # noqa: E402

PADDING = 6
ROWS = [[0, 4, 2], [], [3], [5, 5, 1, 0], [2, 7]]  # 5 is the unknown word, 7 an unseen one
N_TERMS = 5
N_DIMS = 2
N_FOLDS = 3


def sequences(rows=ROWS):
    flat = np.array([token for row in rows for token in row], np.int64)
    return Sequences(flat, np.cumsum([0, *map(len, rows)]))


def labelled(Y, **options):
    Y = sparse.csr_matrix(np.array(Y))
    is_multilabel = options.pop("is_multilabel", False)
    return LabelledSequences(sequences(), Y, is_multilabel, PADDING, **options)


ONE_CLASS = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]]
SEVERAL = [[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 1]]


# --- which texts ----------------------------------------------------------------------------


@given(n=st.integers(0, 200), size=st.integers(1, 9))
def test_every_text_is_in_one_batch_of_an_epoch(n, size):
    lengths = np.random.default_rng(n).integers(0, 50, n)
    batches = shuffle_into_batches(lengths, size, 0, 3)
    assert sorted(row for batch in batches for row in batch.tolist()) == list(range(n))
    assert len(batches) == -(-n // size)
    assert all(1 <= len(batch) <= size for batch in batches)
    assert sum(len(batch) < size for batch in batches) <= 1


def test_orders_differ_between_epochs_and_seeds():
    lengths = np.arange(100) % 7
    orders = {
        tuple(np.concatenate(shuffle_into_batches(lengths, 8, seed, epoch)).tolist())
        for seed in (0, 1, -1)
        for epoch in (0, 1, 2)
    }
    assert len(orders) == 9
    again = shuffle_into_batches(lengths, 8, 1, 2)
    for ours, theirs in zip(shuffle_into_batches(lengths, 8, 1, 2), again, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_batches_hold_texts_of_similar_lengths_but_are_in_no_order():
    lengths = np.random.default_rng(0).integers(0, 500, 160)
    batches = shuffle_into_batches(lengths, 8, 0, 0)
    spread = [np.ptp(lengths[batch]) for batch in batches]
    assert max(spread) < 100
    means = [lengths[batch].mean() for batch in batches]
    assert means != sorted(means)
    assert means != sorted(means, reverse=True)


def test_rows_are_cut_into_batches_in_order():
    batches = split_into_batches(np.array([7, 3, 9, 1, 5]), 2)
    assert [batch.tolist() for batch in batches] == [[7, 3], [9, 1], [5]]
    assert split_into_batches(np.array([], int), 2) == []


# --- what a batch holds ---------------------------------------------------------------------


@pytest.mark.parametrize("pad", ["right", "left"])
def test_a_batch_has_the_ids_of_its_texts_and_their_classes(pad):
    batch = labelled(ONE_CLASS, pad=pad).batch(np.array([3, 1, 0]))
    right = [[5, 5, 1, 0], [PADDING] * 4, [0, 4, 2, PADDING]]
    left = [[5, 5, 1, 0], [PADDING] * 4, [PADDING, 0, 4, 2]]
    assert batch.ids.tolist() == (right if pad == "right" else left)
    assert batch.lengths.tolist() == [4, 0, 3]
    assert batch.truth.tolist() == [0, 1, 0]
    assert batch.truth.dtype == torch.int64
    assert batch.weights is None
    assert batch.shift == {}


def test_several_labels_are_a_matrix_and_weights_follow_their_texts():
    texts = labelled(SEVERAL, is_multilabel=True, weights=np.array([0.0, 1, 2, 3, 4]))
    batch = texts.batch(np.array([4, 1, 0])).to(torch.device("cpu"))
    assert batch.truth.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 1]]
    assert batch.truth.dtype == batch.weights.dtype == torch.float32
    assert batch.weights.tolist() == [4, 1, 0]
    part = texts.part(np.array([4, 2, 0]))
    assert len(part) == 3
    again = part.batch(np.array([0, 2]))
    assert again.ids.tolist() == [[2, 7, PADDING], [0, 4, 2]]
    assert again.weights.tolist() == [4, 0]
    assert again.truth.tolist() == [[0, 0, 1], [1, 0, 1]]


@given(
    rows=st.lists(st.integers(0, len(ROWS) - 1), min_size=1, max_size=6),
    folds=st.lists(st.integers(0, N_FOLDS - 1), min_size=len(ROWS), max_size=len(ROWS)),
)
def test_each_token_has_the_row_of_its_texts_fold(rows, folds):
    differences = np.random.default_rng(0).normal(size=(N_FOLDS, N_TERMS, N_DIMS))
    differences = differences.astype(np.float32)
    vectors = FoldVectors(differences, np.array(folds))
    texts = labelled(ONE_CLASS).part(np.arange(len(ROWS)), vectors)
    actual = texts.batch(np.array(rows)).shift["word_class"]
    expected = []
    for row in rows:
        for word in ROWS[row]:
            is_term = word < N_TERMS  # unknown and unseen words have no differences
            expected.append(differences[folds[row]][word] if is_term else np.zeros(N_DIMS))
    table = np.array(expected, np.float32).reshape(-1, N_DIMS)
    np.testing.assert_array_equal(actual.numpy(), table)
    assert actual.dtype == torch.float32


# --- the thread -----------------------------------------------------------------------------


def threads_there_are():
    return [thread for thread in threading.enumerate() if thread.name.startswith("batches")]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 50])
def test_items_come_in_order_from_another_thread(n):
    here = threading.get_ident()
    producer_threads = set()

    def items():
        for k in range(n):
            producer_threads.add(threading.get_ident())
            yield k

    assert list(iterate_ahead(items())) == list(range(n))
    assert here not in producer_threads
    assert not threads_there_are()


def test_an_error_comes_through_in_its_turn():
    def items():
        yield from (0, 1, 2)
        raise ZeroDivisionError("here")

    received = []
    with pytest.raises(ZeroDivisionError, match="here"):
        received.extend(iterate_ahead(items()))
    assert received == [0, 1, 2]
    assert not threads_there_are()


def test_an_early_end_ends_the_thread_and_few_items_were_made_for_nothing():
    produced = []

    def items():
        for k in range(1000):
            produced.append(k)
            yield k

    source = iterate_ahead(items())
    assert [next(source), next(source)] == [0, 1]
    assert threads_there_are()
    source.close()
    assert not threads_there_are()
    assert len(produced) <= 5
