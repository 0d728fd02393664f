"""What is special about fastText; what all classifiers do is in tests/contracts."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from made_up import WORDS, corpus, multilabel_corpus
from scipy import special

import wordclass as wc
from wordclass.classifiers import fasttext as fasttext_entry
from wordclass.corpus.splits import paper_split
from wordclass.embedding.unseen_terms import UnseenTerms

fasttext = pytest.importorskip("fasttext")

TEXTS, LABELS = corpus()
NEW = ["moon orbit the", "rose", "", "мама unheard", "piano piano song moon", "soil " * 3_000]


def vectors(n_dims=5):
    """Pretrained vectors of most words, in which the classes can be told apart."""
    generator = np.random.default_rng(0)
    terms = [word for words in WORDS.values() for word in words[1:]] + ["tax", "the"]
    return wc.WordVectors.of(terms, generator.normal(size=(len(terms), n_dims)))


def make(**options):
    return wc.classifier("fasttext", **{"min_docs": 2, "epochs": 30, **options})


@pytest.fixture
def trained_models(monkeypatch):
    """The models that fastText makes, to compare with."""
    models = []

    def load(path):
        models.append(original(path))
        return models[-1]

    original = fasttext.load_model
    monkeypatch.setattr(fasttext, "load_model", load)
    return models


def as_fasttext_reads(classifier, text):
    index = classifier.model_.vocabulary.index
    return " ".join(str(index[word]) for word in classifier.model_.analyze(text) if word in index)


def fasttext_probabilities(classifier, model, text):
    """The probabilities (m,) that fastText gives, which it returns with 1e-5 added."""
    found, chances = model.predict(as_fasttext_reads(classifier, text), k=-1)
    columns = [int(name.removeprefix("__label__")) for name in found]
    return chances[np.argsort(columns)] - 1e-5


VARIANTS = {
    "random": {},
    "pretrained": {"vectors": vectors()},
    "pretrained and random": {"vectors": vectors(), "random_dims": 4},
    "pretrained and word-class": {"vectors": vectors(), "wce": True},
    "word-class": {"wce": True},
    "word-class and random": {"wce": True, "random_dims": 4},
}


# --- the same as fastText -----------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_learns_and_its_probabilities_are_those_of_fasttext(trained_models, variant):
    # fastText's model has the words of the texts only
    classifier = make(keep_unseen=False, **VARIANTS[variant]).fit(TEXTS, LABELS)
    (model,) = trained_models
    assert classifier.score(*corpus(seed=1)) > 0.9
    ours = classifier.predict_proba(TEXTS[:20] + NEW)
    np.testing.assert_allclose(ours.sum(axis=1), 1)
    for text, row in zip(TEXTS[:20] + NEW, ours, strict=True):
        np.testing.assert_allclose(row, fasttext_probabilities(classifier, model, text), atol=2e-5)


def test_multilabel_probabilities_are_those_of_fasttext(trained_models):
    texts, labels = multilabel_corpus()
    classifier = make().fit(texts, labels)
    (model,) = trained_models
    scores = classifier.decision_function(texts[:20] + NEW)
    # fastText looks its sigmoids up in a table of 512 steps from -8 to 8
    steps = special.expit(np.arange(513) / 32 - 8)
    looked_up = steps[np.clip((scores + 8) * 32, 0, 512).astype(int)]
    looked_up = np.where(scores < -8, 0, np.where(scores > 8, 1, looked_up))
    theirs = [fasttext_probabilities(classifier, model, text) for text in texts[:20] + NEW]
    # at the edge of a step, a rounding error is a step
    assert (abs(looked_up - theirs) < 2e-5).mean() > 0.98
    np.testing.assert_allclose(classifier.predict_proba(texts[:20] + NEW), theirs, atol=0.01)


def test_the_vectors_of_texts_are_those_of_fasttext(trained_models):
    classifier = make().fit(TEXTS, LABELS)
    model = classifier.model_
    for text in NEW:
        hidden = trained_models[0].get_sentence_vector(as_fasttext_reads(classifier, text))
        expected = hidden @ model.class_vectors.T
        np.testing.assert_allclose(classifier.decision_function([text])[0], expected, atol=1e-4)


def test_given_vectors_are_what_words_start_with(trained_models):
    U = vectors()
    wce = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
    classifier = make(vectors=U, wce=True, lr=1e-12, epochs=1).fit(TEXTS, LABELS)
    model = classifier.model_
    assert model.word_vectors.shape[1] == U.n_dims + 3
    for word in wce:
        row = model.word_vectors[model.vocabulary[word]]
        expected = U.get(word, np.zeros(U.n_dims, np.float32))
        np.testing.assert_allclose(row[: U.n_dims], expected, atol=1e-5)
        np.testing.assert_allclose(row[U.n_dims :], wce[word], atol=1e-5)
    rare = model.word_vectors[model.vocabulary["rare7"]]
    assert (abs(rare) <= 1 / len(rare)).all()
    assert rare.any()


def test_rare_words_start_with_their_pretrained_vectors_and_words_of_no_text_keep_them():
    """As in the networks: the paper's rule for words outside the vocabulary."""
    U = wc.WordVectors.of(["moon", "rare7", "unheard"], np.eye(3, 4) + 0.5)
    wce = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
    assert "rare7" not in wce
    for options, n_more in (({}, 0), ({"wce": True}, 3), ({"random_dims": 2}, 2)):
        model = make(vectors=U, lr=1e-12, epochs=1, **options).fit(TEXTS, LABELS).model_
        assert model.word_vectors.shape == (len(model.vocabulary), 4 + n_more)
        for word in U.terms:
            row = model.word_vectors[model.vocabulary[word]]
            np.testing.assert_allclose(row[:4], U[word], atol=1e-5)
            if "wce" in options and word != "moon":
                np.testing.assert_allclose(row[4:], 0, atol=1e-5)
    without = make(vectors=U, lr=1e-12, epochs=1, keep_unseen=False).fit(TEXTS, LABELS).model_
    assert "unheard" not in without.vocabulary
    rare = without.word_vectors[without.vocabulary["rare7"]]
    np.testing.assert_allclose(rare, U["rare7"], atol=1e-5)


def test_word_class_vectors_of_unseen_words_may_be_predicted(tmp_path):
    terms = [word for words in WORDS.values() for word in words] + ["unheard", "rare7"]
    U = wc.WordVectors.of(terms, np.random.default_rng(0).normal(size=(len(terms), 4)))
    options = {"vectors": U, "wce": True, "lr": 1e-12, "epochs": 1}
    model = make(**options, unseen="ridge").fit(TEXTS, LABELS)
    wce = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
    expected = UnseenTerms.predict(U, wce, "ridge")
    for word in ("unheard", "rare7"):
        row = model.model_.word_vectors[model.model_.vocabulary[word]]
        np.testing.assert_allclose(row[4:], expected.vectors[expected.terms.index(word)], atol=1e-4)
    model.save(tmp_path / "model")
    loaded = wc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))
    for other in ({"vectors": None}, {"wce": False}):
        with pytest.raises(
            wc.InputError, match="unseen='ridge' needs both pretrained and word-class"
        ):
            make(**options | other, unseen="ridge").fit(TEXTS, LABELS)


# --- learning -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["random", "pretrained and word-class"])
def test_several_labels_are_learned(variant):
    texts, labels = multilabel_corpus()
    classifier = make(**VARIANTS[variant]).fit(texts, labels)
    assert wc.evaluate(labels, classifier.predict(texts), classifier.classes_).micro_f1 > 0.85


def test_word_class_embeddings_need_few_epochs():
    options = {"epochs": 2, "lr": 0.1}
    with_them, without = (make(wce=wce, **options).fit(TEXTS, LABELS) for wce in (True, False))
    truth = np.searchsorted(without.classes_, LABELS)
    sure, unsure = (
        classifier.predict_proba(TEXTS)[np.arange(len(TEXTS)), truth].mean()
        for classifier in (with_them, without)
    )
    assert sure > unsure + 0.1


def test_one_thread_makes_the_same_model_every_time():
    one, other = (make(seed=5).fit(TEXTS, LABELS) for _ in range(2))
    np.testing.assert_array_equal(one.decision_function(NEW), other.decision_function(NEW))
    different = make(seed=6).fit(TEXTS, LABELS)
    assert (one.model_.word_vectors != different.model_.word_vectors).any()


def test_two_threads_learn_too():
    assert make(n_jobs=2, epochs=100).fit(TEXTS, LABELS).score(TEXTS, LABELS) > 0.9


def test_settings_depend_on_the_vectors_unless_told_otherwise(monkeypatch):
    asked = []

    def look(occurrences, Y, initial, settings):
        asked.append((settings.lr, settings.epochs, settings.n_dims, settings.loss))
        raise InterruptedError

    monkeypatch.setattr(fasttext_entry, "train", look)
    many = multilabel_corpus()
    for options, (texts, labels) in [
        ({}, (TEXTS, LABELS)),
        ({"vectors": vectors()}, (TEXTS, LABELS)),
        ({"vectors": vectors(), "wce": True}, (TEXTS, LABELS)),
        ({"vectors": vectors(), "wce": True}, many),
        ({"random_dims": 200, "lr": 0.25, "epochs": 3, "loss": "ova"}, (TEXTS, LABELS)),
    ]:
        with pytest.raises(InterruptedError):
            wc.classifier("fasttext", min_docs=2, **options).fit(texts, labels)
    assert asked == [
        (0.5, 200, 50, "softmax"),
        (0.05, 200, 5, "softmax"),
        (0.5, 5, 8, "softmax"),
        (0.5, 50, 8, "ova"),
        (0.25, 3, 200, "ova"),
    ]
    for name, values in fasttext_entry.GRID.items():
        assert name in wc.classifier("fasttext").get_params()
        assert list(values) == sorted(values)


def test_in_the_papers_protocol_a_fifth_of_the_texts_validates_but_word_class_vectors_know_all():
    cnn = pytest.importorskip("wordclass.classifiers.cnn").make(protocol="paper", seed=3)
    wce = wc.WordClassEmbeddings(min_docs=2)
    model = make(wce=wce, seed=3, protocol="paper", lr=1e-9, epochs=1).fit(TEXTS, LABELS)
    trained, validated = paper_split(len(TEXTS), 3)
    assert (len(trained), len(validated)) == (48, 12)
    assert [each.tolist() for each in cnn._split(TEXTS, None)] == [
        trained.tolist(),
        validated.tolist(),
    ]
    words = set(model.model_.vocabulary.terms)
    assert {f"rare{k}" for k in trained} <= words
    assert not {f"rare{k}" for k in validated} & words
    # hardly trained, the words have the vectors that they started with: those of all texts
    S = wce.fit(TEXTS, LABELS)
    row = model.model_.vocabulary.index["moon"]
    np.testing.assert_allclose(model.model_.word_vectors[row], S["moon"], rtol=1e-4)
    texts, labels = ([each[k] for k in validated] for each in (TEXTS, LABELS))
    expected = wc.evaluate(labels, model.predict(texts), model.classes_)
    assert model.validation_.macro_f1 == expected.macro_f1
    assert make().fit(TEXTS, LABELS).validation_ is None


def test_in_the_papers_protocol_large_corpora_have_ten_epochs(monkeypatch):
    asked = []

    def look(occurrences, Y, initial, settings):
        asked.append(settings.epochs)
        raise InterruptedError

    monkeypatch.setattr(fasttext_entry, "train", look)
    for limit in (59, 60):
        monkeypatch.setattr(fasttext_entry, "_MANY_TEXTS", limit)
        with pytest.raises(InterruptedError):
            wc.classifier("fasttext", protocol="paper").fit(TEXTS, LABELS)
    assert asked == [10, 200]


def test_given_embeddings_are_cloned_and_given_vectors_are_not_copied():
    mine = wc.WordClassEmbeddings(min_docs=3, correlation="ppmi")
    U = vectors()
    classifier = make(vectors=U, wce=mine).fit(TEXTS, LABELS)
    assert not hasattr(mine, "vectors_")
    assert classifier.vectors is U


def test_single_labels_may_be_learned_one_against_the_rest():
    classifier = make(loss="ova").fit(TEXTS, LABELS)
    assert classifier.score(TEXTS, LABELS) > 0.9
    np.testing.assert_allclose(classifier.predict_proba(TEXTS).sum(axis=1), 1)


def test_ngrams_are_words_of_their_own():
    texts, labels = ["aa bb", "bb aa"] * 20, ["ab", "ba"] * 20
    classifier = make(ngrams=(1, 2), epochs=100).fit(texts, labels)
    assert classifier.predict(["aa bb", "bb aa"]).tolist() == ["ab", "ba"]
    assert classifier.model_.vocabulary.terms == ["aa", "aa bb", "bb", "bb aa"]


def test_rare_words_are_passed_over_where_asked():
    words = make(min_count=2, epochs=1).fit(TEXTS, LABELS).model_.vocabulary
    assert "moon" in words
    assert "rare7" not in words


# --- odd input ----------------------------------------------------------------------------------


def test_names_of_classes_may_be_anything():
    names = {"space": "outer space 🚀", "garden": "__label__3", "music": "\n</s> ,;"}
    labels = [names[label] for label in LABELS]
    classifier = make().fit(TEXTS, labels)
    assert classifier.predict(["moon", "rose", "piano"]).tolist() == list(names.values())


def test_words_that_look_like_labels_are_words():
    texts = ["__label__0 moon", "__label__1 rose", "</s> s moon", "__label__ rose"] * 5
    labels = ["space", "garden"] * 10
    classifier = make(wce=True, epochs=50).fit(texts, labels)
    assert {"__label__0", "__label__1", "__label__"} <= set(classifier.model_.vocabulary)
    assert classifier.predict(["__label__0 moon", "rose"]).tolist() == ["space", "garden"]
    own = make(analyzer=lambda text: text.split("|")).fit(
        ["a b|\0", "\n|\ud800", "|"] * 4, [0, 1, 2] * 4
    )
    assert own.predict(["a b", "\n|\ud800"]).tolist() == [0, 1]


def test_an_empty_text_is_the_end_of_a_text_alone():
    classifier = make().fit([*TEXTS, "", "!"], [*LABELS, "space", "space"])
    empty, unheard = classifier.decision_function(["", "unheard word"])
    np.testing.assert_array_equal(empty, unheard)
    np.testing.assert_allclose(
        empty, classifier.model_.end_vector @ classifier.model_.class_vectors.T, rtol=1e-5
    )


def test_texts_without_labels_teach_the_word_class_embeddings_only():
    texts, labels = multilabel_corpus()
    more_texts, more_labels = [*texts, "unheard moon"], [*labels, []]
    without, with_one = make().fit(texts, labels), make().fit(more_texts, more_labels)
    np.testing.assert_array_equal(without.decision_function(NEW), with_one.decision_function(NEW))
    assert "unheard" not in with_one.model_.vocabulary


def test_a_class_without_texts_is_never_predicted():
    classifier = make().fit(TEXTS, LABELS, class_names=["garden", "music", "space", "tax"])
    assert classifier.decision_function(NEW)[:, 3].max() <= -100
    assert classifier.predict_proba(NEW)[:, 3].max() < 1e-9
    Y = np.array([[name == label for name in ("garden", "music", "tax")] for label in LABELS])
    assert make().fit(TEXTS, Y.astype(int)).predict(TEXTS)[:, 2].sum() == 0


def test_thresholds_are_one_half_or_tuned_on_texts_held_out():
    texts, labels = multilabel_corpus(n_docs=120)
    classifier = make().fit(texts, labels)
    above = classifier.predict_proba(texts) > 0.5
    assert [len(each) for each in classifier.predict(texts)] == above.sum(axis=1).tolist()
    tuned = make(thresholds="tuned").fit(texts, labels)
    np.testing.assert_array_equal(tuned.decision_function(NEW), classifier.decision_function(NEW))
    assert (tuned.thresholds_ != 0).any()
    assert wc.evaluate(labels, tuned.predict(texts), tuned.classes_).micro_f1 > 0.8


# --- explaining, saving -------------------------------------------------------------------------


def test_contributions_sum_to_the_scores():
    classifier = make().fit(TEXTS, LABELS)
    text = "moon moon orbit with some unheard rose"
    explanation = classifier.explanation(text)
    assert sorted(explanation.terms) == ["moon", "orbit", "rose", "some", "with"]
    np.testing.assert_allclose(
        explanation.contributions.sum(axis=0) + explanation.intercept,
        classifier.decision_function([text])[0],
        rtol=1e-4,
    )
    (best, _), *_ = classifier.explain(text)["space"]
    assert best == "moon"


def test_a_saved_model_keeps_the_vectors_of_words_of_no_text(tmp_path):
    near, far = np.eye(4)[:2] * 3
    terms = [word for words in WORDS.values() for word in words]
    rows = [near if word in WORDS["space"] else far for word in terms]
    U = wc.WordVectors.of([*terms, "unheard"], [*rows, near])
    classifier = make(vectors=U).fit(TEXTS, LABELS)
    assert classifier.predict(["unheard"]).tolist() == ["space"]
    explanation = classifier.explanation("unheard of")
    assert explanation.terms[0] == "unheard"
    added = explanation.contributions.sum(axis=0) + explanation.intercept
    np.testing.assert_allclose(added, classifier.decision_function(["unheard of"])[0], rtol=1e-4)
    classifier.save(tmp_path / "model")
    again = wc.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.decision_function(["unheard"]), classifier.decision_function(["unheard"])
    )
    make(vectors=U, keep_unseen=False).fit(TEXTS, LABELS).save(tmp_path / "small")
    small = wc.load(tmp_path / "small")
    np.testing.assert_array_equal(*small.decision_function(["unheard", ""]))


@pytest.mark.parametrize("labelled", [corpus(), multilabel_corpus()], ids=["single", "several"])
def test_a_saved_model_predicts_without_fasttext(tmp_path, monkeypatch, labelled):
    classifier = make(vectors=vectors(), wce=True, stop_words=["the"]).fit(*labelled)
    classifier.save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "fasttext", None)
    again = wc.load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(NEW), classifier.decision_function(NEW))
    np.testing.assert_array_equal(again.predict_proba(NEW), classifier.predict_proba(NEW))
    assert list(again.predict(TEXTS)) == list(classifier.predict(TEXTS))


# --- what goes wrong ----------------------------------------------------------------------------


def test_without_the_package_the_error_names_the_pip_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(wc.MissingExtraError, match=r"pip install 'wordclass\[fasttext\]'"):
        make().fit(TEXTS, LABELS)


def test_nothing_is_left_in_the_temporary_folder(monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make(vectors=vectors()).fit(TEXTS, LABELS)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(wc.InputError, match=r"Encountered NaN\..*lower learning rate"):
        make(lr=1e6).fit(TEXTS, LABELS)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


FOR_EVER = """
import os, signal, sys, tempfile
sys.path.append(sys.argv[2])
import wordclass as wc
from made_up import corpus
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
tempfile.tempdir = sys.argv[1]
print("starts", flush=True)
try:
    wc.classifier("fasttext", epochs=1_000_000_000).fit(*corpus())
except KeyboardInterrupt:
    print("stopped", os.listdir(sys.argv[1]))
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at Linux's processes")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_training_ends_with_ctrl_c_and_with_whoever_started_it(tmp_path, sent):
    command = [sys.executable, "-c", FOR_EVER, str(tmp_path), str(Path(__file__).parents[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "starts\n"
        (trainer,) = until(lambda: trainers(tmp_path))
        until(lambda: seconds_of_work(trainer) > 0.3)
        process.send_signal(sent)
        told, _ = process.communicate(timeout=30)  # the training would take days
    assert told == ("stopped []\n" if sent == signal.SIGINT else "")
    until(lambda: not trainers(tmp_path))


def until(is_so):
    deadline = time.monotonic() + 30
    while not (found := is_so()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def trainers(folder):
    """The processes that work for this folder, beside the one that started them."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile
            written = (each / "cmdline").read_text()
            if "_fasttext_process" in written and str(folder) in written:
                found.append(each)
    return found


def seconds_of_work(process):
    ticks = (process / "stat").read_text().rpartition(")")[2].split()[11]
    return int(ticks) / os.sysconf("SC_CLK_TCK")


def test_a_disk_that_is_full_is_a_storage_error(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(wc.StorageError, match="temporary files for fastText cannot be written"):
        make().fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hs"}, "loss is 'hs'"),
        ({"lr": 0}, "lr is 0"),
        ({"lr": "fast"}, "lr is 'fast'"),
        ({"epochs": 0}, "epochs is 0"),
        ({"epochs": 2.5}, "epochs is 2.5"),
        ({"random_dims": 0}, "random_dims is 0"),
        ({"random_dims": -1, "wce": True}, "random_dims is -1"),
        ({"min_count": 0}, "min_count is 0"),
        ({"min_count": 10_000}, "no word occurs at least 10000 times"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"wce": "yes"}, "wce is 'yes'"),
        ({"vectors": np.eye(3)}, "vectors is"),
        ({"thresholds": "best"}, "thresholds is 'best'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(wc.InputError, match=message):
        make(**options).fit(TEXTS, LABELS)


def test_weights_of_texts_and_softmax_of_several_labels_are_refused():
    with pytest.raises(
        wc.InputError, match="sample_weight has no effect on the classifier 'fasttext'"
    ):
        make().fit(TEXTS, LABELS, sample_weight=np.ones(len(TEXTS)))
    with pytest.raises(wc.InputError, match="gives one label per text; use loss='ova'"):
        make(loss="softmax").fit(*multilabel_corpus())
    with pytest.raises(wc.InputError, match="too few to tune"):
        make(thresholds="tuned").fit(["aa", "aa"], [["a"], ["a", "b"]])


@pytest.mark.slow
def test_20_newsgroups_scores_what_the_paper_reports(shared_data):
    path = shared_data("20ng_bydate_stripped.jsonl.zst")
    train, test = (wc.read_corpus(path, split=split) for split in ("train", "test"))
    U = wc.WordVectors.load(shared_data("glove.6B.100d.npz"))
    macro = []
    for options in ({}, {"vectors": U, "wce": True}):
        classifier = wc.classifier("fasttext", **options).fit(train.texts, train.labels)
        predicted = classifier.predict(test.texts)
        macro.append(wc.evaluate(test.labels, predicted, classifier.classes_).macro_f1)
    # measured .620 and .686
    assert macro == pytest.approx([0.614, 0.693], abs=0.02)
    assert macro[1] > macro[0] + 0.04


def test_a_rate_at_which_training_diverges_is_halved_unless_it_was_given(monkeypatch):
    texts, labels = multilabel_corpus()
    tried = []
    really_train = fasttext_entry.train

    def train(occurrences, Y, initial, settings):
        tried.append(settings.lr)
        return really_train(occurrences, Y, initial, settings)

    monkeypatch.setattr(fasttext_entry, "train", train)
    monkeypatch.setattr(fasttext_entry, "_DEFAULTS", {("random", "ova"): (1e6, 20)})
    model = wc.classifier("fasttext").fit(texts, labels)
    assert len(tried) > 1
    assert tried == [1e6 / 2**k for k in range(len(tried))]
    assert np.isfinite(model.decision_function(texts)).all()


def test_large_corpora_get_fewer_epochs_unless_they_were_given(monkeypatch):
    seen = []
    really_train = fasttext_entry.train

    def train(occurrences, Y, initial, settings):
        seen.append(settings.epochs)
        return really_train(occurrences, Y, initial, settings)

    monkeypatch.setattr(fasttext_entry, "train", train)
    texts, labels = corpus()
    n_words = sum(len(text.split()) for text in texts)
    monkeypatch.setattr(fasttext_entry, "_MAX_WORDS", 25 * n_words)
    wc.classifier("fasttext").fit(texts, labels)
    monkeypatch.setattr(fasttext_entry, "_MAX_WORDS", 1)
    wc.classifier("fasttext").fit(texts, labels)
    wc.classifier("fasttext", epochs=3).fit(texts, labels)
    assert 25 <= seen[0] <= 40  # words of one letter are none
    assert seen[1:] == [10, 3]


def test_a_seed_is_a_number():
    with pytest.raises(wc.InputError, match="seed is None; expected an int"):
        wc.classifier("fasttext", seed=None).fit(*corpus())
