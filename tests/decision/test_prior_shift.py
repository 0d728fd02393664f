import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.decision.prior_shift import PriorShift, clear_shift


def shifted(n_docs, trained, shares, seed=0, is_single_label=True, spread=2.0):
    """Return probabilities of a perfect model with the shares of training, and the true classes."""
    generator = np.random.default_rng(seed)
    n_classes = len(trained)
    if is_single_label:
        true = generator.choice(n_classes, n_docs, p=shares)
        features = generator.normal(size=(n_docs, n_classes)) + spread * np.eye(n_classes)[true]
        likely = np.exp(spread * features) * trained
        return likely / likely.sum(axis=1, keepdims=True), true
    true = generator.random((n_docs, n_classes)) < shares
    features = generator.normal(size=true.shape) + spread * true
    odds = np.exp(spread * features - spread**2 / 2) * trained / (1 - np.asarray(trained))
    return odds / (1 + odds), true


def estimate_slowly(probabilities, trained, tolerance):
    """Compute shares and probabilities one number at a time, as published."""
    shares, n_docs = list(trained), len(probabilities)
    for step in range(1000):
        adjusted = []
        for row in probabilities:
            parts = [p * q / t for p, q, t in zip(row, shares, trained, strict=True)]
            adjusted.append([part / sum(parts) for part in parts])
        new = [sum(row[j] for row in adjusted) / n_docs for j in range(len(trained))]
        change = sum(abs(a - b) for a, b in zip(new, shares, strict=True)) / len(new)
        shares = new
        if step > 10 and change < tolerance:
            break
    return np.array(shares), np.array(adjusted)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-9])
def test_the_estimate_is_expectation_maximization_as_published(tolerance):
    trained = np.array([0.5, 0.3, 0.2])
    probabilities, _ = shifted(200, trained, [0.1, 0.2, 0.7])
    shift = PriorShift.of(probabilities, trained, tolerance=tolerance)
    shares, adjusted = estimate_slowly(probabilities.tolist(), trained.tolist(), tolerance)
    np.testing.assert_allclose(shift.shares, shares, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shift.probabilities, adjusted, rtol=0, atol=1e-12)


def test_the_estimate_equals_that_of_quapy():
    quapy = pytest.importorskip("quapy.method.aggregative", reason="quapy is not installed")
    trained = np.array([0.4, 0.3, 0.2, 0.1])
    for seed in range(5):
        shares = np.random.default_rng(seed).dirichlet(np.full(4, 0.5))
        probabilities, _ = shifted(400, trained, shares, seed)
        expected_shares, expected = quapy.EMQ.EM(trained, probabilities)
        shift = PriorShift.of(probabilities, trained)
        np.testing.assert_allclose(shift.shares, expected_shares, rtol=0, atol=1e-6)
        np.testing.assert_allclose(shift.probabilities, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("is_single_label", [True, False])
def test_the_estimate_is_better_than_counting_predictions(is_single_label):
    trained = np.array([0.6, 0.3, 0.1])
    shares = np.array([0.1, 0.2, 0.7])
    probabilities, true = shifted(5_000, trained, shares, 1, is_single_label, spread=1.2)
    shift = PriorShift.of(probabilities, trained, is_single_label=is_single_label)
    if is_single_label:
        counted = np.bincount(probabilities.argmax(axis=1), minlength=3) / len(true)
        right, before = (
            np.mean(values.argmax(axis=1) == true)
            for values in (shift.probabilities, probabilities)
        )
        assert shift.shares.sum() == pytest.approx(1)
        np.testing.assert_allclose(shift.probabilities.sum(axis=1), 1)
    else:
        counted = (probabilities > 0.5).mean(axis=0)
        right, before = (
            np.mean((values > 0.5) == true) for values in (shift.probabilities, probabilities)
        )
    assert np.abs(shift.shares - shares).max() < 0.03
    assert np.abs(shift.shares - shares).mean() < np.abs(counted - shares).mean() / 2
    assert right > before + 0.05


@pytest.mark.parametrize("is_single_label", [True, False])
def test_probabilities_are_adjusted_by_the_odds_of_the_shares(is_single_label):
    trained = np.array([0.6, 0.3, 0.1])
    probabilities, _ = shifted(60, trained, [0.2, 0.3, 0.5], is_single_label=is_single_label)
    shift = PriorShift.of(probabilities, trained, is_single_label=is_single_label)
    adjusted = shift.adjust(probabilities)
    for row, original_row in zip(adjusted, probabilities, strict=True):
        weighted = original_row * shift.shares / trained
        if is_single_label:
            np.testing.assert_allclose(row, weighted / weighted.sum())
        else:
            opposite = (1 - original_row) * (1 - shift.shares) / (1 - trained)
            np.testing.assert_allclose(row, weighted / (weighted + opposite))
    same = PriorShift(trained, trained, probabilities, is_single_label)
    np.testing.assert_allclose(same.adjust(probabilities), probabilities)


@given(st.lists(st.integers(0, 400), min_size=2, max_size=6), st.integers(0, 10**6))
def test_equal_shares_are_not_a_clear_shift(counts, seed):
    n_docs = max(sum(counts), 1)
    trained = np.array(counts) / n_docs
    assert not len(clear_shift(trained, np.array(counts), n_docs))
    drawn = np.random.default_rng(seed).multinomial(
        30, np.append(trained, 1 - trained.sum()).clip(0)
    )
    assert len(clear_shift(trained, drawn[:-1], 30)) in (0, len(counts))


def test_a_shift_is_clear_if_a_tenth_of_the_labels_changed_and_chance_is_unlikely():
    trained = np.array([0.7, 0.3])
    assert clear_shift(trained, np.array([580, 420]), 1000).tolist() == [0, 1]
    assert not len(clear_shift(trained, np.array([620, 380]), 1000))
    assert not len(clear_shift(trained, np.array([5, 5]), 10))  # ten documents are too few


def test_the_classes_that_changed_most_come_first():
    trained = np.array([0.1, 0.4, 0.2, 0.3])
    counts = np.array([90, 410, 450, 50])
    assert clear_shift(trained, counts, 1000).tolist() == [2, 3, 0, 1]
    # the change expected by chance: the mean absolute error of a share is sqrt(2 q (1-q) / (pi n))
    for n_docs, is_clear in ((7, True), (6, False)):
        by_chance = 2 * np.sqrt(2 * 0.25 / (np.pi * n_docs))
        counts = np.array([0.81, 0.19]) * n_docs
        assert (2 * by_chance < 0.62) == is_clear
        assert bool(len(clear_shift(np.array([0.5, 0.5]), counts, n_docs))) == is_clear


@pytest.mark.parametrize("is_single_label", [True, False])
def test_an_interval_is_computed_from_documents_drawn_with_replacement(is_single_label):
    trained, shares = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    probabilities, _ = shifted(50, trained, shares, 3, is_single_label, spread=1.0)
    shift = PriorShift.of(probabilities, trained, is_single_label=is_single_label, tolerance=1e-6)
    generator, drawn = np.random.default_rng(7), []
    for _ in range(25):
        times = generator.multinomial(50, np.full(50, 1 / 50))
        again = np.repeat(probabilities, times, axis=0)
        sample = PriorShift.of(again, trained, is_single_label=is_single_label, tolerance=1e-6)
        drawn.append(sample.shares)
    expected = np.quantile(drawn, (0.1, 0.9), axis=0)
    np.testing.assert_allclose(shift.interval(0.8, 25, 7), expected, atol=0.02)


def test_without_a_shift_shares_and_probabilities_hardly_change():
    trained = np.array([0.6, 0.3, 0.1])
    probabilities, _ = shifted(5_000, trained, trained)
    shift = PriorShift.of(probabilities, trained)
    assert np.abs(shift.shares - trained).max() < 0.02
    assert np.abs(shift.probabilities - probabilities).mean() < 0.01


def test_an_interval_contains_the_true_share_about_as_often_as_its_level():
    trained, shares = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    n_inside = 0
    for seed in range(60):
        probabilities, _ = shifted(300, trained, shares, seed)
        low, high = PriorShift.of(probabilities, trained).interval(0.9, 60, seed)
        assert (low <= high).all()
        n_inside += int(((low <= shares) & (shares <= high)).sum())
    assert 0.82 <= n_inside / 180 <= 0.97


def test_an_interval_is_deterministic_and_narrower_for_more_documents():
    trained = np.array([0.5, 0.5])
    widths = []
    for n_docs in (100, 10_000):
        shift = PriorShift.of(shifted(n_docs, trained, [0.3, 0.7])[0], trained)
        low, high = shift.interval(n_samples=40)
        np.testing.assert_array_equal(shift.interval(n_samples=40), [low, high])
        widths.append((high - low).mean())
    assert widths[1] < widths[0] / 5


@pytest.mark.parametrize("is_single_label", [True, False])
def test_classes_that_are_absent_or_certain_are_handled(is_single_label):
    probabilities = np.tile([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], (50, 1))
    for trained in ([1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]):
        shift = PriorShift.of(probabilities, np.array(trained), is_single_label=is_single_label)
        assert np.isfinite(shift.probabilities).all()
        np.testing.assert_allclose(shift.shares, [0.5, 0.5, 0.0], atol=1e-6)
        assert np.isfinite(shift.interval(n_samples=5)).all()


@pytest.mark.parametrize(
    ("probabilities", "trained", "message"),
    [
        (np.full((49, 2), 0.5), [0.5, 0.5], "49 documents are too few .* expected at least 50"),
        (
            np.full((60, 2), 0.5),
            [0.5],
            "have the shape \\(60, 2\\); expected a row per document and 1 columns",
        ),
        (np.full((60, 2), 0.5), [[0.5]], "trained has shape"),
        (np.full((60, 0), 0.5), [], "trained has shape"),
        (np.full((60, 2), 0.4), [0.5, 0.5], "do not sum to 1; use is_single_label=False"),
        (np.full((60, 2), 0.5), [1.0, 1.0], "do not sum to 1; use is_single_label=False"),
        ([["a", "b"]] * 60, [0.5, 0.5], "probabilities are not numeric"),
        (
            np.full((60, 2), np.nan),
            [0.5, 0.5],
            "probabilities are out of range; expected numbers from 0 to 1",
        ),
        (np.full((60, 2), 0.5), [0.5, 1.5], "trained is out of range; expected shares from 0 to 1"),
        (np.full((60, 2), 0.5), ["a", "b"], "trained is not numeric; expected one share per class"),
    ],
)
def test_invalid_probabilities_and_shares_are_refused_in_one_line(probabilities, trained, message):
    with pytest.raises(wc.InputError, match=message) as raised:
        PriorShift.of(probabilities, np.array(trained))
    assert "\n" not in str(raised.value)


# --- classifiers ----------------------------------------------------------------------------


def _sample(n_docs, counts, seed):
    """Return documents of a made-up corpus, with the given number of each class."""
    texts, labels = corpus(n_docs, seed)
    chosen = []
    for name, count in counts.items():
        chosen += [k for k, label in enumerate(labels) if label == name][:count]
    return [texts[k] for k in chosen], [labels[k] for k in chosen]


@pytest.mark.parametrize("name", ["linear", "svm", "nearest", "cnn"])
def test_a_classifier_estimates_shares_and_adjusts_predictions(name, tmp_path):
    options = {}
    if name == "cnn":
        pytest.importorskip("torch", reason="the extra 'torch' is not installed")
        options = {"channels": 8, "lr": 0.01, "max_epochs": 10}
    texts, labels = _sample(600, {"space": 100, "garden": 60, "music": 40}, 1)
    clf = wc.classifier(name, min_docs=2, **options).fit(texts, labels)
    new_texts, true = _sample(600, {"space": 10, "garden": 20, "music": 150}, 2)
    shift = clf.prior_shift(new_texts)
    np.testing.assert_allclose(shift.trained, [0.3, 0.2, 0.5])
    np.testing.assert_allclose(shift.shares, [20 / 180, 150 / 180, 10 / 180], atol=0.05)
    adjusted = clf.predict_adjusted(new_texts)
    # if nearly all predictions are right, one in a hundred may get worse by chance
    assert np.mean(adjusted == true) >= np.mean(clf.predict(new_texts) == true) - 0.01
    assert adjusted.dtype == clf.predict(new_texts).dtype
    clf.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    np.testing.assert_array_equal(again.prior_shift(new_texts).shares, shift.shares)
    np.testing.assert_array_equal(again.predict_adjusted(new_texts), adjusted)


def test_unchanged_shares_change_no_label():
    texts, labels = corpus(300, 1)
    clf = wc.classifier("linear").fit(texts, labels)
    new_texts, _ = corpus(120, 2)
    trained = clf.training_.shares
    none = PriorShift(trained, trained, np.zeros((0, 3)), True)
    np.testing.assert_array_equal(clf.predict_adjusted(new_texts, none), clf.predict(new_texts))
    all_music = PriorShift(trained, np.array([0.0, 1.0, 0.0]), np.zeros((0, 3)), True)
    assert {*clf.predict_adjusted(new_texts, all_music)} == {"music"}


@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_several_labels_are_adjusted_class_by_class(name):
    texts, labels = multilabel_corpus(300)
    clf = wc.classifier(name, min_docs=2).fit(texts, labels)
    new_texts, true = multilabel_corpus(400, 5)
    rows = [k for k, labels in enumerate(true) if "space" not in labels or k % 8 == 0]
    new_texts = [new_texts[k] for k in rows]
    true = [true[k] for k in rows]
    shift = clf.prior_shift(new_texts)
    here = np.array([np.mean([name in labels for labels in true]) for name in clf.classes_])
    counted = np.array(
        [np.mean([name in labels for labels in clf.predict(new_texts)]) for name in clf.classes_]
    )
    assert shift.shares[2] < shift.trained[2] / 2
    assert np.abs(shift.shares - here).mean() <= np.abs(counted - here).mean() + 0.02
    adjusted = clf.predict_adjusted(new_texts)
    assert all(isinstance(labels, tuple) for labels in adjusted)
    scores = [
        wc.evaluate(true, predicted).micro_f1 for predicted in (adjusted, clf.predict(new_texts))
    ]
    assert scores[0] >= scores[1] - 0.03  # texts of several labels slightly violate the assumption
    trained = clf.training_.shares
    same = PriorShift(trained, trained, np.zeros((0, 3)), False)
    assert clf.predict_adjusted(new_texts, same) == clf.predict(new_texts)


def test_the_shares_of_training_are_weighted():
    texts, labels = corpus(90)
    weights = np.array([3.0 if label == "music" else 1.0 for label in labels])
    clf = wc.classifier("svm", min_docs=2).fit(texts, labels, sample_weight=weights)
    np.testing.assert_allclose(clf.training_.shares, [0.2, 0.6, 0.2])


def test_a_model_without_probabilities_or_shares_is_an_error():
    texts, labels = corpus(90)
    clf = wc.classifier("nearest", min_docs=2, probabilities=False).fit(texts, labels)
    with pytest.raises(wc.InputError, match="fitted without probabilities"):
        clf.prior_shift(texts)
    clf = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    clf.training_ = type(clf.training_)(clf.training_.fingerprints)
    with pytest.raises(wc.InputError, match="kept no shares of classes; train it again"):
        clf.prior_shift(texts)
    with pytest.raises(wc.InputError, match="3 documents are too few"):
        wc.classifier("nearest", min_docs=2).fit(texts, labels).prior_shift(texts[:3])


def test_a_class_without_evidence_keeps_its_share():
    """Without a pull its share would end at 0 or 1, because all shares are equally likely."""
    generator = np.random.default_rng(0)
    informative, true = shifted(400, [0.6], [0.3], is_single_label=False)
    uninformative = np.full(400, 0.88) + generator.normal(0, 0.001, 400)
    probabilities = np.column_stack([informative, uninformative, np.ones(400)])
    trained = np.array([0.6, 0.85, 1.0])
    free, held = (
        PriorShift.of(probabilities, trained, is_single_label=False, pull=pull)
        for pull in (0.0, 0.01)
    )
    assert free.shares[1] > 0.99
    assert held.shares[1] == pytest.approx(0.85, abs=0.01)
    assert held.shares[2] == pytest.approx(1.0, abs=1e-3)
    assert abs(held.shares[0] - true.mean()) < 0.05
    low, high = held.interval(n_samples=20)
    assert low[1] <= held.shares[1] < 0.99 < high[1]  # the share is unknown


@pytest.mark.parametrize("name", ["linear", "svm", "nearest"])
def test_rare_labels_stay_rare(name):
    """The probabilities of a class with few documents are too high on average."""
    texts, labels = multilabel_corpus(600)
    generator = np.random.default_rng(2)
    several = [[*names] for names in labels]
    for rare, n_docs in (("one", 1), ("two", 2), ("three", 3), ("nine", 9)):
        for k in generator.choice(600, n_docs, replace=False):
            several[k].append(rare)
            texts[k] += f" {rare} and more" if rare == "nine" else ""
    clf = wc.classifier(name, min_docs=1).fit(texts, several)
    new_texts, true = multilabel_corpus(300, 5)
    shift = clf.prior_shift(new_texts)
    true_shares = np.array([sum(name in labels for labels in true) for name in clf.classes_]) / 300
    assert (np.abs(shift.shares - true_shares) < np.where(true_shares, 0.1, 0.03)).all()
    n_labels, n_adjusted_labels = (
        sum(map(len, predicted))
        for predicted in (clf.predict(new_texts), clf.predict_adjusted(new_texts))
    )
    assert n_adjusted_labels == pytest.approx(n_labels, rel=0.1)


@pytest.mark.parametrize("name", ["linear", "svm", "nearest"])
@pytest.mark.parametrize("make", [corpus, multilabel_corpus])
def test_texts_without_known_words_change_no_share(make, name):
    clf = wc.classifier(name, min_docs=2).fit(*make(120))
    for new_texts in ([""] * 60, ["quark gluon"] * 60):
        shift = clf.prior_shift(new_texts)
        np.testing.assert_allclose(shift.shares, shift.trained, atol=1e-6)
        low, high = shift.interval(n_samples=20)
        assert low.max() == 0
        assert high.min() == 1
        if name == "linear":
            assert list(clf.predict_adjusted(new_texts)) == list(clf.predict(new_texts))


def test_a_class_without_training_texts_has_no_share():
    texts, labels = corpus(120)
    names = ["garden", "music", "none", "space"]
    clf = wc.classifier("linear", min_docs=2).fit(texts, labels, class_names=names)
    shift = clf.prior_shift(corpus(90, 3)[0])
    assert shift.trained[2] < 1e-3
    assert shift.shares[2] < 1e-6
    assert "none" not in clf.predict_adjusted(texts)


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_intervals_of_a_multilabel_task_are_wide_enough(spread):
    trained, shares = np.array([0.5, 0.3, 0.2]), np.array([0.35, 0.3, 0.3])
    n_inside = 0
    for seed in range(20):
        probabilities, _ = shifted(400, trained, shares, seed, is_single_label=False, spread=spread)
        shift = PriorShift.of(probabilities, trained, is_single_label=False, pull=0.1)
        low, high = shift.interval(0.9, 40, seed)
        n_inside += int(((low <= shares) & (shares <= high)).sum())
    assert n_inside / 60 > 0.8


@pytest.mark.parametrize("name", ["linear", "svm", "nearest"])
def test_a_random_label_is_neither_removed_from_all_texts_nor_added_to_all(name):
    texts, labels = multilabel_corpus(300)
    generator = np.random.default_rng(1)
    noisy = [[*names, *(["any"] if generator.random() < 0.3 else [])] for names in labels]
    clf = wc.classifier(name, min_docs=2).fit(texts, noisy)
    new_texts, _ = multilabel_corpus(200, 5)
    shift = clf.prior_shift(new_texts)
    assert abs(shift.shares[0] - shift.trained[0]) < 0.1
    n_predicted, n_adjusted = (
        sum("any" in labels for labels in predicted)
        for predicted in (clf.predict(new_texts), clf.predict_adjusted(new_texts))
    )
    assert abs(n_adjusted - n_predicted) <= 40


def test_a_shift_of_another_model_is_refused():
    texts, labels = corpus(90)
    clf = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    several = PriorShift(*[np.full(3, 0.5)] * 2, np.zeros((0, 3)), False)
    wide = PriorShift(*[np.full(2, 0.5)] * 2, np.zeros((0, 2)), True)
    cases = (
        (3, "shift is 3; expected"),
        (several, "expected"),
        (wide, "expected a row per document and 2 columns"),
    )
    for shift, message in cases:
        with pytest.raises(wc.InputError, match=message):
            clf.predict_adjusted(texts, shift)
    shift = clf.prior_shift(texts)
    for invalid in ([[0.1, 0.2, np.nan]], [[0.5, 0.5]], "moon"):
        with pytest.raises(wc.InputError, match="probabilities"):
            shift.adjust(invalid)
    for name, value in (("level", 95), ("level", 1.0), ("seed", "x"), ("n_samples", 1)):
        with pytest.raises(wc.InputError, match=f"{name} is"):
            shift.interval(**{name: value})
    assert shift.interval(n_samples=2).shape == (2, 3)
    for name, value in (("pull", -1), ("tolerance", 0)):
        with pytest.raises(wc.InputError, match=f"{name} is"):
            PriorShift.of(shift.probabilities, shift.trained, **{name: value})


def test_shares_need_calibrated_probabilities():
    pytest.importorskip("fasttext", reason="the extra 'fasttext' is not installed")
    texts, labels = corpus(90)
    clf = wc.classifier("fasttext").fit(texts, labels)
    with pytest.raises(wc.InputError, match="'fasttext' are not calibrated"):
        clf.prior_shift(texts)


def test_a_tree_of_classes_estimates_shares():
    texts, labels = corpus(300)
    clf = wc.classifier("linear", classes="tree", min_docs=1).fit(texts, labels)
    assert clf.prior_shift(corpus(90, 1)[0]).shares.sum() == pytest.approx(1)
