"""Tests of `wordclass experiment list` and `run`, through the `main` that the script calls."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from reproduction import conftest as fixtures
from reproduction.kills import command, leftovers

from wordclass.reproduction.plan import Plan
from wordclass.reproduction.runs import Results

data = fixtures.data  # replaces the fixture of the other commands
encoder = fixtures.encoder

PLAN = """
[[runs]]
datasets = ["tiny", "many", "rcv1"]
learners = ["nearest"]
[[runs]]
datasets = ["tiny"]
learners = ["svm"]
variants = ["vectors+wce"]
protocols = ["paper"]
vectors = ["corpus"]
"""


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(PLAN)
    return path


def test_a_plan_is_run_only_once(run, data, plan, tmp_path):
    folder = tmp_path / "out"
    status, out, err = run("experiment", "run", plan, "-o", folder)
    assert (status, out) == (0, "")
    missing, first, vectors, *finished, last = err.splitlines()
    assert missing.startswith("1 run cannot be executed here: the dataset rcv1 is missing")
    assert first.startswith("mine: 3 runs, 0 finished, 3 remaining; about")
    assert "learned from the corpus" in vectors
    assert len(finished) == 3
    assert finished[0].startswith("tiny nearest default clean seed 0: ")
    assert last == f"3 of 3 runs finished: {folder / 'runs.jsonl'}"
    status, out, err = run("experiment", "run", plan, "-o", folder, "--json", "--quiet")
    assert json.loads(out) == {"plan": "mine", "runs": 3, "done": 3, "failed": []}
    assert (status, err) == (0, "")
    assert len(Results(folder).runs()) == 3


def test_only_selected_runs_are_executed(run, data, plan, tmp_path):
    folder = tmp_path / "out"
    only = "dataset=tiny,dataset=many,learner=nearest"
    assert run("experiment", "run", plan, "-o", folder, "--only", only)[0] == 0
    runs = [(result.dataset, result.learner) for result in Results(folder).runs()]
    assert runs == [("tiny", "nearest"), ("many", "nearest")]


def test_a_truncated_line_is_reported_and_its_run_repeated(run, data, plan, tmp_path):
    folder = tmp_path / "out"
    run("experiment", "run", plan, "-o", folder)
    path = folder / "runs.jsonl"
    before = Results(folder).runs()
    path.write_bytes(path.read_bytes()[:-9])
    status, _, err = run("experiment", "run", plan, "-o", folder)
    assert status == 0
    assert f"{path}, line 3: skipped, because it cannot be parsed; its run" in err
    assert "3 runs, 2 finished, 1 remaining; about" in err
    after = Results(folder).runs()
    assert [result.scores for result in after] == [result.scores for result in before]


def test_failed_runs_are_reported_with_exit_status_1(run, data, plan, tmp_path):
    plan.write_text(PLAN + "[[runs]]\ndatasets = ['tiny:sky+space']\nlearners = ['nearest']\n")
    status, _, err = run("experiment", "run", plan, "-o", tmp_path / "out", "-j", 2)
    assert status == 1
    last = err.splitlines()[-1]
    assert last.startswith("wordclass: 1 run failed; the first: tiny:sky+space nearest")
    assert "unknown class of tiny 'sky'" in last
    assert len(Results(tmp_path / "out").runs()) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("smokee",), "unknown plan 'smokee' (did you mean 'smoke'?)"),
        (("smoke", "--only", "learner=svn"), "unknown learner of the plan smoke 'svn' (did you"),
        (("smoke", "--only", "svm"), "--only contains 'svm'; expected NAME=VALUE"),
        (("smoke", "--only", ""), "--only contains ''; expected NAME=VALUE"),
        (("smoke", "--only", "learner=svm,"), "--only contains ''; expected NAME=VALUE"),
        (("smoke", "--only", "learner="), "--only contains 'learner='; expected NAME=VALUE"),
        (
            ("smoke", "--only", "epochs=3"),
            "expected NAME=VALUE, where NAME is one of dataset, learner",
        ),
        (
            ("smoke", "--only", "learner=svm,variant=random"),
            "no run of the plan smoke has all of learner=svm, variant=random",
        ),
        (("nowhere.toml",), "nowhere.toml: no such file"),
        (("f1", "--only", "dataset=rcv1"), "the dataset rcv1 is missing"),
    ],
)
def test_errors_are_one_line(run, data, tmp_path, arguments, message):
    status, out, err = run("experiment", "run", *arguments, "-o", tmp_path / "out", "--quiet")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_that_cannot_be_written_are_one_line(run, data, plan, tmp_path, jobs):
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.touch()
    (folder / "runs.jsonl").mkdir(parents=True)
    places = {
        file: f"{file} is a file; expected a folder, or a new name",
        file / "inner": f"{file / 'inner'}: cannot be written: Not a directory",
        folder: f"{folder / 'runs.jsonl'}: cannot be read: Is a directory",
    }
    if sys.platform == "linux":  # where no folder can be created
        places[Path("/proc/out")] = "/proc/out: cannot be written: No such file or directory"
    for place, message in places.items():
        status, out, err = run("experiment", "run", plan, "-o", place, "-j", jobs, "--quiet")
        assert (status, out, err) == (1, "", f"wordclass: {message}\n")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything"
)
def test_a_read_only_folder_is_an_error(run, data, plan, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir(mode=0o555)
    status, _, err = run("experiment", "run", plan, "-o", folder, "--quiet")
    assert (status, err) == (1, f"wordclass: {folder}: cannot be written: it is read-only\n")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_stops_the_runs_and_loses_nothing(run, data, plan, tmp_path, jobs):
    resource = pytest.importorskip("resource")
    folder = tmp_path / "out"
    run("experiment", "run", plan, "-o", folder, "--only", "dataset=many")
    before = (folder / "runs.jsonl").read_bytes()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))

    done = subprocess.run(
        command(plan, folder, "-j", str(jobs), "--quiet"),
        capture_output=True, text=True, preexec_fn=limit,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert "cannot be written: File too large" in done.stderr
    assert (folder / "runs.jsonl").read_bytes() == before
    assert run("experiment", "run", plan, "-o", folder, "-j", jobs)[0] == 0
    assert (folder / "runs.jsonl").read_bytes().startswith(before)
    assert len(Results(folder).runs()) == 3
    assert leftovers(folder) == []


def test_only_saved_runs_are_counted(run, data, plan, tmp_path):
    folder = tmp_path / "out"
    run("experiment", "run", plan, "-o", folder, "--only", "dataset=many")
    (folder / "predictions").rename(tmp_path / "elsewhere")
    (folder / "predictions").touch()  # so that no array can be written
    status, out, err = run("experiment", "run", plan, "-o", folder, "--json", "--quiet")
    assert (status, json.loads(out)["runs"], json.loads(out)["done"]) == (1, 3, 1)
    assert "1 run failed" in err


def test_runs_that_need_missing_packages_are_left_out(run, data, plan, tmp_path, monkeypatch):
    for package in ("torch", "fasttext", "openTSNE"):
        monkeypatch.setitem(sys.modules, package, None)
    plan.write_text(
        PLAN
        + "".join(
            f"[[runs]]\ndatasets = ['tiny']\nlearners = ['{learner}']\nvariants = ['{variant}']\n"
            for learner, variant in [("cnn", "wce"), ("lstm", "wce"), ("fasttext", "random"),
                                     ("map", "default")]
        )
        + "vectors = ['corpus']\n"
    )  # fmt: skip
    status, _, err = run("experiment", "run", plan, "-o", tmp_path / "out")
    assert status == 0
    for line in (
        "2 runs cannot be executed here: torch is needed for networks; install it with: pip",
        "1 run cannot be executed here: fasttext is needed for fasttext; install it with: pip",
        "1 run cannot be executed here: openTSNE is needed for map; install it with: pip",
        "3 of 3 runs finished",
    ):
        assert line in err
    status, _, err = run("experiment", "run", plan, "-o", tmp_path, "--only", "learner=cnn")
    assert status == 1
    assert err.splitlines()[-1].startswith("wordclass: torch is needed")


def test_a_folder_may_be_relative(run, data, plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("experiment", "run", "mine.toml", "-o", "out/of/here", "-j", 2)[0] == 0
    assert len(Results(tmp_path / "out" / "of" / "here").runs()) == 3


LONG = """
[[runs]]
datasets = ["tiny"]
learners = ["cnn"]
variants = ["wce"]
seeds = [1, 2, 3]
options = {channels = 4, max_epochs = 100000, patience = 100000, min_docs = 2}
"""


def workers_of(process):
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    lines = {int(child): Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    return [child for child, line in lines.items() if b"spawn_main" in line]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("who", ["worker", "runner"])
def test_if_one_process_ends_all_end_with_a_message(data, plan, tmp_path, who):
    plan.write_text(LONG)
    started = command(plan, tmp_path / "out", "-j", "2", "--quiet")
    process = subprocess.Popen(started, stderr=subprocess.PIPE, text=True)
    checkpoints = tmp_path / "out" / "checkpoints"
    while process.poll() is None and not (checkpoints.is_dir() and len([*checkpoints.iterdir()])):
        time.sleep(0.1)
    workers = workers_of(process)
    assert len(workers) == 2
    if who == "worker":
        os.kill(workers[0], signal.SIGKILL)
    else:
        os.kill(process.pid, signal.SIGINT)  # Ctrl-C would reach all processes
    _, err = process.communicate(timeout=180)
    messages = {
        "worker": "a worker process was killed, perhaps because memory ran out; run the same "
        "command again to resume",
        "runner": "stopped",
    }
    assert (process.returncode, err) == (
        1 if who == "worker" else 130,
        f"wordclass: {messages[who]}\n",
    )
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def test_two_results_of_one_run_that_differ_are_refused(run, data, plan, tmp_path):
    folder = tmp_path / "out"
    run("experiment", "run", plan, "-o", folder)
    path = folder / "runs.jsonl"
    line = json.loads(path.read_text().splitlines()[0])
    line["scores"]["macro_f1"] += 0.1
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    for arguments in (["run", plan], ["list"]):
        status, _, err = run("experiment", *arguments, "-o", folder)
        assert status == 1
        assert "line 4: another line has the same key" in err


def test_the_list_shows_finished_runs(run, data, tmp_path, monkeypatch, data_home):
    monkeypatch.setenv("WORDCLASS_HOME", str(data_home))  # where the docstrings are already built
    only = "learner=counts,learner=nearest"
    assert run("experiment", "run", "smoke", "-o", tmp_path / "out", "--only", only)[0] == 0
    status, out, _ = run("experiment", "list", "-o", tmp_path / "out", "--json")
    assert status == 0
    plans = {plan["plan"]: plan for plan in json.loads(out)["plans"]}
    assert (plans["smoke"]["runs"], plans["smoke"]["done"]) == (len(Plan.read("smoke").runs()), 8)
    assert plans["datasets"]["done"] == 1
    assert plans["f1"]["not_here"] == plans["f1"]["runs"]
    status, out, _ = run("experiment", "list", "-o", tmp_path / "out")
    assert next(line for line in out.splitlines() if line.startswith("smoke")).split()[2] == "8"
