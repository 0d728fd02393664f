"""Networks that read vectors of words in their context, beside others and alone."""

import pickle
import shutil

import numpy as np
import pytest
from made_up import COMMON, WORDS, corpus, multilabel_corpus
from small_encoders import N_DIMS, bert_folder, static_folder

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

import wordclass as wc  # noqa: E402
from wordclass.corpus.labels import encode_labels  # noqa: E402
from wordclass.network.training import Training  # noqa: E402
from wordclass.sentence.encoder import SentenceEncoder  # noqa: E402
from wordclass.storage import models  # noqa: E402

TEXTS, LABELS = corpus(40)
SMALL = {
    "cnn": {"channels": 4, "windows": (2, 3)}, "lstm": {"hidden": 4}, "attention": {"hidden": 4},
    "leam": {"window": 3},
}  # fmt: skip
KNOWN = [*(word for words in WORDS.values() for word in words[1:]), *COMMON, "comet"]
VECTORS = wc.WordVectors.of(KNOWN, np.random.default_rng(0).normal(size=(len(KNOWN), 4)))
VARIANTS = {
    "context": {"wce": False},
    "context+wce": {},
    "context+vectors": {"wce": False, "vectors": VECTORS},
    "context+vectors+wce": {"vectors": VECTORS},
    "context+vectors+wce trainable": {"vectors": VECTORS, "trainable": True},
    "context+random": {"wce": False, "random_dims": 3, "supervised_dropout": {"context": 0.2}},
}
LONG = ["", "moon", "moon " * 90, "мама 😀", *TEXTS[:9]]


@pytest.fixture(autouse=True, scope="module")
def _home(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORDCLASS_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return bert_folder(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def make(folder):
    def made(name="cnn", **options):
        usual = {"min_docs": 2, "batch_size": 8, "max_epochs": 2, "lr": 0.02, "context": folder}
        return wc.classifier(name, **{**usual, **SMALL[name], **options})

    return made


@pytest.mark.parametrize("protocol", ["clean", "paper"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_learns_is_saved_and_comes_back(make, variant, protocol, tmp_path):
    name = [*SMALL][[*VARIANTS].index(variant) % 4]
    for number, (texts, labels) in enumerate((corpus(40), multilabel_corpus(40))):
        texts, labels = ["", *texts], [labels[0], *labels]
        learned = make(name, protocol=protocol, **VARIANTS[variant]).fit(texts, labels)
        layer = learned.network_.layer
        assert layer.blocks["context"].stop == layer.embedding_dim
        assert layer.embedding_dim == learned.embedding_.n_dims + N_DIMS
        scores = learned.decision_function(LONG)
        assert np.isfinite(scores).all()
        learned.save(tmp_path / str(number))
        again = wc.load(tmp_path / str(number))
        assert again.context == str(learned.context)
        for other in (again, pickle.loads(pickle.dumps(learned))):
            np.testing.assert_allclose(other.decision_function(LONG), scores, atol=1e-5)


@pytest.mark.parametrize("name", SMALL)
def test_other_texts_change_no_score(make, name):
    learned = make(name, vectors=VECTORS, max_length=30).fit(TEXTS, LABELS)
    together = learned.decision_function([*LONG, *TEXTS])
    for row, text in enumerate(LONG[:6]):
        alone = learned.decision_function([text])[0]
        np.testing.assert_allclose(alone, together[row], atol=2e-2 * np.abs(together).max())


@pytest.mark.parametrize("name", SMALL)
def test_context_tells_apart_what_words_alone_do_not(make, name):
    """The labels are told by the order of two words that all texts have."""
    pairs = [("moon", "rose"), ("rose", "moon")] * 30
    texts = [f"{first} the {second} of {k // 2}" for k, (first, second) in enumerate(pairs)]
    labels = ["space", "garden"] * 30
    options = {"wce": False, "max_epochs": 12, "dropout": 0.0}
    learned = make(name, **options).fit(texts, labels)
    assert learned.score(texts, labels) == 1.0


def test_the_vectors_that_are_read_are_those_of_the_encoder(make, folder):
    classifier = make(vectors=VECTORS)
    data = classifier._prepare(TEXTS, encode_labels(LABELS), None)
    own = [row for row in range(len(TEXTS)) if row not in data.validation_rows]
    batch = data.training.batch(np.array([3, 1]))
    assert batch.shift.keys() == {"context", "word_class"}
    encoder = SentenceEncoder.of(folder)
    expected = []
    for row in (3, 1):
        vectors, places = encoder.subword_vectors([TEXTS[own[row]]])[0]
        starts = [token.start for token in data.E.analyze.tokens(TEXTS[own[row]])]
        ends = [token.end for token in data.E.analyze.tokens(TEXTS[own[row]])]
        for start, end in zip(starts, ends, strict=True):
            overlaps = (places[:, 0] < end) & (places[:, 1] > start)
            expected.append(vectors[overlaps].mean(axis=0))
    np.testing.assert_allclose(batch.shift["context"], expected, atol=2e-3)


def test_a_second_fit_encodes_nothing(make, monkeypatch):
    # texts are encoded once in the order of learning, and once in the order in which they came
    scores = make(wce=False).fit(TEXTS, LABELS).decision_function(TEXTS)
    monkeypatch.setattr(SentenceEncoder, "subword_vectors", None)
    again = make(wce=False).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(again.decision_function(TEXTS), scores)


def test_a_training_that_was_killed_goes_on(make, tmp_path, monkeypatch):
    whole = make(vectors=VECTORS, trainable=True, max_epochs=3).fit(TEXTS, LABELS)
    options = {"vectors": VECTORS, "trainable": True, "checkpoint": tmp_path / "state"}
    train_epoch = Training._train_epoch

    def killed(self):
        if self._state.epoch == 2:
            raise KeyboardInterrupt
        train_epoch(self)

    with monkeypatch.context() as patch:
        patch.setattr(Training, "_train_epoch", killed)
        with pytest.raises(KeyboardInterrupt):
            make(**options, max_epochs=3).fit(TEXTS, LABELS)
    resumed = make(**options, max_epochs=3).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(resumed.decision_function(TEXTS), whole.decision_function(TEXTS))
    with pytest.raises(wc.InputError, match="checkpoint of another training"):
        make(**options, max_epochs=3, context=None).fit(TEXTS, LABELS)
    other = bert_folder(tmp_path / "other", seed=1)
    with pytest.raises(wc.InputError, match="checkpoint of another training"):
        make(**options, max_epochs=3, context=other).fit(TEXTS, LABELS)


def test_whoever_watches_can_score_texts(make):
    seen = []
    learned = make(on_epoch=lambda epoch: seen.append(epoch.predict(LONG)))
    learned.fit(TEXTS, LABELS)
    assert [len(labels) for labels in seen] == [len(LONG)] * 2


def test_the_words_that_made_a_label_are_shown(make):
    for options in ({}, {"wce": False}):
        learned = make(**options).fit(TEXTS, LABELS)
        text = "the moon and the orbit with xyz"
        explanation = learned.explanation(text)
        assert {term for term, _ in explanation.top("space", None)} == {*text.split()}
        assert learned.explain("") is not None
    E = learned.embedding_
    ids = np.full(7, E.unknown)
    ids[1] = E.padding
    shift = torch.from_numpy(learned._encode_tokens([text], learned.context_, E)[0])
    with torch.inference_mode():
        lengths = torch.tensor([7])
        blotted = learned.network_(torch.from_numpy(ids[None]), lengths, {"context": shift})
    expected = learned.decision_function([text])[0, 2] - float(blotted[0, 2])
    shown = dict(learned.explanation(text).top("space", None))
    assert shown["moon"] == pytest.approx(expected, abs=1e-4)


# --- saving ---------------------------------------------------------------------------------


def test_a_model_finds_its_encoder_or_tells_which_it_lacks(make, folder, tmp_path):
    place = shutil.copytree(folder, tmp_path / "encoder")
    learned = make(context=place).fit(TEXTS, LABELS)
    scores = learned.decision_function(LONG)
    learned.save(tmp_path / "model")
    facts = models.read_manifest(tmp_path / "model")["facts"]["context"]
    assert facts["n_dims"] == N_DIMS
    assert facts["name"] == str(place)
    place.rename(tmp_path / "moved")
    with pytest.raises(wc.errors.MissingDataError, match=r"is not available .*context=FOLDER"):
        wc.load(tmp_path / "model")
    again = wc.load(tmp_path / "model", context=tmp_path / "moved")
    np.testing.assert_array_equal(again.decision_function(LONG), scores)
    again.save(tmp_path / "model")
    wc.load(tmp_path / "model")
    other = bert_folder(tmp_path / "other", seed=1)
    with pytest.raises(wc.errors.FormatError, match="not the one that the model was trained with"):
        wc.load(tmp_path / "model", context=other)


@pytest.mark.parametrize("bad", [None, {}, {"n_dims": 10**9}, {"n_dims": "a"}, {"n_dims": 4}])
def test_a_model_whose_facts_were_changed_is_refused(make, tmp_path, bad):
    make().fit(TEXTS, LABELS).save(tmp_path / "model")
    manifest, parts = models.read(tmp_path / "model")
    if bad is None:
        del parts.metadata["context"]
    else:
        parts.metadata["context"] = {**parts.metadata["context"], **bad} if bad else bad
    models.write(tmp_path / "model", {**manifest, "digest": ""}, parts)
    with pytest.raises(wc.errors.FormatError, match="not a model of 'cnn' that"):
        wc.load(tmp_path / "model")


def test_a_network_with_context_is_not_exported(make, tmp_path):
    learned = make().fit(TEXTS, LABELS)
    with pytest.raises(wc.InputError, match=r"vectors in context, .* cannot be exported"):
        learned.export(tmp_path / "network.pt2")


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context": len}, "context is <built-in function len>; expected 'minilm', the folder"),
        ({"context": 3}, "context is 3"),
        ({"trainable": {"context": True}}, "vectors of an encoder are not trained"),
        ({"analyzer": str.split}, "does not give the positions of single words"),
        ({"supervised_dropout": {"context": 1.0}}, "supervised_dropout of 'context' is 1.0"),
    ],
)
def test_options_that_make_no_sense_are_refused(make, options, message):
    classifier = make(**options)
    with pytest.raises(wc.InputError, match=message):
        classifier.fit(TEXTS, LABELS)
    assert not hasattr(classifier, "network_")


def test_encoders_that_are_missing_or_of_another_kind_are_refused(make, tmp_path):
    static = static_folder(tmp_path / "static")
    (static / "modules.json").unlink()
    (static / "config.json").unlink()
    with pytest.raises(wc.InputError, match=r"no vectors of tokens .* of the kind 'static'"):
        make(context=static).fit(TEXTS, LABELS)
    with pytest.raises(wc.errors.MissingDataError, match="nowhere does not exist"):
        make(context=str(tmp_path / "nowhere")).fit(TEXTS, LABELS)


def test_a_layer_with_context_wants_its_vectors(make):
    learned = make().fit(TEXTS, LABELS)
    batch = learned.embedding_.index(["the moon"])
    with pytest.raises(wc.InputError, match="block 'context' are missing; pass them"):
        learned.network_(batch.ids, batch.lengths)
