import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from wordclass.errors import InputError
from wordclass.reproduction.statistics import (
    Summary,
    daggers,
    holm,
    paired_t_test,
    randomization_test,
    relative_improvement,
    t_test,
)

N_DOCS = 7
N_CLASSES = 3
MATRIX = st.lists(
    st.lists(st.integers(0, 1), min_size=N_CLASSES, max_size=N_CLASSES),
    min_size=N_DOCS,
    max_size=N_DOCS,
)


def slow_f1(truth, predicted, is_multilabel):
    """Compute macro and micro F1 in loops, from their definition."""

    def f1(pairs):
        tp = sum(y and p for y, p in pairs)
        wrong = sum(y != p for y, p in pairs)
        return 2 * tp / (2 * tp + wrong) if tp or wrong else float(is_multilabel)

    documents = list(zip(truth, predicted, strict=True))
    columns = [[(y[j], p[j]) for y, p in documents] for j in range(len(truth[0]))]
    everything = [pair for column in columns for pair in column]
    return np.array([sum(map(f1, columns)) / len(columns), f1(everything)])


def exact_p(truth, first, second, is_multilabel):
    """Enumerate all 2^n exchanges of the documents of several paired runs."""

    def difference(swaps):
        total = np.zeros(2)
        for a, b in zip(first, second, strict=True):
            pairs = [(q, p) if swap else (p, q) for p, q, swap in zip(a, b, swaps, strict=True)]
            one, other = zip(*pairs, strict=True)
            total += slow_f1(truth, one, is_multilabel) - slow_f1(truth, other, is_multilabel)
        return np.abs(total / len(first))

    observed = difference([False] * len(truth))
    exchanges = itertools.product([False, True], repeat=len(truth))
    is_extreme = [difference(swaps) >= observed - 1e-12 for swaps in exchanges]
    return np.mean(is_extreme, axis=0)


@given(MATRIX, MATRIX, MATRIX, st.booleans())
def test_few_documents_give_the_exact_distribution(truth, first, second, is_multilabel):
    p_values = randomization_test(truth, [first], [second], is_multilabel=is_multilabel)
    expected = exact_p(truth, [first], [second], is_multilabel)
    assert [p_values["macro_f1"], p_values["micro_f1"]] == pytest.approx(list(expected))


@given(MATRIX, st.lists(MATRIX, min_size=2, max_size=2), MATRIX)
def test_several_runs_are_exchanged_together(truth, first, second):
    p_values = randomization_test(truth, first, [second], is_multilabel=True)
    expected = exact_p(truth, first, [second, second], True)
    assert [p_values["macro_f1"], p_values["micro_f1"]] == pytest.approx(list(expected))


def predictions(n_docs, n_classes, accuracy, generator):
    truth = generator.integers(0, n_classes, n_docs)
    systems = [
        np.where(generator.random(n_docs) < share, truth, generator.integers(0, n_classes, n_docs))
        for share in accuracy
    ]
    return [
        sparse.csr_matrix((np.ones(n_docs), (np.arange(n_docs), labels)), (n_docs, n_classes))
        for labels in (truth, *systems)
    ]


def test_drawn_exchanges_agree_with_all_of_them():
    truth, first, second = predictions(26, 3, (0.7, 0.5), np.random.default_rng(5))
    n_changed = int((abs(first - second).sum(axis=1) > 0).sum())
    assert 11 <= n_changed <= 17
    exact = randomization_test(
        truth, [first], [second], is_multilabel=False, n_shuffles=2**n_changed
    )
    n_drawn = 2000
    drawn = randomization_test(truth, [first], [second], is_multilabel=False, n_shuffles=n_drawn)
    for measure, p in exact.items():
        assert 0.01 < p < 0.5
        assert abs(drawn[measure] - p) < 5 * math.sqrt(p * (1 - p) / n_drawn) + 2 / n_drawn


def test_the_seed_changes_p_values_and_the_order_of_systems_does_not():
    truth, first, second = predictions(300, 4, (0.60, 0.55), np.random.default_rng(1))
    both = [
        randomization_test(truth, [a], [b], is_multilabel=False, n_shuffles=999)
        for a, b in ((first, second), (second, first))
    ]
    assert both[0] == both[1]
    other = randomization_test(
        truth, [first], [second], is_multilabel=False, n_shuffles=999, seed=1
    )
    assert other != both[0]


def test_equal_predictions_have_a_p_of_one_and_very_different_ones_the_smallest():
    truth, good, bad = predictions(400, 3, (0.9, 0.2), np.random.default_rng(0))
    assert randomization_test(truth, [good], [good], is_multilabel=False)["macro_f1"] == 1
    p_values = randomization_test(truth, [good], [bad], is_multilabel=False, n_shuffles=199)
    assert p_values == {"macro_f1": 1 / 200, "micro_f1": 1 / 200}


def test_matrices_of_different_shapes_are_refused():
    with pytest.raises(InputError, match=r"shape \(1, 2\) for labels of shape \(1, 1\)"):
        randomization_test([[1]], [[[1]]], [[[1, 0]]], is_multilabel=True)


@given(
    st.lists(st.floats(0.1, 0.9), min_size=2, max_size=6),
    st.lists(st.floats(0.1, 0.9), min_size=2, max_size=6),
)
def test_the_t_test_is_that_of_scipy_on_the_runs_themselves(first, second):
    a = Summary.of(first)
    b = Summary.of(second)
    if min(a.deviation, b.deviation) > 1e-6:
        assert t_test(a, b) == pytest.approx(stats.ttest_ind(first, second).pvalue, abs=1e-9)


def test_one_run_has_no_deviation_and_no_test():
    one = Summary.of([0.5])
    assert one == Summary(0.5, None, 1)
    assert t_test(one, Summary.of([0.4, 0.6])) is None
    assert daggers(None) == 0


def test_runs_without_spread_differ_certainly_or_not_at_all():
    same = Summary.of([0.5, 0.5])
    assert t_test(same, same) == 1
    assert t_test(same, Summary.of([0.25, 0.25])) == 0


@pytest.mark.parametrize(("p", "n"), [(0.5, 2), (0.05, 1), (0.04, 1), (0.005, 0), (0.001, 0)])
def test_daggers_mark_cells_that_do_not_differ(p, n):
    assert daggers(p) == n


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_equals_the_definition_in_loops(p_values):
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    expected = [0.0] * len(p_values)
    largest = 0.0
    for rank, k in enumerate(order):
        largest = max(largest, p_values[k] * (len(p_values) - rank))
        expected[k] = min(largest, 1.0)
    assert holm(p_values) == pytest.approx(expected)


def test_the_relative_improvement_is_one_of_means():
    assert relative_improvement([0.6, 0.9], [0.5, 0.5]) == pytest.approx(0.5)


@given(st.lists(st.tuples(st.floats(0.1, 0.9), st.floats(0.1, 0.9)), min_size=1, max_size=6))
def test_the_paired_t_test_is_that_of_scipy_for_three_pairs_or_more(pairs):
    first, second = zip(*pairs, strict=True)
    p = paired_t_test(first, second)
    if len(pairs) < 3:
        assert p is None
    elif np.std(np.subtract(first, second)) > 1e-6:
        assert p == pytest.approx(stats.ttest_rel(first, second).pvalue)


def test_pairs_with_equal_differences_are_not_tested():
    assert paired_t_test([0.5, 0.6, 0.7], [0.25, 0.35, 0.45]) is None
