"""Files that name options of older versions are read, and answer as they did."""

import json

import numpy as np
import pytest
from saved_by_0_1_0.make_files import TEXTS, answers, vectors
from saved_with_removed_options.make_files import HERE, vectors_of
from test_saved_by_0_1_0 import assert_alike

import wordclass as wc
from wordclass.explorer.page import export_page
from wordclass.explorer.views import Exploration
from wordclass.storage.migrations import REMOVED_OPTIONS, extra_columns, migrate_options

EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


def load(name):
    if name.startswith("cnn"):
        pytest.importorskip("torch")
    return wc.load(HERE / "models" / name)


@pytest.mark.parametrize("name", EXPECTED["models"])
def test_a_model_predicts_the_same_as_before(name):
    model = load(name)
    expected = dict(EXPECTED["models"][name])
    if model.codeframe_.is_multilabel:
        # this version gives no label to a text whose terms add nothing to any score
        known = [bool(model.explanation(text).contributions.any()) for text in TEXTS]
        labels = zip(expected["predictions"], known, strict=True)
        expected["predictions"] = [names if is_known else [] for names, is_known in labels]
    assert_alike(answers(model), expected)
    assert not REMOVED_OPTIONS.keys() & model.get_params().keys()


@pytest.mark.parametrize("name", EXPECTED["models"])
def test_a_model_can_be_saved_again(name, tmp_path):
    model = load(name)
    model.save(tmp_path / "again")
    again = wc.load(tmp_path / "again")
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))


@pytest.mark.parametrize("name", EXPECTED["models"])
def test_a_model_can_be_refitted_without_the_option(name):
    model = load(name)
    if "vectors" in model.get_params():
        model.set_params(vectors=vectors())  # a file does not hold them
    model.fit(["moon orbit", "rose soil"] * 10, ["a", "b"] * 10)
    assert model.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("name", EXPECTED["embeddings"])
def test_embeddings_are_unchanged(name, tmp_path):
    path = HERE / "embeddings" / f"{name}.wce"
    wce = wc.WordClassEmbeddings.load(path)
    expected = EXPECTED["embeddings"][name]
    assert_alike(vectors_of(wce), expected)
    wce.save(tmp_path / "again.wce")
    assert_alike(vectors_of(wc.WordClassEmbeddings.load(tmp_path / "again.wce")), expected)
    for place in (path, tmp_path / "again.wce"):
        read = wc.WordVectors.load(place)
        np.testing.assert_array_equal(read.matrix, np.float32(expected["vectors"]))
        is_projected = "projected" in name
        assert read.dimension_names == (None if is_projected else tuple(expected["columns"]))


@pytest.mark.parametrize("name", EXPECTED["embeddings"])
def test_embeddings_with_structural_columns_refuse_updates(name):
    wce = wc.WordClassEmbeddings.load(HERE / "embeddings" / f"{name}.wce")
    other = wc.WordClassEmbeddings(**wce.get_params())
    labels = [wce.classes_[k % 2] for k in range(len(TEXTS))]
    before = wce.vectors_.copy()
    for update in (wce.partial_fit, wce.remove):
        with pytest.raises(
            wc.InputError,
            match="3 structural columns of an older version, which can be read but not updated",
        ):
            update(TEXTS, labels)
    other.min_docs = wce.min_docs = 1
    other.fit(TEXTS, labels)
    for first, second in ((wce, other), (other, wce)):
        with pytest.raises(wc.InputError, match="fit new embeddings on all documents"):
            first.merge(second)
    np.testing.assert_array_equal(wce.vectors_, before)


def test_only_options_are_renamed_or_dropped():
    stored = {
        "class_weight": {"dict": {"structural_problems": 2.0}},
        "wce": {"estimator": "WordClassEmbeddings", "options": {"structural_problems": 1}},
        "structural_problems": 20,
    }
    migrated = migrate_options(stored)
    assert migrated["class_weight"] == stored["class_weight"]
    assert migrated["wce"]["options"] == {}
    assert "structural_problems" not in migrated
    assert migrate_options({"wce": {"dict": {"shrinkage": 2.0, "structural_problems": 1}}}) == {
        "wce": {"dict": {"shrinkage": 2.0}}
    }


@pytest.mark.parametrize(
    "facts",
    [{"structural": [-1]}, {"structural": [2]}, {"structural": [True]}, {"extra_columns": [1]}, {}],
)
def test_invalid_columns_are_refused(facts):
    with pytest.raises((wc.InputError, ValueError, KeyError)):
        extra_columns(facts, ["moon", "orbit"])


def test_a_page_refuses_models_with_stored_factors():
    page = export_page("model", Exploration(load("svm_tf_chi")))
    assert b"a model with another weighting than tf-idf cannot be exported" in page
