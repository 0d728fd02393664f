"""Runs and the folder of their results: storage, claims, and invalid lines."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy import sparse

import wordclass as wc
from wordclass.errors import FormatError
from wordclass.reproduction import sources
from wordclass.reproduction.runs import Results, Run, RunResult
from wordclass.storage import files

RESULT = RunResult(
    key="a" * 32, dataset="tiny", learner="svm", variant="tfidf", seed=0, protocol="paper",
    options={"C": 1.0}, plan="mine", vectors=None, data={"fingerprint": "f"},
    scores={"macro_f1": 0.5, "micro_f1": 0.25}, classes={"names": ["é"], "tp": [1]},
    times={"total": 1.5}, memory=1, history=None, best_epoch=None, settings={}, versions={},
    machine={}, extra={}, finished="2026-01-01T00:00:00+00:00",
)  # fmt: skip


def another(k, **changes):
    return replace(RESULT, **{"key": f"{k:032d}", **changes})


def test_results_are_restored_in_their_order(tmp_path):
    results = Results(tmp_path / "out")
    assert results.runs() == []
    for result in (RESULT, another(1), another(2)):
        results.add(result)
    assert Results(tmp_path / "out").runs() == [RESULT, another(1), another(2)]
    lines = results.path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [asdict(result) for result in results.runs()]


def test_the_key_of_a_run_depends_on_identity_data_and_vectors(data):
    def key(**changes):
        usual_fields = {
            "dataset": "tiny", "learner": "svm", "variant": "vectors", "vectors": "small"
        }  # fmt: skip
        return Run(**{**usual_fields, **changes}).key

    usual = key()
    assert usual == key(options={})
    changed = [
        key(dataset="many"), key(learner="cnn"), key(variant="vectors+wce"), key(seed=1),
        key(protocol="paper"), key(vectors=None), key(options={"C": 1}), key(options={"C": 1.0}),
        key(needs=(Run("tiny", "svm"),)), key(options={"other": ["many"]}),
    ]  # fmt: skip
    with (data / "many.jsonl").open("a") as file:
        file.write('{"text": "one more", "labels": ["space"], "split": "train"}\n')
    assert key() == usual
    changed.append(key(options={"other": ["many"]}))
    with (data / "tiny.jsonl").open("a") as file:
        file.write('{"text": "one more", "labels": ["space"], "split": "test"}\n')
    changed.append(key())
    vectors = data / "small.txt"
    vectors.write_text(vectors.read_text().replace("orbit", "orbits"))
    changed.append(key())
    assert len({usual, *changed}) == len(changed) + 1


def test_a_result_has_the_identity_of_its_run():
    run = Run("tiny", "svm", "tfidf", 0, "paper", None, {"C": 1.0})
    assert run.identity == RESULT.identity
    with_vectors = replace(RESULT, vectors={"name": "small", "dims": 4, "digest": "d"})
    assert with_vectors.identity == replace(run, vectors="small").identity != run.identity


def test_the_checksum_of_a_folder_depends_on_contents_and_paths(tmp_path):
    def checksum(**files):
        folder = tmp_path / str(len([*tmp_path.iterdir()]))
        for name, content in files.items():
            (folder / name).mkdir(parents=True)
            (folder / name / "text").write_text(content)
        return sources._file_digest(folder)

    usual = checksum(a="moon", b="sun")
    assert usual == checksum(b="sun", a="moon")
    changed = {
        checksum(a="sun", b="moon"),
        checksum(a="moon", c="sun"),
        checksum(a="noon", b="sun"),
    }
    assert len({usual, *changed}) == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"times": "x"}, {"times": {}}, {"times": {"total": "long"}}, {"times": {"total": None}},
        {"scores": []}, {"scores": {"macro_f1": "0.5"}}, {"scores": None}, {"classes": 5},
        {"classes": {"tp": 1}}, {"history": {}}, {"history": [5]}, {"seed": "0"}, {"key": []},
        {"vectors": "glove"}, {"vectors": {}}, {"options": []}, {"needs": [1]}, {"data": None},
        {"best_epoch": "one"}, {"learner": {}},
    ],
)  # fmt: skip
def test_a_line_with_wrong_types_is_skipped_and_counted(tmp_path, changes):
    results = Results(tmp_path)
    results.add(RESULT)
    with results.path.open("a") as file:
        file.write(json.dumps({**asdict(another(1)), **changes}) + "\n[]\n5\nnull\n")
    results.add(another(2))
    assert results.runs() == [RESULT, another(2)]
    assert results.skipped == [2, 3, 4, 5]


PATHS = {
    "absolute": lambda victim: str(victim),
    "relative": lambda victim: f"../{victim.name}",
    "two steps up": lambda victim: f"../../{victim.parent.name}/{victim.name}",
    "through a key": lambda victim: f"{'a' * 32}/../../{victim.name}",
    "a folder": lambda _: ".",
    "the folder above": lambda _: "..",
    "nothing": lambda _: "",
    "too short": lambda _: "a" * 31,
    "a line more": lambda _: "a" * 32 + "\n",
    "upper case": lambda _: "A" * 32,
    "with an ending": lambda _: "a" * 31 + ".",
    "a NUL": lambda _: "a" * 31 + "\0",
    "a surrogate": lambda _: "\ud800" * 32,
    "other digits": lambda _: "\u0661" * 32,
}


@pytest.mark.parametrize("make_key", PATHS.values(), ids=PATHS)
def test_a_key_that_is_a_path_names_no_file(tmp_path, make_key):
    results = Results(tmp_path / "results")
    results.add(RESULT)
    victim = tmp_path / "results" / "precious"
    for path in (victim, results.checkpoint("unfinished")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    key = make_key(victim)
    with results.path.open("a") as file:
        file.write(json.dumps({**asdict(another(1)), "key": key}) + "\n")
    results.tidy()
    assert victim.read_text() == "mine"
    assert results.checkpoint("unfinished").read_text() == "mine"
    assert results.runs() == [RESULT]
    assert results.skipped == [2]


@pytest.mark.parametrize("name", ["absolute", "relative", "two steps up", "through a key"])
def test_files_of_runs_are_always_in_their_folders(tmp_path, name):
    victim = tmp_path / "precious.npz"
    np.savez(victim, **DECISIONS)
    before = victim.read_bytes()
    results = Results(tmp_path)
    key = PATHS[name](victim.with_suffix(""))
    uses = [
        results.arrays, results.predictions, results.checkpoint, results.save_arrays,
        lambda key: results.claimed(key).__enter__(), lambda key: results.add(another(1, key=key)),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(FormatError, match="is no name of a file in"):
            use(key)
    results.save_arrays("k", **{**DECISIONS, "truth": np.array(f"/../../{victim.stem}")})
    with pytest.raises(FormatError, match="is no name of a file in predictions"):
        results.predictions("k")
    assert victim.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_claims_that_are_not_regular_files_are_left_alone(tmp_path):
    (tmp_path / "claims").mkdir()
    os.mkfifo(tmp_path / "claims" / "pipe")
    (tmp_path / "claims" / "link").symlink_to(tmp_path / "new")
    (tmp_path / "claims" / "dead").touch()
    code = (
        "import sys; from wordclass.reproduction.runs import Results; Results(sys.argv[1]).tidy()"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], timeout=60, check=True)
    assert sorted(os.listdir(tmp_path / "claims")) == ["link", "pipe"]
    assert not (tmp_path / "new").exists()


def test_invalid_code_points_in_predictions_are_refused(tmp_path):
    results = Results(tmp_path)
    results.save_arrays("k", **DECISIONS)
    text = np.array([0x110000], np.uint32).view("U1")[0:1].reshape(())
    np.savez(tmp_path / "predictions" / "k.npz", **{**DECISIONS, "truth": text})
    with pytest.raises(FormatError, match="not an archive of arrays: the text contains 0x110000"):
        results.truth("k")


@pytest.mark.parametrize("cut", [1, 40, -2, -1])
def test_a_truncated_line_is_skipped_and_the_next_one_is_complete(tmp_path, cut):
    results = Results(tmp_path)
    for k in range(2):
        results.add(another(k))
    content = results.path.read_bytes()
    first_length = content.index(b"\n") + 1
    results.path.write_bytes(content[: first_length + cut if cut > 0 else cut])
    if cut == -1:  # only the end of the line is missing: nothing is lost
        assert results.runs() == [another(0), another(1)]
        assert results.skipped == []
    else:
        assert results.runs() == [another(0)]
        assert results.skipped == [2]
    results.add(another(2))
    assert results.runs()[-1] == another(2)


def test_two_lines_with_one_key_must_agree(tmp_path):
    results = Results(tmp_path)
    results.add(RESULT)
    results.add(replace(RESULT, times={"total": 9.0}, plan="another"))
    assert results.runs() == [RESULT]
    results.add(replace(RESULT, scores={"macro_f1": 0.6, "micro_f1": 0.25}))
    with pytest.raises(
        FormatError, match=r"runs\.jsonl, line 3: another line has the same key a+ and"
    ):
        results.runs()


LIMITED = """
import resource, sys
from pathlib import Path
from reproduction.test_runs import RESULT, another
from wordclass.errors import StorageError
from wordclass.reproduction.runs import Results

results = Results(sys.argv[1])
results.add(RESULT)
size = results.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, size + 100))
try:
    results.add(another(1))
except StorageError as error:
    print(error)
assert results.path.stat().st_size == size
"""


def test_on_a_full_disk_nothing_is_lost(tmp_path):
    pytest.importorskip("resource")
    command = [sys.executable, "-c", LIMITED, str(tmp_path)]
    path = os.pathsep.join(sys.path)
    process = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith(
        f"{tmp_path / 'runs.jsonl'}: cannot be written: File too large"
    )
    results = Results(tmp_path)
    results.add(another(1))
    assert results.runs() == [RESULT, another(1)]


def test_predictions_are_restored_and_the_truth_is_stored_once(tmp_path):
    results = Results(tmp_path)
    generator = np.random.default_rng(0)
    Y, one, two = (sparse.random(50, 7, 0.3, "csr", random_state=generator) for _ in range(3))
    for matrix in (Y, one, two):
        matrix.data[:] = 1
        matrix.sort_indices()
    results.save_decisions("one", one, Y, "f")
    results.save_decisions("two", two, Y, "f")
    assert sorted(path.name for path in (tmp_path / "predictions").iterdir()) == [
        "one.npz", "truth-f.npz", "two.npz",
    ]  # fmt: skip
    for name, expected in (("one", one), ("two", two)):
        assert (results.predictions(name) != expected).nnz == 0
        assert (results.truth(name) != Y).nnz == 0
    results.save_arrays("map", places=np.zeros((3, 2)))
    with pytest.raises(wc.InputError, match="nothing was classified"):
        results.predictions("map")
    with pytest.raises(wc.MissingDataError):
        results.predictions("three")


DECISIONS = {
    "columns": np.array([0, 2], np.int16), "counts": np.array([1, 0, 1], np.int16),
    "n_classes": np.array(3), "truth": np.array("f"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"columns": np.array([0, 3], np.int16)},
            "not predictions: Y.indices holds invalid numbers",
        ),
        (
            {"columns": np.array([0, -1], np.int16)},
            "not predictions: columns holds invalid numbers",
        ),
        ({"columns": np.array([0, 1, 2], np.int16)}, "not predictions: Y.indptr does not divide"),
        ({"columns": np.array([0.5, 1.0])}, "not predictions: columns is float64"),
        ({"columns": np.zeros((1, 2), np.int16)}, "not predictions: columns is int16"),
        (
            {"counts": np.array([3, -2, 1], np.int16)},
            "not predictions: counts holds invalid numbers",
        ),
        ({"counts": np.array([2, 0, 0], np.int16), "columns": np.array([1, 1], np.int16)},
         "not predictions: Y has two values at the same row and column"),
        ({"counts": None}, "not predictions: counts is missing"),
        ({"n_classes": np.array([3, 3])}, "not predictions: n_classes is int64"),
        ({"n_classes": np.array(-3)}, "not predictions: "),
        ({"n_classes": np.array(5)}, r"predictions of shape \(3, 5\); expected \(3, 3\)"),
        ({"counts": np.array([1, 1], np.int16)}, r"predictions of shape \(2, 3\); expected"),
        ({"columns": np.array([print, None])}, "not an archive of arrays: Object arrays cannot"),
    ],
)  # fmt: skip
def test_hostile_predictions_are_refused(tmp_path, changes, reason):
    results = Results(tmp_path)
    results.save_arrays("truth-f", **DECISIONS)
    arrays = {name: array for name, array in {**DECISIONS, **changes}.items() if array is not None}
    path = tmp_path / "predictions" / "k.npz"
    np.savez(path, **arrays)
    with pytest.raises(FormatError, match=rf"k\.npz: {reason}"):
        results.predictions("k")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive", None, "one array"])
def test_a_file_that_is_no_archive_is_refused(tmp_path, content):
    results = Results(tmp_path)
    results.save_arrays("k", **DECISIONS)
    path = tmp_path / "predictions" / "k.npz"
    if content == "one array":
        np.save(path.with_name("k"), np.zeros(3))
        path.with_name("k.npy").replace(path)
    else:
        path.write_bytes(path.read_bytes()[:-30] if content is None else content)
    for read in (results.predictions, results.truth, results.arrays):
        with pytest.raises(FormatError, match=r"k\.npz: not an archive of arrays"):
            read("k")


def test_predictions_without_their_truth_are_refused(tmp_path):
    results = Results(tmp_path)
    results.save_arrays("k", **DECISIONS)
    with pytest.raises(wc.MissingDataError, match=r"truth-f\.npz: no such file"):
        results.predictions("k")


def _claim(folder, claims, ends):
    with Results(folder).claimed("k") as is_ours:
        claims.put(is_ours)
        ends.wait(60)


def test_a_claim_belongs_to_one_process_and_ends_with_it(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    claims = spawn.Queue()
    ends = spawn.Event()
    process = spawn.Process(target=_claim, args=(tmp_path, claims, ends), daemon=True)
    process.start()
    assert claims.get(timeout=60)
    results = Results(tmp_path)
    with results.claimed("k") as is_ours, results.claimed("other") as is_other_ours:
        assert (is_ours, is_other_ours) == (False, True)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with results.claimed("k") as is_ours:
        assert is_ours
    assert not list((tmp_path / "claims").iterdir())


def test_a_claim_that_failed_can_be_made_again(tmp_path):
    def fail():
        with Results(tmp_path).claimed("k") as is_ours:
            assert is_ours
            raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            fail()
        assert not list((tmp_path / "claims").iterdir())


def test_files_of_killed_processes_are_removed_and_files_in_use_are_not(tmp_path):
    results = Results(tmp_path)
    results.save_decisions(RESULT.key, *[sparse.csr_matrix((2, 2))] * 2, "f")
    results.add(RESULT)
    for name in (RESULT.key, "unfinished"):
        results.checkpoint(name).parent.mkdir(exist_ok=True)
        results.checkpoint(name).write_bytes(b"")
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "dead").touch()
    with (
        results.claimed("alive"),
        files.open_for_writing(tmp_path / "predictions" / "alive.npz"),
        files.replace_atomically(tmp_path / "predictions" / "dead.npz") as temporary,
    ):
        # a temporary file that no process has locked
        temporary.with_name(temporary.name.replace("-", "-0")).write_bytes(b"half")
        before = {path for path in tmp_path.rglob("*") if path.is_file()}
        results.tidy()
        removed = before - {path for path in tmp_path.rglob("*") if path.is_file()}
        names = sorted(path.name for path in removed)
        assert names == [temporary.name.replace("-", "-0"), RESULT.key, "dead"]
