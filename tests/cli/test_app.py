"""Tests of the commands `datasets` and `demo`; the fixture `run` is in conftest."""

import json

import pytest
from made_up import corpus

from wordclass.cli import demo
from wordclass.corpus.datasets import _download
from wordclass.corpus.documents import Dataset, LabelledCorpus


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path))
    monkeypatch.delenv("WORDCLASS_DATA", raising=False)


@pytest.fixture
def fetched(monkeypatch):
    """Put an empty file in place of each download."""
    names = []

    def put(download, folder):
        names.append(download.file)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / download.file).touch()
        return folder / download.file

    monkeypatch.setattr(_download, "fetch", put)
    return names


def test_all_datasets_are_shown_as_a_table(run):
    shown = run("datasets")[1]
    assert "newsgroups20" in shown
    assert "11,314" in shown
    assert "wordclass datasets ohsumed --download" in shown


def test_all_datasets_are_shown_as_json(run):
    datasets = json.loads(run("datasets", "--json")[1])["datasets"]
    assert {dataset["name"]: dataset["is_here"] for dataset in datasets}["docstrings"] is True
    n_classes = {dataset["name"]: dataset["n_classes"] for dataset in datasets}
    assert n_classes["reuters21578"] == 115


def test_one_dataset_is_shown_with_its_options(run):
    assert "labels='main', level='subclass'" in run("datasets", "wipo_gamma")[1]
    assert json.loads(run("datasets", "rcv1", "--json")[1])["can_be_downloaded"] is False


def test_an_unknown_dataset_is_refused(run):
    for options in ((), ("--download",)):
        status, out, err = run("datasets", "reuters", *options)
        assert (status, out) == (1, "")
        assert err.startswith("wordclass: unknown dataset 'reuters'")


def test_a_dataset_is_downloaded_once(run, fetched, tmp_path):
    status, out, err = run("datasets", "reuters21578", "--download")
    path = str(tmp_path / "reuters21578" / "reuters21578.tar.gz")
    assert (status, err) == (0, f"downloaded {path}\n")
    assert path in out
    for name in ("reuters21578", "docstrings"):
        status, out, err = run("datasets", name, "--download")
        assert (status, err) == (0, f"{name} is already installed\n")
        assert name in out
    assert fetched == ["reuters21578.tar.gz"]


def test_a_dataset_that_may_not_be_downloaded_is_an_error(run, fetched):
    status, out, err = run("datasets", "wipo_gamma", "--download")
    assert (status, out) == (1, "")
    assert err.startswith("wordclass: wipo_gamma cannot be downloaded by wordclass; The corpus")
    status, out, err = run("datasets", "rcv1", "--download")
    assert (status, "how to get" in out) == (1, True)
    assert "wordclass: rcv1 cannot be downloaded completely; " in err
    assert fetched == ["rcv1-v2.topics.qrels.gz"]


def test_a_download_needs_a_name(run):
    status, out, err = run("datasets", "--download")
    assert (status, out) == (1, "")
    assert err.startswith("wordclass: --download needs a dataset; use wordclass datasets NAME")


def test_the_demo_writes_a_report_and_prints_its_path(run, tmp_path, monkeypatch):
    train, test = (LabelledCorpus(*corpus(60, seed), is_multilabel=False) for seed in (0, 1))
    small = Dataset("made up", train, test, sorted(set(train.labels)))
    monkeypatch.setattr(demo, "load_dataset", {"docstrings": small}.get)
    output = tmp_path / "report"
    status, out, err = run("demo", "-o", output)
    assert (status, err) == (0, "")
    assert out.endswith(f"The report: {output / 'index.html'}\n")
    status, out, err = run("demo", "-o", output)
    assert (status, out) == (1, "")
    assert err == f"wordclass: {output} exists; use --force to overwrite it\n"
    status, out, err = run("demo", "-o", output, "--force", "--json", "--seed", 3)
    assert (status, err) == (0, "")
    result = json.loads(out)
    assert (result["report"], result["seed"]) == (str(output / "index.html"), 3)
    assert result["sizes"]["test_docs"] == 60
