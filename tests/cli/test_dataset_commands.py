"""The command `datasets`, on an app of its own."""

import json

import pytest
import typer
from typer.testing import CliRunner

from wordclass.cli import dataset_commands
from wordclass.datasets import _download
from wordclass.errors import InputError


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path))
    monkeypatch.delenv("WORDCLASS_DATA", raising=False)
    app = typer.Typer()
    app.callback()(lambda: None)  # with one command only, typer would not want its name
    dataset_commands.add_to(app)

    def run_command(*arguments):
        result = CliRunner().invoke(app, ["datasets", *arguments])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run_command


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


def test_all_are_shown_as_a_table(run):
    shown = run().stdout
    assert "newsgroups20" in shown
    assert "11,314" in shown
    assert "wordclass datasets ohsumed --download" in shown


def test_all_are_shown_as_json(run):
    told = json.loads(run("--json").stdout)["datasets"]
    assert {each["name"]: each["is_here"] for each in told}["docstrings"] is True
    assert {each["name"]: each["n_classes"] for each in told}["reuters21578"] == 115


def test_one_is_shown_with_its_options(run):
    assert "labels='main', level='subclass'" in run("wipo_gamma").stdout
    assert json.loads(run("rcv1", "--json").stdout)["can_be_downloaded"] is False


def test_an_unknown_one_is_refused(run):
    with pytest.raises(InputError, match="unknown dataset 'reuters'"):
        run("reuters")


def test_one_is_downloaded_once(run, fetched, tmp_path):
    result = run("reuters21578", "--download")
    place = str(tmp_path / "reuters21578" / "reuters21578.tar.gz")
    assert f"fetched {place}" in result.stderr
    assert place in result.stdout
    assert "here already" in run("reuters21578", "--download").stderr
    assert "here already" in run("docstrings", "--download").stderr
    assert fetched == ["reuters21578.tar.gz"]


def test_what_may_not_be_downloaded_is_told(run, fetched):
    with pytest.raises(InputError, match="wipo_gamma cannot be downloaded by wordclass: Nobody"):
        run("wipo_gamma", "--download")
    with pytest.raises(InputError, match="rcv1 cannot be downloaded as a whole"):
        run("rcv1", "--download")
    assert fetched == ["rcv1-v2.topics.qrels.gz"]


def test_a_download_needs_a_name(run):
    with pytest.raises(InputError, match="--download needs the name"):
        run("--download")
