import warnings

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus
from scipy import sparse
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC
from small_encoders import letters

import wordclass as wc
from wordclass import progress
from wordclass.classifiers import _svm_search
from wordclass.corpus.labels import encode_labels
from wordclass.corpus.splits import document_order, fingerprint_texts
from wordclass.decision.thresholds import best_thresholds
from wordclass.linear import one_vs_rest
from wordclass.native import extension

C_VALUES = [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0]
VECTORS = wc.WordVectors.of(
    ["moon", "orbit", "rose", "soil", "song", "piano", "unheard"],
    np.random.default_rng(0).normal(size=(7, 4)),
)


def noisy(made, seed=0, n_wrong=12):
    """The corpus with words of other classes in some texts, so that C matters.

    It is in the order in which it is learned from: scikit-learn's folds depend on that.
    """
    texts, labels = made
    generator = np.random.default_rng(seed)
    texts = list(texts)
    for k in generator.choice(len(texts), n_wrong, replace=False):
        texts[k] = f"{texts[(k + 1) % len(texts)]} {texts[(k + 2) % len(texts)]}"
    order = document_order(fingerprint_texts(texts), encode_labels(labels).Y)
    return [texts[k] for k in order], [labels[k] for k in order]


def grid_search(scoring="accuracy", class_weight="balanced"):
    machine = LinearSVC(class_weight=class_weight, dual=False, tol=1e-8, max_iter=10**5)
    return GridSearchCV(machine, {"C": C_VALUES}, cv=5, scoring=scoring)


def svm_of(**options):
    return wc.classifier("svm", min_docs=2, **options)


def exact(monkeypatch):
    """Solve as exactly as the reference here does."""
    monkeypatch.setattr("wordclass.classifiers._svm_search.TOLERANCE", 1e-5)
    monkeypatch.setattr(one_vs_rest, "_MAX_PASSES", 10**4)


def matrix(texts):
    return wc.DocumentVectorizer(min_docs=2).fit_transform(texts)


# --- the choice of C --------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["accuracy", "macro_f1"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_single_labels_are_those_of_grid_search(seed, target, monkeypatch):
    exact(monkeypatch)
    texts, labels = noisy(corpus(90, seed), seed)
    ours = svm_of(target=target).fit(texts, labels)
    theirs = grid_search({"accuracy": "accuracy", "macro_f1": "f1_macro"}[target])
    theirs.fit(matrix(texts), labels)
    assert set(ours.C_) == {theirs.best_params_["C"]}
    X = matrix(texts)
    np.testing.assert_allclose(
        ours.decision_function(texts), theirs.decision_function(X), atol=1e-2
    )
    assert ours.predict(texts).tolist() == theirs.predict(X).tolist()


def test_two_classes_are_one_problem_of_two_sides(monkeypatch):
    exact(monkeypatch)
    texts, labels = noisy(corpus(60, 3, classes=("space", "garden")), 3)
    kept = [k for k in range(60) if labels[k] == "space" or k % 4 == 1]  # uneven
    texts, labels = [texts[k] for k in kept], [labels[k] for k in kept]
    X = matrix(texts)
    ours, theirs = svm_of().fit(texts, labels), grid_search().fit(X, labels)
    assert set(ours.C_) == {theirs.best_params_["C"]}
    np.testing.assert_allclose(
        ours.decision_function(texts), theirs.decision_function(X), atol=1e-2
    )
    made = ours.class_scores(texts)
    np.testing.assert_allclose(made[:, 0], -made[:, 1], atol=1e-2)


@pytest.mark.parametrize("class_weight", ["balanced", None])
@pytest.mark.parametrize("target", ["accuracy", "macro_f1"])
def test_every_class_of_a_multilabel_task_is_searched_on_its_own(target, class_weight, monkeypatch):
    exact(monkeypatch)
    texts, labels = noisy(multilabel_corpus(80), 1, 20)
    X, Y = matrix(texts), encode_labels(labels).Y.toarray()
    ours = svm_of(target=target, class_weight=class_weight, n_jobs=2).fit(texts, labels)
    made = ours.decision_function(texts)
    for j in range(3):
        scoring = {"accuracy": "accuracy", "macro_f1": "f1"}[target]
        theirs = grid_search(scoring, class_weight).fit(X, Y[:, j])
        assert ours.C_[j] == theirs.best_params_["C"]
        np.testing.assert_allclose(made[:, j], theirs.decision_function(X), atol=1e-2)


def test_a_class_with_fewer_than_five_texts_takes_1_and_is_learned():
    texts, labels = multilabel_corpus()
    for k in (0, 10, 20, 30):
        texts[k], labels[k] = f"zebra lion {texts[k]}", [*labels[k], "zoo"]
    ours = svm_of(thresholds="tuned").fit(texts, labels)
    assert ours.C_[ours.classes_.tolist().index("zoo")] == 1.0
    assert "zoo" in ours.predict(["zebra lion"])[0]
    given = svm_of(C=10.0).fit(texts, labels)
    assert given.C_.tolist() == [10.0] * 4


def test_few_texts_are_searched_in_fewer_folds_or_not_at_all():
    texts, labels = corpus(9)
    assert set(svm_of().fit(texts, labels).C_) <= set(C_VALUES)  # three folds
    alone = svm_of(features="wce").fit(["moon moon rose", "rose moon rose"], ["space", "garden"])
    assert alone.C_.tolist() == [1.0, 1.0]
    assert np.isfinite(alone.predict_proba(["moon"])).all()
    both = svm_of().fit(["moon rose", "rose moon"], [["space"], ["garden", "space"]])
    assert both.C_.tolist() == [1.0, 1.0]


@pytest.fixture
def validated(monkeypatch):
    """Remember what was validated: how many texts of all classes, values of C, threads."""
    asked, validate = [], _svm_search.SvmDocuments.validate

    def spy(documents, Y, C, rows, held_out, n_threads):
        asked.append((int(Y.sum()), len(C), n_threads))
        return validate(documents, Y, C, rows, held_out, n_threads)

    monkeypatch.setattr(_svm_search.SvmDocuments, "validate", spy)
    return asked


@pytest.mark.parametrize(("n_own", "n_values"), [(4, 1), (5, 7)])
def test_a_class_of_five_texts_is_searched_in_five_folds_by_one_thread(n_own, n_values, validated):
    texts = [f"{'moon' if k < n_own else 'rose'} soil" for k in range(13)]
    labels = [["space"] if k < n_own else ["garden"] for k in range(13)]
    svm_of(n_jobs=2).fit(texts, labels)
    assert sorted(validated) == [(n_own, n_values, 1)] * 5 + [(13 - n_own, 7, 1)] * 5


@pytest.mark.parametrize(
    ("labels", "n_validated"),
    [
        (["space", "garden"], 0),
        (["space", "garden", "space"], 2),  # two folds
        ([["space"], ["garden", "space"]], 0),
        ([["space"], ["garden"], ["garden", "space"]], 4),  # two folds of each class
    ],
)
def test_texts_are_held_out_as_soon_as_a_class_has_two(labels, n_validated, validated):
    svm_of().fit(["moon rose", "rose moon", "moon rose moon"][: len(labels)], labels)
    assert len(validated) == n_validated


@pytest.mark.parametrize("n_classes", [1, 2, 3, 20])
def test_folds_are_those_of_stratified_k_fold(n_classes):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        classes = rng.choice(n_classes, 60, p=rng.dirichlet(np.ones(n_classes) / 2))
        n_folds = min(5, np.bincount(classes).max())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of small classes
            theirs = StratifiedKFold(n_folds).split(classes, classes)
            for ours, expected in zip(_svm_search.list_splits(classes), theirs, strict=True):
                assert np.array_equal(ours[0], expected[0])
                assert np.array_equal(ours[1], expected[1])


def test_progress_is_told_by_fold_or_by_class():
    for (texts, labels), n_steps in ((corpus(30), 5), (multilabel_corpus(30), 3)):
        told = []
        with progress.on_progress(lambda *what, told=told: told.append(what)):
            svm_of(probabilities=False).fit(texts, labels)
        own = [each for each in told if each[0] == "choosing C"]
        assert own == [("choosing C", k, n_steps) for k in range(n_steps + 1)]


def test_a_score_of_0_gives_no_class_and_a_class_never_given_has_an_f1_of_0():
    own = np.array([0, 1, 1])
    assert _svm_search.measure_quality(
        own, np.array([[0.0], [1.0], [0.0]]), "accuracy"
    ) == pytest.approx(2 / 3)
    assert _svm_search.measure_quality(
        own, np.array([[0.0], [1.0], [0.0]]), "macro_f1"
    ) == pytest.approx(2 / 3)
    assert _svm_search.measure_quality(own, np.zeros((3, 1)), "macro_f1") == 0.0
    assert (
        _svm_search.measure_quality(np.zeros(3, int), np.zeros((3, 1)), "macro_f1") == 0.0
    )  # nor is it true
    # 0.5 for class 0, nothing of class 1 is found, and class 2 is not there
    three = np.array([[2.0, 1.0, 0.0]] * 3)
    assert _svm_search.measure_quality(own, three, "macro_f1") == pytest.approx(0.25)
    assert _svm_search.measure_quality(own, three, "accuracy") == pytest.approx(1 / 3)
    assert _svm_search.measure_quality(own, three, "micro_f1") == pytest.approx(1 / 3)
    assert _svm_search.measure_quality(own, three, "both") == pytest.approx((0.25 + 1 / 3) / 2)
    assert _svm_search.measure_quality(own, np.zeros((3, 1)), "micro_f1") == 0.0


def test_the_number_of_threads_changes_no_bit():
    for texts, labels in (corpus(), multilabel_corpus()):
        for features in ("tfidf", "vectors+wce"):
            one, two = (
                svm_of(features=features, vectors=VECTORS, n_jobs=n).fit(texts, labels)
                for n in (1, 2)
            )
            np.testing.assert_array_equal(
                one.decision_function(texts), two.decision_function(texts)
            )
            np.testing.assert_array_equal(one.predict_proba(texts), two.predict_proba(texts))


def test_without_the_native_solver_everything_is_the_same_but_slower(monkeypatch):
    for texts, labels in (corpus(45), multilabel_corpus(40)):
        ours = svm_of(n_jobs=2).fit(texts, labels)
        with monkeypatch.context() as patched:
            patched.setattr(extension, "solver", None)
            plain = svm_of(n_jobs=2).fit(texts, labels)
            scores = plain.decision_function(texts)
        np.testing.assert_array_equal(plain.C_, ours.C_)
        np.testing.assert_allclose(scores, ours.decision_function(texts), atol=1e-2)


def test_a_text_of_weight_0_is_not_there_and_weights_are_used_in_the_search():
    texts, labels = noisy(corpus(60))
    weights = np.ones(60)
    weights[:12] = 0
    options = {"C": 1.0, "probabilities": False, "analyzer": str.split}
    ours = svm_of(**options).fit(texts, labels, sample_weight=weights)
    vectorizer = wc.DocumentVectorizer(min_docs=2, analyzer=str.split)
    X = vectorizer.fit_transform(texts)
    machine = LinearSVC(C=1.0, class_weight="balanced", dual=False, tol=1e-8)
    machine.fit(X[12:], labels[12:])
    np.testing.assert_allclose(
        ours.decision_function(texts), machine.decision_function(X), atol=1e-2
    )
    svm_of().fit(texts, labels, sample_weight=weights)


# --- the features -----------------------------------------------------------------------------


@pytest.mark.parametrize("features", ["vectors", "vectors+wce", "wce"])
def test_documents_are_weighted_sums_of_vectors(features):
    texts, labels = noisy(corpus(60))
    X = matrix(texts)
    wce = wc.WordClassEmbeddings(min_docs=2).fit(texts, labels)
    U = np.array([VECTORS.get(term, np.zeros(4)) for term in wce.terms_])
    E = {"vectors": U, "wce": wce.vectors_, "vectors+wce": np.hstack([U, wce.vectors_])}[features]
    ours = svm_of(features=features, vectors=VECTORS).fit(texts, labels)
    theirs = grid_search().fit(X @ E, labels)
    assert set(ours.C_) == {theirs.best_params_["C"]}
    asked = [*texts, "", "moon unheard", "never seen"]
    X = wce.vectorizer_.transform(asked)
    np.testing.assert_allclose(
        ours.decision_function(asked), theirs.decision_function(X @ E), rtol=1e-3, atol=1e-4
    )


def test_sums_of_vectors_of_multilabel_texts_are_searched_class_by_class():
    texts, labels = noisy(multilabel_corpus(80), 1, 20)
    Y = encode_labels(labels).Y.toarray()
    ours = svm_of(features="wce", n_jobs=2).fit(texts, labels)
    S = wc.WordClassEmbeddings(min_docs=2).fit(texts, labels).vectors_
    for j in range(3):
        theirs = grid_search().fit(matrix(texts) @ S, Y[:, j])
        assert ours.C_[j] == theirs.best_params_["C"]


def test_embeddings_may_be_given_and_bring_their_own_options(tmp_path):
    texts, labels = corpus()
    given = wc.WordClassEmbeddings(min_docs=1, ngrams=(1, 2), shrinkage=5.0, correlation="ppmi")
    ours = svm_of(features="wce", wce=given, C=0.1).fit(texts, labels)
    assert not hasattr(given, "vectors_")
    assert any(" " in term for term in ours.scorer_.weigher.terms)
    assert ours.explain("moon orbit moon orbit")["space"]
    by_options = svm_of(
        features="wce", C=0.1, wce={"min_docs": 1, "ngrams": (1, 2), "shrinkage": 5.0,
                                    "correlation": "ppmi"},
    ).fit(texts, labels)  # fmt: skip
    for other in (
        by_options,
        saved_and_loaded(ours, tmp_path),
        saved_and_loaded(by_options, tmp_path),
    ):
        np.testing.assert_array_equal(other.decision_function(texts), ours.decision_function(texts))


def saved_and_loaded(classifier, folder):
    classifier.save(folder / "model")
    return wc.load(folder / "model")


def test_a_model_with_vectors_is_loaded_without_them(tmp_path):
    texts, labels = corpus()
    ours = svm_of(features="vectors+wce", vectors=VECTORS).fit(texts, labels)
    again = saved_and_loaded(ours, tmp_path)
    np.testing.assert_array_equal(again.decision_function(texts), ours.decision_function(texts))
    np.testing.assert_array_equal(again.C_, ours.C_)
    assert again.vectors is None


# --- decisions and probabilities --------------------------------------------------------------


def test_thresholds_are_zero_or_tuned_on_texts_held_out():
    texts, labels = noisy(multilabel_corpus(80), 1, 20)
    assert svm_of().fit(texts, labels).thresholds_.tolist() == [0.0] * 3
    tuned = svm_of(thresholds="tuned", C=1.0, probabilities=False).fit(texts, labels)
    assert tuned.thresholds_.any()
    X, Y = matrix(texts), encode_labels(labels).Y.toarray()
    held_out = np.empty(len(texts))
    for rows, others in StratifiedKFold(5).split(X, Y[:, 0]):
        machine = LinearSVC(C=1.0, class_weight="balanced", dual=False, tol=1e-8)
        held_out[others] = machine.fit(X[rows], Y[rows, 0]).decision_function(X[others])
    scores = np.column_stack([held_out] * 2)
    truth = sparse.csr_matrix(np.column_stack([Y[:, 0]] * 2))
    assert tuned.thresholds_[0] == pytest.approx(best_thresholds(scores, truth)[0], abs=1e-2)


def test_without_probabilities_a_given_penalty_needs_one_fit_only(monkeypatch):
    texts, labels = corpus()
    monkeypatch.setattr(_svm_search.SvmDocuments, "validate", None)  # calling it would fail
    ours = svm_of(C=1.0, probabilities=False).fit(texts, labels)
    with pytest.raises(wc.InputError, match="without probabilities"):
        ours.predict_proba(texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "words"}, "features is 'words'; expected 'tfidf'"),
        ({"features": "vectors"}, "features='vectors' needs vectors"),
        ({"features": "vectors+wce"}, "needs vectors"),
        (
            {"features": "vectors", "vectors": np.zeros((2, 2))},
            "vectors is a ndarray; expected Wor",
        ),
        ({"features": "vectors", "vectors": wc.WordVectors.of(["zz"], [[1]])}, "know none of the"),
        ({"features": "wce", "wce": 3}, "wce is 3; expected True, False, WordClassEmb"),
        ({"features": "wce", "wce": False}, "features='wce' needs wce"),
        ({"features": "wce", "wce": {"shrink": 3}}, "no option 'shrink'"),
        ({"C": 0}, "C is 0; expected a number above 0"),
        ({"C": "best"}, "C is 'best'"),
        ({"C": "search"}, "C is 'search'; expected a number above 0 or 'auto'"),
        ({"C": np.ones(3)}, r"C has shape \(3,\); expected one number"),
        ({"class_weight": np.ones(3)}, "class_weight is array"),
        ({"weighting": np.ones(3)}, "weighting is array"),
        ({"stop_words": 5}, "stop_words is 5; expected"),
        ({"stop_words": np.ones((2, 2))}, "stop_words contains"),
        ({"C": float("nan")}, "C is nan"),
        ({"target": "auc"}, "target is 'auc'; expected 'both', 'macro_f1'"),
        ({"class_weight": {0: 1}}, "class_weight is {0: 1}"),
        ({"thresholds": 0.5}, "thresholds is 0.5"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(wc.InputError, match=message):
        svm_of(**options).fit(*corpus())


@pytest.mark.parametrize("C", ["auto", 1.0])
def test_texts_that_are_all_alike_have_the_shares_of_the_classes(C):
    for labels in (["a"] * 150 + ["b"] * 50, list("aaab") * 50):
        alike = wc.classifier("svm", min_docs=1, C=C).fit(["the same text"] * 200, labels)
        made = alike.predict_proba(["the same text"])
        np.testing.assert_allclose(made, [[0.75, 0.25]], atol=0.01)


def test_what_a_search_found_can_be_given_class_by_class():
    texts, labels = multilabel_corpus()
    searched = wc.classifier("svm", probabilities=False).fit(texts, labels)
    assert len(set(searched.C_.tolist())) > 1
    for C in (searched.C_, searched.C_.tolist()):
        given = wc.classifier("svm", probabilities=False, C=C).fit(texts, labels)
        np.testing.assert_array_equal(
            given.decision_function(texts), searched.decision_function(texts)
        )


def test_each_class_is_validated_with_its_own_penalty():
    texts, labels = multilabel_corpus()
    searched = wc.classifier("svm", thresholds="tuned").fit(texts, labels)
    assert len(set(searched.C_.tolist())) > 1
    given = wc.classifier("svm", thresholds="tuned", C=searched.C_).fit(texts, labels)
    np.testing.assert_array_equal(given.C_, searched.C_)
    # but for warm starts
    np.testing.assert_allclose(given.thresholds_, searched.thresholds_, atol=1e-4)
    made, expected = (model.predict_proba(texts) for model in (given, searched))
    np.testing.assert_allclose(made, expected, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "data"),
    [
        ({"C": [1.0, 2.0], "probabilities": False}, multilabel_corpus()),
        ({"C": [1.0, 0.0, 1.0]}, multilabel_corpus()),
        ({"C": [1.0, 1.0, 1.0]}, corpus()),  # all classes are validated together
    ],
)
def test_one_penalty_per_class_fits_the_classes(options, data):
    with pytest.raises(wc.InputError, match=r"C (has shape|is \[)"):
        wc.classifier("svm", **options).fit(*data)


# --- beside an encoder --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [corpus, multilabel_corpus])
@pytest.mark.parametrize("features", ["encoder", "tfidf+encoder", "wce+encoder"])
def test_an_encoder_stands_beside_other_features(make, features, tmp_path):
    texts, labels = make()
    options = {"features": features, "C": 1.0, "min_docs": 2}
    model = wc.classifier("svm", encoder=letters, **options).fit(texts, labels)
    explained = model.scorer_.contributions(texts[0])
    added = explained.table()
    intercept = explained.intercept
    (scores,) = np.reshape(model.decision_function(texts[:1]), (1, -1))
    np.testing.assert_allclose((added.sum(axis=0) + intercept)[-len(scores) :], scores, atol=1e-4)
    assert any(
        word == "(encoder)" for words in model.explain(texts[0]).values() for word, _ in words
    )
    model.save(tmp_path / "model")
    loaded = wc.load(tmp_path / "model", encoder=letters)
    np.testing.assert_array_equal(loaded.decision_function(texts), model.decision_function(texts))


def test_the_vectors_of_an_encoder_alone_are_those_of_scikit_learn():
    texts, labels = corpus()
    model = wc.classifier("svm", features="encoder", encoder=letters, C=1.0, probabilities=False)
    vectors = letters(texts) / np.maximum(
        np.linalg.norm(letters(texts), axis=1, keepdims=True), 1e-9
    )
    reference = LinearSVC(C=1.0, class_weight="balanced", tol=1e-6, max_iter=100_000, dual=True)
    reference.fit(vectors, labels)
    expected = reference.decision_function(vectors)
    found = model.fit(texts, labels).decision_function(texts)
    np.testing.assert_allclose(found, expected, atol=5e-3)


def test_features_of_an_encoder_need_one():
    with pytest.raises(wc.InputError, match=r"features='tfidf\+encoder' needs an encoder"):
        wc.classifier("svm", features="tfidf+encoder").fit(*corpus())


def test_an_encoder_that_is_not_used_is_refused():
    with pytest.raises(
        wc.InputError, match=r"features='tfidf' does not use the encoder; use features='tfidf\+enc"
    ):
        wc.classifier("svm", encoder=letters).fit(*corpus())
