import numpy as np
import pytest

import wordclass as wc
from wordclass.prior_shift import PriorShift


def shifted(n_docs, trained, shares, seed=0, is_single_label=True, spread=2.0):
    """Documents drawn by shares; the probabilities that a perfect model with other shares tells."""
    generator = np.random.default_rng(seed)
    n_classes = len(trained)
    if is_single_label:
        true = generator.choice(n_classes, n_docs, p=shares)
        seen = generator.normal(size=(n_docs, n_classes)) + spread * np.eye(n_classes)[true]
        likely = np.exp(spread * seen) * trained
        return likely / likely.sum(axis=1, keepdims=True), true
    true = generator.random((n_docs, n_classes)) < shares
    seen = generator.normal(size=true.shape) + spread * true
    odds = np.exp(spread * seen - spread**2 / 2) * trained / (1 - np.asarray(trained))
    return odds / (1 + odds), true


def slowly(probabilities, trained, tolerance):
    """The same one number at a time, as the paper has it."""
    shares, n_docs = list(trained), len(probabilities)
    for step in range(1000):
        made = []
        for row in probabilities:
            parts = [p * q / t for p, q, t in zip(row, shares, trained, strict=True)]
            made.append([part / sum(parts) for part in parts])
        new = [sum(row[j] for row in made) / n_docs for j in range(len(trained))]
        change = sum(abs(a - b) for a, b in zip(new, shares, strict=True)) / len(new)
        shares = new
        if step > 10 and change < tolerance:
            break
    return np.array(shares), np.array(made)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-9])
def test_it_is_expectation_maximisation_as_published(tolerance):
    trained = np.array([0.5, 0.3, 0.2])
    probabilities, _ = shifted(200, trained, [0.1, 0.2, 0.7])
    found = PriorShift.of(probabilities, trained, tolerance=tolerance)
    shares, made = slowly(probabilities.tolist(), trained.tolist(), tolerance)
    np.testing.assert_allclose(found.shares, shares, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.probabilities, made, rtol=0, atol=1e-12)


def test_it_equals_that_of_quapy():
    quapy = pytest.importorskip("quapy.method.aggregative", reason="quapy is not installed")
    trained = np.array([0.4, 0.3, 0.2, 0.1])
    for seed in range(5):
        shares = np.random.default_rng(seed).dirichlet(np.full(4, 0.5))
        probabilities, _ = shifted(400, trained, shares, seed)
        theirs, made = quapy.EMQ.EM(trained, probabilities)
        found = PriorShift.of(probabilities, trained)
        np.testing.assert_allclose(found.shares, theirs, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found.probabilities, made, rtol=0, atol=1e-6)


@pytest.mark.parametrize("is_single_label", [True, False])
def test_it_finds_the_shares_that_counting_does_not(is_single_label):
    trained = np.array([0.6, 0.3, 0.1])
    shares = np.array([0.1, 0.2, 0.7])
    probabilities, true = shifted(5_000, trained, shares, 1, is_single_label, spread=1.2)
    found = PriorShift.of(probabilities, trained, is_single_label=is_single_label)
    if is_single_label:
        counted = np.bincount(probabilities.argmax(axis=1), minlength=3) / len(true)
        right, before = (
            np.mean(each.argmax(axis=1) == true) for each in (found.probabilities, probabilities)
        )
        assert found.shares.sum() == pytest.approx(1)
        np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
    else:
        counted = (probabilities > 0.5).mean(axis=0)
        right, before = (np.mean(each == true) for each in (found.decisions(), probabilities > 0.5))
    assert np.abs(found.shares - shares).max() < 0.03
    assert np.abs(found.shares - shares).mean() < np.abs(counted - shares).mean() / 2
    assert right > before + 0.05
    assert found.decisions().sum(axis=1).tolist() == [1] * 5_000 or not is_single_label


def test_without_a_shift_nothing_changes_much():
    trained = np.array([0.6, 0.3, 0.1])
    probabilities, _ = shifted(5_000, trained, trained)
    found = PriorShift.of(probabilities, trained)
    assert np.abs(found.shares - trained).max() < 0.02
    assert np.abs(found.probabilities - probabilities).mean() < 0.01


def test_an_interval_holds_the_share_about_as_often_as_it_says():
    trained, shares = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    n_inside = 0
    for seed in range(60):
        probabilities, _ = shifted(300, trained, shares, seed)
        low, high = PriorShift.of(probabilities, trained).interval(0.9, 60, seed)
        assert (low <= high).all()
        n_inside += int(((low <= shares) & (shares <= high)).sum())
    assert 0.82 <= n_inside / 180 <= 0.97


def test_an_interval_is_the_same_every_time_and_narrower_of_more_documents():
    trained = np.array([0.5, 0.5])
    widths = []
    for n_docs in (100, 10_000):
        found = PriorShift.of(shifted(n_docs, trained, [0.3, 0.7])[0], trained)
        low, high = found.interval(n_samples=40)
        np.testing.assert_array_equal(found.interval(n_samples=40), [low, high])
        widths.append((high - low).mean())
    assert widths[1] < widths[0] / 5


@pytest.mark.parametrize("is_single_label", [True, False])
def test_classes_without_a_document_in_training_or_certain_ones_are_no_problem(is_single_label):
    probabilities = np.tile([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], (50, 1))
    for trained in ([1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]):
        found = PriorShift.of(probabilities, np.array(trained), is_single_label=is_single_label)
        assert np.isfinite(found.probabilities).all()
        np.testing.assert_allclose(found.shares, [0.5, 0.5, 0.0], atol=1e-6)
        assert np.isfinite(found.interval(n_samples=5)).all()


@pytest.mark.parametrize(
    ("probabilities", "trained", "message"),
    [
        (np.full((49, 2), 0.5), [0.5, 0.5], "49 documents are too few .* 50 or more"),
        (np.full((60, 2), 0.5), [0.5], "do not go with"),
        (np.full((60, 2), np.nan), [0.5, 0.5], "probabilities must be between 0 and 1"),
        (np.full((60, 2), 0.5), [0.5, 1.5], "trained must be between 0 and 1"),
    ],
)
def test_what_it_cannot_do_is_refused_in_one_line(probabilities, trained, message):
    with pytest.raises(wc.InputError, match=message) as raised:
        PriorShift.of(probabilities, np.array(trained))
    assert "\n" not in str(raised.value)
