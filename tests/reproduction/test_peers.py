"""Peers: a fake one in a separate environment, and the real ones if theirs exists."""

import json
import os
import sys

import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.corpus.documents import LabelledCorpus
from wordclass.reproduction import peer_script, peers
from wordclass.reproduction.outlook import Outlook
from wordclass.reproduction.plan import Plan
from wordclass.reproduction.runner import execute, run_all
from wordclass.reproduction.runs import Results, Run

SETFIT = Run("tiny", "peer", "setfit", 7, options={"num_iterations": 3})
# replaces SetFit: predicts the most frequent label, and fails on request
FAKE = f"""
import runpy, sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

def train(texts, labels, seed, num_iterations=0):
    if num_iterations > 99:
        raise ValueError("too many")
    print("noise")
    most = min(Counter(labels).most_common())[0] if num_iterations else labels[0]
    return lambda texts: [most for _ in texts]

script = SimpleNamespace(**runpy.run_path({peer_script.__file__!r}))
script.PEERS["setfit"] = train
script.main(*map(Path, sys.argv[1:]))
"""


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Make an environment whose only peer is a fake."""
    folder = tmp_path / "peers"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "fake.py").write_text(FAKE)
    monkeypatch.setattr(peers, "_SCRIPT", str(tmp_path / "fake.py"))
    monkeypatch.setenv("WORDCLASS_PEERS", str(folder))
    return folder


def test_a_peer_is_run_like_a_learner(data, tmp_path, environment):
    results = Results(tmp_path / "out")
    assert run_all(results.folder, [SETFIT], "mine") == []
    (result,) = results.runs()
    assert result.identity == SETFIT.identity
    predicted = results.predictions(result.key).toarray()
    assert predicted[:, 0].all()  # "garden" is the first of the most frequent
    assert result.scores["accuracy"] == pytest.approx(1 / 3)
    assert result.classes["names"] == ["garden", "music", "space"]
    assert {"fit", "fit_cpu", "predict", "predict_cpu", "total"} <= result.times.keys()
    assert result.versions["python"]
    assert (result.history, result.best_epoch, result.settings) == (None, None, {})


def test_a_result_has_the_versions_of_the_peer(data, tmp_path, monkeypatch):
    answer = (["space"] * 30, {"fit_cpu": 1.0, "predict_cpu": 2.0}, {"setfit": "9.9"})
    monkeypatch.setattr(peers, "predict", lambda **request: answer)
    result = execute(SETFIT, Results(tmp_path / "out"))
    assert result.versions["setfit"] == "9.9"
    assert result.versions["wordclass"] == wc.__version__
    assert result.times["predict_cpu"] == 2.0


def test_a_failure_of_a_peer_is_reported_with_its_reason(data, tmp_path, environment):
    run = Run("tiny", "peer", "setfit", options={"num_iterations": 100})
    (failure,) = run_all(tmp_path / "out", [run], "mine")
    assert failure.endswith("the peer setfit failed: ValueError: too many")


def test_without_an_environment_runs_of_peers_are_missing(data, tmp_path, monkeypatch):
    monkeypatch.setenv("WORDCLASS_PEERS", str(tmp_path / "nowhere"))
    path = tmp_path / "mine.toml"
    path.write_text("[[runs]]\ndatasets = ['tiny']\nlearners = ['peer']\nvariants = ['setfit']\n")
    outlook = Outlook.of(Plan.read(str(path)), Results(tmp_path / "out"))
    (reason,) = outlook.missing
    assert reason.endswith("python -m wordclass.reproduction.peers")
    assert outlook.runs == []


def test_the_environment_is_created_in_the_cache_with_torch_first(tmp_path, monkeypatch):
    monkeypatch.delenv("WORDCLASS_PEERS", raising=False)
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path))
    commands = []
    monkeypatch.setattr(peers.subprocess, "run", lambda command, check: commands.append(command))
    monkeypatch.setattr(
        peers.venv, "EnvBuilder", lambda **_: pytest.fail("made by venv.create alone")
    )

    def create(folder, *, with_pip):
        assert with_pip
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").touch()

    monkeypatch.setattr(peers.venv, "create", create)
    peers.make()
    assert peers.home() == tmp_path / "cache" / "peers"
    assert {command[0] for command in commands} == {peers.home() / "bin" / "python"}
    assert [command[-1].partition("=")[0] for command in commands[:1]] == ["torch"]


def respond_to(tmp_path, peer, train, texts, **options):
    """Run the script in this process and return its response."""
    request = {"peer": peer, "texts": train[0], "labels": train[1], "test_texts": texts, "seed": 1,
             "options": options}  # fmt: skip
    request_path = tmp_path / "request.json"
    response_path = tmp_path / "response.json"
    request_path.write_text(json.dumps(request))
    peer_script.main(request_path, response_path)
    return json.loads(response_path.read_text())


@pytest.mark.filterwarnings("ignore")  # of other packages
@pytest.mark.parametrize("make", [corpus, multilabel_corpus])
@pytest.mark.parametrize(
    ("peer", "options"), [("tfidf+svc", {}), ("fasttext", {"epoch": 50, "lr": 1.0})]
)
def test_peers_learn_one_label_or_several(tmp_path, monkeypatch, peer, options, make):
    if peer == "fasttext":
        pytest.importorskip("fasttext")
    monkeypatch.chdir(tmp_path)
    texts, labels = make(90)
    response = respond_to(tmp_path, peer, (texts[:60], labels[:60]), texts[60:], **options)
    assert wc.evaluate(labels[60:], response["labels"]).micro_f1 > 0.9
    assert response["times"].keys() == {"fit", "fit_cpu", "predict", "predict_cpu"}
    assert "scikit-learn" in response["versions"]


@pytest.mark.slow
@pytest.mark.parametrize("peer", peers.NAMES)
def test_real_peers_learn(peer, monkeypatch):
    monkeypatch.delenv("WORDCLASS_HOME", raising=False)
    if not os.path.exists(peers.home()):
        pytest.skip("python -m wordclass.reproduction.peers makes their environment")
    texts, labels = corpus(90)
    train = LabelledCorpus(texts[:60], labels[:60], is_multilabel=False)
    options = {"epoch": 50, "lr": 1.0} if peer == "fasttext" else {}
    predicted, times, versions = peers.predict(peer, train, texts[60:], 1, options)
    assert wc.evaluate(labels[60:], predicted).accuracy > 0.9
    assert times["fit_cpu"] > 0
    assert versions["setfit"]
