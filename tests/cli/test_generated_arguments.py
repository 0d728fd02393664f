"""Wrong numbers for every numeric option of every command cause at most two lines of error."""

import json
import re

import pytest
import small_encoders
import typer
from made_up import corpus

import wordclass as wc
from wordclass.cli import serving_commands
from wordclass.cli.app import app

MALFORMED = ["nan", "inf", "-inf", "1e400", "", "1.5.2", "0x10"]  # as whole numbers
EXTREME = ["nan", "inf", "-inf", "1e400", "-1", "-" + "9" * 30, "9" * 400]  # read as numbers
ANY_WHOLE_NUMBER = {"seed", "jobs"}


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def numeric_options():
    for path, command in commands(typer.main.get_command(app)):
        for option in command.params:
            kind = option.type_descriptor.annotation
            if option.param_type_name == "option" and kind in (int, float):
                name = f"{' '.join(path)} --{option.name}"
                yield pytest.param(path, command, option, kind, id=name)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write a corpus, a model of it, embeddings and an encoder, and return their folder."""
    folder = tmp_path_factory.mktemp("files")
    texts, labels = corpus(60)
    rows = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    wc.classifier("nearest", min_docs=1).fit(texts, labels).save(folder / "model")
    wc.WordClassEmbeddings(min_docs=1).fit(texts, labels).save(folder / "docs.wce")
    small_encoders.static_folder(folder / "encoder")
    return folder


def required_arguments(command, files):
    """Return values for the required arguments and options of a command."""
    file_names = {"model": "model", "models": "model", "encoder": "encoder"}
    file_names |= {"path": "docs.wce", "embeddings": "docs.wce"}
    arguments = []
    for parameter in command.params:
        if parameter.required and parameter.param_type_name == "argument":
            arguments.append(str(files / file_names.get(parameter.name, "docs.jsonl")))
        elif parameter.required:
            arguments += [parameter.opts[0], str(files / "output.npz")]
    return arguments


@pytest.fixture
def unserved(monkeypatch):
    """Make a command fail that would start a service, because it would not end."""

    def serve(_server):
        raise AssertionError("the service was started")

    monkeypatch.setattr(serving_commands._Server, "run", serve)


def test_numeric_options_are_discovered():
    names = {case.id for case in numeric_options()}
    assert {"train --holdout", "serve --port", "fit --min_docs"} <= names


@pytest.mark.parametrize(("path", "command", "option", "kind"), [*numeric_options()])
@pytest.mark.usefixtures("unserved")
def test_a_wrong_number_is_refused_in_a_line_or_two(path, command, option, kind, files, run):
    numbers = EXTREME if kind is float else MALFORMED
    if kind is int and option.name not in ANY_WHOLE_NUMBER:
        numbers = numbers + EXTREME[4:]
    elif kind is int:
        numbers = numbers[:2]  # every command has these options
    for number in numbers:
        arguments = [*path, *required_arguments(command, files), f"{option.opts[0]}={number}"]
        status, _, errors = run(*arguments)
        assert status in (1, 2), (number, errors)
        assert "Traceback" not in errors
        names = "|".join({option.name, *option.opts})
        assert re.search(rf"(?<!\w)(n_)?({names})\b", errors), (number, errors)
        message = errors.rpartition("Error: ")[2]  # typer shows the usage before it
        assert len(message.strip().splitlines()) <= 2, (number, errors)
