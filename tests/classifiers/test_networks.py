"""The networks as classifiers: every variant of vectors, both protocols, and what they refuse.

What all classifiers must do is in tests/contracts/test_classifiers.py.
"""

import json
import pickle
import re

import numpy as np
import pytest
from made_up import COMMON, WORDS, corpus, multilabel_corpus
from scipy import sparse
from sklearn.base import clone

torch = pytest.importorskip("torch")

import wordclass as wc  # noqa: E402
from wordclass import progress  # noqa: E402
from wordclass.classifiers import network  # noqa: E402
from wordclass.corpus.labels import encode_labels  # noqa: E402
from wordclass.decision.thresholds import Calibration  # noqa: E402
from wordclass.network import machine  # noqa: E402
from wordclass.storage import models  # noqa: E402

TEXTS, LABELS = corpus(40)
SINGLE, MULTILABEL = corpus(40), multilabel_corpus(40)
NAMES = ["cnn", "lstm", "attention", "leam"]
SMALL = {
    "cnn": {"channels": 4, "windows": (2, 3)}, "lstm": {"hidden": 4}, "attention": {"hidden": 4},
    "leam": {"window": 3},
}  # fmt: skip
KNOWN = [*(word for words in WORDS.values() for word in words[1:]), *COMMON, "comet", "tulip"]
VECTORS = wc.WordVectors.of(
    KNOWN, np.random.default_rng(0).normal(size=(len(KNOWN), 4)).astype(np.float32)
)
VARIANTS = {
    "random": {"wce": False},
    "vectors": {"vectors": VECTORS, "wce": False},
    "vectors trainable": {"vectors": VECTORS, "wce": False, "trainable": True},
    "vectors+random": {"vectors": VECTORS, "wce": False, "random_dims": 3},
    "vectors+wce": {"vectors": VECTORS},
    "vectors+wce trainable": {"vectors": VECTORS, "trainable": True},
    "vectors+wce part trainable": {"vectors": VECTORS, "trainable": {"word_class": True}},
    "wce": {},
}
BLOCKS = {
    "random": {"random": 200},
    "vectors": {"pretrained": 4},
    "vectors trainable": {"pretrained": 4},
    "vectors+random": {"pretrained": 4, "random": 3},
    "vectors+wce": {"pretrained": 4, "word_class": 3},
    "vectors+wce trainable": {"pretrained": 4, "word_class": 3},
    "vectors+wce part trainable": {"pretrained": 4, "word_class": 3},
    "wce": {"word_class": 3},
}


def make(name="cnn", **options):
    usual = {"min_docs": 2, "batch_size": 8, "max_epochs": 2, "lr": 0.02}
    return wc.classifier(name, **{**usual, **SMALL[name], **options})


def assert_same_scores(ours, theirs, texts=(*TEXTS[:9], "", "comet tulip moon", "мама")):
    for ask in ("decision_function", "predict_proba"):
        np.testing.assert_array_equal(
            getattr(ours, ask)(list(texts)), getattr(theirs, ask)(list(texts))
        )


# --- variants -------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["clean", "paper"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_learns_is_saved_and_comes_back(variant, protocol, tmp_path):
    name = NAMES[list(VARIANTS).index(variant) % 4]
    for number, (texts, labels) in enumerate((SINGLE, MULTILABEL)):
        texts, labels = ["", *texts], [labels[0], *labels]  # one without a word
        learned = make(name, protocol=protocol, **VARIANTS[variant]).fit(texts, labels)
        blocks = learned.embedding_.blocks
        widths = {block: place.stop - place.start for block, place in blocks.items()}
        assert widths == BLOCKS[variant]
        assert not learned.network_.training
        assert len(learned.history_) == 2
        assert np.isfinite(learned.decision_function(texts)).all()
        learned.save(tmp_path / str(number))
        again = wc.load(tmp_path / str(number))
        assert_same_scores(again, learned)
        assert (again.history_, again.best_epoch_) == (learned.history_, learned.best_epoch_)
        assert_same_scores(pickle.loads(pickle.dumps(learned)), learned)


@pytest.mark.parametrize("name", NAMES)
def test_given_time_it_learns_both_kinds_of_labels(name):
    options = {"max_epochs": 15, "vectors": VECTORS, "trainable": True}
    options |= {"dropout": 0.1, "supervised_dropout": 0.2}
    learned = make(name, **options).fit(*SINGLE)
    assert learned.score(*corpus(40, seed=9)) > 0.8
    learned = make(name, **options).fit(*MULTILABEL)
    texts, labels = multilabel_corpus(40, seed=9)
    assert wc.evaluate(labels, learned.predict(texts)).micro_f1 > 0.6


def test_only_vectors_that_are_trainable_are_trained():
    for variant, trained in {
        "vectors": [],
        "vectors trainable": ["pretrained"],
        "vectors+wce trainable": ["pretrained", "word_class"],
        "vectors+wce part trainable": ["word_class"],
        "random": ["random"],
        "vectors+random": [],
    }.items():
        classifier = make(**VARIANTS[variant])
        first = classifier._prepare(TEXTS, encode_labels(LABELS), None).full_matrix
        E = classifier.fit(TEXTS, LABELS).embedding_
        assert E.terms == first.terms
        assert E.unseen_terms == first.unseen_terms
        for block, place in E.blocks.items():
            has_changed = (E.matrix[:, place] != first.matrix[:, place]).any(axis=1)
            assert has_changed.any() == (block in trained)
            assert not has_changed[E.padding]
            if classifier.vectors is not None:
                # nobody used these words, and yet they are there for texts to come
                assert not has_changed[[E.row(word) for word in ("comet", "tulip")]].any()


def test_words_of_the_training_texts_that_are_rare_are_trained_in_their_own_rows():
    rare = "comet rose moon"
    texts, labels = [*TEXTS, rare], [*LABELS, "space"]
    classifier = make("lstm", vectors=VECTORS, trainable=True)
    first = classifier._prepare(texts, encode_labels(labels), None).full_matrix
    E = classifier.fit(texts, labels).embedding_
    assert (E.matrix[E.row("comet")] != first.matrix[first.row("comet")]).any()
    assert (E.matrix[E.row("tulip")] == first.matrix[first.row("tulip")]).all()
    assert "comet" in E.unseen_terms


def test_the_order_of_columns_and_names_of_a_matrix_changes_no_prediction():
    texts, labels = MULTILABEL
    names = ["garden", "music", "space"]
    Y = np.array([[int(name in own) for name in names] for own in labels])
    first = make().fit(texts, Y, class_names=names)
    order = [2, 0, 1]
    second = make().fit(texts, Y[:, order], class_names=[names[k] for k in order])
    assert_same_scores(first, second)
    np.testing.assert_array_equal(first.predict(texts)[:, order], second.predict(texts))
    third = make().fit(texts, sparse.csr_matrix(Y), class_names=names)
    assert_same_scores(first, third)


@pytest.mark.parametrize("name", NAMES)
def test_a_text_of_any_length_is_read_alone_as_among_others(name):
    learned = make(name, vectors=VECTORS, max_length=30).fit(*SINGLE)
    texts = ["", "moon", "moon " * 300, "moon rose", *TEXTS]
    together = learned.decision_function(texts)
    for row in range(5):
        np.testing.assert_allclose(
            learned.decision_function([texts[row]])[0], together[row], atol=1e-5
        )
    np.testing.assert_allclose(learned.decision_function(["moon " * 30])[0], together[2], atol=1e-5)


def test_weights_of_texts_count():
    texts, labels = SINGLE
    flipped = [{"space": "garden", "garden": "space"}.get(label, label) for label in labels]
    weights = np.repeat([1.0, 0.0], len(texts))
    options = {"wce": False, "random_dims": 8, "max_epochs": 15, "dropout": 0.0}
    both = make(**options).fit([*texts, *texts], [*labels, *flipped], sample_weight=weights)
    assert both.score(texts, labels) > 0.9
    other = make(**options).fit([*texts, *texts], [*labels, *flipped], sample_weight=1 - weights)
    assert other.score(texts, flipped) > 0.9


def test_the_seed_decides_and_may_be_any_whole_number():
    first = make(seed=5).fit(*SINGLE)
    assert_same_scores(make(seed=np.int64(5)).fit(*SINGLE), first)
    for seed in (6, -5, 2**64 + 5, 2**100):
        other = make(seed=seed).fit(*SINGLE)
        assert (other.decision_function(TEXTS) != first.decision_function(TEXTS)).any()


def test_fitting_leaves_torch_and_its_own_options_as_they_were():
    state, n_threads = torch.get_rng_state(), torch.get_num_threads()
    embeddings = wc.WordClassEmbeddings(min_docs=2)
    classifier = make(vectors=VECTORS, wce=embeddings)
    before = classifier.get_params()
    matrix = VECTORS.matrix.copy()
    classifier.fit(*SINGLE).predict(TEXTS)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == n_threads
    assert classifier.get_params() == before
    assert not hasattr(embeddings, "vectors_")
    np.testing.assert_array_equal(VECTORS.matrix, matrix)
    assert clone(classifier).get_params()["vectors"] is VECTORS


# --- words that training never saw ----------------------------------------------------------


def test_words_that_training_never_saw_keep_their_vectors_unless_told_otherwise():
    texts = ["comet comet comet comet", "tulip tulip"]
    kept = make("lstm", vectors=VECTORS).fit(*SINGLE)
    assert (kept.decision_function([texts[0]]) != kept.decision_function(["xyz " * 4])).any()
    left_out = make("lstm", vectors=VECTORS, keep_unseen=False).fit(*SINGLE)
    np.testing.assert_array_equal(
        left_out.decision_function([texts[0]]), left_out.decision_function(["xyz " * 4])
    )
    assert left_out.embedding_.unseen_terms == []
    assert_same_scores(left_out, kept, TEXTS)  # who are as good as ever


def test_words_that_training_never_saw_get_predicted_word_class_vectors(tmp_path):
    plain = make("lstm", vectors=VECTORS).fit(*SINGLE)
    predicted = make("lstm", vectors=VECTORS, unseen="ridge").fit(*SINGLE)
    place = predicted.embedding_.blocks["word_class"]
    row = predicted.embedding_.row("comet")
    assert np.abs(predicted.embedding_.matrix[row, place]).max() > 0
    assert not plain.embedding_.matrix[row, place].any()
    assert_same_scores(predicted, plain, TEXTS)
    assert (predicted.decision_function(["comet"]) != plain.decision_function(["comet"])).any()
    predicted.save(tmp_path / "model")
    assert_same_scores(wc.load(tmp_path / "model"), predicted)


# --- embeddings of the user's own -----------------------------------------------------------


def many_classes(n_docs=60):
    texts, _ = corpus(n_docs)
    return texts, [f"c{k % 6}" for k in range(n_docs)]


@pytest.mark.parametrize("protocol", ["clean", "paper"])
def test_embeddings_may_be_projected(protocol, tmp_path):
    embeddings = wc.WordClassEmbeddings(min_docs=2, max_dims=2, shrinkage=3.0)
    learned = make(wce=embeddings, protocol=protocol, vectors=VECTORS).fit(*many_classes())
    assert learned.embedding_.blocks["word_class"] == slice(4, 6)
    learned.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    assert_same_scores(again, learned)
    assert again.wce.get_params() == {**embeddings.get_params(), "n_jobs": None}


def test_the_words_are_those_of_embeddings_that_are_given():
    embeddings = wc.WordClassEmbeddings(min_docs=3, mask_numbers=False, stop_words=["the"])
    texts = [f"{text} 1999 the" for text in TEXTS]
    learned = make(wce=embeddings).fit(texts, LABELS)
    assert "1999" in learned.embedding_.terms
    assert "the" not in learned.embedding_.terms
    assert learned.embedding_.terms == clone(embeddings).fit(texts, LABELS).terms_
    assert learned.embedding_.index(["1999 moon"]).lengths.tolist() == [2]
    shown = dict(learned.explanation("moon 1999").top("space", None))
    assert set(shown) == {"moon", "1999"}


def by_spaces(text):
    return text.lower().split(" ")


@pytest.mark.parametrize("where", ["analyzer", "wce"])
def test_a_function_is_saved_by_its_name_and_given_again(where, tmp_path):
    given = {"analyzer": by_spaces}
    if where == "wce":
        given = {"wce": wc.WordClassEmbeddings(min_docs=2, analyzer=by_spaces)}
    texts = [text.replace(" ", " +") for text in TEXTS]
    learned = make(**given).fit(texts, LABELS)
    assert any(term.startswith("+") for term in learned.embedding_.terms)
    learned.save(tmp_path / "model")
    with pytest.raises(
        wc.InputError, match=r"by_spaces, a function that the file does not hold; pass it again"
    ):
        wc.load(tmp_path / "model")
    assert_same_scores(wc.load(tmp_path / "model", **given), learned, texts)


# --- explaining -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_words_that_made_a_label_are_shown(name):
    options = {"max_epochs": 15, "dropout": 0.1, "supervised_dropout": 0.2}
    learned = make(name, vectors=VECTORS, **options).fit(*SINGLE)
    text = "the moon and the orbit with xyz"
    explanation = learned.explanation(text)
    assert explanation.labels == ("space",)
    # by hand: without "moon" there is a hole
    E = learned.embedding_
    ids = np.array([E.row(word) for word in text.split()])
    ids[1] = E.padding
    with torch.inference_mode():
        blotted = learned.network_(torch.from_numpy(ids[None]), torch.tensor([len(ids)]))
    shown = dict(learned.explain(text, n=None)["space"])
    expected = learned.decision_function([text])[0, 2] - float(blotted[0, 2])
    assert shown["moon"] == pytest.approx(expected, abs=1e-5)
    assert set(shown) == {"the", "moon", "and", "orbit", "with"}
    assert learned.explain("")


# --- saving ---------------------------------------------------------------------------------


def test_a_checkpoint_is_no_part_of_a_model(tmp_path):
    learned = make(checkpoint=tmp_path / "state").fit(*SINGLE)
    learned.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    assert again.checkpoint is None
    assert_same_scores(again, learned)


@pytest.fixture
def saved(tmp_path):
    make(vectors=VECTORS).fit(*SINGLE).save(tmp_path / "model")
    return tmp_path / "model"


def rewritten(folder, change):
    """Write the model again, a part of it exchanged, with checksums that fit."""
    manifest, parts = models.read(folder)
    change(manifest, parts.arrays)
    models.write(folder, {**manifest, "digest": ""}, parts)


def drop_a_word(_, arrays):
    ends = arrays["row_term_ends"]
    arrays["row_term_ends"] = ends[:-1]
    arrays["row_terms"] = arrays["row_terms"][: ends[-2]]


def drop_a_row(_, arrays):
    arrays["rows"] = arrays["rows"][:-1]


def other_rows(_, arrays):
    arrays["rows"] = np.ones((len(arrays["rows"]), 5), np.float32)


def more_filters(manifest, _):
    manifest["settings"]["channels"] = 5


def no_head(_, arrays):
    del arrays["network.head.bias"]


@pytest.mark.parametrize("change", [drop_a_word, drop_a_row, other_rows, more_filters, no_head])
def test_a_model_whose_parts_do_not_belong_together_is_refused(saved, change):
    rewritten(saved, change)
    with pytest.raises(wc.errors.FormatError, match="not a model of 'cnn' that") as error:
        wc.load(saved)
    assert str(saved) in str(error.value)
    if change in (drop_a_word, drop_a_row):
        assert re.search(r"rows is float32 .*; expected float32 \(\d+, ", str(error.value))


def test_the_manifest_tells_how_training_went(saved):
    found = models.read_manifest(saved)
    assert [epoch["epoch"] for epoch in found["facts"]["history"]] == [1, 2]
    json.dumps(found)


# --- few texts ------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["clean", "paper"])
@pytest.mark.parametrize("n", [2, 3, 9, 10])
def test_few_texts_are_learned_from_without_validation(n, protocol):
    texts, labels = corpus(n)
    learned = make(min_docs=1, protocol=protocol, max_epochs=3, patience=1).fit(texts, labels)
    told = {epoch["macro_f1"] is None for epoch in learned.history_}
    assert told == ({True} if n < 10 else {False})
    if n < 10:
        assert len(learned.history_) == learned.best_epoch_ == 3
    assert learned.predict(texts).shape == (n,)
    several = make(min_docs=1, protocol=protocol).fit(texts, [[label] for label in labels])
    assert len(several.predict(texts)) == n


@pytest.mark.parametrize("make_corpus", [corpus, multilabel_corpus])
def test_probabilities_are_fitted_to_the_validation_texts(make_corpus, monkeypatch):
    texts, labels = make_corpus(201)
    labels[::3] = labels[1::3]  # a third of them wrong: a network is too sure of them
    seen = []
    fit = Calibration.fit

    def spy(scores, Y, **options):
        seen.append((scores, Y.toarray().astype(bool)))
        return fit(scores, Y, **options)

    monkeypatch.setattr(Calibration, "fit", spy)
    ours = make(max_epochs=6).fit(texts, labels)
    (scores, Y), *_ = seen
    assert 0 < len(scores) < len(texts) / 2
    calibrated = ours.calibrated(scores)
    ours.calibration_ = None
    plain = ours.calibrated(scores)
    if ours.codeframe_.is_multilabel:
        losses = [-np.mean(np.log(np.where(Y, P, 1 - P))) for P in (calibrated, plain)]
    else:
        np.testing.assert_array_equal(calibrated.argmax(axis=1), plain.argmax(axis=1))
        losses = [-np.mean(np.log(P[Y])) for P in (calibrated, plain)]
    assert losses[0] < losses[1]


def test_without_validation_texts_probabilities_are_those_of_the_network():
    for options in ({"protocol": "paper"}, {}):
        n_docs = 40 if options else 4
        ours = make(**options).fit(TEXTS[:n_docs], LABELS[:n_docs])
        scores = ours.class_scores(TEXTS).astype(float)
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        expected = raised / raised.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(ours.predict_proba(TEXTS), expected, rtol=1e-6)
        with pytest.raises(wc.InputError, match="'cnn' are not calibrated, as shares need"):
            ours.prior_shift(TEXTS * 2)


def test_a_text_without_labels_and_a_class_without_texts_are_fine():
    Y = np.zeros((12, 3), int)
    Y[:6, 0] = 1
    learned = make(min_docs=1).fit(TEXTS[:12], Y, class_names=["a", "b", "c"])
    assert np.isfinite(learned.predict_proba(TEXTS)).all()
    assert learned.predict(TEXTS).shape == (40, 3)


@pytest.mark.parametrize(
    ("options", "n_batches"),
    [
        ({}, 2),
        ({"batches_per_epoch": None}, 4),
        ({"batches_per_epoch": 3}, 3),
        ({"batches_per_epoch": 9}, 4),
    ],
)
def test_epochs_of_huge_corpora_end_early_unless_asked_otherwise(monkeypatch, options, n_batches):
    monkeypatch.setattr(network, "_MANY_TEXTS", 31)
    monkeypatch.setattr(network, "_BATCHES_PER_EPOCH", 2)
    told = {}
    with progress.on_progress(lambda step, _, total: told.update({step: total})):
        make(batch_size=8, max_epochs=1, **options).fit(TEXTS, LABELS)
        assert told["training: epoch 1"] == n_batches
        make(batch_size=8, max_epochs=1).fit(TEXTS[:35], LABELS[:35])
        assert told["training: epoch 1"] > 2  # not huge


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "dirty"}, "protocol is 'dirty'; expected 'clean' or 'paper'"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"max_epochs": 2.5}, "max_epochs is 2.5"),
        ({"patience": -1}, "patience is -1"),
        ({"max_length": None}, "max_length is None"),
        ({"batches_per_epoch": 0}, "batches_per_epoch is 0"),
        ({"batches_per_epoch": "all"}, "batches_per_epoch is 'all'"),
        ({"seed": "a"}, "seed is 'a'"),
        ({"random_dims": -1}, "random_dims is -1"),
        ({"random_dims": 0, "wce": False}, "no vectors"),
        ({"lr": 0}, "lr is 0"),
        ({"lr": "fast"}, "lr is 'fast'"),
        ({"dropout": 1.0}, r"^dropout is 1.0; expected a number from 0 to below 1"),
        ({"dropout": "a"}, r"^dropout is 'a'"),
        ({"supervised_dropout": -0.1}, "supervised_dropout is -0.1"),
        ({"supervised_dropout": None}, "supervised_dropout is None"),
        ({"supervised_dropout": {"words": 0.5}}, "names the block 'words'"),
        ({"supervised_dropout": {"random": 2}}, "supervised_dropout of 'random' is 2"),
        ({"trainable": "yes"}, "trainable is 'yes'"),
        ({"trainable": {"words": True}}, "names the block 'words'"),
        ({"trainable": {"random": 1}}, "trainable is {'random': 1}"),
        ({"channels": 0}, "channels is 0"),
        ({"channels": "many"}, "channels is 'many'"),
        ({"windows": 3}, "windows is 3; expected several widths"),
        ({"windows": ()}, "windows is"),
        ({"windows": (3, 0)}, "window is 0"),
        ({"vectors": [[1.0]]}, "vectors is .*; expected WordVectors"),
        ({"vectors": "glove.txt"}, "vectors is 'glove.txt'; expected WordVectors"),
        ({"wce": "yes"}, "wce is 'yes'"),
        (
            {"wce": wc.WordClassEmbeddings(ngrams=(1, 2))},
            r"wce has ngrams=\(1, 2\); expected \(1, 1\): single words",
        ),
        ({"unseen": "ridge"}, "needs both pretrained and word-class"),
        ({"unseen": "ridge", "vectors": VECTORS, "wce": False}, "needs both pretrained"),
        ({"unseen": "ridge", "vectors": VECTORS, "keep_unseen": False}, "keep_unseen=False leaves"),
        ({"unseen": "rigde", "vectors": VECTORS}, "did you mean 'ridge'"),
        ({"checkpoint": 3}, "checkpoint is 3; expected a path"),
        ({"device": "tpu"}, "device is 'tpu'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"min_docs": 1000}, "no term is left|empty"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    classifier = make(**options)
    with pytest.raises(wc.InputError, match=message):
        classifier.fit(*SINGLE)
    assert not hasattr(classifier, "network_")


def test_an_even_window_and_an_lstm_without_states_are_refused():
    with pytest.raises(wc.InputError, match="window is 4; expected an odd number"):
        make("leam", window=4).fit(*SINGLE)
    with pytest.raises(wc.InputError, match="hidden is 0"):
        make("lstm", hidden=0).fit(*SINGLE)


@pytest.mark.parametrize(("rank", "place"), [(None, 0), ("1", 1), ("5", 1)])
def test_each_process_of_a_machine_takes_a_gpu_of_its_own(monkeypatch, rank, place):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    if rank is not None:
        monkeypatch.setenv("LOCAL_RANK", rank)
    assert (
        machine.choose_device("auto")
        == machine.choose_device("cuda")
        == torch.device("cuda", place)
    )
    assert machine.choose_device("cpu") == torch.device("cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_told_before_any_work():
    with pytest.raises(wc.InputError, match="no GPU on this machine; use 'cpu' or 'auto'"):
        make(device="cuda", vectors=VECTORS).fit(*SINGLE)
    make(device="auto").fit(*SINGLE)


@pytest.mark.parametrize("wce", [True, False])
def test_vectors_that_share_no_word_with_the_texts_are_told(wce):
    strange = wc.WordVectors.of(["мама", "папа"], [[1.0, 2], [3, 4]])
    with pytest.raises(wc.InputError, match=r"know none of the \d+ terms .* another language"):
        make(vectors=strange, wce=wce).fit(*SINGLE)


@pytest.mark.parametrize(("bad", "term"), [(np.nan, "moon"), (np.inf, "never")])
def test_vectors_with_a_hole_are_told(bad, term):
    given = {"moon": [1.0, 2], "rose": [3.0, 4], "never": [0.0, 1]}
    given[term][1] = bad
    with pytest.raises(wc.InputError, match=f"the vector of '{term}' holds a NaN, an infinity"):
        make(vectors=wc.WordVectors.of(list(given), np.array(list(given.values())))).fit(*SINGLE)


def test_one_class_is_refused():
    with pytest.raises(wc.InputError, match="only one class, 'a'"):
        make().fit(TEXTS, ["a"] * len(TEXTS))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("variant", ["vectors+wce", "random"])
def test_a_network_too_large_is_refused_with_a_size_that_fits(name, variant, monkeypatch):
    size = {"cnn": "channels", "leam": "batch_size"}.get(name, "hidden")
    monkeypatch.setattr(machine, "free_bytes", lambda: 4_000_000)
    large = {"max_length": 50, "batch_size": 8, size: 3000, **VARIANTS[variant]}
    with pytest.raises(wc.InputError, match=f"MB are free; {size}=[0-9]+ would fit") as error:
        make(name, **large).fit(*SINGLE)
    fitting = int(str(error.value).rpartition("=")[2].split()[0])
    assert 1 <= fitting < 3000
    with pytest.raises(wc.InputError, match=f"{size}={fitting} would fit"):
        make(name, **{**large, size: fitting + 1}).fit(*SINGLE)
    make(name, **{**large, size: fitting, "max_epochs": 1}).fit(*SINGLE)


def test_where_no_size_fits_the_vectors_are_blamed(monkeypatch):
    free = {"bytes": 30_000}
    monkeypatch.setattr(machine, "free_bytes", lambda: free["bytes"])
    with pytest.raises(wc.InputError, match=r"vectors alone needs .* MB\); use trainable=False"):
        make(wce=False, random_dims=20, trainable=True).fit(*SINGLE)
    with pytest.raises(wc.InputError, match=r"no channels would fit\); use a lower batch_size"):
        make(vectors=VECTORS, batch_size=100).fit(*SINGLE)
    with pytest.raises(wc.InputError, match=r"words by 10,000 dimensions .*random_dims=") as error:
        make(wce=False, random_dims=10_000).fit(*SINGLE)
    fitting = int(str(error.value).partition("random_dims=")[2].split()[0])
    free["bytes"] = None
    E = make(wce=False, random_dims=fitting).fit(*SINGLE).embedding_
    assert 30_000 - 4 * len(E) < E.matrix.nbytes <= 30_000
