"""All kinds of files, saved by several processes at once, by killed ones, and on a full disk."""

import os
import random
import resource
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from wordclass.batch.row_files import open_row_writer
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import FormatError, MissingDataError, StorageError, WordClassError
from wordclass.storage import files, models
from wordclass.storage.state import ModelState
from wordclass.vectors.word_vectors import WordVectors

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is locked there")

N_PROCESSES = 3
N_ROUNDS = 25
SIZE = 3000
TEXTS = ["orbit moon", "rose garden"]


def save_parts(path, number):
    ModelState.of({"number": number}, numbers=np.full(SIZE, number)).write(path, "test")


def load_parts(path):
    parts = ModelState.read(path, "test")
    return {parts.metadata["number"], *parts.arrays["numbers"].tolist()}


def save_embeddings(path, number):
    labels = [f"label {number}", "other"]
    WordClassEmbeddings(min_docs=1).fit(TEXTS, labels).save(path)


def load_embeddings(path):
    return {int(WordClassEmbeddings.load(path).classes_[0].split()[1])}


def save_model(path, number):
    import wordclass as wc

    labels = [f"label {number}", "other"]
    wc.classifier("nearest", min_docs=1).fit(TEXTS, labels).save(path, scores={"number": number})


def load_model(path):
    model = models.load(path)
    return {model.scores_["number"], int(model.predict(TEXTS[:1])[0].split()[1])}


def save_vectors(path, number):
    terms = [f"term{k}" for k in range(100)]
    WordVectors.of(terms, np.full((100, 3), float(number))).save(path)


def load_vectors(path):
    for _ in range(100):
        try:
            return set(WordVectors.load(path).matrix.ravel().astype(int).tolist())
        except StorageError as error:  # another process replaced the file: the message says so
            if "changed while it was read" not in str(error):
                raise
    raise AssertionError("the file changed during each of 100 loads")


def save_rows(path, number):
    with open_row_writer(path) as write:
        write([{"number": number}] * 100)


def load_rows(path):
    from wordclass.storage.files import read_content

    lines = read_content(path).decode().split("\n")
    return {int(line.strip('"')) for line in lines[1:] if line}


KINDS = {
    "x.wce": (save_embeddings, load_embeddings),
    "x.wce.gz": (save_parts, load_parts),
    "x.wce.zst": (save_parts, load_parts),
    "checkpoint": (save_parts, load_parts),
    "x.npz": (save_vectors, load_vectors),
    "x.csv.gz": (save_rows, load_rows),
    "model": (save_model, load_model),
}


def save_and_load(folder, number, n_rounds):
    """Save and load all kinds repeatedly. Write a line per round and per error."""
    for _ in range(n_rounds):
        for name, (save, load) in KINDS.items():
            try:
                save(folder / name, number)
                loaded = load(folder / name)
            except WordClassError as error:
                write_line(f"{name}: {error}")
            else:
                if len(loaded) != 1:
                    write_line(f"{name}: mixed of {loaded}")
        write_line("done")


def write_line(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def start(folder, number, n_rounds):
    command = [sys.executable, __file__, str(folder), str(number), str(n_rounds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_that_save_to_one_path_do_not_disturb_each_other(tmp_path):
    processes = [start(tmp_path, number, N_ROUNDS) for number in range(N_PROCESSES)]
    lines = [line for process in processes for line in process.communicate()[0].splitlines()]
    assert [line for line in lines if line != "done"] == []
    assert len(lines) == N_PROCESSES * N_ROUNDS
    assert sorted(os.listdir(tmp_path)) == sorted(KINDS)


def test_killed_processes_leave_complete_files_and_the_next_save_removes_leftovers(
    tmp_path,
):
    moments = random.Random(0)
    for number in range(4):
        process = start(tmp_path, number, 10**6)
        assert process.stdout.readline() == "done\n"
        time.sleep(moments.uniform(0, 0.2))
        process.kill()
        process.communicate()
        for name, (_, load) in KINDS.items():
            assert len(load(tmp_path / name)) == 1
    for name, (save, load) in KINDS.items():
        save(tmp_path / name, 8)
        assert load(tmp_path / name) == {8}
    assert sorted(os.listdir(tmp_path)) == sorted(KINDS)


@contextmanager
def file_size_limit(n_bytes):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", [*KINDS, "x.vec", "x.csv", "x.tsv.zst", "x.parquet"])
@pytest.mark.parametrize("n_bytes", [0, 20, 300])
def test_an_error_about_a_failed_save_names_the_path_of_the_user(tmp_path, name, n_bytes):
    save, _ = KINDS.get(name, (save_vectors if name == "x.vec" else save_rows, None))
    with file_size_limit(n_bytes):
        try:
            save(tmp_path / name, 1)
        except StorageError as error:
            message = str(error)
        else:
            assert (tmp_path / name).stat().st_size <= n_bytes
            return
    assert message.startswith(str(tmp_path / name))
    assert "too large" in message
    assert ".tmp" not in message
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "make", [files.replace_atomically, lambda path: replace_folder_atomically(path)]
)
@pytest.mark.parametrize(
    "error",
    [
        lambda path: StorageError(f"{path}: no room"),
        lambda path: MissingDataError(f"{path}: not there"),
        lambda path: FormatError(path, 3, f"{path} is damaged"),
        lambda path: OSError(f"{path}: a reason without a number"),
        lambda path: OSError(28, f"{path} has no room"),
    ],
)
def test_no_error_names_a_temporary_file(tmp_path, make, error):
    with pytest.raises(WordClassError) as caught, make(tmp_path / "x") as temporary:
        raise error(temporary)
    assert str(caught.value).startswith(str(tmp_path / "x"))
    assert ".tmp" not in f"{caught.value} {vars(caught.value)}"


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_an_error_about_a_full_disk_names_the_path_of_the_picture(tmp_path, ending):
    pytest.importorskip("matplotlib")
    from wordclass.explorer.pictures import draw_confusion

    draw_confusion(tmp_path / f"fits.{ending}", ["a"], ["a"], ["a"])
    with file_size_limit(100), pytest.raises(StorageError, match=rf"x\.{ending}: cannot be"):
        draw_confusion(tmp_path / f"x.{ending}", ["a"], ["a"], ["a"])
    assert os.listdir(tmp_path) == [f"fits.{ending}"]


def replace_folder_atomically(path):
    return files.replace_folder_atomically(path, lambda _: None)


if __name__ == "__main__":
    save_and_load(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
