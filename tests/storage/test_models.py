import errno
import itertools
import json
import multiprocessing
import os
import random
import signal
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import corpus

import wordclass as wc
from wordclass.storage import files
from wordclass.storage import models as persistence

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
    """Change the manifest and update its checksum, as an attacker would."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_bytes())
    change(manifest)
    path.write_bytes(persistence.seal_manifest({**manifest, "digest": ""}))


def test_the_manifest_describes_the_model(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    assert manifest["classifier"] == "nearest"
    assert manifest["classes"] == ["garden", "music", "space"]
    assert manifest["settings"]["min_docs"] == 2
    assert manifest["training"]["n_docs"] == 60
    assert manifest["scores"] == {"macro_f1": 0.5, "n": 3}
    assert set(manifest["versions"]) == {"python", "wordclass", "numpy", "scipy", "scikit-learn"}
    assert manifest["created"].endswith("+00:00")


def test_classes_are_readable_in_the_manifest_in_any_script(tmp_path):
    texts = ["aa bb", "cc dd"]
    labels = ["größe", "мир"]
    wc.classifier("nearest", min_docs=1).fit(texts, labels).save(tmp_path / "a")
    assert "größe" in (tmp_path / "a" / "manifest.json").read_text(encoding="utf-8")
    wc.classifier("nearest", min_docs=1).fit(texts, ["x\ud800", "y"]).save(tmp_path / "b")
    assert wc.load(tmp_path / "b").classes_.tolist() == ["x\ud800", "y"]


def test_a_model_is_replaced_completely(saved, fitted):
    fitted.save(saved)
    assert set(contents(saved)) == {"manifest.json", "model.safetensors"}
    assert json.loads((saved / "manifest.json").read_text())["scores"] == {}
    assert os.listdir(saved.parent) == ["model"]


@pytest.mark.parametrize(
    "names", [["thesis.txt"], ["model.safetensors"], ["manifest.json"], ["manifest.json", "x"]]
)
def test_a_folder_that_is_not_a_model_is_never_replaced(fitted, tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("{}")
    with pytest.raises(wc.InputError, match="is not a model"):
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
def test_a_damaged_byte_is_detected_anywhere(sample, name, place, bits):
    folder, sound = sample
    damaged = bytearray(sound[name])
    damaged[int(place * len(damaged))] ^= bits
    check_refused(folder, sound, name, bytes(damaged))


@given(
    name=st.sampled_from(["manifest.json", "model.safetensors"]),
    place=st.floats(0, 1, exclude_max=True),
)
def test_a_truncated_file_is_detected_anywhere(sample, name, place):
    folder, sound = sample
    check_refused(folder, sound, name, sound[name][: int(place * len(sound[name]))])


@pytest.mark.parametrize("name", ["manifest.json", "model.safetensors"])
def test_an_additional_byte_is_detected(sample, name):
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


def test_files_of_two_models_cannot_be_mixed(saved, tmp_path):
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


def test_a_folder_that_is_not_a_model_is_refused(tmp_path):
    with pytest.raises(wc.MissingDataError, match="nowhere: no such file or folder"):
        wc.load(tmp_path / "nowhere")
    with pytest.raises(wc.FormatError, match=r"manifest\.json is missing"):
        wc.load(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(wc.FormatError, match="expected the folder of a model"):
        wc.load(tmp_path / "file")
    (tmp_path / "model.safetensors").touch()
    for content in (b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"format": 3}'):
        (tmp_path / "manifest.json").write_bytes(content)
        with pytest.raises(wc.FormatError, match="manifest"):
            wc.load(tmp_path)


def test_the_error_about_a_newer_format_names_the_version_that_reads_it(saved):
    rewritten(saved, lambda manifest: manifest["versions"].update(wordclass="9.9"))
    assert wc.load(saved)
    rewritten(saved, lambda manifest: manifest.update(version=2))
    with pytest.raises(wc.FormatError, match=r"version 2 of the format, written by wordclass 9\.9"):
        wc.load(saved)


def test_the_error_about_a_newer_classifier_names_the_version_that_reads_it(saved):
    assert json.loads((saved / "manifest.json").read_bytes())["classifier_version"] == 1
    rewritten(saved, lambda manifest: manifest["versions"].update(wordclass="9.9"))
    rewritten(saved, lambda manifest: manifest.update(classifier_version=2))
    with pytest.raises(wc.FormatError, match=r"'nearest'.*version 2.*by wordclass 9\.9"):
        wc.load(saved)
    rewritten(
        saved, lambda manifest: manifest.pop("classifier_version")
    )  # as version 0.1.0 wrote it
    assert wc.load(saved)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, [[1]], {"a": {"b": []}}, -1.5])
@pytest.mark.parametrize(
    "key",
    [
        "classifier", "settings", "labels", "classes", "matrix_columns", "scores", "facts",
        "versions", "arrays", "created", "training", "classifier_version",
    ],
)  # fmt: skip
def test_a_manifest_with_invalid_values_is_refused_or_harmless(saved, key, value):
    rewritten(saved, lambda manifest: manifest.update({key: value}))
    with suppress(wc.InputError):  # whatever else is raised is a traceback to the user
        wc.load(saved)


@pytest.mark.parametrize("name", ["os", "_text_classifier", "../nearest", "nearest.make", ""])
def test_only_classifiers_of_the_catalogue_are_imported(saved, name):
    rewritten(saved, lambda manifest: manifest.update(classifier=name))
    with pytest.raises(wc.FormatError, match="unknown classifier"):
        wc.load(saved)


def test_a_function_is_saved_by_name_and_must_be_passed_again(tmp_path):
    path = tmp_path / "a"
    wc.classifier("nearest", analyzer=split_words, min_docs=2).fit(TEXTS, LABELS).save(path)
    with pytest.raises(wc.InputError, match=r"saved with analyzer=.*split_words, a function"):
        wc.load(path)
    assert wc.load(path, analyzer=split_words).analyzer is split_words
    with pytest.raises(wc.InputError, match="unknown option 'analyser'"):
        wc.load(path, analyser=split_words)


@pytest.mark.parametrize("name", ["nearest", "svm"])
def test_the_option_characters_is_saved(name, tmp_path):
    options = {"analyzer": "characters", "ngrams": (2, 4), "min_docs": 2}
    model = wc.classifier(name, **options).fit(TEXTS, LABELS)
    model.save(tmp_path / "a")
    again = wc.load(tmp_path / "a")
    assert (again.analyzer, again.ngrams) == ("characters", (2, 4))
    assert again.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    assert model.score(TEXTS, LABELS) > 0.9
    ((label, terms),) = again.explain("A rocket to the moon", n=None).items()
    assert {term for term, _ in terms} <= {*again.scorer_.analyze("A rocket to the moon")}
    assert (label, again.explain("a rocket to the moon", n=None)[label]) == ("space", terms)
    rewritten(tmp_path / "a", lambda manifest: manifest["settings"].update(analyzer="letters"))
    with pytest.raises(wc.FormatError, match="analyzer is 'letters'; expected 'characters'"):
        wc.load(tmp_path / "a")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_model_is_loaded_and_replaced_through_a_link(saved, fitted):
    link = Path(f"{saved}-link")
    link.symlink_to(saved)
    fitted.save(link)
    assert link.is_symlink()
    assert wc.load(link).classes_.tolist() == ["garden", "music", "space"]


@pytest.mark.skipif(sys.platform == "win32", reason="has other permissions")
def test_permissions_are_kept_and_new_ones_follow_the_umask(fitted, tmp_path):
    folder = tmp_path / "model"
    before = os.umask(0o027)
    try:
        fitted.save(folder)
        assert [permissions(path) for path in (folder, *sorted(folder.iterdir()))] == [
            0o750, 0o640, 0o640
        ]  # fmt: skip
        folder.chmod(0o2770)
        (folder / "model.safetensors").chmod(0o604)
        fitted.save(folder)
    finally:
        os.umask(before)
    assert permissions(folder) == 0o2770
    assert permissions(folder / "manifest.json") == 0o640
    assert permissions(folder / "model.safetensors") == 0o604


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_scores_are_kept_until_a_new_fit(saved, tmp_path):
    scores = {"macro_f1": 0.5, "n": 3}
    model = wc.load(saved)
    assert model.scores_ == scores
    model.save(tmp_path / "copy")
    again = wc.load(tmp_path / "copy")
    assert again.scores_ == scores
    assert again.training_.fingerprint == model.training_.fingerprint
    again.save(tmp_path / "other", scores={"macro_f1": 0.25})
    assert wc.load(tmp_path / "other").scores_ == {"macro_f1": 0.25}
    assert again.fit(TEXTS, LABELS).scores_ == {}
    again.save(tmp_path / "other")
    assert wc.load(tmp_path / "other").scores_ == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with a name here")
@pytest.mark.parametrize("name", ["manifest.json", "model.safetensors"])
def test_a_pipe_with_the_name_of_a_file_is_refused_without_waiting(saved, fitted, name):
    (saved / name).unlink()
    os.mkfifo(saved / name)
    with pytest.raises(wc.FormatError, match=rf"{name}: a pipe or a device"):
        wc.load(saved)
    if name == "manifest.json":
        with pytest.raises(wc.InputError, match="is not a model"):
            fitted.save(saved)


def test_a_file_larger_than_the_manifest_says_is_not_read(saved):
    os.truncate(saved / "model.safetensors", 1 << 42)  # without taking any room
    with pytest.raises(wc.FormatError, match="4,398,046,511,104 bytes; expected"):
        wc.load(saved)


# --- while other processes save, or are killed -----------------------------------------------


def needs_fork(test):
    quiet = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
    return quiet(pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")(test))


@pytest.fixture(scope="module")
def models():
    """Two models with different settings, classes and weights, by their fingerprints."""
    both = [
        wc.classifier("nearest", min_docs=2, shrinkage=shrinkage).fit(*corpus(90, classes=classes))
        for shrinkage, classes in [(0.0, ["music", "space"]), (5.0, ["garden", "music"])]
    ]
    return {fingerprint(model): model for model in both}


def fingerprint(model):
    """Return the settings, classes and scores of a model, which identify it."""
    scores = model.decision_function(TEXTS[:9]).tobytes()
    return model.shrinkage, tuple(model.classes_.tolist()), scores


def in_a_process(run, *arguments):
    process = multiprocessing.get_context("fork").Process(target=run, args=arguments, daemon=True)
    process.start()
    return process


def without_exchange(monkeypatch):
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)


@pytest.mark.parametrize("exchanges", [True, False], ids=["exchange", "two renames"])
@pytest.mark.parametrize("n_loads", [100, pytest.param(2000, marks=pytest.mark.slow)])
@needs_fork
def test_a_model_that_is_replaced_during_loading_is_loaded_consistently(
    models, tmp_path, monkeypatch, exchanges, n_loads
):
    if not exchanges:
        without_exchange(monkeypatch)
    folder = tmp_path / "model"

    def save_forever():
        for model in itertools.cycle(models.values()):
            model.save(folder)

    next(iter(models.values())).save(folder)
    process = in_a_process(save_forever)
    try:
        fingerprints = [fingerprint(wc.load(folder)) for _ in range(n_loads)]
    finally:
        process.kill()
        process.join()
    assert set(fingerprints) == set(models)
    assert persistence.read_manifest(folder)


class KilledAt:
    """An audit hook that kills its process before the k-th step that changes or opens a file."""

    def __init__(self, step):
        self.remaining = step

    def __call__(self, event, arguments):
        if event == "open" or event.startswith(("os.", "fcntl.", "shutil.", "ctypes.dlsym")):
            self.remaining -= 1
            if self.remaining < 0:
                os.kill(os.getpid(), signal.SIGKILL)


def save_and_be_killed(model, folder, step):
    sys.addaudithook(KilledAt(step))
    model.save(folder)


def check_after_kill(models, folder):
    """Check that a complete model exists and can be replaced. Return its index."""
    loaded = fingerprint(wc.load(folder))
    next(iter(models.values())).save(folder)
    assert os.listdir(folder.parent) == ["model"]
    assert fingerprint(wc.load(folder)) == next(iter(models))
    return list(models).index(loaded)


@pytest.mark.parametrize("exchanges", [True, False], ids=["exchange", "two renames"])
@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.slow)])
@needs_fork
def test_a_process_killed_at_any_step_of_saving_leaves_a_complete_model(
    models, tmp_path, monkeypatch, exchanges, stride
):
    if not exchanges:
        without_exchange(monkeypatch)
    folder = tmp_path / "model"
    first, second = models.values()
    first.save(folder)
    surviving = []
    for step in itertools.count(0, stride):
        process = in_a_process(save_and_be_killed, second, folder, step)
        process.join()
        surviving.append(check_after_kill(models, folder))
        if process.exitcode == 0:
            break
    assert len(surviving) * stride > 20  # saving takes more than 20 steps
    assert surviving == sorted(surviving)  # the old model first, then the new one
    assert set(surviving) == {0, 1}


@pytest.mark.parametrize("n_kills", [15, pytest.param(100, marks=pytest.mark.slow)])
@needs_fork
def test_a_process_killed_at_any_time_of_saving_leaves_a_complete_model(models, tmp_path, n_kills):
    folder = tmp_path / "model"
    first, second = models.values()
    first.save(folder)
    moments = random.Random(5)
    for _ in range(n_kills):
        process = in_a_process(save_repeatedly, second, folder)
        time.sleep(moments.uniform(0, 0.05))
        process.kill()
        process.join()
        check_after_kill(models, folder)


def save_repeatedly(model, folder):
    while True:
        model.save(folder)


def test_bool_classes_and_fields_are_restored(tmp_path):
    texts, labels = corpus(30)
    model = wc.classifier("nearest", min_docs=1).fit(texts, [label == "space" for label in labels])
    assert model.predict(texts).dtype == bool
    model.fields_ = {"text_field": ["title", "body"], "header": False}
    model.save(tmp_path / "model")
    loaded = wc.load(tmp_path / "model")
    assert loaded.predict(texts).dtype == bool
    assert (loaded.classes_.tolist(), loaded.fields_) == ([False, True], model.fields_)
