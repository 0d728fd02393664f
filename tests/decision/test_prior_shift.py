import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.decision.prior_shift import PriorShift, clear_shift


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
        right, before = (
            np.mean((each > 0.5) == true) for each in (found.probabilities, probabilities)
        )
    assert np.abs(found.shares - shares).max() < 0.03
    assert np.abs(found.shares - shares).mean() < np.abs(counted - shares).mean() / 2
    assert right > before + 0.05


@pytest.mark.parametrize("is_single_label", [True, False])
def test_probabilities_are_adjusted_by_the_odds_of_the_shares(is_single_label):
    trained = np.array([0.6, 0.3, 0.1])
    probabilities, _ = shifted(60, trained, [0.2, 0.3, 0.5], is_single_label=is_single_label)
    found = PriorShift.of(probabilities, trained, is_single_label=is_single_label)
    made = found.adjust(probabilities)
    for row, given_row in zip(made, probabilities, strict=True):
        own = given_row * found.shares / trained
        if is_single_label:
            np.testing.assert_allclose(row, own / own.sum())
        else:
            others = (1 - given_row) * (1 - found.shares) / (1 - trained)
            np.testing.assert_allclose(row, own / (own + others))
    same = PriorShift(trained, trained, probabilities, is_single_label)
    np.testing.assert_allclose(same.adjust(probabilities), probabilities)


@given(st.lists(st.integers(0, 400), min_size=2, max_size=6), st.integers(0, 10**6))
def test_shares_that_are_those_of_training_are_no_clear_shift(counts, seed):
    n_docs = max(sum(counts), 1)
    trained = np.array(counts) / n_docs
    assert not len(clear_shift(trained, np.array(counts), n_docs))
    drawn = np.random.default_rng(seed).multinomial(
        30, np.append(trained, 1 - trained.sum()).clip(0)
    )
    assert len(clear_shift(trained, drawn[:-1], 30)) in (0, len(counts))


def test_a_shift_is_clear_where_a_tenth_of_the_labels_moved_and_no_accident_made_it():
    trained = np.array([0.7, 0.3])
    assert clear_shift(trained, np.array([580, 420]), 1000).tolist() == [0, 1]
    assert not len(clear_shift(trained, np.array([620, 380]), 1000))
    assert not len(clear_shift(trained, np.array([5, 5]), 10))  # ten documents tell nothing


def test_the_classes_that_changed_most_come_first():
    trained = np.array([0.1, 0.4, 0.2, 0.3])
    counts = np.array([90, 410, 450, 50])
    assert clear_shift(trained, counts, 1000).tolist() == [2, 3, 0, 1]
    # twice what an accident makes: the mean absolute error of a share is sqrt(2 q (1 - q) / (pi n))
    for n_docs, is_clear in ((7, True), (6, False)):
        accident = 2 * np.sqrt(2 * 0.25 / (np.pi * n_docs))
        counts = np.array([0.81, 0.19]) * n_docs
        assert (2 * accident < 0.62) == is_clear
        assert bool(len(clear_shift(np.array([0.5, 0.5]), counts, n_docs))) == is_clear


@pytest.mark.parametrize("is_single_label", [True, False])
def test_an_interval_is_by_documents_drawn_anew(is_single_label):
    trained, shares = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    given, _ = shifted(50, trained, shares, 3, is_single_label, spread=1.0)
    found = PriorShift.of(given, trained, is_single_label=is_single_label, tolerance=1e-6)
    generator, drawn = np.random.default_rng(7), []
    for _ in range(25):
        times = generator.multinomial(50, np.full(50, 1 / 50))
        again = np.repeat(given, times, axis=0)
        each = PriorShift.of(again, trained, is_single_label=is_single_label, tolerance=1e-6)
        drawn.append(each.shares)
    expected = np.quantile(drawn, (0.1, 0.9), axis=0)
    np.testing.assert_allclose(found.interval(0.8, 25, 7), expected, atol=0.02)


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
        (np.full((60, 2), 0.5), [0.5], "do not go with 1 shares"),
        (np.full((60, 2), 0.5), [[0.5]], "trained has shape"),
        (np.full((60, 0), 0.5), [], "trained has shape"),
        (np.full((60, 2), 0.4), [0.5, 0.5], "must sum to 1 in a single-label task"),
        (np.full((60, 2), 0.5), [1.0, 1.0], "must sum to 1 in a single-label task"),
        ([["a", "b"]] * 60, [0.5, 0.5], "probabilities must be numbers"),
        (np.full((60, 2), np.nan), [0.5, 0.5], "probabilities must be between 0 and 1"),
        (np.full((60, 2), 0.5), [0.5, 1.5], "trained must be between 0 and 1"),
        (np.full((60, 2), 0.5), ["a", "b"], "trained must be numbers"),
    ],
)
def test_what_it_cannot_do_is_refused_in_one_line(probabilities, trained, message):
    with pytest.raises(wc.InputError, match=message) as raised:
        PriorShift.of(probabilities, np.array(trained))
    assert "\n" not in str(raised.value)


# --- classifiers ----------------------------------------------------------------------------


def _part(n_docs, counts, seed):
    """Documents of a made-up corpus, so many of each class."""
    texts, labels = corpus(n_docs, seed)
    chosen = []
    for name, count in counts.items():
        chosen += [k for k, label in enumerate(labels) if label == name][:count]
    return [texts[k] for k in chosen], [labels[k] for k in chosen]


@pytest.mark.parametrize("name", ["linear", "svm", "nearest", "cnn"])
def test_a_classifier_estimates_shares_and_predicts_by_them(name, tmp_path):
    options = {}
    if name == "cnn":
        pytest.importorskip("torch", reason="the extra 'torch' is not installed")
        options = {"channels": 8, "lr": 0.01, "max_epochs": 10}
    texts, labels = _part(600, {"space": 100, "garden": 60, "music": 40}, 1)
    clf = wc.classifier(name, min_docs=2, **options).fit(texts, labels)
    others, true = _part(600, {"space": 10, "garden": 20, "music": 150}, 2)
    shift = clf.prior_shift(others)
    np.testing.assert_allclose(shift.trained, [0.3, 0.2, 0.5])
    np.testing.assert_allclose(shift.shares, [20 / 180, 150 / 180, 10 / 180], atol=0.05)
    adjusted = clf.predict_adjusted(others)
    # by chance a text in a hundred may be lost where nearly all are right
    assert np.mean(adjusted == true) >= np.mean(clf.predict(others) == true) - 0.01
    assert adjusted.dtype == clf.predict(others).dtype
    clf.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    np.testing.assert_array_equal(again.prior_shift(others).shares, shift.shares)
    np.testing.assert_array_equal(again.predict_adjusted(others), adjusted)


def test_a_shift_of_nothing_changes_no_label():
    texts, labels = corpus(300, 1)
    clf = wc.classifier("linear").fit(texts, labels)
    others, _ = corpus(120, 2)
    trained = clf.training_.shares
    none = PriorShift(trained, trained, np.zeros((0, 3)), True)
    np.testing.assert_array_equal(clf.predict_adjusted(others, none), clf.predict(others))
    all_music = PriorShift(trained, np.array([0.0, 1.0, 0.0]), np.zeros((0, 3)), True)
    assert {*clf.predict_adjusted(others, all_music)} == {"music"}


@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_several_labels_are_adjusted_class_by_class(name):
    texts, labels = multilabel_corpus(300)
    clf = wc.classifier(name, min_docs=2).fit(texts, labels)
    others, true = multilabel_corpus(400, 5)
    kept = [k for k, each in enumerate(true) if "space" not in each or k % 8 == 0]
    others, true = [others[k] for k in kept], [true[k] for k in kept]
    shift = clf.prior_shift(others)
    here = np.array([np.mean([name in each for each in true]) for name in clf.classes_])
    counted = np.array(
        [np.mean([name in each for each in clf.predict(others)]) for name in clf.classes_]
    )
    assert shift.shares[2] < shift.trained[2] / 2
    assert np.abs(shift.shares - here).mean() <= np.abs(counted - here).mean() + 0.02
    adjusted = clf.predict_adjusted(others)
    assert all(isinstance(each, tuple) for each in adjusted)
    scores = [wc.evaluate(true, each).micro_f1 for each in (adjusted, clf.predict(others))]
    assert scores[0] >= scores[1] - 0.03  # texts of several labels break the assumption a little
    trained = clf.training_.shares
    same = PriorShift(trained, trained, np.zeros((0, 3)), False)
    assert clf.predict_adjusted(others, same) == clf.predict(others)


def test_weights_of_texts_count_in_the_shares_of_training():
    texts, labels = corpus(90)
    weights = np.array([3.0 if label == "music" else 1.0 for label in labels])
    clf = wc.classifier("svm", min_docs=2).fit(texts, labels, sample_weight=weights)
    np.testing.assert_allclose(clf.training_.shares, [0.2, 0.6, 0.2])


def test_a_model_without_probabilities_or_shares_says_so():
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


def test_a_class_that_nothing_tells_of_keeps_its_share():
    """Else its share would end at 0 or 1: whatever it is, the documents are as likely."""
    generator = np.random.default_rng(0)
    telling, true = shifted(400, [0.6], [0.3], is_single_label=False)
    nothing = np.full(400, 0.88) + generator.normal(0, 0.001, 400)
    given = np.column_stack([telling, nothing, np.ones(400)])
    trained = np.array([0.6, 0.85, 1.0])
    free, held = (
        PriorShift.of(given, trained, is_single_label=False, pull=pull) for pull in (0.0, 0.01)
    )
    assert free.shares[1] > 0.99
    assert held.shares[1] == pytest.approx(0.85, abs=0.01)
    assert held.shares[2] == pytest.approx(1.0, abs=1e-3)
    assert abs(held.shares[0] - true.mean()) < 0.05
    low, high = held.interval(n_samples=20)
    assert low[1] <= held.shares[1] < 0.99 < high[1]  # it may be anything


@pytest.mark.parametrize("name", ["linear", "svm", "nearest"])
def test_rare_labels_stay_rare(name):
    """Their few documents make probabilities that are too high on average."""
    texts, labels = multilabel_corpus(600)
    generator = np.random.default_rng(2)
    several = [[*each] for each in labels]
    for rare, n_docs in (("one", 1), ("two", 2), ("three", 3), ("nine", 9)):
        for k in generator.choice(600, n_docs, replace=False):
            several[k].append(rare)
            texts[k] += f" {rare} and more" if rare == "nine" else ""
    clf = wc.classifier(name, min_docs=1).fit(texts, several)
    others, true = multilabel_corpus(300, 5)
    shift = clf.prior_shift(others)
    true_shares = np.array([sum(name in each for each in true) for name in clf.classes_]) / 300
    assert (np.abs(shift.shares - true_shares) < np.where(true_shares, 0.1, 0.03)).all()
    given = [sum(map(len, each)) for each in (clf.predict(others), clf.predict_adjusted(others))]
    assert given[1] == pytest.approx(given[0], rel=0.1)


@pytest.mark.parametrize("name", ["linear", "svm", "nearest"])
@pytest.mark.parametrize("make", [corpus, multilabel_corpus])
def test_texts_that_tell_nothing_change_no_share(make, name):
    clf = wc.classifier(name, min_docs=2).fit(*make(120))
    for others in ([""] * 60, ["quark gluon"] * 60):
        shift = clf.prior_shift(others)
        np.testing.assert_allclose(shift.shares, shift.trained, atol=1e-6)
        low, high = shift.interval(n_samples=20)
        assert low.max() == 0
        assert high.min() == 1
        if name == "linear":
            assert list(clf.predict_adjusted(others)) == list(clf.predict(others))


def test_a_class_without_a_text_in_training_has_none_here():
    texts, labels = corpus(120)
    names = ["garden", "music", "none", "space"]
    clf = wc.classifier("linear", min_docs=2).fit(texts, labels, class_names=names)
    shift = clf.prior_shift(corpus(90, 3)[0])
    assert shift.trained[2] < 1e-3
    assert shift.shares[2] < 1e-6
    assert "none" not in clf.predict_adjusted(texts)


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_an_interval_of_several_labels_is_as_wide_as_they_tell(spread):
    trained, shares = np.array([0.5, 0.3, 0.2]), np.array([0.35, 0.3, 0.3])
    n_inside = 0
    for seed in range(20):
        given, _ = shifted(400, trained, shares, seed, is_single_label=False, spread=spread)
        found = PriorShift.of(given, trained, is_single_label=False, pull=0.1)
        low, high = found.interval(0.9, 40, seed)
        n_inside += int(((low <= shares) & (shares <= high)).sum())
    assert n_inside / 60 > 0.8


@pytest.mark.parametrize("name", ["linear", "svm", "nearest"])
def test_a_label_given_at_random_is_not_taken_from_all_texts_or_given_to_all(name):
    texts, labels = multilabel_corpus(300)
    generator = np.random.default_rng(1)
    noisy = [[*each, *(["any"] if generator.random() < 0.3 else [])] for each in labels]
    clf = wc.classifier(name, min_docs=2).fit(texts, noisy)
    others, _ = multilabel_corpus(200, 5)
    shift = clf.prior_shift(others)
    assert abs(shift.shares[0] - shift.trained[0]) < 0.1
    given = [
        sum("any" in each for each in made)
        for made in (clf.predict(others), clf.predict_adjusted(others))
    ]
    assert abs(given[1] - given[0]) <= 40


def test_what_is_no_shift_of_this_model_is_refused():
    texts, labels = corpus(90)
    clf = wc.classifier("nearest", min_docs=2).fit(texts, labels)
    several = PriorShift(*[np.full(3, 0.5)] * 2, np.zeros((0, 3)), False)
    wide = PriorShift(*[np.full(2, 0.5)] * 2, np.zeros((0, 2)), True)
    for shift, message in ((3, "shift is 3; expected"), (several, "expected"), (wide, "do not go")):
        with pytest.raises(wc.InputError, match=message):
            clf.predict_adjusted(texts, shift)
    shift = clf.prior_shift(texts)
    for given_rows in ([[0.1, 0.2, np.nan]], [[0.5, 0.5]], "moon"):
        with pytest.raises(wc.InputError, match="probabilities"):
            shift.adjust(given_rows)
    for name, value in (("level", 95), ("level", 1.0), ("seed", "x"), ("n_samples", 1)):
        with pytest.raises(wc.InputError, match=f"{name} is"):
            shift.interval(**{name: value})
    assert shift.interval(n_samples=2).shape == (2, 3)
    for name, value in (("pull", -1), ("tolerance", 0)):
        with pytest.raises(wc.InputError, match=f"{name} is"):
            PriorShift.of(shift.probabilities, shift.trained, **{name: value})


def test_probabilities_that_are_not_calibrated_tell_no_shares():
    pytest.importorskip("fasttext", reason="the extra 'fasttext' is not installed")
    texts, labels = corpus(90)
    clf = wc.classifier("fasttext").fit(texts, labels)
    with pytest.raises(wc.InputError, match="'fasttext' are not calibrated"):
        clf.prior_shift(texts)


def test_a_tree_of_classes_tells_shares():
    texts, labels = corpus(300)
    clf = wc.classifier("linear", classes="tree", min_docs=1).fit(texts, labels)
    assert clf.prior_shift(corpus(90, 1)[0]).shares.sum() == pytest.approx(1)
