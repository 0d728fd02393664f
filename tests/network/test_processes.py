"""Two processes that train one network together, as torchrun starts them; one writes the model."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

torch = pytest.importorskip("torch")

import wordclass as wc  # noqa: E402
from wordclass.network.machine import Processes, is_first_process  # noqa: E402

pytestmark = pytest.mark.xdist_group("processes")  # which makes its fixtures once

OPTIONS = {
    "min_docs": 2, "batch_size": 8, "max_epochs": 2, "lr": 0.005, "dropout": 0.0,
    "supervised_dropout": 0.0,
}  # fmt: skip
# 49 texts train, so that one batch has a single text, and one process none
CASES = {
    "cnn": (corpus(62), {"channels": 4}),
    "lstm": (multilabel_corpus(30), {"hidden": 4, "trainable": True, "random_dims": 2}),
    "leam": (corpus(30), {"window": 3}),
    "few texts": (corpus(4), {"channels": 4}),
}
SCRIPT = Path(__file__).with_name("two_processes.py")


def make(case, **options):
    name = "cnn" if case == "few texts" else case
    return wc.classifier(name, **{**OPTIONS, **CASES[case][1], **options})


def weights_of(classifier):
    return {name: weight.numpy() for name, weight in classifier.network_.state_dict().items()}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return a folder with the results of both processes, which start only once."""
    folder = tmp_path_factory.mktemp("together")
    with (folder / "docs.jsonl").open("w") as file:
        for text, label in zip(*corpus(40), strict=True):
            file.write(json.dumps({"text": text, "labels": [label]}) + "\n")
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--master-port=0",
        "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", str(SCRIPT), str(folder),
    ]  # fmt: skip
    folders = [str(SCRIPT.parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(folders)},
    )
    (folder / "stderr").write_text(done.stderr)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("case", CASES)
def test_both_processes_end_with_the_weights_of_a_single_process(results, case):
    first, second = (np.load(results / f"{case}.{rank}.npz") for rank in (0, 1))
    alone = weights_of(make(case).fit(*CASES[case][0]))
    assert set(alone) == set(first) == set(second)
    for name, weight in alone.items():
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
        np.testing.assert_allclose(first[name], weight, atol=1e-5, err_msg=name)


def test_both_processes_have_the_same_history(results):
    alone = make("cnn").fit(*CASES["cnn"][0])
    for rank in (0, 1):
        history = json.loads((results / f"cnn.{rank}.json").read_text())
        assert [epoch["macro_f1"] for epoch in history] == [
            pytest.approx(epoch["macro_f1"]) for epoch in alone.history_
        ]
        assert [epoch["loss"] for epoch in history] == [
            pytest.approx(epoch["loss"], rel=1e-4) for epoch in alone.history_
        ]


def test_processes_resume_from_a_checkpoint(results):
    stopped, uninterrupted = (np.load(results / f"{name}.1.npz") for name in ("resumed", "dropout"))
    for name in uninterrupted:
        np.testing.assert_array_equal(stopped[name], uninterrupted[name], err_msg=name)


def test_only_the_first_process_writes_the_model_and_messages(results):
    model = wc.load(results / "model")
    assert model.predict(["moon orbit rocket"]).tolist() == ["space"]
    shown = (results / "stderr").read_text()
    assert shown.count("cnn, from 40 documents (single-label, 3 classes)") == 1
    assert "Warning" not in shown
    assert not (results / "model.checkpoint").exists()
    assert shown.count("from another training, or damaged; starting again") == 1


# --- alone ----------------------------------------------------------------------------------


def test_a_share_of_every_row_is_somebodys():
    rows = np.arange(7)
    shares = [Processes(rank, 3).share(rows).tolist() for rank in range(3)]
    assert shares == [[0, 3, 6], [1, 4], [2, 5]]
    assert Processes().share(rows).tolist() == rows.tolist()


def test_one_process_needs_nobody():
    team = Processes.started()
    assert team == Processes(0, 1)
    assert team.sum(3.5) == 3.5
    share = np.ones((2, 3), np.float32)
    assert team.gathered(share, 2) is share
    network = torch.nn.Linear(2, 2)
    assert team.joined(network) is network


@pytest.mark.parametrize(
    ("environment", "is_first"),
    [
        ({}, True),
        ({"RANK": "0", "WORLD_SIZE": "2"}, True),
        ({"RANK": "1", "WORLD_SIZE": "2"}, False),
        ({"RANK": "1"}, True),  # of whatever it is the rank
        ({"RANK": "1", "WORLD_SIZE": "1"}, True),
    ],
)
def test_the_first_process_is_known_by_what_torchrun_sets(monkeypatch, environment, is_first):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_first_process() == is_first
