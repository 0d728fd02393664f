import json
import math

import numpy as np
import pytest

import wordclass as wc
from wordclass.storage.metadata import display_option, restore_options, to_json_options

OPTIONS = {
    "a": None,
    "b": True,
    "c": np.float32(0.5),
    "d": "text",
    "e": (1, 2.5, "x"),
    "f": [1, [2, (3,)]],
    "g": frozenset({"the", "and"}),
    "h": {"word_class": 0.5, "list": [1]},
    "i": math.inf,
    "ngrams": (1, 2),
    "j": np.array([1, 2]),
}


def test_options_are_restored():
    stored = json.loads(json.dumps(to_json_options(OPTIONS), allow_nan=False))
    assert restore_options("here", stored, {}) == {**OPTIONS, "c": 0.5, "j": [1, 2]}


def test_options_are_displayed_without_the_markers_of_types():
    options = {
        **OPTIONS,
        "k": wc.WordVectors.of(["moon"], np.zeros((1, 3), np.float32)),
        "l": wc.WordClassEmbeddings(shrinkage=3),
        "m": {1: 0.5, 2: (1,)},
        "n": len,
    }
    displayed = {name: display_option(stored) for name, stored in to_json_options(options).items()}
    assert "shrinkage=3" in displayed.pop("l")
    assert displayed == {
        "a": None, "b": True, "c": 0.5, "d": "text", "e": [1, 2.5, "x"], "f": [1, [2, [3]]],
        "g": ["and", "the"], "h": {"word_class": 0.5, "list": [1]}, "i": "inf", "ngrams": [1, 2],
        "j": [1, 2], "k": "1 terms by 3 dimensions", "m": {"1": 0.5, "2": [1]},
        "n": "builtins.len",
    }  # fmt: skip


def test_a_number_of_processes_is_not_stored():
    assert to_json_options({"n_jobs": 4}) == {"n_jobs": None}
    assert to_json_options({}) == {}


def test_a_number_of_processes_and_a_checkpoint_in_a_file_are_ignored():
    stored = {"n_jobs": 10**9, "checkpoint": "/etc/passwd", "seed": 3}
    assert restore_options("here", stored, {}) == {"n_jobs": None, "checkpoint": None, "seed": 3}


def test_embeddings_of_other_tasks_are_described_and_restored_as_none():
    wce = wc.WordClassEmbeddings(min_docs=1).fit(["moon star", "rose"], ["up", "down"])
    stored = to_json_options({"other": {"news": wce}, "wce": wce})
    assert stored["other"] == {"dict": {"news": {"vectors": {"n_terms": 3, "n_dims": 2}}}}
    assert stored["wce"]["estimator"] == "WordClassEmbeddings"
    assert display_option(stored["other"]) == {"news": "3 terms by 2 dimensions"}
    assert restore_options("here", {"other": stored["other"]}, {}) == {"other": {"news": None}}
    assert to_json_options({"other": None}) == {"other": None}
    assert to_json_options({"other": {}}) == {"other": {"dict": {}}}


def test_word_vectors_are_described_and_restored_as_none():
    vectors = wc.WordVectors.of(["moon"], np.zeros((1, 3), np.float32))
    stored = to_json_options({"vectors": vectors})
    assert stored == {"vectors": {"vectors": {"n_terms": 1, "n_dims": 3}}}
    assert restore_options("here", stored, {}) == {"vectors": None}
    assert restore_options("here", stored, {"vectors": vectors})["vectors"] is vectors


def test_an_estimator_is_restored_with_its_options():
    stored = to_json_options({"wce": wc.WordClassEmbeddings(shrinkage=5.0, ngrams=(1, 2))})
    known = {"WordClassEmbeddings": wc.WordClassEmbeddings}
    (again,) = restore_options("here", json.loads(json.dumps(stored)), {}, known).values()
    assert again.get_params() == wc.WordClassEmbeddings(shrinkage=5.0, ngrams=(1, 2)).get_params()
    with pytest.raises(KeyError):
        restore_options("here", {"wce": {"estimator": "os", "options": {}}}, {}, known)


def test_a_function_must_be_passed_again():
    stored = to_json_options({"analyzer": str.split})
    with pytest.raises(wc.InputError, match=r"here was saved with analyzer=.*split"):
        restore_options("here", stored, {})
    assert restore_options("here", stored, {"analyzer": str.split}) == {"analyzer": str.split}


def test_weights_of_classes_that_are_numbers_keep_their_keys():
    weights = {0: 2.0, 7: 0.5}
    stored = json.loads(json.dumps(to_json_options({"class_weight": weights})))
    assert restore_options("here", stored, {}) == {"class_weight": weights}
    assert restore_options("here", to_json_options({"class_weight": {}}), {}) == {
        "class_weight": {}
    }


@pytest.mark.parametrize(
    "option",
    [
        wc.WordClassEmbeddings(correlation=len),
        {"correlation": len, "min_docs": 1},
        {1: (2, [len])},
    ],
)
def test_the_error_about_a_missing_function_names_the_option(option):
    stored = json.loads(json.dumps(to_json_options({"wce": option})))
    with pytest.raises(wc.InputError, match=r"wce=builtins.len, .*load\(path, wce=\.\.\.\)"):
        restore_options("here", stored, {}, {"WordClassEmbeddings": wc.WordClassEmbeddings})
    assert restore_options("here", stored, {"wce": option}) == {"wce": option}


def test_a_key_named_function_is_not_a_function():
    options = {"a": {"function": "x", "estimator": "y"}, "b": {"function": {"function": "x"}}}
    stored = json.loads(json.dumps(to_json_options(options)))
    assert restore_options("here", stored, {}) == options
