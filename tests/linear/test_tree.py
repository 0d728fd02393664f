"""A tree of classes: how it grows, what it scores, against loops that follow every path."""

import math
import re

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import wordclass as wc
from wordclass.classifiers import linear
from wordclass.decision import fitted_model, scorers
from wordclass.decision.thresholds import best_thresholds
from wordclass.linear import tree as class_tree
from wordclass.linear.tree import (
    candidates,
    rows_of_length_one,
    sparse_thresholds,
    tree_of_hierarchy,
    tree_of_vectors,
)
from wordclass.native import extension

HIERARCHY = {"space": "science", "garden": "life", "music": "life", "life": "all", "science": "all"}
TEXT = "The moon, an orbit and 12 roses: rose rose"


def many_classes(n_docs=600, n_classes=40, seed=0, n_labels=2):
    """Texts with words of their classes, and words of the groups of five that these are in."""
    random = np.random.default_rng(seed)
    labels = [random.choice(n_classes, n_labels, replace=False).tolist() for _ in range(n_docs)]
    texts = []
    for own in labels:
        words = [f"own{c}x{random.integers(3)}" for c in own for _ in range(3)]
        words += [f"group{c // 5}" for c in own for _ in range(2)]
        texts.append(" ".join([*words, *(f"common{k}" for k in random.integers(30, size=8))]))
    return texts, labels


def ambiguous(texts, labels):
    """The same with words that do not tell apart two classes that follow each other."""
    return [
        re.sub(r"own(\d+)x", lambda found: f"own{int(found[1]) // 2}x", each) for each in texts
    ], labels


def tree_of(parents, classes):
    tree = tree_of_hierarchy(parents, classes)
    tree.check(len(classes))
    return tree


def names_to(tree, j, classes):
    targets = [int(tree.targets[place]) for place in tree.path(j)]
    return [tree.names[-each] if each < 0 else classes[each] for each in targets]


# --- how it grows -------------------------------------------------------------------------------


def test_a_hierarchy_is_followed_from_the_top():
    classes = ["garden", "music", "space"]
    tree = tree_of(HIERARCHY, classes)
    # science has but one class in it, and "all" all: neither is a choice
    assert [names_to(tree, j, classes) for j in range(3)] == [
        ["life", "garden"],
        ["life", "music"],
        ["space"],
    ]
    places = tree.places_of(sparse.csr_matrix([[1.0, 0, 1], [0, 0, 0]])).toarray()
    assert places.sum(axis=1).tolist() == [3, 0]


def test_a_class_may_have_others_below_it_and_groups_may_be_empty():
    parents = {"tennis": "sport", "golf": "sport", "sport": "news", "art": "news", "empty": "news"}
    classes = ["art", "golf", "sport", "tennis"]
    tree = tree_of(parents, classes)
    assert names_to(tree, 2, classes) == ["sport", "sport"]
    assert names_to(tree, 3, classes) == ["sport", "tennis"]
    assert tree.names == ["", "sport"]


def test_a_chain_of_groups_is_one_step_with_all_names():
    classes = ["a", "b", "c"]
    tree = tree_of({"a": "x", "b": "x", "x": "y", "y": "z", "c": None}, ["a", "b"])
    assert tree.names == [""]
    tree = tree_of({"a": "x", "b": "x", "x": "y", "y": "z", "c": "top", "z": "top"}, classes)
    assert names_to(tree, 0, classes) == ["z / y / x", "a"]


def test_classes_that_are_numbers_may_be_text_in_the_hierarchy():
    assert tree_of({"1": "odd", "2": "even", "3": "odd"}, [1, 2, 3]).names == ["", "odd"]
    assert tree_of({1: "odd", 2: "even", 3: "odd"}, [1, 2, 3]).names == ["", "odd"]


def test_a_very_deep_hierarchy_is_no_problem():
    deep = {str(k): str(k + 1) for k in range(50_000)} | {"other": "50000"}
    assert tree_of(deep, ["0", "other"]).n_nodes == 1


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ({"space": "a", "a": "b", "b": "a"}, "the hierarchy has a cycle: 'a' -> 'b' -> 'a'"),
        ({**HIERARCHY, "x": "x"}, "the hierarchy has a cycle: 'x' -> 'x'"),
        ({"space": "sky", "music": "arts"}, "the class 'garden' is not in the hierarchy"),
        ({**HIERARCHY, "space": ["sky", "life"]}, "'space' has two parents in the hierarchy"),
        ({}, "the class 'garden' is not in the hierarchy"),
        (
            "trees",
            "classes is 'trees'; expected a mapping from child to parent, 'auto', 'flat' or 'tree'",
        ),
        (["space"], "classes is"),
        (None, "classes is None"),
    ],
)
def test_a_hierarchy_that_is_none_is_refused_in_one_line(classes, message):
    with pytest.raises(wc.InputError, match=message) as caught:
        wc.classifier("linear", classes=classes).fit(*corpus())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("options", [{"characters": (2, 3)}, {"vectors": "given"}])
def test_a_tree_reads_words_alone(options):
    if "vectors" in options:
        options = {"vectors": wc.WordVectors.of(["moon"], [[1.0, 2.0]])}
    with pytest.raises(wc.InputError, match=r"uses words alone; leave out \w+"):
        wc.classifier("linear", classes="tree", **options).fit(*corpus())


def test_clusters_are_balanced_and_of_similar_classes():
    random = np.random.default_rng(3)
    group = random.permutation(np.repeat(np.arange(8), 8))
    V = np.eye(8)[group] + 0.3 * np.abs(random.normal(size=(64, 8)))
    tree = tree_of_vectors(rows_of_length_one(V), [*"abcdefgh"], seed=0)
    tree.check(64)
    assert tree.n_nodes == 9
    assert np.diff(tree.starts).tolist() == [8] * 9
    for node in range(1, 9):
        members = group[tree.targets[tree.starts[node] : tree.starts[node + 1]]]
        most = np.bincount(members).argmax()
        assert (members == most).sum() >= 7
        assert tree.names[node][0] == "abcdefgh"[most]


def test_a_tree_depends_on_the_seed_alone():
    V = rows_of_length_one(sparse.random(500, 90, 0.1, random_state=0))
    first, again, other = (tree_of_vectors(V, ["t"] * 90, seed) for seed in (1, 1, -2))
    np.testing.assert_array_equal(first.targets, again.targets)
    assert first.starts.tolist() == again.starts.tolist()
    assert first.targets.tolist() != other.targets.tolist()
    first.check(500)
    assert np.diff(first.starts).max() - np.diff(first.starts)[1:].min() <= 2


def test_very_many_classes_need_more_levels(monkeypatch):
    monkeypatch.setattr(class_tree, "_MAX_CHILDREN", 4)
    V = rows_of_length_one(sparse.random(60, 30, 0.3, random_state=0))
    tree = tree_of_vectors(V, ["t"] * 30, 0)
    tree.check(60)
    assert max(len(tree.path(j)) for j in range(60)) == 3
    assert np.diff(tree.starts).max() == 4


# --- what it scores -----------------------------------------------------------------------------


def slow_scores(model, text):
    """The log probability of every class: loops over paths, terms and siblings."""
    learned, weigher = model.scorer_.model, model.scorer_.weigher
    x = weigher.transform([text]).toarray()[0]
    W, tree = learned.weights.toarray().astype(float), learned.tree
    scores = []
    for j in range(len(model.classes_)):
        total = 0.0
        for place in tree.path(j):
            node = int(tree.owners[place])
            slope, offset = learned.stretch[node]
            z = {
                k: slope * (sum(x[t] * W[k, t] for t in range(len(x))) + learned.intercept[k])
                + offset
                for k in range(tree.starts[node], tree.starts[node + 1])
            }
            if learned.is_single_label:
                total += z[place] - math.log(sum(math.exp(each) for each in z.values()))
            else:
                total -= math.log(1 + math.exp(-z[place]))
        scores.append(total)
    return scores


@pytest.mark.parametrize("n_labels", [1, 2])
@pytest.mark.parametrize("is_native", [True, False])
def test_scores_are_log_probabilities_along_the_path(n_labels, is_native, monkeypatch):
    texts, labels = many_classes(200, 12, n_labels=n_labels)
    given = labels if n_labels > 1 else [own[0] for own in labels]
    model = wc.classifier("linear", classes="tree").fit(texts, given)
    assert model.scorer_.model.tree.n_nodes > 1
    if not is_native:
        monkeypatch.setattr(extension, "solver", None)
    made = model.class_scores(texts[:3])
    expected = [slow_scores(model, text) for text in texts[:3]]
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(texts[:3]), np.exp(expected), rtol=1e-4)


@pytest.mark.parametrize("n_labels", [1, 3])
def test_a_beam_finds_what_looking_everywhere_finds(n_labels):
    texts, labels = many_classes(500, 120, n_labels=n_labels)
    given = labels if n_labels > 1 else [own[0] for own in labels]
    model = wc.classifier("linear", classes="tree").fit(texts, given)
    columns, scores = model.top_classes(texts, 3)
    everything = model.class_scores(texts)
    order = np.argsort(-everything, axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(columns, order)
    np.testing.assert_array_equal(scores, np.take_along_axis(everything, columns, axis=1))
    X = model.scorer_.weigher.transform(texts)
    by_beam, scores = candidates(model.scorer_.model, X, 3)
    assert (by_beam == order).mean() > 0.99
    known = np.take_along_axis(everything, by_beam, axis=1)
    np.testing.assert_allclose(scores, known, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_labels", [1, 3])
def test_all_nodes_together_have_the_scores_of_each_node_alone(n_labels):
    texts, labels = many_classes(300, 60, n_labels=n_labels)
    given = labels if n_labels > 1 else [own[0] for own in labels]
    model = wc.classifier("tree").fit(texts, given)
    learned, tree = model.scorer_.model, model.scorer_.model.tree
    X = model.scorer_.weigher.transform([*texts[:40], ""])
    rows = np.arange(X.shape[0])
    alone = [learned.node_scores(X, rows, node) for node in range(tree.n_nodes)]
    np.testing.assert_array_equal(learned._scores_everywhere(X), np.hstack(alone))


def test_a_beam_of_one_is_greedy(monkeypatch):
    texts, labels = many_classes(400, 30)
    model = wc.classifier("linear", classes="tree").fit(texts, labels)
    monkeypatch.setattr(class_tree, "_BEAM_WIDTH", 1)
    learned = model.scorer_.model
    X = model.scorer_.weigher.transform(texts[:20])
    columns, _ = candidates(learned, X, 4)
    everywhere, tree = learned.everywhere(X), learned.tree
    for row, own in enumerate(columns):
        at_top = everywhere[row, : tree.starts[1]]
        best = -int(tree.targets[at_top.argmax()])
        below = tree.targets[tree.starts[best] : tree.starts[best + 1]]
        order = below[np.argsort(-everywhere[row, tree.starts[best] : tree.starts[best + 1]])]
        assert own.tolist() == order[:4].tolist()


def test_the_best_classes_may_be_all_classes():
    texts, labels = many_classes(300, 30)
    model = wc.classifier("linear", classes="tree").fit(texts, labels)
    columns, scores = model.top_classes(texts[:5], 30)
    assert [sorted(row) for row in columns.tolist()] == [list(range(30))] * 5
    assert (np.diff(scores, axis=1) <= 0).all()


def test_a_tree_is_about_as_good_as_one_model_per_class():
    texts, labels = many_classes(3000, 200)
    asked, true = many_classes(400, 200, seed=1)
    found = {}
    for classes in ("flat", "tree"):
        options = {"C": 1.0, "ngrams": (1, 1), "characters": None, "block_weight": 0.0}
        model = wc.classifier("linear", classes=classes, shrinkage=5.0, **options)
        columns, _ = model.fit(texts, labels).top_classes(asked, 2)
        hits = [len({*own} & {*known}) for own, known in zip(columns.tolist(), true, strict=True)]
        found[classes] = np.mean(hits) / 2, wc.evaluate(true, model.predict(asked)).micro_f1
    assert found["tree"][0] > found["flat"][0] - 0.01
    assert found["tree"][1] > found["flat"][1] - 0.02


def test_probabilities_of_a_tree_are_as_honest_as_those_of_one_model_per_class():
    texts, labels = ambiguous(*many_classes(3000, 60))
    asked, true = ambiguous(*many_classes(900, 60, seed=1))
    Y = np.array([[j in own for j in range(60)] for own in true])
    losses = {}
    for classes in ("flat", "tree"):
        options = {"C": 1.0, "ngrams": (1, 1), "characters": None, "block_weight": 0.0}
        model = wc.classifier("linear", classes=classes, shrinkage=5.0, **options)
        made = model.fit(texts, labels).predict_proba(asked)
        losses[classes] = -np.log(np.where(Y, made, 1 - made)).mean()
        assert made.sum() == pytest.approx(Y.sum(), rel=0.1)
        is_middling = (made > 0.3) & (made < 0.7)
        assert Y[is_middling].mean() == pytest.approx(made[is_middling].mean(), abs=0.05)
    assert losses["tree"] < 1.1 * losses["flat"]


def test_more_classes_than_documents_are_learned():
    texts, labels = many_classes(30, 200)
    names = list(range(200))
    model = wc.classifier("linear", classes="tree").fit(texts, labels, class_names=names)
    assert model.class_scores(texts).shape == (30, 200)
    assert np.isfinite(model.predict_proba(texts)).all()
    assert wc.evaluate(labels, model.predict(texts), names).micro_f1 > 0.3


def test_nothing_is_learned_from_documents_without_weight():
    texts, labels = many_classes(200, 12)
    strange = [[(own + 6) % 12 for own in each] for each in labels]
    weights = np.repeat([1.0, 0.0], 200)
    with_strange = wc.classifier("linear", classes="tree").fit(
        texts * 2, labels + strange, sample_weight=weights
    )
    without = wc.classifier("linear", classes="tree").fit(texts, labels)
    trees = [each.scorer_.model.tree for each in (with_strange, without)]
    assert trees[0].targets.tolist() == trees[1].targets.tolist()
    best = with_strange.top_classes(texts, 2)[0].tolist()
    assert np.mean([{*own} == {*true} for own, true in zip(best, labels, strict=True)]) > 0.95


def test_class_weights_move_the_decisions_of_a_node():
    texts, labels = corpus(120)
    options = {"classes": HIERARCHY, "min_docs": 1}
    before = wc.classifier("linear", class_weight=None, **options).fit(texts, labels)
    after = wc.classifier("linear", class_weight={"music": 50.0}, **options).fit(texts, labels)
    place = before.scorer_.model.tree.class_places[1]
    assert after.scorer_.model.intercept[place] > before.scorer_.model.intercept[place] + 0.02


# --- thresholds -----------------------------------------------------------------------------------


def test_thresholds_of_known_scores_are_those_of_all_scores():
    random = np.random.default_rng(0)
    Y = random.random((300, 9)) < np.linspace(0.004, 0.4, 9)
    scores = (random.normal(size=Y.shape) + 1.5 * Y).astype(np.float32).round(2)
    labels = sparse.csr_matrix(Y.astype(float))
    columns = np.tile(np.arange(9), (300, 1))
    order = random.permuted(columns, axis=1)
    shuffled = np.take_along_axis(scores, order, axis=1)
    np.testing.assert_allclose(
        sparse_thresholds(order, shuffled, labels), best_thresholds(scores, labels, 10.0), rtol=1e-6
    )


def test_what_the_beam_did_not_meet_counts_as_missed():
    # of class 0, three of eight positives are known, with one wrong score among them: F1 by one
    # is 2 / 9, by all 6 / 12; if only what is known counted, one would be 2 / 4 and all 6 / 7
    columns = np.array([[0], [0], [0], [0], *[[-1]] * 5])
    scores = np.array([[0.9], [0.8], [0.4], [0.2], *[[-np.inf]] * 5], np.float32)
    Y = sparse.csr_matrix(np.array([[1.0, 0], [0, 0], *[[1, 0]] * 7]))
    assert sparse_thresholds(columns, scores, Y)[0] == pytest.approx(0.2 - 0.5)
    # of many unknown ones, fewer wrong ones are worth it
    few = sparse.csr_matrix(np.array([[1.0, 0], [0, 0], [0, 0], [0, 0], *[[0, 0]] * 5]))
    assert sparse_thresholds(columns, scores, few)[0] == pytest.approx(0.85)
    nothing = sparse_thresholds(np.full((2, 1), -1), np.full((2, 1), -np.inf), Y[:2])
    assert np.isinf(nothing).all()


# --- manners ------------------------------------------------------------------------------------


def test_auto_takes_a_tree_of_very_many_classes_only(monkeypatch):
    assert linear._MANY_CLASSES == 5000
    model = wc.classifier("linear", C=1.0, ngrams=(1, 1), characters=None)
    assert type(model.fit(*corpus()).scorer_).__name__ == "LinearScorer"
    monkeypatch.setattr(linear, "_MANY_CLASSES", 3)
    assert type(model.fit(*corpus()).scorer_).__name__ == "TreeScorer"
    assert type(clone(model).set_params(classes="flat").fit(*corpus()).scorer_).__name__ != (
        "TreeScorer"
    )
    model.set_params(characters=(2, 3))
    assert type(model.fit(*corpus()).scorer_).__name__ == "SumScorer"


@pytest.mark.parametrize("n_labels", [1, 2])
@pytest.mark.parametrize("classes", ["tree", {k: -1 - k // 4 for k in range(12)}])
def test_linear_with_a_tree_is_the_classifier_tree(n_labels, classes, tmp_path):
    texts, labels = many_classes(200, 12, n_labels=n_labels)
    given = labels if n_labels > 1 else [own[0] for own in labels]
    weights = 1.0 + np.arange(200) % 3
    shared = {
        "seed": 3,
        "C": 0.5,
        "ngrams": (1, 2),
        "class_weight": None,
        "stop_words": ["common1"],
    }
    hierarchy = None if classes == "tree" else classes
    tree = wc.classifier("tree", hierarchy=hierarchy, **shared)
    linear_ = wc.classifier("linear", classes=classes, **shared)
    for model in (tree, linear_):
        model.fit(texts, given, sample_weight=weights).save(tmp_path / model.name)
    models = [tree, linear_, wc.load(tmp_path / "tree"), wc.load(tmp_path / "linear")]
    for model in models:
        np.testing.assert_array_equal(model.class_scores(texts), tree.class_scores(texts))
        np.testing.assert_array_equal(model.predict_proba(texts), tree.predict_proba(texts))
        np.testing.assert_array_equal(model.thresholds_, tree.thresholds_)
        assert [*model.predict(texts)] == [*tree.predict(texts)]
        assert model.is_calibrated
    assert [model.name for model in models] == ["tree", "linear", "tree", "linear"]


def test_a_tree_without_probabilities_says_so():
    model = wc.classifier("tree", probabilities=False).fit(*corpus())
    with pytest.raises(wc.InputError, match="'tree' was fitted without probabilities"):
        model.predict_proba(["moon"])
    assert not model.is_calibrated
    assert not model.predictions(["moon"]).has_probabilities


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hierarchy": ["space"]}, r"is \['space'\]; expected a mapping from child to parent"),
        ({"C": 0}, "C is 0; expected a number above 0"),
        ({"hierarchy": {"space": "all"}}, "the class 'garden' is not in the hierarchy"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(wc.InputError, match=message):
        wc.classifier("tree", **options).fit(*corpus())


def test_a_tree_is_an_option_to_search_over():
    search = GridSearchCV(
        wc.classifier("linear", C=1.0, ngrams=(1, 1)), {"classes": ["tree", HIERARCHY]}, cv=2
    )
    assert search.fit(*corpus()).best_score_ > 0.8


def test_the_path_is_part_of_the_explanation():
    for texts, labels in (corpus(), multilabel_corpus()):
        model = wc.classifier("linear", classes=HIERARCHY).fit(texts, labels)
        explanation = model.explanation(TEXT)
        (made,) = model.predict_proba([TEXT])
        for j, label in enumerate(model.classes_.tolist()):
            path = explanation.path(label)
            assert [name for name, _ in path][-1] == label
            assert path[-1][1] == pytest.approx(made[j], rel=1e-5)
            assert len(path) == (1 if label == "space" else 2)
        life, own = explanation.path("garden")
        assert life[0] == "life"
        assert own[1] < life[1]
        # what no term adds is the score of no term
        np.testing.assert_allclose(explanation.intercept, model.class_scores([""])[0], atol=1e-4)
    assert wc.classifier("linear").fit(*corpus()).explanation(TEXT).path("garden") == []


def test_a_hierarchy_of_numbers_is_saved(tmp_path):
    texts, labels = many_classes(120, 8)
    model = wc.classifier("linear", classes={k: -1 - k // 4 for k in range(8)}, n_jobs=2)
    model.fit(texts, labels).save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    assert again.classes == model.classes
    assert again.predict(texts) == model.predict(texts)
    np.testing.assert_array_equal(again.class_scores(texts), model.class_scores(texts))


def test_the_number_of_threads_changes_nothing():
    texts, labels = many_classes(300, 20)
    one, two = (
        wc.classifier("linear", classes="tree", n_jobs=n).fit(texts, labels) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.class_scores(texts), two.class_scores(texts))


def test_labels_are_given_some_texts_at_a_time(monkeypatch):
    texts, labels = many_classes(100, 12)
    Y = np.array([[int(j in own) for j in range(12)] for own in labels])
    for given in (labels, Y, [own[0] for own in labels]):
        model = wc.classifier("linear", classes="tree").fit(texts, given)
        together = model.predict(texts)
        with monkeypatch.context() as patch:
            patch.setattr(fitted_model, "MAX_BLOCK_SCORES", 36)
            patch.setattr(scorers, "MAX_BLOCK_SCORES", 36)
            np.testing.assert_array_equal(np.array(model.predict(texts), object), together)
        assert len(model.predict([])) == 0


def test_small_weights_are_left_out_and_change_little(monkeypatch):
    texts, labels = many_classes(600, 40)
    pruned = wc.classifier("linear", classes="tree").fit(texts, labels)
    monkeypatch.setattr(class_tree, "_MIN_RELATIVE_WEIGHT", 0.0)
    whole = wc.classifier("linear", classes="tree").fit(texts, labels)
    few, many = (each.scorer_.model.weights.nnz for each in (pruned, whole))
    assert few < 0.95 * many
    assert np.abs(pruned.predict_proba(texts) - whole.predict_proba(texts)).mean() < 0.01
