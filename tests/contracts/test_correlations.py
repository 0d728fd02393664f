"""Every correlation against slow loops written from its definition, and the laws all share."""

import time

import numpy as np
import pytest
import reference
from hypothesis import example, given
from hypothesis import strategies as st
from made_up import LABELS, N_CLASSES, N_DOCS, WEIGHTS
from scipy import sparse

from wordclass import catalogue
from wordclass.embedding.counts import JOINTS, WordClassCounts

NAMES = catalogue.names("correlations")


def correlate(name, X, Y):
    entry = catalogue.entry("correlations", name)
    return entry.correlate(WordClassCounts.of(X, Y, entry.NEEDS))


def test_all_expected_correlations_exist():
    assert NAMES == [
        "chi_square", "conf_weight", "dot", "fisher", "gain_ratio", "gss", "information_gain",
        "odds_ratio", "pmi", "ppmi", "relevance_frequency",
    ]  # fmt: skip


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize("name", NAMES)
@given(X=WEIGHTS, Y=LABELS)
@example(X=np.zeros((N_DOCS, 2)), Y=np.ones((N_DOCS, 1)))
@example(X=np.ones((N_DOCS, 2)), Y=np.zeros((N_DOCS, 1)))
@example(X=np.eye(N_DOCS), Y=np.eye(N_DOCS))
def test_it_equals_slow_loops_written_from_its_definition(name, X, Y):
    expected = getattr(reference, name)(X, Y)
    np.testing.assert_allclose(correlate(name, X, Y), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_it_equals_slow_loops_on_real_weights(name):
    generator = np.random.default_rng(3)
    X = generator.random((60, 20)) * (generator.random((60, 20)) < 0.3)
    Y = generator.random((60, 4)) < 0.3
    expected = getattr(reference, name)(X, Y)
    np.testing.assert_allclose(correlate(name, X, Y), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize("name", NAMES)
@given(X=WEIGHTS, Y=LABELS, order=st.permutations(range(N_DOCS)))
def test_permuting_documents_changes_nothing(name, X, Y, order):
    np.testing.assert_array_equal(correlate(name, X[order], Y[order]), correlate(name, X, Y))


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize("name", NAMES)
@given(X=WEIGHTS, Y=LABELS, order=st.permutations(range(N_CLASSES)))
def test_permuting_classes_permutes_columns(name, X, Y, order):
    np.testing.assert_allclose(
        correlate(name, X, Y[:, order]), correlate(name, X, Y)[:, order], atol=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_names_the_sums_it_needs_and_no_others(name):
    entry = catalogue.entry("correlations", name)
    assert entry.NEEDS <= JOINTS
    X, Y = np.eye(4), np.eye(4)
    for needed in entry.NEEDS:
        with pytest.raises(ValueError, match="made without"):
            entry.correlate(WordClassCounts.of(X, Y, entry.NEEDS - {needed}))


@pytest.mark.parametrize("name", NAMES)
def test_no_document_at_all_gives_finite_values(name):
    empty = WordClassCounts.of(np.zeros((0, 3)), np.zeros((0, 2)))
    with np.errstate(all="raise"):
        A = catalogue.entry("correlations", name).correlate(empty)
    assert A.shape == (3, 2)
    assert np.isfinite(A).all()


@pytest.mark.parametrize("name", ["information_gain", "chi_square"])
def test_a_problem_of_the_size_of_reuters_takes_no_noticeable_time(name):
    # no absolute time: the closed form against the loops of the definition on a 500th of it
    generator = np.random.default_rng(0)
    X = sparse.random(9603, 8250, 0.005, "csr", random_state=generator)
    Y = sparse.random(9603, 115, 0.011, "csr", random_state=generator)
    Y.data[:] = 1
    entry = catalogue.entry("correlations", name)
    counts = WordClassCounts.of(X, Y, entry.NEEDS)
    start = time.process_time()
    entry.correlate(counts)
    fast = time.process_time() - start
    start = time.process_time()
    getattr(reference, name)(X[:960, :100].toarray(), Y[:960, :23].toarray())
    slow = time.process_time() - start
    assert fast < slow * 8250 * 115 * 9603 / (960 * 100 * 23) / 100
