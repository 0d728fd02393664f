import errno
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus

import wordclass as wc
from wordclass import persistence

TEXTS, LABELS = corpus()


def split_words(text):
    return text.split()


@pytest.fixture(scope="module")
def fitted():
    return wc.classifier("nearest", min_docs=2).fit(TEXTS, LABELS)


@pytest.fixture
def saved(fitted, tmp_path):
    fitted.save(tmp_path / "model", scores={"macro_f1": np.float64(0.5), "n": np.int64(3)})
    return tmp_path / "model"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def rewritten(folder, change):
    """Change the manifest and seal it again, as only a forger would."""
    path = folder / "manifest.json"
    facts = json.loads(path.read_bytes())
    change(facts)
    path.write_bytes(persistence.sealed({**facts, "digest": ""}))


def test_the_manifest_tells_people_what_they_have(saved):
    found = json.loads((saved / "manifest.json").read_text())
    assert found["classifier"] == "nearest"
    assert found["classes"] == ["garden", "music", "space"]
    assert found["settings"]["min_docs"] == 2
    assert found["training"]["n_docs"] == 60
    assert found["scores"] == {"macro_f1": 0.5, "n": 3}
    assert set(found["versions"]) == {"python", "wordclass", "numpy", "scipy", "scikit-learn"}
    assert found["created"].endswith("+00:00")


def test_classes_are_readable_in_the_manifest_in_any_script(tmp_path):
    texts, labels = ["aa bb", "cc dd"], ["größe", "мир"]
    wc.classifier("nearest", min_docs=1).fit(texts, labels).save(tmp_path / "a")
    assert "größe" in (tmp_path / "a" / "manifest.json").read_text(encoding="utf-8")
    wc.classifier("nearest", min_docs=1).fit(texts, ["x\ud800", "y"]).save(tmp_path / "b")
    assert wc.load(tmp_path / "b").classes_.tolist() == ["x\ud800", "y"]


def test_a_model_is_replaced_as_a_whole(saved, fitted):
    fitted.save(saved)
    assert set(contents(saved)) == {"manifest.json", "model.safetensors"}
    assert json.loads((saved / "manifest.json").read_text())["scores"] == {}
    assert os.listdir(saved.parent) == ["model"]


@pytest.mark.parametrize(
    "names", [["thesis.txt"], ["model.safetensors"], ["manifest.json"], ["manifest.json", "x"]]
)
def test_what_is_no_model_is_never_replaced(fitted, tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("{}")
    with pytest.raises(wc.InputError, match="is no model"):
        fitted.save(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(names)


def test_a_full_disk_leaves_the_old_model_and_nothing_else(saved, fitted, monkeypatch):
    before = contents(saved)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(wc.StorageError, match="cannot be written: No space left"):
        fitted.save(saved)
    assert contents(saved) == before
    assert os.listdir(saved.parent) == ["model"]


def test_scores_that_json_cannot_hold_are_refused(fitted, tmp_path):
    with pytest.raises(wc.InputError, match="cannot be written"):
        fitted.save(tmp_path / "a", scores={"macro_f1": object()})
    with pytest.raises(wc.InputError, match="cannot be written"):
        fitted.save(tmp_path / "a", scores={"macro_f1": float("nan")})
    assert os.listdir(tmp_path) == []


@pytest.fixture(scope="module")
def sample(fitted, tmp_path_factory):
    """A model to be damaged, and its sound content."""
    folder = tmp_path_factory.mktemp("damaged") / "model"
    fitted.save(folder)
    return folder, contents(folder)


@given(
    name=st.sampled_from(["manifest.json", "model.safetensors"]),
    place=st.floats(0, 1, exclude_max=True),
    bits=st.integers(1, 255),
)
def test_a_damaged_byte_is_noticed_wherever_it_is(sample, name, place, bits):
    folder, sound = sample
    damaged = bytearray(sound[name])
    damaged[int(place * len(damaged))] ^= bits
    check_refused(folder, sound, name, bytes(damaged))


@given(
    name=st.sampled_from(["manifest.json", "model.safetensors"]),
    place=st.floats(0, 1, exclude_max=True),
)
def test_a_file_cut_short_is_noticed_wherever_it_is_cut(sample, name, place):
    folder, sound = sample
    check_refused(folder, sound, name, sound[name][: int(place * len(sound[name]))])


@pytest.mark.parametrize("name", ["manifest.json", "model.safetensors"])
def test_a_byte_too_many_is_noticed(sample, name):
    folder, sound = sample
    check_refused(folder, sound, name, sound[name] + b"\n")


def check_refused(folder, sound, name, content):
    (folder / name).write_bytes(content)
    try:
        with pytest.raises(wc.FormatError):
            wc.load(folder)
    finally:
        (folder / name).write_bytes(sound[name])
    assert wc.load(folder)


def test_files_of_two_models_do_not_go_together(saved, tmp_path):
    other = tmp_path / "other"
    wc.classifier("nearest", min_docs=2, shrinkage=5.0).fit(TEXTS, LABELS).save(other)
    (other / "model.safetensors").replace(saved / "model.safetensors")
    with pytest.raises(wc.FormatError, match=r"model\.safetensors"):
        wc.load(saved)


@pytest.mark.parametrize("name", ["manifest.json", "model.safetensors"])
def test_a_missing_file_is_named(saved, name):
    (saved / name).unlink()
    with pytest.raises(wc.InputError, match=f"{name} is missing"):
        wc.load(saved)


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(wc.MissingDataError, match="nowhere: no such file or folder"):
        wc.load(tmp_path / "nowhere")
    with pytest.raises(wc.FormatError, match=r"manifest\.json is missing"):
        wc.load(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(wc.FormatError, match="expected the folder of a model"):
        wc.load(tmp_path / "file")
    for content in (b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"format": 3}'):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(wc.FormatError, match="manifest"):
            wc.load(tmp_path)


def test_a_newer_format_says_who_can_read_it(saved):
    rewritten(saved, lambda facts: facts["versions"].update(wordclass="9.9"))
    assert wc.load(saved)
    rewritten(saved, lambda facts: facts.update(version=2))
    with pytest.raises(wc.FormatError, match=r"version 2 of the format, written by wordclass 9\.9"):
        wc.load(saved)


def test_a_newer_kind_of_classifier_says_who_can_read_it(saved):
    assert json.loads((saved / "manifest.json").read_bytes())["classifier_version"] == 1
    rewritten(saved, lambda facts: facts["versions"].update(wordclass="9.9"))
    rewritten(saved, lambda facts: facts.update(classifier_version=2))
    with pytest.raises(wc.FormatError, match=r"'nearest'.*version 2.*by wordclass 9\.9"):
        wc.load(saved)
    rewritten(saved, lambda facts: facts.pop("classifier_version"))  # as version 0.1.0 wrote it
    assert wc.load(saved)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, [[1]], {"a": {"b": []}}, -1.5])
@pytest.mark.parametrize(
    "key",
    [
        "classifier", "settings", "labels", "classes", "matrix_columns", "scores", "facts",
        "versions", "arrays", "created", "training", "classifier_version",
    ],
)  # fmt: skip
def test_a_manifest_of_strange_values_is_refused_or_harmless(saved, key, value):
    rewritten(saved, lambda facts: facts.update({key: value}))
    with suppress(wc.InputError):  # whatever else is raised is a traceback to the user
        wc.load(saved)


@pytest.mark.parametrize("name", ["os", "_text_classifier", "../nearest", "nearest.make", ""])
def test_only_classifiers_of_the_catalogue_are_imported(saved, name):
    rewritten(saved, lambda facts: facts.update(classifier=name))
    with pytest.raises(wc.FormatError, match="unknown classifier"):
        wc.load(saved)


def test_a_function_is_saved_by_name_and_must_be_given_again(tmp_path):
    path = tmp_path / "a"
    wc.classifier("nearest", analyzer=split_words, min_docs=2).fit(TEXTS, LABELS).save(path)
    with pytest.raises(wc.InputError, match=r"made with the analyzer .*split_words, which is not"):
        wc.load(path)
    assert wc.load(path, analyzer=split_words).analyzer is split_words
    with pytest.raises(wc.InputError, match="does not know the option 'analyser'"):
        wc.load(path, analyser=split_words)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_model_is_loaded_and_replaced_through_a_link(saved, fitted):
    link = Path(f"{saved}-link")
    link.symlink_to(saved)
    fitted.save(link)
    assert link.is_symlink()
    assert wc.load(link).classes_.tolist() == ["garden", "music", "space"]


def test_bool_classes_and_fields_come_back(tmp_path):
    texts, labels = corpus(30)
    model = wc.classifier("nearest", min_docs=1).fit(texts, [label == "space" for label in labels])
    assert model.predict(texts).dtype == bool
    model.fields_ = {"text_field": ["title", "body"], "header": False}
    model.save(tmp_path / "model")
    loaded = wc.load(tmp_path / "model")
    assert loaded.predict(texts).dtype == bool
    assert (loaded.classes_.tolist(), loaded.fields_) == ([False, True], model.fields_)
