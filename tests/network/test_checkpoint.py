"""A training that is stopped or killed anywhere resumes and ends with identical weights."""

import multiprocessing
import os
import pickle
import random
import signal
import time

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

torch = pytest.importorskip("torch")

import wordclass as wc  # noqa: E402
from wordclass.classifiers import network as network_classifier  # noqa: E402
from wordclass.corpus.labels import encode_labels  # noqa: E402
from wordclass.network import checkpoint  # noqa: E402
from wordclass.network.checkpoint import Checkpoint, CheckpointError, State  # noqa: E402
from wordclass.storage import files  # noqa: E402
from wordclass.storage.state import ModelState  # noqa: E402

TEXTS, LABELS = corpus(30)
OPTIONS = {
    "min_docs": 2, "batch_size": 8, "max_epochs": 3, "patience": 2, "lr": 0.02, "seed": 3,
}  # fmt: skip
ENCODER_OPTIONS = {
    "cnn": {"channels": 4},
    "lstm": {"hidden": 4},
    "attention": {"hidden": 4},
    "leam": {"window": 3},
}


def make(name="cnn", **options):
    return wc.classifier(name, **{**OPTIONS, **ENCODER_OPTIONS[name], **options})


def learned(classifier):
    """Return the results of a training without durations."""
    history = [{**epoch, "seconds": 0} for epoch in classifier.history_]
    weights = {name: weight.numpy() for name, weight in classifier.network_.state_dict().items()}
    return weights, history, classifier.best_epoch_, classifier.thresholds_


def assert_same(ours, theirs):
    weights, *outcome = learned(ours)
    their_weights, *their_outcome = learned(theirs)
    assert weights.keys() == their_weights.keys()
    for name, weight in weights.items():
        np.testing.assert_array_equal(weight, their_weights[name], err_msg=name)
    np.testing.assert_array_equal(outcome[2], their_outcome[2])
    assert outcome[:2] == their_outcome[:2]


class Killed(BaseException):
    """An exception that no code catches."""


@pytest.fixture
def every_batch(monkeypatch):
    """Write a checkpoint after every batch and optionally raise Killed after some writes."""
    n_remaining = [10**9]
    write = Checkpoint.write

    def count_and_write(self, *arguments):
        write(self, *arguments)
        n_remaining[0] -= 1
        if n_remaining[0] == 0:
            raise Killed

    def make_checkpoint(path=None, key=""):
        return Checkpoint(path, key, seconds=0)

    monkeypatch.setattr(Checkpoint, "write", count_and_write)
    monkeypatch.setattr(network_classifier, "Checkpoint", make_checkpoint)

    def die_after(n_writes):
        n_remaining[0] = n_writes

    return die_after


@pytest.mark.parametrize(
    ("name", "options", "labels"),
    [
        ("cnn", {}, "single"),
        ("cnn", {"max_epochs": 2, "trainable": True, "random_dims": 2}, "multilabel"),
        ("cnn", {"protocol": "paper", "batches_per_epoch": 2}, "single"),
        ("lstm", {"max_epochs": 2}, "multilabel"),
        ("attention", {"max_epochs": 2, "wce": False, "random_dims": 4}, "single"),
        ("leam", {"max_epochs": 2}, "single"),
    ],
)
def test_a_training_stopped_at_any_point_ends_with_the_same_weights(
    every_batch, tmp_path, name, options, labels
):
    data = corpus(30) if labels == "single" else multilabel_corpus(30)
    undisturbed = make(name, **options).fit(*data)
    path = tmp_path / "state"
    classifier = make(name, **options, checkpoint=path)
    # after a batch; after an epoch; after the batch of validation texts; at the end
    n_points = 0
    while n_points < 100:
        n_points += 1
        every_batch(n_points)
        path.unlink(missing_ok=True)
        try:
            classifier.fit(*data)
        except Killed:
            assert not hasattr(classifier, "network_")
            every_batch(10**9)
            classifier.fit(*data)
            assert_same(classifier, undisturbed)
            classifier = make(name, **options, checkpoint=path)
        else:
            break
    n_batches = 2 if "batches_per_epoch" in options else 3
    n_last = 1 if options.get("protocol") == "paper" else 1 + n_batches
    assert n_points - 1 == len(undisturbed.history_) * (n_batches + 1) + n_last + 1
    assert_same(classifier, undisturbed)
    assert_same(make(name, **options, checkpoint=path).fit(*data), undisturbed)  # it was over


def test_a_training_stopped_at_every_point_one_after_the_other_is_the_same_too(
    every_batch, tmp_path
):
    undisturbed = make().fit(TEXTS, LABELS)
    classifier = make(checkpoint=tmp_path / "state")
    n_stops = 0
    while not hasattr(classifier, "network_"):
        every_batch(1)
        try:
            classifier.fit(TEXTS, LABELS)
        except Killed:
            n_stops += 1
            every_batch(10**9)
            if n_stops > 100:
                raise
    assert n_stops > 10
    assert_same(classifier, undisturbed)
    seconds = [epoch["seconds"] for epoch in classifier.history_]
    assert all(duration > 0 for duration in seconds)


# --- what is refused ------------------------------------------------------------------------

VECTORS = wc.WordVectors.of(["moon", "rose", "never"], np.arange(6.0).reshape(3, 2))
OTHER_TRAININGS = {
    "a label": ({}, TEXTS, [*LABELS[:-1], "space"], None),
    "a text": ({}, [*TEXTS[:-1], "moon"], LABELS, None),
    "one text less": ({}, TEXTS[:-1], LABELS[:-1], None),
    "the name of a class": ({}, TEXTS, [name.upper() for name in LABELS], None),
    "weights": ({}, TEXTS, LABELS, [1.0] * 30),
    "the seed": ({"seed": 4}, TEXTS, LABELS, None),
    "lr": ({"lr": 0.01}, TEXTS, LABELS, None),
    "channels": ({"channels": 5}, TEXTS, LABELS, None),
    "max_epochs": ({"max_epochs": 4}, TEXTS, LABELS, None),
    "protocol": ({"protocol": "paper"}, TEXTS, LABELS, None),
    "vectors": ({"vectors": VECTORS}, TEXTS, LABELS, None),
    "wce": ({"wce": wc.WordClassEmbeddings(min_docs=2, shrinkage=5)}, TEXTS, LABELS, None),
    "analyzer": ({"analyzer": lambda text: text.split()[::-1]}, TEXTS, LABELS, None),
}


@pytest.fixture(scope="module")
def half_way(tmp_path_factory):
    path = tmp_path_factory.mktemp("state") / "state"
    make(checkpoint=path).fit(TEXTS, LABELS)
    return path


@pytest.mark.parametrize("what", OTHER_TRAININGS)
def test_the_checkpoint_of_another_training_is_refused(half_way, what):
    options, texts, labels, weights = OTHER_TRAININGS[what]
    before = half_way.read_bytes()
    with pytest.raises(CheckpointError, match="the checkpoint of another training") as error:
        make(**{**options, "checkpoint": half_way}).fit(texts, labels, sample_weight=weights)
    assert isinstance(error.value, wc.InputError)
    assert half_way.read_bytes() == before


@pytest.mark.parametrize("part", ["training", "validation"])
def test_so_is_one_with_another_weight_of_one_text(tmp_path, part):
    weights = np.ones(30)
    path = tmp_path / "state"
    make(checkpoint=path).fit(TEXTS, LABELS, sample_weight=weights)
    data = make()._prepare(TEXTS, encode_labels(LABELS), None)
    is_validated = np.isin(np.arange(30), data.validation_rows)
    weights[np.flatnonzero(is_validated == (part == "validation"))[0]] = 2
    with pytest.raises(CheckpointError, match="another training"):
        make(checkpoint=path).fit(TEXTS, LABELS, sample_weight=weights)


def test_vectors_with_other_numbers_are_another_training(tmp_path):
    path = tmp_path / "state"
    make(checkpoint=path, vectors=VECTORS).fit(TEXTS, LABELS)
    other = wc.WordVectors.of(["moon", "rose", "never"], np.arange(6.0).reshape(3, 2) + 1)
    with pytest.raises(CheckpointError, match="another training"):
        make(checkpoint=path, vectors=other).fit(TEXTS, LABELS)
    same = wc.WordVectors.of(["moon", "rose", "never"], np.arange(6.0).reshape(3, 2))
    make(checkpoint=path, vectors=same, n_jobs=1).fit(TEXTS, LABELS)


def test_what_changes_no_weight_is_no_other_training(half_way, tmp_path):
    moved = tmp_path / "moved"
    moved.write_bytes(half_way.read_bytes())
    again = make(checkpoint=str(moved), n_jobs=2, device="cpu").fit(TEXTS, LABELS)
    assert_same(again, make().fit(TEXTS, LABELS))


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "other kind"])
def test_a_damaged_checkpoint_is_refused(half_way, tmp_path, damage):
    content = bytearray(half_way.read_bytes())
    path = tmp_path / "state"
    if damage == "flipped":
        content[-100] ^= 1
    path.write_bytes({"cut": content[:-50], "empty": b"", "text": b"moon"}.get(damage, content))
    if damage == "other kind":
        ModelState.of(a=np.zeros(3)).write(path, "model")
    with pytest.raises(CheckpointError, match="delete it to start over") as error:
        make(checkpoint=path).fit(TEXTS, LABELS)
    assert str(path) in str(error.value)


def test_its_folder_is_created_or_an_error_names_it(tmp_path):
    make(checkpoint=tmp_path / "new" / "state").fit(TEXTS, LABELS)
    assert os.listdir(tmp_path / "new") == ["state"]
    (tmp_path / "file").write_text("")
    with pytest.raises(wc.errors.StorageError, match="cannot be written"):
        make(checkpoint=tmp_path / "file" / "state").fit(TEXTS, LABELS)


def test_no_file_is_a_beginning_and_nothing_is_written_without_a_path(tmp_path):
    network = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(network.parameters())
    nothing = Checkpoint(None, "key", seconds=0)
    assert not nothing.is_due
    nothing.write(State(), network, optimizer, {})
    for checkpoint_file in (nothing, Checkpoint(tmp_path / "state", "key")):
        assert checkpoint_file.read(network, optimizer, ["best"]) == (State(), {"best": {}})
    assert os.listdir(tmp_path) == []


def test_removing_takes_what_a_killed_process_left_and_nothing_else(tmp_path):
    path = tmp_path / "m.checkpoint"
    unfinished = f"{files._MACHINE_ID}-{'0f' * 8}.tmp"
    unrelated = ["m", "mXcheckpoint", ".m.checkpoint.tmp", f".other.{unfinished}"]
    for name in [*unrelated, path.name, f".m.checkpoint.{unfinished}", f".state.{unfinished}"]:
        (tmp_path / name).write_text("")
    make(checkpoint=tmp_path / "state").fit(TEXTS, LABELS)  # this one finds what was left
    checkpoint.remove(tmp_path / "state")
    checkpoint.remove(path)
    assert sorted(os.listdir(tmp_path)) == sorted(unrelated)
    checkpoint.remove(tmp_path / "nowhere" / "state")


# --- killed ---------------------------------------------------------------------------------


def fit_and_tell(folder, options, seconds):
    """Train with a checkpoint in a separate process and write the results to a file."""
    torch.set_num_threads(1)
    network_classifier.Checkpoint = lambda path, key: Checkpoint(path, key, seconds=seconds)
    classifier = make(**options, checkpoint=folder / "state").fit(*corpus(120))
    (folder / "done.tmp").write_bytes(pickle.dumps(learned(classifier)))
    os.replace(folder / "done.tmp", folder / "done")


def kill_at_random(folder, options, n_kills, longest):
    """Restart the training and kill it at random moments. Return the number of kills."""
    forking = multiprocessing.get_context("fork")
    moments = random.Random(7)
    n_killed = 0
    while not (folder / "done").exists():
        process = forking.Process(target=fit_and_tell, args=(folder, options, 0))
        process.start()
        if n_killed < n_kills:
            wait_for_progress(folder, process)
            time.sleep(moments.uniform(0, longest))
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
                n_killed += 1
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
    return n_killed


def wait_for_progress(folder, process):
    """Wait until the process has written a checkpoint or ended."""
    path = folder / "state"
    before = path.stat().st_mtime_ns if path.exists() else None
    while process.is_alive():
        if path.exists() and path.stat().st_mtime_ns != before:
            return
        time.sleep(0.001)


def assert_killing_changes_nothing(tmp_path, n_kills):
    options = {"max_epochs": 12, "patience": 12, "lr": 0.002}
    undisturbed = make(**options).fit(*corpus(120))
    n_killed = kill_at_random(tmp_path, options, n_kills, longest=0.05)
    assert n_killed == n_kills
    result = pickle.loads((tmp_path / "done").read_bytes())
    weights, history, best_epoch, _ = learned(undisturbed)
    for name, weight in weights.items():
        np.testing.assert_array_equal(result[0][name], weight, err_msg=name)
    assert (result[1], result[2]) == (history, best_epoch)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_training_killed_ten_times_ends_with_the_same_weights(tmp_path):
    assert_killing_changes_nothing(tmp_path, 10)
