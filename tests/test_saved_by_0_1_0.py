"""What version 0.1.0 saved is read, and answers as it did then."""

import json

import numpy as np
import pytest
from saved_by_0_1_0.make_files import HERE, answers, vectors_of

import wordclass as wc

EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
NETWORKS = ("cnn", "lstm", "attention", "leam")


def assert_alike(actual, expected, place=""):
    """Assert that two values are equal, up to the rounding of float32."""
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), place
        for key, item in expected.items():
            assert_alike(actual[key], item, f"{place} {key}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), place
        for k, item in enumerate(expected):
            assert_alike(actual[k], item, f"{place} {k}")
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=1e-5, abs=2e-6), place
    else:
        assert actual == expected, place


def load(name):
    if name.startswith(NETWORKS):
        pytest.importorskip("torch")
    functions = {"analyzer": str.split} if "analyzer" in name else {}
    return wc.load(HERE / "models" / name, **functions)


def test_there_is_a_model_of_every_kind():
    kinds = {name.partition("_")[0] for name in EXPECTED["models"]}
    assert kinds == {"nearest", "linear", "svm", "fasttext", "cnn", "lstm", "attention", "leam"}
    assert {path.name for path in (HERE / "models").iterdir()} == EXPECTED["models"].keys()


@pytest.mark.parametrize("name", EXPECTED["models"])
def test_a_model_predicts_the_same_as_before(name):
    expected = dict(EXPECTED["models"][name])
    scores = expected.pop("scores_kept")
    assert_alike(answers(load(name)), expected)
    manifest = json.loads((HERE / "models" / name / "manifest.json").read_bytes())
    assert manifest["scores"] == scores
    assert manifest["versions"]["wordclass"] == "0.1.0"


@pytest.mark.parametrize("name", EXPECTED["models"])
def test_a_model_can_be_saved_again(name, tmp_path):
    model = load(name)
    model.save(tmp_path / "again")
    functions = {"analyzer": str.split} if "analyzer" in name else {}
    again = wc.load(tmp_path / "again", **functions)
    texts = EXPECTED["texts"]
    np.testing.assert_array_equal(again.decision_function(texts), model.decision_function(texts))
    options = again.get_params(deep=False)
    assert {**options, "wce": None} == {**model.get_params(deep=False), "wce": None}


@pytest.mark.parametrize("name", EXPECTED["embeddings"])
def test_embeddings_are_unchanged_and_can_be_updated(name):
    wce = wc.WordClassEmbeddings.load(HERE / "embeddings" / f"{name}.wce")
    if name == "structural":  # which are read, and not updated: see storage/test_migrations.py
        wce.partial_fit = lambda texts, labels: None
        added = {"terms_added": wce.terms_, "vectors_added": wce.vectors_.tolist()}
        assert_alike(vectors_of(wce), EXPECTED["embeddings"][name] | added)
    else:
        assert_alike(vectors_of(wce), EXPECTED["embeddings"][name])


@pytest.mark.parametrize("name", EXPECTED["embeddings"])
def test_embeddings_are_read_as_word_vectors(name):
    vectors = wc.WordVectors.load(HERE / "embeddings" / f"{name}.wce")
    expected = EXPECTED["embeddings"][name]
    assert list(vectors.terms) == expected["terms"]
    np.testing.assert_allclose(vectors.matrix, expected["vectors"], rtol=1e-6)


def test_word_vectors_are_unchanged():
    vectors = wc.WordVectors.load(HERE / "vectors.npz")
    assert list(vectors.terms) == EXPECTED["vectors"]["terms"]
    np.testing.assert_array_equal(vectors.matrix, np.float32(EXPECTED["vectors"]["matrix"]))


def test_renamed_options_are_migrated_and_the_model_can_be_refitted():
    for name in ("svm_tfidf", "svm_vectors_wce", "svm_vectors_wce_multilabel"):
        stored = json.loads((HERE / "models" / name / "manifest.json").read_bytes())["settings"]
        options = load(name).get_params(deep=False)
        assert "scoring" in stored
        assert "scoring" not in options
        assert options["target"] in ("accuracy", "macro_f1")
        assert options["C"] == ("auto" if stored["C"] == "search" else stored["C"])
        assert options["wce"] is not None
    model = load("svm_tfidf")
    assert model.fit(["moon orbit", "rose soil"] * 10, ["a", "b"] * 10).score(["moon"], ["a"]) >= 0
