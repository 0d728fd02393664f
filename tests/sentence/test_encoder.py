import copy
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from small_encoders import N_DIMS, static_folder

from wordclass import progress
from wordclass.errors import FormatError, InputError, MissingDataError, MissingExtraError
from wordclass.sentence import cache as sentence_cache
from wordclass.sentence import encoder as sentence_vectors
from wordclass.sentence.cache import CacheWarning, SentenceCache
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.sentence.kinds import static

MANY = [f"moon {'rose ' * (k % 7)}{'abcdefghij'[k % 10]} {k}" for k in range(600)]


@pytest.fixture(autouse=True)
def cache_home(monkeypatch, tmp_path):
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path / "home"))


@pytest.fixture
def folder(tmp_path):
    return static_folder(tmp_path / "model")


@pytest.fixture
def encoded_texts(monkeypatch):
    """Return a list that records the texts of each call of the model."""
    calls = []
    encode = static.StaticEncoder.encode

    def record(self, texts, n_threads):
        calls.append(texts)
        return encode(self, texts, n_threads)

    monkeypatch.setattr(static.StaticEncoder, "encode", record)
    return calls


def letters(texts):
    return [[text.count("a"), len(text), 1] for text in texts]


def test_a_function_is_an_encoder_and_its_vectors_get_length_one():
    encoder = SentenceEncoder.of(letters)
    vectors = encoder.vectors(["a", "banana"])
    expected = np.array([[1, 1, 1], [3, 6, 1]]) / np.sqrt([[3], [46]])
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)
    assert vectors.dtype == np.float32
    assert (encoder.kind, encoder.n_dims, encoder.fingerprint) == ("function", 3, "")
    assert encoder.name == "letters"


def test_an_object_with_a_method_encode_is_an_encoder():
    class Model:
        def encode(self, texts):
            return np.array(letters(texts), np.float64)

    assert SentenceEncoder.of(Model()).vectors(["a"]).shape == (1, 3)


def test_zeros_remain_zeros_and_small_and_large_vectors_are_normalized():
    numbers = {"zero": [0, 0], "small": [3e-30, 4e-30], "large": [3e30, 4e30]}
    encoder = SentenceEncoder.of(lambda texts: [numbers[text] for text in texts])
    vectors = encoder.vectors([*numbers])
    np.testing.assert_allclose(vectors, [[0, 0], [0.6, 0.8], [0.6, 0.8]], rtol=1e-6)


def test_no_texts_have_no_vectors():
    encoder = SentenceEncoder.of(letters)
    assert encoder.vectors([]).shape == (0, 0)
    encoder.vectors(["a"])
    assert encoder.vectors(iter([])).shape == (0, 3)


def test_each_distinct_text_is_encoded_once_and_the_order_remains(folder, encoded_texts):
    encoder = SentenceEncoder.of(folder)
    order = np.random.default_rng(0).integers(0, 600, 900)
    vectors = encoder.vectors([MANY[k] for k in order])
    encoded = [text for texts in encoded_texts for text in texts]
    assert len(encoded) == len(set(encoded)) == len(set(order))
    assert [len(text) for text in encoded] == sorted(map(len, encoded), reverse=True)
    alone = np.concatenate([encoder.vectors([text]) for text in MANY])
    np.testing.assert_allclose(vectors, alone[order], atol=1e-6)


def test_the_function_receives_texts_without_lone_surrogates():
    received = []
    SentenceEncoder.of(lambda texts: received.extend(texts) or [[1.0]] * len(texts)).vectors(
        ["\ud800"]
    )
    assert received == ["\ufffd"]


NOT_VECTORS = {
    "nothing": (lambda texts: None, "a NoneType that is not a table"),
    "strings": (lambda texts: [["a", "b"] for _ in texts], "a list that is not a table"),
    "a string": (lambda texts: "vectors", "a str that is not a table"),
    "flags": (lambda texts: np.ones((len(texts), 2), bool), "a ndarray that is not a table"),
    "objects": (lambda texts: [[None, 1] for _ in texts], "a list that is not a table"),
    "one dimension": (lambda texts: np.ones(len(texts)), r"an array \(2,\)"),
    "three dimensions": (lambda texts: np.ones((len(texts), 2, 2)), r"an array \(2, 2, 2\)"),
    "no columns": (lambda texts: np.ones((len(texts), 0)), r"an array \(2, 0\)"),
    "too few": (lambda texts: np.ones((1, 3)), r"an array \(1, 3\) for 2 texts"),
    "too many": (lambda texts: np.ones((5, 3)), r"expected an array of numbers \(2, 3\)"),
    "unequal rows": (lambda texts: [[1.0], [1.0, 2.0]], "rows of unequal lengths"),
    "NaN": (lambda texts: [[1.0], [np.nan]], "a NaN, an infinity or .* for the text 'b'"),
    "too large": (lambda texts: [[1.0], [1e300]], "a number too large for float32"),
}


@pytest.mark.parametrize(("encode", "message"), NOT_VECTORS.values(), ids=NOT_VECTORS)
def test_results_other_than_a_table_of_vectors_are_refused(encode, message):
    with pytest.raises(InputError, match=message) as caught:
        SentenceEncoder.of(encode).vectors(["aa", "b"])
    assert "\n" not in str(caught.value)


def test_all_vectors_have_the_same_dimension():
    sizes = iter([3, 4])
    encoder = SentenceEncoder.of(lambda texts: np.ones((len(texts), next(sizes))))
    encoder.vectors(["a"])
    with pytest.raises(InputError, match=r"returned an array \(1, 4\) .* expected .* \(1, 3\)"):
        encoder.vectors(["b"])


def test_an_error_of_a_user_defined_function_is_raised():
    with pytest.raises(ZeroDivisionError):
        SentenceEncoder.of(lambda texts: 1 / 0).vectors(["a"])


@pytest.mark.parametrize("value", [5, 0.5, ["minilm"], np.ones(3)])
def test_other_values_than_an_encoder_are_refused(value):
    with pytest.raises(
        InputError, match=r"encoder is .*; expected 'minilm', the folder of a model"
    ):
        SentenceEncoder.of(value)


def test_a_path_without_an_encoder_is_refused(tmp_path):
    with pytest.raises(
        MissingDataError, match=r"nothing does not exist; expected 'minilm', 'wordllama'"
    ):
        SentenceEncoder.of(tmp_path / "nothing")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "empty", tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(InputError, match="is not an encoder; expected a folder of sentence-tr"):
            SentenceEncoder.of(place)


def test_a_pipe_among_the_files_is_refused(folder):
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")
    with pytest.raises(FormatError, match="a pipe or a device"):
        SentenceEncoder.of(folder)


def test_a_folder_with_the_name_of_a_packaged_model_is_given_as_a_path(folder, monkeypatch):
    monkeypatch.setattr(sentence_vectors, "find_spec", lambda name: None)
    monkeypatch.chdir(folder.parent)
    folder.rename("minilm")
    assert SentenceEncoder.of("./minilm").kind == "static"
    with pytest.raises(MissingExtraError):
        SentenceEncoder.of("minilm")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_an_impossible_name_is_refused(name):
    with pytest.raises(InputError, match=r"does not exist|name too long"):
        SentenceEncoder.of(name)


def test_a_packaged_model_that_is_missing_names_the_extra(monkeypatch):
    monkeypatch.setattr(sentence_vectors, "find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=r"'minilm' is not installed; install it with: pip install 'wordcl"
    ):
        SentenceEncoder.of("minilm")


@pytest.mark.parametrize("texts", ["one text", None, [None], [b"bytes"], {"a": 1}])
def test_texts_are_checked(texts):
    with pytest.raises(InputError, match="text"):
        SentenceEncoder.of(letters).vectors(texts)


@pytest.mark.parametrize("n_jobs", [0, "two", 1.5, True])
def test_the_number_of_threads_is_checked_before_any_work(n_jobs):
    with pytest.raises(InputError, match="n_jobs"):
        SentenceEncoder.of(lambda texts: 1 / 0).vectors(["a"], n_jobs)


def test_progress_is_reported():
    reports = []
    with progress.on_progress(lambda *report: reports.append(report)):
        SentenceEncoder.of(letters).vectors(MANY)
    assert reports == [("encoding texts", done, 600) for done in (0, 256, 512, 600)]


# --- copies, threads and processes --------------------------------------------------------------


def test_a_pickle_holds_the_path_of_the_model_and_not_the_model(folder):
    encoder = SentenceEncoder.of(folder)
    expected = encoder.vectors(["moon"])
    written = pickle.dumps(encoder)
    assert len(written) < 1000
    again = pickle.loads(written)
    np.testing.assert_array_equal(again.vectors(["moon"]), expected)
    assert again.to_metadata() == encoder.to_metadata()


def test_a_function_of_a_module_can_be_pickled_too():
    again = pickle.loads(pickle.dumps(SentenceEncoder.of(np.atleast_2d)))
    assert again.kind == "function"


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_copies_share_the_model(folder, make):
    encoder = SentenceEncoder.of(folder)
    encoder.vectors(["moon"])
    copied = make(encoder)
    assert copied is not encoder
    assert copied._model is encoder._model


def test_threads_give_the_same_and_read_the_model_once(folder, monkeypatch):
    loaded_paths = []
    make = static.make

    def record(path):
        loaded_paths.append(path)
        return make(path)

    monkeypatch.setattr(static, "make", record)
    encoder = SentenceEncoder.of(folder)
    with ThreadPoolExecutor(8) as pool:
        vectors = [*pool.map(encoder.vectors, [MANY] * 16)]
    assert len(loaded_paths) == 1
    for thread_vectors in vectors:
        np.testing.assert_allclose(thread_vectors, vectors[0], atol=1e-6)


ENCODE = """
import sys
import numpy as np
from wordclass.sentence.encoder import SentenceEncoder
texts = [f"moon {k}" for k in range(2000)]
np.save(sys.argv[2], SentenceEncoder.of(sys.argv[1]).vectors(texts))
"""


def test_two_processes_may_encode_the_same_texts_at_once(folder, tmp_path):
    outputs = [tmp_path / f"{k}.npy" for k in range(2)]
    commands = [[sys.executable, "-W", "error", "-c", ENCODE, folder, path] for path in outputs]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE) for command in commands]
    assert [process.communicate(timeout=120)[1] for process in started] == [b"", b""]
    one, other = map(np.load, outputs)
    np.testing.assert_array_equal(one, other)
    assert len(SentenceCache(SentenceEncoder.of(folder).fingerprint)) == 2000


def _child(encoder, queue):
    queue.put(encoder.vectors(MANY))


def test_a_forked_process_may_go_on(folder, capfd):
    encoder = SentenceEncoder.of(folder)
    expected = encoder.vectors(MANY)
    sentence_cache.clear()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_child, args=(encoder, queue))
    process.start()
    np.testing.assert_allclose(queue.get(timeout=60), expected, atol=1e-6)
    process.join()
    assert capfd.readouterr().err == ""


# --- the cache ----------------------------------------------------------------------------------


def test_texts_that_were_encoded_before_come_from_the_cache(folder, encoded_texts):
    first = SentenceEncoder.of(folder).vectors(MANY[:300])
    again = SentenceEncoder.of(folder)
    both = again.vectors(MANY)
    assert sum(map(len, encoded_texts)) == 600
    np.testing.assert_array_equal(both[:300], first)
    np.testing.assert_array_equal(again.vectors(MANY), both)
    assert sum(map(len, encoded_texts)) == 600
    assert sentence_cache.describe_files()[0]["encoder"] == str(folder)


def test_a_few_texts_and_functions_leave_the_cache_alone(folder):
    SentenceEncoder.of(folder).vectors(MANY[:31])
    SentenceEncoder.of(letters).vectors(MANY)
    assert sentence_cache.cache_files() == []


def test_each_model_has_its_own_cache(folder, tmp_path):
    other = static_folder(tmp_path / "other", seed=1)
    vectors = [SentenceEncoder.of(path).vectors(MANY) for path in (folder, other)]
    assert not np.allclose(*vectors)
    assert len(sentence_cache.cache_files()) == 2


def test_a_copy_of_the_folder_is_the_same_model(folder, tmp_path, encoded_texts):
    SentenceEncoder.of(folder).vectors(MANY)
    encoded_texts.clear()
    SentenceEncoder.of(shutil.copytree(folder, tmp_path / "copy")).vectors(MANY)
    assert encoded_texts == []


def test_vectors_of_another_length_in_the_cache_are_made_again(folder, encoded_texts):
    encoder = SentenceEncoder.of(folder)
    expected = encoder.vectors(MANY[:40])
    cache = SentenceCache(encoder.fingerprint)
    keys = [sentence_cache.hash_text(text) for text in MANY[:20]]
    cache.keep(keys, np.ones((20, N_DIMS - 1), np.float32))
    encoded_texts.clear()
    np.testing.assert_array_equal(encoder.vectors(MANY[:40]), expected)
    assert {*encoded_texts[0]} == {*MANY[:20]}


def test_a_cache_that_cannot_be_written_is_told_once(folder, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "cache").write_text("a file")
    with pytest.warns(CacheWarning) as caught:
        assert SentenceEncoder.of(folder).vectors(MANY).shape == (600, N_DIMS)
    assert len(caught) == 1


# --- what a saved model knows of it -------------------------------------------------------------


def test_the_encoder_of_a_saved_model_must_be_the_same(folder, tmp_path):
    encoder = SentenceEncoder.of(folder)
    encoder.vectors(["moon"])
    metadata = encoder.to_metadata()
    assert SentenceEncoder.reopen(folder, metadata, "encoder").n_dims == N_DIMS
    assert SentenceEncoder.reopen(None, metadata, "encoder").fingerprint == encoder.fingerprint
    other = static_folder(tmp_path / "other", seed=1)
    with pytest.raises(
        InputError, match=r"the encoder .*other .* is not the one that the model was trained with"
    ):
        SentenceEncoder.reopen(other, metadata, "encoder")
    with pytest.raises(InputError, match=r"letters \(a function\) is not the one"):
        SentenceEncoder.reopen(letters, metadata, "encoder")


def test_a_relative_folder_is_found_from_another_folder(tmp_path, monkeypatch):
    place = static_folder(tmp_path / "here" / "model")
    monkeypatch.chdir(tmp_path / "here")
    metadata = SentenceEncoder.of("model").to_metadata()
    monkeypatch.chdir(tmp_path)
    reopened = SentenceEncoder.reopen("model", metadata, "encoder")
    np.testing.assert_array_equal(
        reopened.vectors(["moon"]), SentenceEncoder.of(place).vectors(["moon"])
    )
    place.rename(tmp_path / "moved")
    message = (
        r"here/model' of the model is not available \(the encoder model does not.*context=FOLDER"
    )
    with pytest.raises(MissingDataError, match=message):
        SentenceEncoder.reopen("model", metadata, "context")


def test_files_that_change_before_they_are_read_are_refused(tmp_path):
    place = static_folder(tmp_path / "model")
    encoder = SentenceEncoder.of(place)
    shutil.rmtree(place)
    static_folder(place, seed=1)
    with pytest.raises(InputError, match=r"files of the encoder .* changed after it was opened"):
        encoder.vectors(MANY)
    assert len(SentenceCache(encoder.fingerprint)) == 0
