"""What is special about the default classifier; what all classifiers share is in contracts/."""

import numpy as np
import pytest
from linear_fits import FIXED, LABELS, TEXTS, linear_corpus, vectors
from sklearn.svm import LinearSVC
from small_encoders import letters

import wordclass as wc
from wordclass.classifiers import linear
from wordclass.corpus.labels import encode_labels
from wordclass.corpus.splits import stratified_folds
from wordclass.embedding.cross_fit import cross_fit_features
from wordclass.embedding.vectors import Recipe
from wordclass.errors import InputError
from wordclass.linear.search import Documents, LinearSettings
from wordclass.text.vectorizer import ScriptWarning


def plain_scores(texts, labels, new_texts, U=None, characters=None):
    """The same model in plain steps: scikit-learn's machines on features put side by side."""
    v = wc.DocumentVectorizer(min_docs=2)
    X, new_X = v.fit_transform(texts), v.transform(new_texts)
    Y = encode_labels(labels).Y
    folds = stratified_folds(texts, Y, 10, 0)
    recipe = Recipe.of("dot", 5.0)
    own = cross_fit_features(X, Y, folds, recipe.count, recipe.embed).astype(float)
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
    with pytest.raises(wc.InputError, match="pass it again: load"):
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
            "class_weight is 'even'; expected a dict of costs by class, 'balanced' or None",
        ),
        ({"ngrams": np.ones((1, 2))}, "ngrams is array"),
        ({"stop_words": 5}, "stop_words is 5; expected"),
        ({"class_weight": "equal"}, "class_weight is 'equal'"),
        ({"vectors": "glove.txt"}, "vectors is 'glove.txt'; expected WordVectors"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"ngrams": (2, 1)}, "ngrams"),
        ({"characters": (5, 2)}, r"characters is \(5, 2\); expected .* such as \(2, 5\)"),
        ({"characters": "all"}, "characters is 'all'"),
        ({"characters": 3}, "characters is 3"),
        ({"encoder": 5}, "encoder is 5; expected 'minilm', the folder of a model"),
        ({"encoder": "no/such/folder"}, "the encoder no/such/folder does not exist"),
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
@pytest.mark.filterwarnings("ignore::wordclass.decision.measures.DroppedLabelsWarning")
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
    monkeypatch.setattr(linear, "_MAX_SOFTMAX_CELLS", size - 1)
    assert wc.classifier("linear").fit(texts, labels).settings_["loss"] == "squared_hinge"
    monkeypatch.setattr(linear, "_MAX_SOFTMAX_CELLS", size)
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
    documents = Documents(texts, encode_labels(wrong), weights)
    folds = stratified_folds(texts, documents.labels.Y, 10, 0)
    settings = LinearSettings.from_dict(found.settings_)
    features = linear_corpus(documents, folds).features(settings)
    fair = features.has_class_in_training(np.arange(24))
    assert np.flatnonzero(~fair).tolist() == [0, 1, 2]


def test_a_class_that_is_held_out_whole_is_not_fair():
    labels = encode_labels(["a"] * 10 + ["b"])
    documents = Documents([f"text {k}" for k in range(11)], labels)
    folds = np.arange(11) % 10
    weights = dict.fromkeys(("vector_weight", "other_weight", "encoder_weight"), 0.0)
    settings = LinearSettings.from_dict({**FIXED, **weights, "loss": "squared_hinge"})
    features = linear_corpus(documents, folds).features(settings)
    assert features.has_class_in_training(np.arange(11)).tolist() == [True] * 10 + [False]


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
    explained = model.scorer_.contributions("我丢了卡")
    added = explained.table()
    intercept = explained.intercept
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
    explained = model.scorer_.contributions(texts[0])
    added = explained.table()
    intercept = explained.intercept
    scores = model.scorer_.scores(texts[:1])[0]
    np.testing.assert_allclose(added.sum(axis=0) + intercept, scores, atol=1e-4)


def test_characters_beside_characters_are_refused():
    with pytest.raises(InputError, match="leave one out: both make n-grams of characters"):
        wc.classifier("linear", analyzer="characters", characters=(2, 5)).fit(TEXTS, LABELS)


def test_a_model_of_few_documents_is_exact_to_explain_and_the_same_when_loaded(tmp_path):
    texts, labels = few(8)
    model = wc.classifier("linear", encoder=letters).fit(texts, labels)
    explained = model.scorer_.contributions(TEXTS[0])
    added = explained.table()
    intercept = explained.intercept
    (scores,) = model.decision_function(TEXTS[:1])
    np.testing.assert_allclose(added.sum(axis=0) + intercept, scores, atol=1e-5)
    model.save(tmp_path / "model")
    loaded = wc.load(tmp_path / "model", encoder=letters)
    assert loaded.settings_ == model.settings_
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))


def test_losses_that_are_not_for_the_task_are_refused():
    with pytest.raises(
        InputError, match="loss='softmax' gives one label per text; use loss='squared_hinge'"
    ):
        wc.classifier("linear", loss="softmax").fit(
            TEXTS, [[label] for label in LABELS[:-1]] + [[]]
        )
    with pytest.raises(
        InputError, match=r"uses no word-class scores, but block_weight is 0\.1; use block_weight=0"
    ):
        wc.classifier("linear", loss="softmax", block_weight=0.1).fit(TEXTS, LABELS)
    with pytest.raises(InputError, match="loss is 'hinge'"):
        wc.classifier("linear", loss="hinge").fit(TEXTS, LABELS)
