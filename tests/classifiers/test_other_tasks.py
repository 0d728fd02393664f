"""Classifiers that are helped by the word-class embeddings of other tasks."""

import copy
import json
import pickle

import numpy as np
import pytest
from made_up import COMMON, WORDS, corpus, multilabel_corpus
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import wordclass as wc
from wordclass.text.vectorizer import DocumentVectorizer

TEXTS, LABELS = corpus(60)
ASKED = [*TEXTS[:9], "", "comet tulip moon", "мама"]
KNOWN = [*(word for words in WORDS.values() for word in words[1:]), *COMMON, "tulip"]
VECTORS = wc.WordVectors.of(
    KNOWN, np.random.default_rng(0).normal(size=(len(KNOWN), 4)).astype(np.float32)
)
SMALL = {"min_docs": 2, "batch_size": 8, "max_epochs": 2, "lr": 0.02}
NETWORKS = {
    "cnn": {**SMALL, "channels": 4, "windows": (2, 3)},
    "lstm": {**SMALL, "hidden": 4},
    "attention": {**SMALL, "hidden": 4},
    "leam": {**SMALL, "window": 3},
}


def task(seed, extra="comet"):
    """Embeddings of a task whose classes this one does not have, and which knows a word more."""
    texts, labels = corpus(40, seed=seed)
    names = {"space": "up", "garden": "down", "music": "up"}
    texts = [f"{text} {extra}" for text in texts]
    return wc.WordClassEmbeddings(min_docs=2).fit(texts, [names[each] for each in labels])


NEWS, SHOP = task(7), task(8, "voucher")


def make(name, **options):
    if name in NETWORKS:
        pytest.importorskip("torch")
    usual = NETWORKS.get(name, {"min_docs": 2})
    return wc.classifier(name, **{**usual, **options})


def assert_same_scores(ours, theirs, **tolerance):
    ours, theirs = (each.decision_function(ASKED) for each in (ours, theirs))
    np.testing.assert_allclose(ours, theirs, **({"rtol": 0, "atol": 0} | tolerance))


# --- another task is what pretrained vectors are: the same numbers by another way -----------------


@pytest.mark.parametrize("features", ["vectors", "vectors+encoder"])
def test_svm_reads_another_task_as_it_reads_vectors(features):
    joined = np.hstack([VECTORS.matrix, np.array([NEWS[term] for term in VECTORS.terms])])
    options = {"features": features}
    if features.endswith("encoder"):
        options["encoder"] = lambda texts: np.array([[len(text), 1.0] for text in texts])
    ours = make("svm", vectors=VECTORS, other={"news": NEWS}, **options).fit(TEXTS, LABELS)
    terms = [term for term in NEWS.terms_ if term not in VECTORS]
    more = [[*np.zeros(4), *NEWS[term]] for term in terms]
    both = wc.WordVectors.of([*VECTORS.terms, *terms], np.vstack([joined, more]))
    theirs = make("svm", vectors=both, **options).fit(TEXTS, LABELS)
    assert_same_scores(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("texts_and_labels", [corpus(60), multilabel_corpus(60)])
def test_svm_reads_it_beside_its_own_embeddings(texts_and_labels):
    ours = make("svm", features="wce", other={"news": NEWS}).fit(*texts_and_labels)
    vectors = NEWS.to_word_vectors()
    theirs = make("svm", features="vectors+wce", vectors=vectors).fit(*texts_and_labels)
    assert_same_scores(ours, theirs, atol=1e-4)  # the columns are in another order
    plain = make("svm", features="wce").fit(*texts_and_labels)
    difference = ours.decision_function(ASKED) - plain.decision_function(ASKED)
    assert abs(difference).max() > 0.01


@pytest.mark.parametrize("texts_and_labels", [corpus(60), multilabel_corpus(60)])
def test_linear_reads_another_task_as_it_reads_vectors(texts_and_labels):
    ours = make("linear", other={"news": NEWS}, other_weight=0.3).fit(*texts_and_labels)
    vectors = NEWS.to_word_vectors()
    theirs = make("linear", vectors=vectors, vector_weight=0.3).fit(*texts_and_labels)
    assert_same_scores(ours, theirs)
    assert ours.settings_["other_weight"] == theirs.settings_["vector_weight"] == 0.3


def test_linear_stretches_each_task_so_that_a_document_has_length_1():
    tasks = {"news": NEWS, "shop": SHOP}
    fixed = {"ngrams": (1, 1), "shrinkage": 5.0, "block_weight": 0.0, "characters": None, "C": 0.3}
    model = make("linear", other=tasks, other_weight=0.4, probabilities=False, **fixed)
    model.fit(TEXTS, LABELS)
    vectorizer = DocumentVectorizer(min_docs=2)
    X = vectorizer.fit_transform(TEXTS).toarray()
    blocks = []
    for wce in tasks.values():
        S = np.array([wce[term] for term in vectorizer.vocabulary_.terms])
        sums = X @ S
        blocks.append(S / np.sqrt((sums**2).sum(axis=1).mean()))
    # the same as pretrained vectors that are these, which are stretched all together
    both = wc.WordVectors.of(vectorizer.vocabulary_.terms, np.hstack(blocks))
    alike = make("linear", vectors=both, vector_weight=0.4 * np.sqrt(2), **fixed)
    assert_same_scores(model, alike.set_params(probabilities=False).fit(TEXTS, LABELS), atol=1e-3)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_read_another_task_as_they_read_vectors(name):
    ours = make(name, wce=False, other={"news": NEWS}).fit(TEXTS, LABELS)
    theirs = make(name, wce=False, vectors=NEWS.to_word_vectors()).fit(TEXTS, LABELS)
    assert list(ours.embedding_.blocks) == ["news"]
    np.testing.assert_array_equal(ours.embedding_.matrix, theirs.embedding_.matrix)
    assert_same_scores(ours, theirs)


# --- choice, explanation, saving --------------------------------------------------------------


def test_linear_tries_its_weight_on_documents_held_out_and_may_leave_it_out():
    model = make("linear", other={"news": NEWS}).fit(TEXTS, LABELS)
    assert {trial["other_weight"] for trial in model.trials_} == {0.0, 0.5}
    assert model.settings_["other_weight"] in (0.0, 0.5)
    again = make("linear", other={"news": NEWS}, **model.settings_).fit(TEXTS, LABELS)
    assert again.trials_ == []
    assert_same_scores(again, model)
    plain = make("linear").fit(TEXTS, LABELS)
    without = make("linear", other={"news": NEWS}, other_weight=0.0).fit(TEXTS, LABELS)
    assert_same_scores(without, plain)
    assert {trial["other_weight"] for trial in plain.trials_} == {0.0}


def test_few_documents_have_a_fixed_weight():
    model = make("linear", other={"news": NEWS}).fit(TEXTS[:12], LABELS[:12])
    assert (model.settings_["loss"], model.settings_["other_weight"]) == ("softmax", 0.5)
    plain = make("linear").fit(TEXTS[:12], LABELS[:12])
    assert abs(model.decision_function(ASKED) - plain.decision_function(ASKED)).max() > 1e-3


def test_no_label_of_another_task_is_ever_predicted():
    for name in ("linear", "svm", *NETWORKS):
        options = {"features": "wce"} if name == "svm" else {}
        model = make(name, other={"news": NEWS}, **options).fit(TEXTS, LABELS)
        assert model.classes_.tolist() == ["garden", "music", "space"]
        assert {*model.predict(ASKED)} <= {*LABELS}


OPTIONS = [
    ("linear", {"other_weight": 0.5}),
    ("linear", {"vectors": VECTORS, "encoder": None}),
    ("svm", {"features": "wce"}),
    ("svm", {"features": "vectors+wce", "vectors": VECTORS}),
    ("cnn", {"vectors": VECTORS, "supervised_dropout": {"word_class": 0.5, "shop": 0.2}}),
    ("leam", {"trainable": {"news": True}, "random_dims": 3}),
]


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_a_saved_model_needs_the_other_tasks_no_more(name, options, tmp_path):
    tasks = {"news": NEWS, "shop": SHOP}
    model = make(name, other=tasks, **options).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    assert_same_scores(again, model)
    assert_same_scores(pickle.loads(pickle.dumps(model)), model)
    assert again.predict_proba(ASKED).tolist() == model.predict_proba(ASKED).tolist()
    assert again.get_params()["other"] == {"news": None, "shop": None}
    with pytest.raises(wc.InputError, match="'news' of another task are not kept with a model"):
        clone(again).fit(TEXTS, LABELS)
    whole = wc.load(tmp_path / "model", other=tasks)
    options = {"vectors": VECTORS} if "vectors" in options else {}
    assert_same_scores(clone(whole).set_params(**options).fit(TEXTS, LABELS), model)


@pytest.mark.parametrize("name", ["linear", "svm", "cnn"])
def test_a_saved_model_refuses_others_than_it_was_made_with(name, tmp_path):
    options = {"features": "wce"} if name == "svm" else {}
    wide = wc.WordClassEmbeddings(min_docs=2).fit(*corpus(40))  # three dimensions
    make(name, other={"news": NEWS, "shop": wide}, **options).fit(TEXTS, LABELS).save(
        tmp_path / "model"
    )
    told = r"with 'news' \(2 dimensions\) and 'shop' \(3 dimensions\), but got "
    for other, given in (
        ({"news": wide, "shop": NEWS}, r"'news' \(3 dimensions\) and 'shop' \(2 dimensions\)"),
        ({"news": NEWS, "sale": wide}, r"'news' .* and 'sale'"),
        ({"news": NEWS}, r"'news' \(2 dimensions\)$"),
    ):
        with pytest.raises(wc.InputError, match=told + given):
            wc.load(tmp_path / "model", other=other)
    with pytest.raises(wc.InputError):
        wc.load(tmp_path / "model", other={"news": NEWS, "shop": 3}).fit(TEXTS, LABELS)


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_explanations_add_up(name, options):
    model = make(name, other={"news": NEWS, "shop": SHOP}, **options).fit(TEXTS, LABELS)
    found = model.explanation("the moon and a rose with comet")
    for label in model.classes_:
        score, intercept, added = found.account(label).values()
        assert score == pytest.approx(intercept + added, abs=1e-4)


@pytest.mark.parametrize("name", ["linear", "svm", "cnn"])
def test_copying_a_classifier_does_not_copy_the_embeddings(name):
    model = make(name, other={"news": NEWS})
    for made in (clone(model), clone(make_pipeline(model))[-1], copy.deepcopy(model)):
        assert made is not model
        assert made.other["news"].vectors_ is NEWS.vectors_
        assert made.other["news"].learned_ is NEWS.learned_
    assert clone(make_pipeline(NEWS))[-1].get_params() == NEWS.get_params()


def test_words_that_only_another_task_knows_keep_their_vectors_unless_told_otherwise():
    model = make("cnn", other={"news": NEWS}).fit(TEXTS, LABELS)
    E = model.embedding_
    np.testing.assert_array_equal(E.matrix[E.row("comet"), E.blocks["news"]], NEWS["comet"])
    model = make("cnn", other={"news": NEWS}, keep_unseen=False).fit(TEXTS, LABELS)
    assert "comet" not in model.embedding_


def test_supervised_dropout_is_that_of_the_own_block_unless_told_otherwise():
    pytest.importorskip("torch")
    E = wc.EmbeddingMatrix.of(VECTORS, NEWS, other={"shop": SHOP})
    assert make("cnn")._choose_dropout(E) == {"word_class": 0.5}
    given = {"word_class": 0.3, "shop": 0.2}
    assert make("cnn", supervised_dropout=given)._choose_dropout(E) == given
    plain = make("cnn", other={"shop": SHOP}).fit(TEXTS, LABELS)
    rates = {"word_class": 0.5, "shop": 0.9}
    dropped = make("cnn", other={"shop": SHOP}, supervised_dropout=rates).fit(TEXTS, LABELS)
    assert abs(plain.decision_function(ASKED) - dropped.decision_function(ASKED)).max() > 1e-3


def test_a_network_that_is_helped_is_exported_and_goes_on_from_its_checkpoint(tmp_path):
    torch = pytest.importorskip("torch")
    options = {"vectors": VECTORS, "other": {"news": NEWS, "a.b": SHOP}}
    plain = make("cnn", **options).fit(TEXTS, LABELS)
    model = make("cnn", **options, checkpoint=tmp_path / "state").fit(TEXTS, LABELS)
    again = make("cnn", **options, checkpoint=tmp_path / "state").fit(TEXTS, LABELS)
    assert_same_scores(again, plain)
    swapped = make("cnn", **options | {"other": {"news": SHOP, "a.b": NEWS}})
    with pytest.raises(wc.InputError, match="another training"):
        swapped.set_params(checkpoint=tmp_path / "state").fit(TEXTS, LABELS)
    model.export(tmp_path / "cnn.pt2")
    batch = model.embedding_.index(ASKED)
    exported = torch.export.load(tmp_path / "cnn.pt2").module()
    logits = exported(torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths))
    np.testing.assert_allclose(logits.detach(), model.class_scores(ASKED), atol=1e-5)


def test_a_corpus_in_parts_is_learned_from_as_well(tmp_path):
    path = tmp_path / "docs.jsonl"
    pairs = zip(TEXTS, LABELS, strict=True)
    lines = [json.dumps({"text": text, "labels": [own]}) for text, own in pairs]
    path.write_text("\n".join(lines))
    options = {"other": {"news": NEWS}, "other_weight": 0.5}
    ours = make("linear", **options).fit_parts(path)
    assert_same_scores(ours, make("linear", **options).fit(TEXTS, LABELS), atol=1e-5)


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "svm", "cnn"])
@pytest.mark.parametrize(
    ("other", "message"),
    [
        ([NEWS], "other is a list; expected a dict"),
        ({"random": NEWS}, "other has a block named 'random'"),
        ({"news": wc.WordClassEmbeddings()}, "are not fitted"),
        ({"news": VECTORS}, "is a WordVectors; expected WordClassEmbeddings"),
        (
            {"far": wc.WordClassEmbeddings(min_docs=1).fit(["mond", "steuer"], ["eins", "zwei"])},
            "'far' know none of the",
        ),
    ],
)
def test_what_is_no_other_task_is_refused(name, other, message):
    options = {"features": "wce"} if name == "svm" else {}
    with pytest.raises(wc.InputError, match=message):
        make(name, other=other, **options).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "svm",
            {"features": "tfidf"},
            "does not sum word vectors, so other has no effect; use features='vectors'",
        ),
        ("svm", {"features": "encoder", "encoder": len}, "so other has no effect"),
        ("linear", {"classes": "tree"}, "a tree of classes uses words alone; leave out other"),
        ("linear", {"other_weight": -1}, "other_weight is -1"),
        ("linear", {"other_weight": "much"}, "other_weight is 'much'"),
        ("cnn", {"supervised_dropout": {"nwes": 0.2}}, "names the block 'nwes'"),
        ("cnn", {"trainable": {"nwes": True}}, "names the block 'nwes'"),
    ],
)
def test_options_that_make_no_sense_beside_it_are_refused(name, options, message):
    with pytest.raises(wc.InputError, match=message):
        make(name, other={"news": NEWS}, **options).fit(TEXTS, LABELS)


@pytest.mark.parametrize("name", ["fasttext", "nearest"])
def test_classifiers_that_have_no_use_for_it_have_no_such_option(name):
    with pytest.raises(TypeError, match="other"):
        wc.classifier(name, other={"news": NEWS})
