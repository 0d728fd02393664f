"""Learning from texts without labels: gains, laws, harmless pools, saved models."""

import random

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import wordclass as wc
from wordclass.classifiers._unlabelled import (
    NO_METHOD,
    Pool,
    measure_familiarity,
    mix_with_neighbors,
    split_into_documents,
)
from wordclass.linear.neighbors import NeighborGraph

TOPICS = {
    "air": ["plane", "wing", "cloud", "pilot", "runway", "jet", "glider", "airport"],
    "sea": ["boat", "wave", "sail", "anchor", "harbor", "tide", "reef", "island"],
    "soil": ["seed", "plough", "worm", "root", "crop", "field", "barn", "harvest"],
}
COMMON_WORDS = [f"word{k}" for k in range(40)]
KINDS = ["single", "multilabel", "matrix"]


def draw_documents(n_docs, seed, n_topic_words=2):
    """Return texts with a few words of a topic among common words, and the topics."""
    draw = random.Random(seed)
    topics = draw.choices(list(TOPICS), k=n_docs)
    texts = [
        " ".join(draw.choices(TOPICS[topic], k=n_topic_words) + draw.choices(COMMON_WORDS, k=8))
        for topic in topics
    ]
    return texts, topics


def as_kind(topics, kind):
    if kind == "single":
        return list(topics)
    if kind == "multilabel":
        return [[topic] for topic in topics]
    return np.array([[topic == name for name in TOPICS] for topic in topics], dtype=int)


TEXTS, TOPICS_OF_TEXTS = draw_documents(24, seed=1)
POOL, TOPICS_OF_POOL = draw_documents(400, seed=2)
NEW_TEXTS, TOPICS_OF_NEW_TEXTS = draw_documents(300, seed=3)


def fit(name, kind="single", unlabelled=POOL, **options):
    classifier = wc.classifier(name, min_docs=1, **options)
    return classifier.fit(TEXTS, as_kind(TOPICS_OF_TEXTS, kind), unlabelled=unlabelled)


def macro_f1(model, kind):
    truth = as_kind(TOPICS_OF_NEW_TEXTS, kind)
    classes = None if kind == "matrix" else model.classes_.tolist()
    return wc.evaluate(truth, model.predict(NEW_TEXTS), classes=classes).macro_f1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_words_that_only_unlabelled_texts_have_are_learned(name, kind):
    model = fit(name, kind)
    assert macro_f1(model, kind) > macro_f1(model.without_adaptation(), kind) + 0.03


@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_without_adaptation_is_the_model_of_labelled_texts_to_the_bit(name):
    model = fit(name)
    labelled_only = fit(name, unlabelled=None)
    original = model.without_adaptation()
    assert_array_equal(original.class_scores(NEW_TEXTS), labelled_only.class_scores(NEW_TEXTS))
    assert_array_equal(original.predict_proba(NEW_TEXTS), labelled_only.predict_proba(NEW_TEXTS))


@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_the_order_of_labelled_and_unlabelled_texts_changes_nothing(name):
    order = random.Random(5).sample(range(len(TEXTS)), len(TEXTS))
    pool = random.Random(6).sample(POOL, len(POOL))
    classifier = wc.classifier(name, min_docs=1)
    shuffled = classifier.fit(
        [TEXTS[k] for k in order], [TOPICS_OF_TEXTS[k] for k in order], unlabelled=pool
    )
    assert_array_equal(shuffled.class_scores(NEW_TEXTS), fit(name).class_scores(NEW_TEXTS))


@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_copies_blank_texts_and_copies_of_labelled_texts_change_nothing(name):
    pool = [*POOL, *POOL[:50], "", "  \n", *TEXTS[:3]]
    model = fit(name, unlabelled=pool)
    assert_array_equal(model.class_scores(NEW_TEXTS), fit(name).class_scores(NEW_TEXTS))
    counts = model.unlabelled_
    n_distinct = len(set(POOL) - set(TEXTS))
    assert counts["n_texts"] == n_distinct
    assert counts["n_blank"] == 2
    assert counts["n_repeated"] == len(pool) - 2 - len({*POOL, *TEXTS[:3]})
    assert counts["n_labelled"] == len({*POOL, *TEXTS[:3]} & set(TEXTS))


@pytest.mark.parametrize("pool", [[], ["", " "], ["zzz qqq xxx"] * 20], ids=["no", "blank", "odd"])
@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_a_pool_without_usable_texts_leaves_the_model_as_it_is(name, pool):
    model = fit(name, unlabelled=pool)
    assert model.unlabelled_["method"] == NO_METHOD
    assert model.unlabelled_["n_texts"] == 0
    expected = fit(name, unlabelled=None).class_scores(NEW_TEXTS)
    assert_array_equal(model.class_scores(NEW_TEXTS), expected)


@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_texts_in_another_language_do_no_harm(name):
    draw = random.Random(9)
    words = [f"palabra{k}" for k in range(60)]
    foreign = [" ".join([*draw.choices(words, k=12), "word1"]) for _ in range(300)]
    model = fit(name, unlabelled=foreign)
    assert macro_f1(model, "single") > macro_f1(model.without_adaptation(), "single") - 0.003


@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_held_out_documents_refuse_texts_that_mislead(name):
    # words of all topics in equal numbers: whatever the teacher says of these texts is noise
    texts, topics = draw_documents(240, seed=11, n_topic_words=4)
    draw = random.Random(12)
    topic_words = [word for words in TOPICS.values() for word in words]
    noise = [" ".join(draw.choices(topic_words, k=8)) for _ in range(400)]
    model = wc.classifier(name, min_docs=1).fit(texts, topics, unlabelled=noise)
    assert set(model.unlabelled_["gains"]) == {"probabilities", "neighbors"}
    assert macro_f1(model, "single") > macro_f1(model.without_adaptation(), "single") - 0.003


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_saved_models_keep_the_adaptation_and_the_way_back(tmp_path, name, kind):
    learned = fit(name, kind)
    adapted = fit(name, kind, unlabelled=None).adapt(POOL)
    for model in (learned, adapted):
        model.save(tmp_path / "model")
        loaded = wc.load(tmp_path / "model")
        assert loaded.unlabelled_ == model.unlabelled_
        assert_array_equal(loaded.class_scores(NEW_TEXTS), model.class_scores(NEW_TEXTS))
        original = loaded.without_adaptation()
        expected = model.without_adaptation()
        assert_array_equal(original.class_scores(NEW_TEXTS), expected.class_scores(NEW_TEXTS))
        assert_array_equal(original.predict_proba(NEW_TEXTS), expected.predict_proba(NEW_TEXTS))


@pytest.mark.parametrize("name", ["linear", "nearest"])
def test_adapting_returns_a_new_model_and_leaves_the_old_one_alone(name):
    model = fit(name, unlabelled=None)
    scores = model.class_scores(NEW_TEXTS)
    adapted = model.adapt(POOL)
    assert_array_equal(model.class_scores(NEW_TEXTS), scores)
    assert adapted.without_adaptation() is model
    assert adapted.adapt(POOL).without_adaptation() is model
    assert macro_f1(adapted, "single") > macro_f1(model, "single") - 0.003


def test_a_new_fit_forgets_earlier_unlabelled_texts():
    model = fit("linear")
    model.fit(TEXTS, TOPICS_OF_TEXTS)
    assert model.unlabelled_ is None
    assert model.without_adaptation() is model


@pytest.mark.parametrize("name", ["svm", "tree"])
def test_other_classifiers_refuse_unlabelled_texts(name):
    with pytest.raises(wc.InputError, match="cannot learn from unlabelled texts; use 'linear'"):
        fit(name)


def test_a_failed_fit_with_unlabelled_texts_leaves_the_classifier_as_it_was():
    model = fit("linear", unlabelled=None)
    scores = model.class_scores(NEW_TEXTS)
    with pytest.raises(wc.InputError, match="text 1 is None"):
        model.fit(TEXTS, TOPICS_OF_TEXTS, unlabelled=["a text", None])
    assert_array_equal(model.class_scores(NEW_TEXTS), scores)


def test_adapting_to_texts_without_known_terms_is_an_error():
    with pytest.raises(wc.InputError, match="no text to adapt to has a term that the model knows"):
        fit("linear", unlabelled=None).adapt(["qqq zzz"])


# --- steps ------------------------------------------------------------------------------------


def test_fractional_labels_of_single_label_texts_are_their_probabilities():
    probabilities = np.array([[0.9, 0.1, 0.0], [0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    rows, Y, weights = split_into_documents(probabilities, is_multilabel=False)
    sums = np.zeros_like(probabilities)
    np.add.at(sums, rows, Y.toarray() * weights[:, None])
    np.testing.assert_allclose(sums, probabilities)


def test_fractional_labels_of_multilabel_texts_are_near_their_probabilities():
    probabilities = np.random.default_rng(0).random((200, 5))
    rows, Y, weights = split_into_documents(probabilities, is_multilabel=True)
    sums = np.zeros_like(probabilities)
    np.add.at(sums, rows, Y.toarray() * weights[:, None])
    assert np.abs(sums - probabilities).max() <= 0.125 + 1e-12
    total = np.zeros(len(probabilities))
    np.add.at(total, rows, weights)
    np.testing.assert_allclose(total, 1)


def test_neighbors_are_those_with_the_largest_products():
    X = np.random.default_rng(3).random((30, 8)) * (np.random.default_rng(4).random((30, 8)) < 0.5)
    graph = NeighborGraph.of(sparse.csr_matrix(X), n_neighbors=4).similarities.toarray()
    products = X @ X.T
    np.fill_diagonal(products, 0)
    nearest = np.argsort(-products, axis=1)[:, :4]
    linked = np.zeros_like(products, bool)
    np.put_along_axis(linked, nearest, True, axis=1)
    expected = np.where((linked | linked.T) & (products > 0), products, 0)
    degrees = expected.sum(axis=1)
    expected = expected / np.sqrt(np.outer(degrees, degrees))
    np.testing.assert_allclose(graph, expected, atol=1e-6)


def test_mixed_probabilities_follow_labelled_neighbors():
    # two groups of equal texts, one labelled text in each; the teacher knows nothing
    X = sparse.csr_matrix(np.repeat(np.eye(2), 3, axis=0)[[0, 3, 1, 2, 4, 5]])
    Y = sparse.csr_matrix(np.eye(2))
    graph = NeighborGraph.of(X, n_neighbors=2)
    mixed = mix_with_neighbors(graph, Y, np.full((4, 2), 0.5), is_multilabel=False)
    assert (mixed[:2, 0] > 0.6).all()
    assert (mixed[2:, 1] > 0.6).all()
    np.testing.assert_allclose(mixed.sum(axis=1), 1)


def test_familiarity_is_high_for_texts_of_the_task_and_low_for_others():
    strange = ["nada de esto se parece en absoluto a un texto conocido"]
    familiar, unfamiliar = measure_familiarity([POOL[0], *strange], TEXTS)
    assert familiar > 0.5
    assert unfamiliar == 0


def test_a_pool_has_each_text_once_in_an_order_of_its_own():
    pool = Pool.of([*POOL, *POOL[::-1]], TEXTS)
    assert len(set(pool.texts)) == len(pool.texts)
    assert pool.texts == Pool.of(POOL[::-1], TEXTS).texts
