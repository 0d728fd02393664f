"""Runs commands in this process, through the same `main` that the script calls; small models."""

import io
import sys

import pytest
from command_corpora import write
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["wordclass", *map(str, arguments)])
        try:
            main.main()
            status = 0
        except SystemExit as stop:
            status = stop.code or 0
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run_command


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "docs.jsonl"
    return write(path, *corpus(90), split=lambda k: "test" if k >= 60 else "train")


@pytest.fixture(scope="module")
def unsplit(tmp_path_factory):
    return write(tmp_path_factory.mktemp("data") / "all.jsonl", *corpus(90))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "single"
    texts, labels = corpus(90)
    wc.classifier("nearest", min_docs=2).fit(texts[:60], labels[:60]).save(path)
    return path


@pytest.fixture(scope="module")
def multilabel_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "multilabel"
    wc.classifier("nearest", min_docs=2).fit(*multilabel_corpus()).save(path)
    return path


@pytest.fixture
def stdin(monkeypatch):
    def give(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give
