"""How `linear` chooses its settings and thresholds."""

import numpy as np
import pytest
from linear_fits import FIXED, LABELS, TEXTS, linear_corpus, vectors
from made_up import multilabel_corpus
from small_encoders import letters

import wordclass as wc
from wordclass import options as checks
from wordclass import progress
from wordclass.classifiers import linear
from wordclass.corpus.labels import encode_labels
from wordclass.corpus.splits import stratified_folds
from wordclass.linear import features as linear_features
from wordclass.linear import search as linear_search
from wordclass.linear.search import Documents, LinearSettings


@pytest.mark.parametrize(
    "best",
    [
        {"ngrams": (1, 1)}, {"ngrams": (1, 2)},
        {"block_weight": 0.1}, {"block_weight": 0.03}, {"block_weight": 0.0},
        {"shrinkage": 5.0}, {"shrinkage": 1.0}, {"shrinkage": 20.0},
        {"vector_weight": 0.5}, {"vector_weight": 0.0},
        {"encoder_weight": 2.0}, {"encoder_weight": 0.5}, {"encoder_weight": 0.0},
        {"characters": None}, {"characters": (2, 5), "ngrams": (1, 2), "block_weight": 0.0},
        {"C": 0.03}, {"C": 0.1}, {"C": 0.3}, {"C": 1.0}, {"C": 3.0}, {"C": 10.0},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_best_on_documents_held_out_is_chosen(best, judged_by):
    name, value = next(iter(best.items()))

    def quality(settings):
        distance = abs(np.log(settings["C"] / best.get("C", 0.3)))
        is_as_wished = settings[name] == value and settings["characters"] == best.get("characters")
        is_plain = settings["characters"] is not None and settings["block_weight"] == 0.0
        return is_as_wished + 0.001 * is_plain - 0.01 * distance

    judged_by(quality)
    options = {"vectors": vectors(), "encoder": letters, "probabilities": False}
    model = wc.classifier("linear", **options).fit(TEXTS, LABELS)
    first = {"ngrams": (1, 1), "vector_weight": 0.5, "encoder_weight": 2.0, "block_weight": 0.1}
    first |= {"shrinkage": 5.0, "characters": None, "loss": "squared_hinge", "other_weight": 0.0}
    assert model.settings_ == {**first, "C": 0.3, **best}


def test_settings_are_tried_one_after_the_other_around_the_best(judged_by):
    judged_by(lambda settings: settings["block_weight"] == 0.03)
    options = {"C": 1.0, "characters": None, "probabilities": False}
    model = wc.classifier("linear", **options).fit(TEXTS, LABELS)
    names = ("ngrams", "vector_weight", "block_weight", "shrinkage", "C")
    assert [tuple(trial[name] for name in names) for trial in model.trials_] == [
        ((1, 1), 0.0, 0.1, 5.0, 1.0),
        ((1, 2), 0.0, 0.1, 5.0, 1.0),
        ((1, 1), 0.0, 0.03, 5.0, 1.0),
        ((1, 1), 0.0, 0.0, 5.0, 1.0),
        ((1, 1), 0.0, 0.03, 1.0, 1.0),
        ((1, 1), 0.0, 0.03, 20.0, 1.0),
    ]
    # without word-class scores, shrinkage makes no difference
    judged_by(lambda settings: settings["block_weight"] == 0.0)
    model = wc.classifier("linear", **options).fit(TEXTS, LABELS)
    assert [trial["shrinkage"] for trial in model.trials_] == [5.0] * 4
    # of a C that was given, none beyond is tried
    assert {trial["C"] for trial in model.trials_} == {1.0}


def test_progress_of_the_search_is_told_to_its_end(judged_by):
    judged_by(lambda _: 0.5)
    told = []
    with progress.on_progress(lambda *what: told.append(what)):
        wc.classifier("linear", probabilities=False).fit(TEXTS, LABELS)
    own = [each for each in told if each[0] == "choosing settings"]
    assert own == [("choosing settings", k, 7) for k in (0, 1, 2, 3, 4, 5, 7)]


@pytest.mark.parametrize(("n_docs", "n_trials"), [(19, 0), (20, 21)])
def test_twenty_documents_are_enough_to_search(n_docs, n_trials, judged_by):
    judged_by(lambda settings: settings["C"] == 0.3)
    options = {"probabilities": False, "loss": "squared_hinge"}
    model = wc.classifier("linear", **options).fit(TEXTS[:n_docs], LABELS[:n_docs])
    assert len(model.trials_) == n_trials
    assert model.settings_["C"] == (0.3 if n_trials else 1.0)


def test_terms_of_an_own_function_have_no_n_grams(judged_by):
    judged_by(lambda settings: settings["ngrams"] == (1, 2))
    options = {"analyzer": str.split, "probabilities": False}
    model = wc.classifier("linear", **options).fit(TEXTS, LABELS)
    assert {trial["ngrams"] for trial in model.trials_} == {(1, 1)}
    model = wc.classifier("linear", **options | {"analyzer": "characters"}).fit(TEXTS, LABELS)
    assert {trial["ngrams"] for trial in model.trials_} == {(2, 5)}
    assert {trial["characters"] for trial in model.trials_} == {None}


@pytest.mark.parametrize(
    ("target", "block_weight"), [("macro", 0.0), ("micro", 0.03), ("both", 0.1)]
)
def test_settings_are_chosen_for_the_target(target, block_weight, judged_by):
    macro = {0.0: 0.9, 0.03: 0.0, 0.1: 0.8}
    micro = {0.0: 0.0, 0.03: 0.9, 0.1: 0.8}
    judged_by(
        lambda settings: macro[settings["block_weight"]],
        lambda settings: micro[settings["block_weight"]],
    )
    model = wc.classifier("linear", target=target, probabilities=False).fit(TEXTS, LABELS)
    assert model.settings_["block_weight"] == block_weight


@pytest.mark.parametrize("target", ["macro_f1", "micro_f1", "both", "accuracy"])
def test_thresholds_are_tuned_for_the_target_on_documents_held_out(target, monkeypatch):
    asked = []

    def tuned(scores, Y, folds, wanted):
        asked.append((scores.shape, Y.shape, len(set(folds)), wanted))
        return np.arange(3.0)

    monkeypatch.setattr(linear, "tuned_thresholds", tuned)
    texts, labels = multilabel_corpus(90)
    model = wc.classifier("linear", target=target, **FIXED).fit(texts, labels)
    assert asked == [((90, 3), (90, 3), 5, target)]
    assert model.thresholds_.tolist() == [0, 1, 2]
    # where there are many documents, a fifth of them: two folds
    monkeypatch.setattr(linear, "_MAX_THRESHOLD_DOCS", 90)
    wc.classifier("linear", target=target, **FIXED).fit(texts, labels)
    assert asked[1] == ((18, 3), (18, 3), 2, target)
    # of two fifths, those held out together
    monkeypatch.setattr(linear, "_MAX_THRESHOLD_DOCS", 180)
    wc.classifier("linear", target=target, **FIXED).fit(texts, labels)
    assert asked[2] == ((36, 3), (36, 3), 2, target)


def test_without_probabilities_documents_are_held_out_for_thresholds_only(monkeypatch):
    several = wc.classifier("linear", probabilities=False, **FIXED).fit(*multilabel_corpus(90))
    assert several.thresholds_.shape == (3,)
    assert several.calibration_ is None
    monkeypatch.setattr(linear.LinearFeatures, "held_out_scores", None)  # calling it would fail
    single = wc.classifier("linear", probabilities=False, **FIXED).fit(TEXTS, LABELS)
    assert single.thresholds_ is None
    assert single.calibration_ is None


def test_no_document_has_a_part_in_what_scores_it_when_it_is_held_out():
    texts = [f"{text} own{k}" for k, text in enumerate(TEXTS)]
    documents = Documents(texts, encode_labels(LABELS))
    folds = stratified_folds(texts, documents.labels.Y, 10, 0)
    weights = dict.fromkeys(("vector_weight", "other_weight", "encoder_weight"), 0.0)
    settings = LinearSettings.from_dict({**FIXED, **weights, "loss": "squared_hinge"})

    def scores(labels, many):
        given = Documents(texts, encode_labels(labels))
        made = linear_corpus(given, folds).features(settings)
        assert made.n_rotations(many) == {1: 1, 180: 2, 1000: 5}[many]
        return made.held_out_scores(settings, [1.0, 0.1], many)

    rows, first = scores(LABELS, 1000)
    assert sorted(rows) == list(range(90))
    assert first.shape == (2, 90, 3)
    # other labels of the documents of the first fifth leave their own scores as they are
    wrong = [LABELS[(k + 1) % 90] if folds[k] < 2 else LABELS[k] for k in range(90)]
    again, second = scores(wrong, 1000)
    own = folds[rows] < 2
    assert again.tolist() == rows.tolist()
    np.testing.assert_array_equal(second[:, own], first[:, own])
    assert (second[:, ~own] != first[:, ~own]).any()
    rows, _ = scores(LABELS, 1)
    assert set(folds[rows]) == {0, 1}
    rows, _ = scores(LABELS, 180)
    assert set(folds[rows]) == {0, 1, 2, 3}


def test_settings_are_chosen_and_told_and_can_be_fixed():
    model = wc.classifier("linear").fit(TEXTS, LABELS)
    more = {"encoder_weight", "other_weight", "vector_weight", "loss"}
    assert set(model.settings_) == {*linear.GRID, *more} - {"min_docs"}
    tried = [{name: trial[name] for name in model.settings_} for trial in model.trials_]
    assert model.settings_ in tried
    assert {trial["block_weight"] for trial in tried} >= {0.0, 0.1}
    assert {trial["ngrams"] for trial in tried} == {(1, 1), (1, 2)}
    qualities = [(trial["macro_f1"] + trial["micro_f1"]) / 2 for trial in model.trials_]
    assert qualities[tried.index(model.settings_)] >= max(qualities) - 0.002
    fixed = wc.classifier("linear", **model.settings_).fit(TEXTS, LABELS)
    assert fixed.trials_ == []
    np.testing.assert_array_equal(fixed.decision_function(TEXTS), model.decision_function(TEXTS))


def test_fitting_twice_or_with_threads_gives_the_same_bits():
    one = wc.classifier("linear").fit(TEXTS, LABELS)
    two = wc.classifier("linear", n_jobs=2).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(one.decision_function(TEXTS), two.decision_function(TEXTS))
    assert one.settings_ == two.settings_


def test_the_order_of_documents_hardly_matters():
    order = np.random.default_rng(0).permutation(len(TEXTS))
    model = wc.classifier("linear", **FIXED).fit(TEXTS, LABELS)
    moved = wc.classifier("linear", **FIXED).fit(
        [TEXTS[k] for k in order], [LABELS[k] for k in order]
    )
    np.testing.assert_allclose(
        model.decision_function(TEXTS), moved.decision_function(TEXTS), atol=1e-3
    )


def test_the_block_is_not_used_where_it_hurts():
    # word-class scores of noise: every word is as good as any other
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(300)]
    texts, labels = [], []
    for k in range(300):
        label = k % 2
        sure = "yes" if label else "no"
        texts.append(" ".join([*rng.choice(words, 12), *([sure] if rng.random() < 0.9 else [])]))
        labels.append(label)
    chosen = wc.classifier("linear").fit(texts[:200], labels[:200])
    plain = wc.classifier("linear", block_weight=0.0).fit(texts[:200], labels[:200])
    assert chosen.score(texts[200:], labels[200:]) >= plain.score(texts[200:], labels[200:]) - 0.03


def test_sample_weights_count():
    model = wc.classifier("linear", **FIXED)
    weight = np.where(np.array(LABELS) == "music", 0.0, 1.0)
    model.fit(TEXTS, LABELS, sample_weight=weight)
    assert "music" not in set(model.predict(TEXTS))
    with pytest.raises(wc.InputError, match=r"sample_weight has shape \(3,\); expected \(90,\)"):
        model.fit(TEXTS, LABELS, sample_weight=[1, 2, 3])
    with pytest.raises(wc.InputError, match="not negative"):
        model.fit(TEXTS, LABELS, sample_weight=-weight)


def test_class_weights_count():
    rng = np.random.default_rng(1)
    labels = rng.choice(["a", "b"], 90, p=[0.8, 0.2])
    low = wc.classifier("linear", class_weight={"b": 0.01}, **FIXED).fit(TEXTS, labels)
    high = wc.classifier("linear", class_weight={"b": 100.0}, **FIXED).fit(TEXTS, labels)
    assert (low.predict(TEXTS) == "b").sum() < (high.predict(TEXTS) == "b").sum()
    with pytest.raises(wc.InputError, match="unknown class 'c'"):
        wc.classifier("linear", class_weight={"c": 1.0}, **FIXED).fit(TEXTS, labels)


@pytest.mark.parametrize("target", ["macro", "micro", "both"])
def test_several_labels_have_thresholds_tuned_for_the_target(target):
    texts, labels = multilabel_corpus()
    model = wc.classifier("linear", target=target, **FIXED).fit(texts, labels)
    assert model.thresholds_.shape == (3,)
    assert wc.evaluate(labels, model.predict(texts)).micro_f1 > 0.9


def test_rare_and_empty_classes_are_no_problem():
    texts, labels = multilabel_corpus()
    labels = [list(each) for each in labels]
    labels[0].append("once")
    Y = np.array(
        [[name in each for name in ("garden", "never", "once", "space")] for each in labels]
    )
    model = wc.classifier("linear", min_docs=2).fit(texts, Y.astype(int))
    predicted = model.predict(texts)
    assert predicted[:, 1].sum() == 0
    assert np.isfinite(model.decision_function(texts)).all()
    assert np.isfinite(model.predict_proba(texts)).all()


def test_a_class_with_one_document_can_be_learned_from():
    model = wc.classifier("linear", min_docs=1).fit(
        [*TEXTS, "quark gluon boson"], [*LABELS, "physics"]
    )
    assert model.predict(["gluon boson quark"]).tolist() == ["physics"]


@pytest.mark.parametrize(
    ("most", "sample", "sizes"), [(40, 30, {30, 90}), (89, 40, {30, 90}), (90, 30, {90})]
)
def test_large_corpora_choose_settings_on_a_fair_part(most, sample, sizes, monkeypatch):
    monkeypatch.setattr(linear_search, "_MAX_SEARCH_DOCS", most)
    monkeypatch.setattr(linear_search, "_SAMPLE_DOCS", sample)
    seen = []
    made = linear.LinearFeatures

    class Spy(made):
        def __init__(self, corpus, *rest):
            seen.append(corpus.documents)
            super().__init__(corpus, *rest)

    monkeypatch.setattr(linear_features, "LinearFeatures", Spy)
    texts = [f"{text} n{k}" for k, text in enumerate(TEXTS)]
    model = wc.classifier("linear", min_docs=2).fit(texts, LABELS)
    assert {len(documents.texts) for documents in seen} == sizes
    n_first = len(seen[0].texts)
    assert np.asarray(seen[0].labels.Y.sum(axis=0)).ravel().tolist() == [n_first / 3] * 3
    assert model.score(texts, LABELS) > 0.9


@pytest.mark.parametrize(("most", "n_searched"), [(6, 6), (5, 3), (2, 2)])
def test_many_classes_choose_settings_on_a_fair_part_of_them(most, n_searched, monkeypatch):
    monkeypatch.setattr(linear_search, "_MAX_SEARCH_CLASSES", most)
    seen = []
    trials = linear.LinearFeatures.trials

    def spy(features, *rest):
        seen.append(features.documents)
        return trials(features, *rest)

    monkeypatch.setattr(linear.LinearFeatures, "trials", spy)
    texts, labels = multilabel_corpus(90)
    names = sorted({name for each in labels for name in each})
    copies = [[f"{name} {k}" for name in each for k in "ab"] for each in labels]
    assert len(names) == 3
    model = wc.classifier("linear", min_docs=2).fit(texts, copies)
    assert {len(documents.labels.codeframe.classes) for documents in seen} == {n_searched}
    assert {len(documents.texts) for documents in seen} == {90}
    assert model.classes_.tolist() == sorted(f"{name} {k}" for name in names for k in "ab")
    assert model.decision_function(texts[:2]).shape == (2, 6)
    # labels of one kind each, or costs of one's own: all of them
    seen.clear()
    wc.classifier("linear", class_weight=None).fit(texts, copies)
    wc.classifier("linear").fit(TEXTS, LABELS)
    assert {len(documents.labels.codeframe.classes) for documents in seen} == {6, 3}


def test_the_classes_of_a_part_are_from_large_to_small():
    Y = np.tril(np.ones((10, 10), int))[:, ::-1]  # class 9 has 10 documents, class 0 one
    documents = Documents(["a"] * 10, encode_labels(Y))
    part = documents.of_classes(4)
    assert part.labels.codeframe.classes == (3, 7)
    np.testing.assert_array_equal(part.labels.Y.toarray(), Y[:, [3, 7]])


def test_ngrams_are_not_tried_that_would_not_fit_all_classes(monkeypatch):
    texts, labels = multilabel_corpus(90)
    vectorizer = wc.DocumentVectorizer(min_docs=2, ngrams=(1, 2)).fit(texts)
    monkeypatch.setattr(linear_search, "_MAX_SEARCH_CLASSES", 2)
    for missing, sizes in ((0, {(1, 1), (1, 2)}), (1, {(1, 1)})):
        n_weights = 3 * len(vectorizer.vocabulary_.terms) - missing
        monkeypatch.setattr(linear, "_MAX_WEIGHTS", n_weights)
        model = wc.classifier("linear").fit(texts, labels)
        assert {trial["ngrams"] for trial in model.trials_} == sizes


def test_what_memory_is_missing_is_told_before_anything_is_learned(monkeypatch):
    monkeypatch.setattr(linear_features.OneVsRest, "solve", None)
    free = {"bytes": 1_000}
    monkeypatch.setattr(checks, "free_bytes", lambda: free["bytes"])
    told = (
        r"^the weights of \d+ terms by 3 classes from 90 documents need .* of memory; .* are free; "
    )
    with pytest.raises(wc.InputError, match=told + "no min_docs would help: use fewer documents"):
        wc.classifier("linear", **FIXED).fit(TEXTS, LABELS)
    n_values = wc.DocumentVectorizer(min_docs=2).fit_transform(TEXTS).nnz
    free["bytes"] = 24 * n_values + 12 * 90 * 3 + 12 * 7
    with pytest.raises(wc.InputError, match=told + r"min_docs=\d+ would fit: at most 7 terms"):
        wc.classifier("linear", **FIXED).fit(TEXTS, LABELS)


def test_more_ngrams_than_fit_are_not_tried(monkeypatch):
    vectorizer = wc.DocumentVectorizer(min_docs=2, ngrams=(1, 2)).fit(TEXTS)
    n_weights = 3 * len(vectorizer.vocabulary_.terms)
    monkeypatch.setattr(linear, "_MAX_WEIGHTS", n_weights)
    model = wc.classifier("linear").fit(TEXTS, LABELS)
    assert {trial["ngrams"] for trial in model.trials_} == {(1, 1), (1, 2)}
    for most in (n_weights - 1, 10):  # even the first ones may be too many: these are tried
        monkeypatch.setattr(linear, "_MAX_WEIGHTS", most)
        model = wc.classifier("linear").fit(TEXTS, LABELS)
        assert {trial["ngrams"] for trial in model.trials_} == {(1, 1)}
