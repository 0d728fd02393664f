"""What is special about the default classifier; what all classifiers share is in contracts/."""

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus
from sklearn.svm import LinearSVC
from small_encoders import letters

import wordclass as wc
from wordclass import checks, progress
from wordclass.classifiers import _linear_features, linear
from wordclass.embedding.cross_fit import cross_fit
from wordclass.embedding.vectors import Recipe
from wordclass.errors import InputError
from wordclass.folds import stratified_folds
from wordclass.labels import encode
from wordclass.search import Documents, Trial
from wordclass.text.vectorizer import ScriptWarning

TEXTS, LABELS = corpus(90)
FIXED = {
    **{"ngrams": (1, 1), "characters": None, "shrinkage": 5.0, "block_weight": 0.5, "C": 1.0},
    "min_docs": 2,
}


def vectors(seed=0):
    words = sorted({word for text in TEXTS for word in text.split()})
    return wc.WordVectors.of(words, np.random.default_rng(seed).normal(size=(len(words), 6)))


def linear_corpus(documents, folds):
    def vectorizer(_settings):
        return wc.DocumentVectorizer(min_docs=1)

    return linear.LinearCorpus(documents, folds, vectorizer, None, {}, None, np.ones(3), None)


def plain_scores(texts, labels, new_texts, U=None, characters=None):
    """The same model in plain steps: scikit-learn's machines on features put side by side."""
    v = wc.DocumentVectorizer(min_docs=2)
    X, new_X = v.fit_transform(texts), v.transform(new_texts)
    Y = encode(labels).Y
    folds = stratified_folds(texts, Y, 10, 0)
    recipe = Recipe.of("dot", 5.0)
    own = cross_fit(X, Y, folds, recipe.count, recipe.embed).astype(float)
    factor = 0.5 / np.sqrt(np.mean(own**2))
    new_own = new_X @ recipe.embed(recipe.count(X, Y))
    block, new_block = np.zeros((len(texts), 0)), np.zeros((len(new_texts), 0))
    if characters is not None:
        ngrams = wc.DocumentVectorizer(min_docs=2, analyzer="characters", ngrams=characters)
        block = ngrams.fit_transform(texts).toarray()
        new_block = ngrams.transform(new_texts).toarray()
    if U is not None:
        rows = np.array([U[term] if term in U else np.zeros(U.n_dims) for term in v.vocabulary_])
        length = np.sqrt(np.mean(np.sum((X @ rows) ** 2, axis=1)))
        block, new_block = X @ rows * 0.5 / length, new_X @ rows * 0.5 / length
    scores = np.zeros((len(new_texts), Y.shape[1]))
    for j in range(Y.shape[1]):
        truth = Y.toarray()[:, j].astype(int)
        features = np.hstack([X.toarray(), block, own[:, [j]] * factor])
        costs = np.where(truth, len(texts) / (Y.shape[1] * truth.sum()), 1.0)
        machine = LinearSVC(C=1.0, tol=1e-7, max_iter=100_000).fit(features, truth, costs)
        new = np.hstack([new_X.toarray(), new_block, new_own[:, [j]] * factor])
        scores[:, j] = machine.decision_function(new)
    return scores


@pytest.mark.parametrize("U", [None, vectors()], ids=["terms", "terms and vectors"])
def test_it_is_a_machine_on_terms_and_cross_fitted_scores(U):
    options = {**FIXED, "vector_weight": 0.5} if U is not None else FIXED
    model = wc.classifier("linear", vectors=U, **options).fit(TEXTS[:60], LABELS[:60])
    expected = plain_scores(TEXTS[:60], LABELS[:60], TEXTS[60:], U)
    np.testing.assert_allclose(model.decision_function(TEXTS[60:]), expected, atol=2e-3)


def test_without_a_block_it_is_a_machine_on_tfidf():
    options = {**FIXED, "block_weight": 0.0}
    model = wc.classifier("linear", class_weight=None, **options).fit(TEXTS, LABELS)
    v = wc.DocumentVectorizer(min_docs=2)
    machine = LinearSVC(C=1.0, tol=1e-7, max_iter=100_000).fit(v.fit_transform(TEXTS), LABELS)
    np.testing.assert_allclose(
        model.decision_function(TEXTS), machine.decision_function(v.transform(TEXTS)), atol=1e-3
    )


# --- the search -------------------------------------------------------------------------------


@pytest.fixture
def judged_by(monkeypatch):
    """Let a function of settings say how good they are, in place of documents held out."""

    def patch(macro, micro=None):
        def trials(_features, settings, penalties):
            tried = [{**settings, "C": C} for C in sorted(penalties)]
            return [Trial(each, 0.0, macro(each), (micro or macro)(each), 0.0) for each in tried]

        monkeypatch.setattr(linear.LinearFeatures, "trials", trials)

    return patch


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
    first |= {"structural_problems": 0, "structural_weight": 0.0}
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
    monkeypatch.setattr(linear, "_MANY_FOR_THRESHOLDS", 90)
    wc.classifier("linear", target=target, **FIXED).fit(texts, labels)
    assert asked[1] == ((18, 3), (18, 3), 2, target)
    # of two fifths, those held out together
    monkeypatch.setattr(linear, "_MANY_FOR_THRESHOLDS", 180)
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
    documents = Documents(texts, encode(LABELS))
    folds = stratified_folds(texts, documents.labels.Y, 10, 0)
    weights = dict.fromkeys(("vector_weight", "other_weight", "encoder_weight"), 0.0)
    settings = {**FIXED, **weights, "loss": "squared_hinge"}
    settings |= {"structural_problems": 0, "structural_weight": 0.0}

    def scores(labels, many):
        given = Documents(texts, encode(labels))
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
    more |= {"structural_problems", "structural_weight"}
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
    monkeypatch.setattr(linear, "_MOST_SEARCHED", most)
    monkeypatch.setattr(linear, "_SAMPLE", sample)
    seen = []
    made = linear.LinearFeatures

    class Spy(made):
        def __init__(self, corpus, *rest):
            seen.append(corpus.documents)
            super().__init__(corpus, *rest)

    monkeypatch.setattr(_linear_features, "LinearFeatures", Spy)
    texts = [f"{text} n{k}" for k, text in enumerate(TEXTS)]
    model = wc.classifier("linear", min_docs=2).fit(texts, LABELS)
    assert {len(documents.texts) for documents in seen} == sizes
    n_first = len(seen[0].texts)
    assert np.asarray(seen[0].labels.Y.sum(axis=0)).ravel().tolist() == [n_first / 3] * 3
    assert model.score(texts, LABELS) > 0.9


@pytest.mark.parametrize(("most", "n_searched"), [(6, 6), (5, 3), (2, 2)])
def test_many_classes_choose_settings_on_a_fair_part_of_them(most, n_searched, monkeypatch):
    monkeypatch.setattr(linear, "_MOST_CLASSES", most)
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
    documents = Documents(["a"] * 10, encode(Y))
    part = documents.of_classes(4)
    assert part.labels.codeframe.classes == (3, 7)
    np.testing.assert_array_equal(part.labels.Y.toarray(), Y[:, [3, 7]])


def test_ngrams_are_not_tried_that_would_not_fit_all_classes(monkeypatch):
    texts, labels = multilabel_corpus(90)
    vectorizer = wc.DocumentVectorizer(min_docs=2, ngrams=(1, 2)).fit(texts)
    monkeypatch.setattr(linear, "_MOST_CLASSES", 2)
    for missing, sizes in ((0, {(1, 1), (1, 2)}), (1, {(1, 1)})):
        n_weights = 3 * len(vectorizer.vocabulary_.terms) - missing
        monkeypatch.setattr(linear, "_MOST_WEIGHTS", n_weights)
        model = wc.classifier("linear").fit(texts, labels)
        assert {trial["ngrams"] for trial in model.trials_} == sizes


def test_what_memory_is_missing_is_told_before_anything_is_learned(monkeypatch):
    monkeypatch.setattr(_linear_features.OneVsRest, "solve", None)
    free = {"bytes": 1_000}
    monkeypatch.setattr(checks, "free_bytes", lambda: free["bytes"])
    told = (
        r"^the weights of \d+ terms by 3 classes from 90 documents need .* of memory; .* are free; "
    )
    with pytest.raises(wc.InputError, match=told + "no min_docs would help: take fewer documents"):
        wc.classifier("linear", **FIXED).fit(TEXTS, LABELS)
    n_values = wc.DocumentVectorizer(min_docs=2).fit_transform(TEXTS).nnz
    free["bytes"] = 24 * n_values + 12 * 90 * 3 + 12 * 7
    with pytest.raises(wc.InputError, match=told + r"min_docs=\d+ would fit: at most 7 terms"):
        wc.classifier("linear", **FIXED).fit(TEXTS, LABELS)


def test_more_ngrams_than_fit_are_not_tried(monkeypatch):
    vectorizer = wc.DocumentVectorizer(min_docs=2, ngrams=(1, 2)).fit(TEXTS)
    n_weights = 3 * len(vectorizer.vocabulary_.terms)
    monkeypatch.setattr(linear, "_MOST_WEIGHTS", n_weights)
    model = wc.classifier("linear").fit(TEXTS, LABELS)
    assert {trial["ngrams"] for trial in model.trials_} == {(1, 1), (1, 2)}
    for most in (n_weights - 1, 10):  # even the first ones may be too many: these are tried
        monkeypatch.setattr(linear, "_MOST_WEIGHTS", most)
        model = wc.classifier("linear").fit(TEXTS, LABELS)
        assert {trial["ngrams"] for trial in model.trials_} == {(1, 1)}


# --- characters and encoders --------------------------------------------------------------------


def joint_features(texts, new_texts, weight):
    """Words, characters and the encoder's vectors side by side, as dense arrays."""
    words = wc.DocumentVectorizer(min_docs=2)
    ngrams = wc.DocumentVectorizer(min_docs=2, analyzer="characters", ngrams=(2, 3))
    parts = [[v.fit_transform(texts), v.transform(new_texts)] for v in (words, ngrams)]
    sides = []
    for side, some in enumerate((texts, new_texts)):
        vectors = letters(some)
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        sides.append(np.hstack([*(part[side].toarray() for part in parts), weight * units]))
    return sides


def test_characters_and_an_encoder_stand_beside_words():
    options = {**FIXED, "characters": (2, 3), "block_weight": 0.0, "class_weight": None}
    options |= {"encoder": letters, "encoder_weight": 0.7}
    model = wc.classifier("linear", **options).fit(TEXTS[:60], LABELS[:60])
    features, new = joint_features(TEXTS[:60], TEXTS[60:], 0.7)
    machine = LinearSVC(C=1.0, tol=1e-7, max_iter=100_000).fit(features, LABELS[:60])
    expected = machine.decision_function(new)
    np.testing.assert_allclose(model.decision_function(TEXTS[60:]), expected, atol=2e-3)


def test_word_class_scores_are_those_of_words():
    model = wc.classifier("linear", **FIXED | {"characters": (2, 3)}).fit(TEXTS[:60], LABELS[:60])
    expected = plain_scores(TEXTS[:60], LABELS[:60], TEXTS[60:], characters=(2, 3))
    np.testing.assert_allclose(model.decision_function(TEXTS[60:]), expected, atol=2e-3)


@pytest.mark.parametrize("options", [{"characters": (2, 4)}, {"encoder": letters}])
def test_what_is_beside_words_is_saved_and_explained(options, tmp_path):
    model = wc.classifier("linear", **FIXED | options, encoder_weight=1.0).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    given = {name: each for name, each in options.items() if name == "encoder"}
    again = wc.load(tmp_path / "model", **given)
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))
    assert again.settings_ == model.settings_
    text = f"{TEXTS[0]} ... (a moom!) {TEXTS[1]}"
    explanation = again.explanation(text)
    for label in model.classes_.tolist():
        account = explanation.account(label)
        assert account["intercept"] + account["sum"] == pytest.approx(account["score"], abs=1e-5)
        shares = explanation.per_word(label)
        assert sum(share.contribution for share in shares) == pytest.approx(
            account["sum"], abs=1e-5
        )
        for share in shares:
            assert share.start is None or text[share.start : share.end] == share.word
    has_encoder = "encoder" in options
    assert ("(encoder)" in [share.word for share in shares]) == has_encoder
    # a word that is not in the vocabulary has characters that are
    assert ("moom" in explanation.terms) == (not has_encoder)


def test_an_encoder_of_another_dimension_is_refused_on_loading(tmp_path):
    options = FIXED | {"encoder": letters, "encoder_weight": 1.0}
    model = wc.classifier("linear", **options).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    with pytest.raises(wc.InputError, match="give it again: load"):
        wc.load(tmp_path / "model")
    other = wc.load(tmp_path / "model", encoder=lambda texts: np.ones((len(texts), 3)))
    with pytest.raises(wc.InputError, match=r"returned an array \(90, 3\) for .* \(90, 26\)"):
        other.predict(TEXTS)


def test_long_texts_are_not_read_by_characters_unless_asked():
    long = [" ".join([text] * 100) for text in TEXTS]
    assert sum(map(len, long)) > 300_000
    model = wc.classifier("linear").fit(long, LABELS)
    assert {trial["characters"] for trial in model.trials_} == {None}
    options = FIXED | {"characters": [3, 4]}
    assert wc.classifier("linear", **options).fit(long, LABELS).settings_["characters"] == (3, 4)


@pytest.mark.parametrize(("gain", "weights"), [(0.0, {0.0}), (0.002, {0.0}), (0.003, {0.0, 0.1})])
def test_characters_are_tried_with_all_costs_and_scores_only_where_these_help(
    gain, weights, judged_by
):
    judged_by(lambda settings: 0.5 + gain * (settings["block_weight"] == 0.1))
    model = wc.classifier("linear", probabilities=False).fit(TEXTS, LABELS)
    tried = [trial for trial in model.trials_ if trial["characters"] is not None]
    assert {trial["block_weight"] for trial in tried} == weights
    assert {trial["C"] for trial in tried if not trial["block_weight"]} >= {0.1, 0.3, 1.0}


def test_characters_are_kept_where_they_are_level(judged_by):
    judged_by(lambda settings: 0.5 - 0.001 * (settings["characters"] is not None))
    model = wc.classifier("linear", probabilities=False).fit(TEXTS, LABELS)
    assert model.settings_["characters"] == (2, 5)
    judged_by(lambda settings: 0.5 - 0.003 * (settings["characters"] is not None))
    model = wc.classifier("linear", probabilities=False).fit(TEXTS, LABELS)
    assert model.settings_["characters"] is None


def test_texts_without_spaces_are_read_by_characters():
    months = [f"{k}月の天気は{'雨' if k % 2 else '晴れ'}でした" for k in range(40)]
    labels = ["rain" if k % 2 else "sun" for k in range(40)]
    with pytest.warns(ScriptWarning, match="script without spaces between words"):
        model = wc.classifier("linear", min_docs=1).fit(months, labels)
    assert model.settings_["characters"] == (1, 3)
    assert model.score(["昨日は雨でした", "明日は晴れます"], ["rain", "sun"]) == 1.0


def test_explanations_sum_to_the_score_also_with_vectors():
    model = wc.classifier("linear", vectors=vectors(), **FIXED).fit(TEXTS, LABELS)
    ((label, terms),) = model.explain(TEXTS[0], n=None).items()
    j = model.classes_.tolist().index(label)
    total = sum(value for _, value in terms) + model.scorer_.intercept[j]
    assert total == pytest.approx(model.decision_function(TEXTS[:1])[0, j], abs=1e-5)


def test_a_saved_model_keeps_settings_and_trials(tmp_path):
    model = wc.classifier("linear", vectors=vectors()).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    assert again.settings_ == model.settings_
    assert again.trials_ == model.trials_
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C is 0; expected a number above 0"),
        ({"shrinkage": -1}, "shrinkage is -1; expected a number from 0 up"),
        ({"block_weight": "high"}, "block_weight is 'high'"),
        ({"target": "auc"}, "target is 'auc'"),
        ({"C": np.ones(2)}, "C is array"),
        ({"class_weight": np.ones(2)}, "class_weight is array"),
        (
            {"class_weight": "even"},
            "class_weight is 'even'; expected 'balanced' or None, or a dict",
        ),
        ({"ngrams": np.ones((1, 2))}, "ngrams is array"),
        ({"stop_words": 5}, "stop_words is 5; expected"),
        ({"class_weight": "equal"}, "class_weight is 'equal'"),
        ({"vectors": "glove.txt"}, "vectors is a str; expected WordVectors"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"ngrams": (2, 1)}, "ngrams"),
        ({"characters": (5, 2)}, r"characters is \(5, 2\); expected .* such as \(2, 5\)"),
        ({"characters": "all"}, "characters is 'all'"),
        ({"characters": 3}, "characters is 3"),
        ({"encoder": 5}, "encoder is 5; expected 'minilm', the folder of a model"),
        ({"encoder": "no/such/folder"}, "no such encoder"),
        ({"encoder": letters, "encoder_weight": -1}, "encoder_weight is -1"),
        ({"encoder": lambda texts: np.full((len(texts), 2), np.nan)}, "returned a NaN"),
        (
            {"encoder": lambda texts: np.ones((3, 2))},
            r"returned an array \(3, 2\) for .*; expected",
        ),
        ({"vectors": wc.WordVectors.of(["zzz"], [[1.0]])}, "know none of the 24 terms"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(wc.InputError, match=message):
        wc.classifier("linear", **options).fit(TEXTS, LABELS)


@pytest.mark.slow
def test_it_beats_the_best_network_of_the_paper_on_20_newsgroups(shared_data):
    path = shared_data("20ng_bydate_stripped.jsonl.zst")
    train, test = (wc.read_corpus(path, split=split) for split in ("train", "test"))
    model = wc.classifier("linear").fit(train.texts, train.labels)
    scores = wc.evaluate(test.labels, model.predict(test.texts))
    assert scores.macro_f1 > 0.706
    assert scores.micro_f1 > 0.717


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::wordclass.measures.DroppedLabelsWarning")
def test_it_beats_the_best_result_of_the_paper_on_reuters(shared_data):
    path = shared_data("reuters21578_modapte.jsonl.zst")
    train, test = (wc.read_corpus(path, split=split) for split in ("train", "test"))
    model = wc.classifier("linear").fit(train.texts, train.labels)
    scores = wc.evaluate(test.labels, model.predict(test.texts), model.classes_.tolist())
    assert scores.macro_f1 > 0.636
    assert scores.micro_f1 > 0.876


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["aa bb", "cc dd"], ["x", "y"]),
        (["aa bb", "cc dd", "aa cc"], ["x", "y", "y"]),
        (["aa"] * 6, ["x", "y"] * 3),
        (["aa bb"] * 3 + ["cc"] * 3, [["x"], [], ["x", "y"], ["y"], [], ["x"]]),
    ],
)
def test_a_handful_of_documents_is_learned_from_without_a_search(texts, labels):
    model = wc.classifier("linear", min_docs=1).fit(texts, labels)
    assert model.trials_ == []
    is_multilabel = isinstance(labels[0], list)
    assert (model.settings_["C"], model.settings_["loss"]) == (
        (1.0, "squared_hinge") if is_multilabel else (3.0, "softmax")
    )
    assert len(model.predict(texts)) == len(texts)
    assert np.isfinite(model.predict_proba(texts)).all()


def test_a_list_will_do_for_ngrams():
    model = wc.classifier("linear", **{**FIXED, "ngrams": [1, 2]}).fit(TEXTS, LABELS)
    assert model.settings_["ngrams"] == (1, 2)


def test_an_explanation_cuts_texts_as_training_did():
    model = wc.classifier("linear", **FIXED).fit(TEXTS, LABELS)
    before = model.explain("moon and some roses")
    model.set_params(stop_words=["moon"], ngrams=(1, 2))
    assert model.explain("moon and some roses") == before


# --- few documents per class --------------------------------------------------------------------


def few(n_per_class):
    rows = [
        k
        for label in sorted(set(LABELS))
        for k in np.flatnonzero(np.array(LABELS) == label)[:n_per_class]
    ]
    return [TEXTS[k] for k in rows], [LABELS[k] for k in rows]


@pytest.mark.parametrize(("n_per_class", "loss"), [(16, "softmax"), (17, "squared_hinge")])
def test_few_documents_per_class_have_another_loss(n_per_class, loss):
    model = wc.classifier("linear", probabilities=False).fit(*few(n_per_class))
    assert model.settings_["loss"] == loss
    assert bool(model.trials_) == (loss == "squared_hinge")


def test_few_documents_have_settings_of_their_own_unless_given():
    texts, labels = few(8)
    model = wc.classifier("linear", encoder=letters).fit(texts, labels)
    assert model.settings_ == {
        "ngrams": (1, 1), "vector_weight": 0.0, "encoder_weight": 3.0, "block_weight": 0.0,
        "shrinkage": 5.0, "characters": (2, 5), "C": 3.0, "loss": "softmax", "other_weight": 0.0,
        "structural_problems": 0, "structural_weight": 0.0,
    }  # fmt: skip
    again = wc.classifier("linear", encoder=letters, **model.settings_).fit(texts, labels)
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))
    assert model.score(TEXTS, LABELS) > 0.8
    given = {"ngrams": (1, 2), "characters": None, "block_weight": 0.0}
    settings = wc.classifier("linear", **given).fit(texts, labels).settings_
    assert settings["loss"] == "softmax"
    assert {name: settings[name] for name in given} == given


@pytest.mark.parametrize(
    "given", [{"C": 1.0}, {"block_weight": 0.1}, {"loss": "squared_hinge"}], ids=str
)
def test_few_documents_have_the_loss_that_what_is_given_is_for(given):
    settings = wc.classifier("linear", probabilities=False, **given).fit(*few(8)).settings_
    assert settings["loss"] == "squared_hinge"
    assert settings.items() >= given.items()


def test_very_many_classes_of_few_documents_are_solved_one_by_one(monkeypatch):
    texts, labels = few(8)
    size = 3 * sum(map(len, texts))
    monkeypatch.setattr(linear, "_MOST_AT_ONCE", size - 1)
    assert wc.classifier("linear").fit(texts, labels).settings_["loss"] == "squared_hinge"
    monkeypatch.setattr(linear, "_MOST_AT_ONCE", size)
    assert wc.classifier("linear").fit(texts, labels).settings_["loss"] == "softmax"


@pytest.mark.parametrize("loss", ["softmax", "squared_hinge"])
@pytest.mark.parametrize("n_per_class", [1, 2])
def test_probabilities_of_next_to_no_documents_tell_something(loss, n_per_class):
    texts, labels = few(n_per_class)
    model = wc.classifier("linear", loss=loss, min_docs=1).fit(texts, labels)
    sure = model.predict_proba(texts)[
        range(len(texts)), [model.classes_.tolist().index(x) for x in labels]
    ]
    assert sure.min() > 0.4  # of three classes
    assert sure.max() < 0.9999


def test_documents_that_count_nothing_have_no_part_in_probabilities():
    texts, labels = few(8)
    weights = np.ones(24)
    wrong = [*labels]
    for k in (0, 1, 2):
        weights[k], wrong[k] = 0.0, labels[(k + 8) % 24]
    options = {"loss": "softmax", "characters": None, "min_docs": 1}
    found = wc.classifier("linear", **options).fit(texts, wrong, sample_weight=weights)
    documents = Documents(texts, encode(wrong), weights)
    folds = stratified_folds(texts, documents.labels.Y, 10, 0)
    settings = {**found.settings_}
    features = linear_corpus(documents, folds).features(settings)
    fair = features.are_fair(np.arange(24))
    assert np.flatnonzero(~fair).tolist() == [0, 1, 2]


def test_a_class_that_is_held_out_whole_is_not_fair():
    labels = encode(["a"] * 10 + ["b"])
    documents = Documents([f"text {k}" for k in range(11)], labels)
    folds = np.arange(11) % 10
    weights = dict.fromkeys(("vector_weight", "other_weight", "encoder_weight"), 0.0)
    settings = {**FIXED, **weights, "loss": "squared_hinge"}
    features = linear_corpus(documents, folds).features(settings)
    assert features.are_fair(np.arange(11)).tolist() == [True] * 10 + [False]


# --- texts without terms ------------------------------------------------------------------------

CHINESE = [
    "我的卡丢了",
    "怎么取消转账",
    "卡在哪里丢的",
    "转账怎么失败了",
    "丢了银行卡",
    "取消我的转账吧",
]


@pytest.mark.parametrize("options", [{}, {"encoder": letters}, {"loss": "squared_hinge"}])
def test_words_that_are_all_rare_are_left_out_where_there_are_characters(options, tmp_path):
    texts = [f"{text}{mark}" for text in CHINESE for mark in "吗呢啊吧"]
    labels = [label for label in ("card", "transfer") * 3 for _ in range(4)]
    with pytest.warns(ScriptWarning):
        model = wc.classifier("linear", **options).fit(texts, labels)
    assert model.settings_["characters"] == (1, 3)
    assert model.predict(["我丢了卡", "转账取消"]).tolist() == ["card", "transfer"]
    _, added, intercept = model.scorer_.contributions("我丢了卡")
    scores = model.scorer_.scores(["我丢了卡"])[0]
    np.testing.assert_allclose(added.sum(axis=0) + intercept, scores, atol=1e-5)
    model.save(tmp_path / "model")
    loaded = wc.load(tmp_path / "model", **({"encoder": letters} if "encoder" in options else {}))
    np.testing.assert_array_equal(loaded.predict_proba(texts), model.predict_proba(texts))


def test_an_encoder_needs_no_words():
    texts, labels = ["aaa", "bbb", "aab", "bba"], ["a", "b", "a", "b"]
    model = wc.classifier("linear", encoder=letters, characters=None).fit(texts, labels)
    assert model.predict(["aaaab", "bbbba"]).tolist() == ["a", "b"]
    with pytest.raises(wc.InputError, match="no term is left"):
        wc.classifier("linear", characters=None).fit(texts, labels)


# --- what explanations sum to -------------------------------------------------------------------


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 2), (2, 3)])
def test_words_sum_to_the_score_whatever_the_terms(ngrams):
    options = FIXED | {"ngrams": ngrams, "characters": (2, 5), "encoder": letters}
    model = wc.classifier("linear", **options, encoder_weight=1.0).fit(TEXTS, LABELS)
    for text in (TEXTS[0], "moon (encoder) moon, unheard!"):
        found = model.explanation(text)
        for j, label in enumerate(model.classes_):
            total = found.intercept[j] + sum(share.contribution for share in found.per_word(label))
            assert total == pytest.approx(float(found.scores[j]), abs=1e-4)


def test_a_term_may_look_like_the_name_of_the_encoder():
    texts = [f"{text} (encoder)" for text in TEXTS]
    options = FIXED | {"encoder": letters, "encoder_weight": 1.0, "analyzer": str.split}
    model = wc.classifier("linear", **options).fit(texts, LABELS)
    _, added, intercept = model.scorer_.contributions(texts[0])
    scores = model.scorer_.scores(texts[:1])[0]
    np.testing.assert_allclose(added.sum(axis=0) + intercept, scores, atol=1e-4)


def test_characters_beside_characters_are_refused():
    with pytest.raises(InputError, match="whose n-grams are characters already"):
        wc.classifier("linear", analyzer="characters", characters=(2, 5)).fit(TEXTS, LABELS)


def test_a_model_of_few_documents_is_exact_to_explain_and_the_same_when_loaded(tmp_path):
    texts, labels = few(8)
    model = wc.classifier("linear", encoder=letters).fit(texts, labels)
    _, added, intercept = model.scorer_.contributions(TEXTS[0])
    (scores,) = model.decision_function(TEXTS[:1])
    np.testing.assert_allclose(added.sum(axis=0) + intercept, scores, atol=1e-5)
    model.save(tmp_path / "model")
    loaded = wc.load(tmp_path / "model", encoder=letters)
    assert loaded.settings_ == model.settings_
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_losses_that_are_not_for_the_task_are_refused():
    with pytest.raises(InputError, match="loss='softmax' is for one label per text"):
        wc.classifier("linear", loss="softmax").fit(
            TEXTS, [[label] for label in LABELS[:-1]] + [[]]
        )
    with pytest.raises(InputError, match="without word-class scores"):
        wc.classifier("linear", loss="softmax", block_weight=0.1).fit(TEXTS, LABELS)
    with pytest.raises(InputError, match="loss is 'hinge'"):
        wc.classifier("linear", loss="hinge").fit(TEXTS, LABELS)
