"""Commands on files with other columns than `text` and `label`."""

import csv
import json
import shlex

import pytest
from made_up import corpus

import wordclass as wc

TEXTS, LABELS = corpus(90)


def write_table(path, header, *columns):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(zip(*columns, strict=True))
    return path


@pytest.fixture
def tweets(tmp_path):
    return write_table(tmp_path / "tweets.csv", ["id", "tweet", "mood"], range(90), TEXTS, LABELS)


def test_guessed_columns_are_named_in_one_line_and_remembered(run, tweets, tmp_path):
    model = tmp_path / "model"
    status, _, err = run("train", tweets, "-o", model, "--classifier", "nearest")
    assert status == 0
    assert f"{tweets}: texts from column 'tweet', labels from column 'mood'; --text-field" in err
    assert "warning" not in err
    assert wc.load(model).fields_ == {"text_field": ["tweet"], "label_field": ["mood"]}
    status, out, err = run("evaluate", model, tweets, "--json")
    assert (status, json.loads(out)["n_docs"]) == (0, 90)
    assert "texts from" not in err
    status, out, err = run("predict", model, tweets)
    assert (status, len(out.splitlines())) == (0, 90)


def test_an_unclear_guess_prints_a_command_that_works(run, tmp_path):
    columns = (TEXTS, [text[::-1] for text in TEXTS], LABELS)
    path = write_table(tmp_path / "my docs.csv", ["left", "right", "same"], *columns)
    status, out, err = run(
        "train", path, "-o", tmp_path / "model", "--classifier", "nearest", "--seed", 3
    )
    assert (status, out) == (1, "")
    message, command = err.splitlines()
    assert "it is not clear which columns hold the texts; there are: 'left', 'right'" in message
    arguments = shlex.split(command)
    assert arguments[:3] == ["wordclass", "train", str(path)]
    assert arguments[-4:] == ["--text-field", "left", "--label-field", "same"]
    assert "--seed" in arguments
    assert run(*arguments[1:])[0] == 0


def test_a_file_without_a_header_gets_a_command_that_works(run, tmp_path):
    path = write_table(tmp_path / "docs.csv", ["1", "The moon is far away from here and so on"])
    numbers = [str(ord(label[0])) for label in LABELS]
    with path.open("a", newline="") as file:
        csv.writer(file).writerows(zip(numbers, TEXTS, strict=True))
    status, _, err = run("train", path, "-o", tmp_path / "model", "--classifier", "nearest")
    assert status == 1
    command = shlex.split(err.splitlines()[-1])
    assert command[-5:] == ["--no-header", "--text-field", "2", "--label-field", "1"]
    assert run(*command[1:])[0] == 0


@pytest.mark.parametrize("options", [[], ["--label-fields", "space,garden,music"]])
def test_columns_of_0_and_1_are_labels(run, tmp_path, options):
    flags = [[int(label == name) for label in LABELS] for name in ("space", "garden", "music")]
    path = write_table(tmp_path / "d.csv", ["text", "space", "garden", "music"], TEXTS, *flags)
    arguments = ["-o", tmp_path / "model", "--classifier", "nearest", *options]
    assert run("train", path, *arguments)[0] == 0
    model = wc.load(tmp_path / "model")
    assert model.classes_.tolist() == ["garden", "music", "space"]
    assert model.fields_["label_field"] == ["space", "garden", "music"]


def test_format_and_quote_are_options(run, tmp_path):
    path = tmp_path / "docs.data"
    rows = [f'"{text}\t{label}' for text, label in zip(TEXTS, LABELS, strict=True)]
    path.write_text("\n".join(["text\tlabel", *rows]))
    arguments = ["--format", "tsv", "--quote", "none", "--classifier", "nearest"]
    status, _, err = run("train", path, "-o", tmp_path / "model", *arguments)
    assert (status, "90 documents" in err) == (0, True)
    assert run("train", path, "-o", tmp_path / "m", "--format", "nothing")[0] == 1
