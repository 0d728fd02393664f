"""Tests of the commands about models; the fixture `run` is in conftest."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from command_corpora import write
from made_up import corpus, multilabel_corpus

import wordclass as wc

# --- evaluate -------------------------------------------------------------------------------


def test_evaluate_uses_the_test_split(run, data, model):
    status, out, err = run("evaluate", model, data, "--json")
    assert (status, err) == (0, "")
    result = json.loads(out)
    texts, labels = corpus(90)
    expected = wc.evaluate(labels[60:], wc.load(model).predict(texts[60:]))
    assert result["accuracy"] == pytest.approx(expected.accuracy, abs=1e-6)
    assert {"macro_f1", "micro_f1", "accuracy", "n_docs", "n_classes"} <= result.keys()
    assert (result["n_docs"], result["n_classes"]) == (30, 3)
    assert "per_class" not in result
    result = json.loads(run("evaluate", model, data, "--per-class", "--json")[1])
    assert result["per_class"]["space"]["n_true"] == 10


def test_evaluate_shows_the_main_measures_next_to_a_baseline(run, data, model, multilabel_model):
    names, rows = table_of(run("evaluate", model, data, "-n", "0")[1])
    assert names == ["model", "most frequent class"]
    assert [*rows] == ["accuracy", "macro F1", "documents", "classes"]
    result = json.loads(run("evaluate", model, data, "--json")[1])
    assert rows["accuracy"] == [f"{result['accuracy']:.4f}", "0.3333"]
    assert rows["macro F1"] == [f"{result['macro_f1']:.4f}", "0.1667"]
    _, rows = table_of(run("evaluate", multilabel_model, data, "-n", "0")[1])
    assert [*rows] == [
        "micro F1", "macro F1 of classes that occur", "P@1", "documents", "classes",
    ]  # fmt: skip
    _, rows = table_of(run("evaluate", multilabel_model, data, "-n", "0", "--paper")[1])
    result = json.loads(run("evaluate", multilabel_model, data, "--json")[1])
    assert rows["macro F1 of the paper"][0] == f"{result['macro_f1']:.4f}"
    assert rows["P@1"] == [f"{result['P@1']:.4f}", "0.3333"]


def table_of(out):
    """Return the column names and the rows of the table that evaluate prints."""
    head, *lines = [re.split("  +", line.rstrip()) for line in out.splitlines()]
    return head[1:], {name: values for name, *values in lines}


def test_evaluate_predicts_with_a_threshold(run, data, model, multilabel_model):
    texts, labels = corpus(90)
    loaded = wc.load(model)
    predictions = loaded.predictions(texts[60:])
    threshold = float(np.median(predictions.probabilities.max(axis=1)))
    options = ("--threshold", threshold, "--json")
    result = json.loads(run("evaluate", model, data, *options)[1])
    predicted = predictions.filter(threshold).labels
    assert result["n_without_prediction"] == sum(label is None for label in predicted) > 0
    assert result["accuracy"] == pytest.approx(np.mean(predicted == labels[60:]), abs=1e-6)
    assert "documents without a prediction" in run("evaluate", model, data, *options[:2])[1]
    in_shards = run("evaluate", model, data, *options, "--engine", "in_sequence")[1]
    assert json.loads(in_shards) == result
    result = json.loads(run("evaluate", multilabel_model, data, *options)[1])
    expected = wc.load(multilabel_model).predictions(texts[60:]).filter(threshold)
    true = [[label] for label in labels[60:]]
    scores = wc.evaluate(true, expected.label_lists, loaded.classes_)
    assert result["micro_f1"] == pytest.approx(scores.micro_f1, abs=1e-6)
    status, _, err = run("evaluate", model, data, "--threshold", "2")
    assert (status, "--threshold" in err) == (2, True)


def test_evaluate_leaves_out_labels_that_the_model_does_not_know(run, model, tmp_path):
    path = write(tmp_path / "a.jsonl", ["moon orbit", "ball goal"], ["space", "sports"])
    status, out, err = run("evaluate", model, path, "--json")
    assert status == 0
    assert json.loads(out)["n_dropped"] == 1
    assert "warning: left out 1 labels that the model does not know" in err
    status, out, err = run("evaluate", model, path, "--strict-labels")
    assert (status, out) == (1, "")
    assert err.startswith("wordclass: 1 classes that the model does not know: 'sports'; ")


def test_evaluate_draws_which_classes_are_confused(run, data, model, multilabel_model, tmp_path):
    picture = tmp_path / "confusion.png"
    assert run("evaluate", model, data, "--confusion", picture)[0] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "exists" in run("evaluate", model, data, "--confusion", picture)[2]
    status, _, err = run("evaluate", multilabel_model, data, "--confusion", tmp_path / "b.png")
    assert (status, "--confusion is for single-label models" in err) == (1, True)


def test_a_multilabel_model_is_evaluated_on_single_labels(run, data, multilabel_model):
    assert json.loads(run("evaluate", multilabel_model, data, "--json")[1])["n_docs"] == 30


def test_evaluate_refuses_documents_that_share_no_label_with_the_model(run, model, tmp_path):
    texts, _ = corpus(6)
    data = write(tmp_path / "other.jsonl", texts, ["sports", "war", "law"] * 2)
    status, out, err = run("evaluate", model, data)
    assert (status, out) == (1, "")
    assert "none of the 6 true labels is a known class; expected some of 'garden', 'music', " in err


# --- evaluate --errors ----------------------------------------------------------------------

ERRORS = [("moon orbit rose", "garden", "x7"), ("moon orbit", "space", "x8"), ("rose", "war", "x9")]


@pytest.mark.parametrize("name", ["errors.jsonl", "errors.csv", "errors.parquet"])
def test_evaluate_writes_the_wrong_predictions(run, model, tmp_path, name):
    rows = [{"id": id, "text": text, "label": label} for text, label, id in ERRORS]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    errors = tmp_path / name
    status, _, err = run("evaluate", model, tmp_path / "docs.jsonl", "--errors", errors)
    assert status == 0
    assert f"{errors}: 2 documents with wrong or missing labels\n" in err
    read = {"l": pl.read_ndjson, "v": pl.read_csv, "t": pl.read_parquet}[name[-1]]
    rows = read(errors).to_dicts()
    probabilities = [row["probability"] for row in rows]
    assert probabilities == sorted(probabilities, reverse=True)
    first, second = sorted(rows, key=lambda row: row["id"])
    assert [*first] == ["id", "text", "true", "predicted", "probability", "words"]
    assert (first["id"], first["text"]) == ("x7", "moon orbit rose")
    assert (first["true"], first["predicted"]) == ("garden", "space")
    assert 0 < first["probability"] < 1
    words = first["words"].split(";") if isinstance(first["words"], str) else first["words"]
    assert {*words} == {"moon", "orbit"}
    assert second["true"] == "war"
    status, _, err = run("evaluate", model, tmp_path / "docs.jsonl", "--errors", errors)
    assert (status, err) == (1, f"wordclass: {errors} exists; use --force to overwrite it\n")


def test_errors_of_a_multilabel_model_have_lists(run, multilabel_model, tmp_path):
    texts, labels = multilabel_corpus()
    data = write(tmp_path / "docs.jsonl", texts, [["music"] for _ in labels])
    run("evaluate", multilabel_model, data, "--errors", tmp_path / "errors.jsonl")
    rows = pl.read_ndjson(tmp_path / "errors.jsonl").to_dicts()
    predicted = wc.load(multilabel_model).predict(texts)
    expected = {k: names for k, names in enumerate(predicted, start=1) if names != ("music",)}
    assert {row["id"]: tuple(row["predicted"]) for row in rows} == expected
    confidences = [max(row["probability"], default=0.0) for row in rows]
    assert confidences == sorted(confidences, reverse=True)
    assert all(len(row["probability"]) == len(row["predicted"]) for row in rows)


def test_errors_in_a_file_of_unknown_ending_are_refused_before_any_work(run, tmp_path):
    status, _, err = run("evaluate", "nowhere", "nowhere", "--errors", tmp_path / "errors.txt")
    assert status == 1
    assert "its ending names no format of rows" in err


# --- shares ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    """Write unlabelled documents, most of them of one class, and return their path and labels."""
    texts, labels = corpus(400, seed=5)
    rows = [k for k, label in enumerate(labels) if label == "music" or k % 12 == 0]
    path = tmp_path_factory.mktemp("shifted") / "new.jsonl"
    path.write_text("".join(json.dumps({"id": k, "text": texts[k]}) + "\n" for k in rows))
    return path, [labels[k] for k in rows]


def test_shares_are_estimated_and_shown_next_to_those_of_training(run, model, shifted):
    path, labels = shifted
    status, out, err = run("shares", model, path, "--json")
    assert (status, err) == (0, "")
    result = json.loads(out)
    assert result["shares"].keys() == {"space", "garden", "music"}
    assert sum(result["shares"].values()) == pytest.approx(1, abs=1e-5)
    assert result["shares"]["music"] == pytest.approx(labels.count("music") / len(labels), abs=0.1)
    assert result["trained"]["music"] == pytest.approx(1 / 3, abs=1e-6)
    assert result["low"]["music"] <= result["shares"]["music"] <= result["high"]["music"]
    assert (result["n_docs"], result["n_classes"], result["level"]) == (len(labels), 3, 0.95)
    _, out, _ = run("shares", model, path, "-n", "1")
    assert out.split("\n")[0].split() == ["class", "share", "95%", "interval", "in", "training"]
    assert out.split("\n")[1].startswith("music")
    assert f"{len(labels)} documents, 3 classes" in out
    assert "garden" not in out


def test_predictions_are_adjusted_to_the_estimated_shares(run, model, shifted, tmp_path):
    path, _labels = shifted
    loaded = wc.load(model)
    texts = [json.loads(line)["text"] for line in path.read_text().splitlines()]
    _status, out, _ = run("predict", model, path, "--adjust-priors", "--proba")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["labels"][0] for row in rows] == loaded.predict_adjusted(texts).tolist()
    expected = loaded.prior_shift(texts).adjust(loaded.predict_proba(texts))
    names = loaded.classes_.tolist()
    probabilities = np.array([[row["scores"][name] for name in names] for row in rows])
    np.testing.assert_allclose(probabilities, expected, atol=1e-6)
    assert run("predict", model, path, "--adjust-priors", "-o", tmp_path / "out.csv")[0] == 0
    assert pl.read_csv(tmp_path / "out.csv")["id"].to_list() == [row["id"] for row in rows]


def test_shares_reads_standard_input(run, model, shifted, stdin):
    path, labels = shifted
    stdin(path.read_bytes())
    assert json.loads(run("shares", model, "-", "--json")[1])["n_docs"] == len(labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("shares",),
            "documents are too few to estimate the shares of classes; expected at least 50",
        ),
        (("predict", "--adjust-priors"), "documents are too few to estimate the shares"),
        (("predict", "--adjust-priors", "--engine", "in_sequence"), "needs all texts in memory"),
    ],
)
def test_shares_that_cannot_be_estimated_are_one_line(run, model, tmp_path, arguments, message):
    path = write(tmp_path / "few.jsonl", *corpus(20))
    name, *options = arguments
    status, out, err = run(name, model, path, *options)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err


def test_shares_needs_a_model_with_probabilities(run, unsplit, tmp_path):
    texts, labels = corpus(90)
    bare = wc.classifier("nearest", min_docs=2, probabilities=False).fit(texts, labels)
    bare.save(tmp_path / "bare")
    status, _, err = run("shares", tmp_path / "bare", unsplit)
    assert (status, err.count("\n")) == (1, 1)
    assert "fitted without probabilities" in err


def test_evaluate_warns_if_class_frequencies_differ_from_training(run, model, tmp_path):
    texts, labels = corpus(400, seed=5)
    rows = [k for k, label in enumerate(labels) if label == "music" or k % 12 == 0]
    path = write(tmp_path / "new.jsonl", [texts[k] for k in rows], [labels[k] for k in rows])
    status, _, err = run("evaluate", model, path, "--json")
    assert status == 0
    assert "class frequencies differ from training: music 79.6% instead of 33.3%" in err
    assert "predict --adjust-priors" in err
    in_shards = run("evaluate", model, path, "--engine", "in_sequence", "--json")[2]
    assert "class frequencies differ from training: music" in in_shards


def test_documents_of_unknown_classes_do_not_count_in_class_frequencies(run, model, tmp_path):
    texts, labels = corpus(400, seed=5)
    labels = ["new" if k % 2 else label for k, label in enumerate(labels)]
    status, _, err = run("evaluate", model, write(tmp_path / "new.jsonl", texts, labels))
    assert status == 0
    assert "class frequencies" not in err


# --- explain, info --------------------------------------------------------------------------


def test_explain_shows_the_contribution_of_words(run, model, stdin):
    status, out, err = run("explain", model, "The Moon, a rose", "-n", "1")
    assert (status, err) == (0, "")
    assert out.startswith("space  probability 0.")
    assert "moon" in out
    assert "\x1b" not in out
    result = json.loads(run("explain", model, "The Moon, a rose", "--json")[1])
    assert result["labels"] == ["space"]
    assert result["terms"]["space"][0][0] == "moon"
    assert ["Moon", 4, 8] in [word[:3] for word in result["words"]["space"]]
    out = run("explain", model, "The [bold]Moon[/bold]", "--color")[1]
    assert "\x1b[" in out
    assert "[bold]" in out
    stdin(b"The moon\nand an orbit\n")
    assert run("explain", model)[1].startswith("space  probability 0.")


def test_explain_shows_contributions_that_sum_to_the_score(run, model, multilabel_model):
    for folder in (model, multilabel_model):
        result = json.loads(run("explain", folder, "The Moon, a rose", "--json", "-n", "99")[1])
        for label, account in result["accounts"].items():
            added = sum(value for _, value in result["terms"][label])
            assert account["sum"] == pytest.approx(added, abs=1e-5)
            assert account["score"] == pytest.approx(account["intercept"] + added, abs=1e-5)
            assert 0 < result["scores"][label] < 1
        out = run("explain", folder, "The Moon, a rose")[1]
        assert f"score {account['score']:.4f} = intercept {account['intercept']:.4f} + " in out


def test_explain_shows_the_path_in_a_tree_of_classes(run, model, tmp_path):
    hierarchy = {"space": "sky", "garden": "life", "music": "life"}
    folder = tmp_path / "tree"
    wc.classifier("linear", classes=hierarchy).fit(*corpus(60)).save(folder)
    out = run("explain", folder, "a rose", "--class", "garden")[1]
    result = json.loads(run("explain", folder, "a rose", "--class", "garden", "--json")[1])
    (life, outer), (garden, inner) = result["paths"]["garden"]
    assert (life, garden) == ("life", "garden")
    assert f"path: life {outer:.4f} > garden {inner:.4f}" in out
    assert result["scores"]["garden"] == pytest.approx(inner, abs=1e-5)
    assert "path:" not in run("explain", model, "a rose")[1]


def test_explain_shows_why_a_class_was_not_predicted(run, model):
    status, out, _ = run("explain", model, "The Moon, a rose", "--class", "garden")
    assert status == 0
    assert out.startswith("predicted: space\ngarden  probability 0.")
    assert "\nrose " in out
    result = json.loads(run("explain", model, "Moon, rose", "--class", "garden", "--json")[1])
    assert (result["labels"], [*result["accounts"]]) == (["space"], ["garden"])
    status, _, err = run("explain", model, "The Moon", "--class", "gardens")
    assert (status, err) == (1, "wordclass: unknown class 'gardens'; close: garden\n")


@pytest.mark.parametrize(("value", "is_colored"), [("1", False), ("", True)])
def test_explain_honors_no_color(run, model, monkeypatch, value, is_colored):
    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    assert ("\x1b[" in run("explain", model, "The Moon")[1]) is is_colored
    assert "\x1b[" in run("explain", model, "The Moon", "--color")[1]


HOSTILE = "a\x1b[31m\x9b\u202eb\nwordclass: fake\ud800"


def test_nothing_in_a_class_or_a_text_controls_the_terminal(run, tmp_path):
    texts, labels = corpus(60)
    names = [HOSTILE if label == "space" else label for label in labels]
    model = tmp_path / "model"
    wc.classifier("nearest", min_docs=2).fit(texts, names).save(model)
    for options in ([], ["--json"], ["--color"]):
        for command in (["explain", model, f"moon {HOSTILE} orbit", *options], ["info", model]):
            status, out, err = run(*command)
            assert (status, err) == (0, "")
            if "--color" in options:
                out = re.sub("\x1b\\[[0-9;]*m", "", out)
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800]", out)
            assert not re.search("^wordclass", out, re.MULTILINE) or "--color" in options
    result = json.loads(run("explain", model, "moon orbit", "--json")[1])
    assert result["labels"] == [HOSTILE]


def test_explain_says_if_no_word_is_known(run, model, multilabel_model):
    for folder in (model, multilabel_model):
        for text in ("", "луна"):
            status, out, _ = run("explain", folder, text)
            assert status == 0
            assert "the model knows no word of this text" in out


def test_info_shows_the_type_of_a_model(run, model):
    status, out, _ = run("info", model)
    assert status == 0
    assert "nearest" in out
    assert "garden, music, space" in out
    assert json.loads(run("info", model, "--json")[1])["documents"] == 60


def test_info_shows_chosen_settings(run, tmp_path):
    texts, labels = multilabel_corpus()
    linear = wc.classifier("linear").fit(texts, labels)
    linear.save(tmp_path / "linear")
    description = json.loads(run("info", tmp_path / "linear", "--json")[1])
    for name, value in linear.settings_.items():
        assert description[f"chosen {name}"] == (list(value) if isinstance(value, tuple) else value)
    assert description["thresholds"] == pytest.approx(linear.thresholds_.tolist(), rel=1e-3)
    svm = wc.classifier("svm").fit(texts, labels)
    svm.save(tmp_path / "svm")
    assert json.loads(run("info", tmp_path / "svm", "--json")[1])["chosen C"] == svm.C_.tolist()


# --- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "{data}", "-o", "m", "--classifier", "nearst"], "did you mean 'nearest'?"),
        (
            ["train", "{data}", "-o", "m", "{n}", "--set", "C=1"],
            "has no option 'C'; expected one of an",
        ),
        (["train", "{data}", "-o", "m", "{n}", "--vectors", "v.txt"], "no option 'vectors'"),
        (
            ["train", "{data}", "-o", "m", "{n}", "--set", "vectors=v.txt"],
            "use --vectors FILE instead",
        ),
        (["train", "{data}", "-o", "m", "{n}", "--set", "ngrams=x"], "--ngrams is 'x'"),
        (["train", "{data}", "-o", "m", "{n}", "--set", "min_docs=1000"], "no term is left"),
        (["train", "{data}", "-o", "m", "{n}", "--holdout", "1.5"], "above 0 and below 1"),
        (["train", "{data}", "-o", "m", "--classifier", "cnn", "--set", "lr=0"], "lr is 0"),
        (
            ["train", "{data}", "-o", "m", "--classifier", "cnn", "--set", "dim=3"],
            "no option 'dim'",
        ),
        (["train", "{data}", "-o", "m", "{n}", "--split", "dev"], "no record is in split 'dev'"),
        (["train", "{one}", "-o", "m", "{n}"], "only one class, 'space'"),
        (["train", "nowhere.csv", "-o", "m", "{n}"], "nowhere.csv: no such file or folder"),
        (["evaluate", "nowhere", "{data}"], "nowhere: no such file or folder"),
        (["evaluate", "{data}", "{data}"], "expected the folder of a model"),
        (["evaluate", "{half}", "{data}"], "model.safetensors is missing"),
        (["evaluate", "{empty}", "{data}"], "manifest.json is missing"),
        (["evaluate", "{model}", "{data}", "--confusion", "x.doc"], "ends in .png"),
        (["predict", "{half}", "-"], "model.safetensors is missing"),
        (["predict", "{model}", "nowhere.jsonl"], "nowhere.jsonl: no such file or folder"),
        (["explain", "{empty}", "text"], "manifest.json is missing"),
        (["info", "{half}"], "model.safetensors is missing"),
        (["info", "{empty}"], "manifest.json is missing"),
    ],
)
def test_an_error_is_one_line_and_exit_status_1(
    run, data, model, tmp_path, tmp_path_factory, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    other = tmp_path_factory.mktemp("other")
    places = {"data": data, "model": model, "half": other / "half", "empty": other / "empty"}
    for folder in ("half", "empty"):
        places[folder].mkdir()
    (places["half"] / "manifest.json").write_bytes((model / "manifest.json").read_bytes())
    places["one"] = write(other / "one.jsonl", ["moon orbit"] * 9, ["space"] * 9)
    filled = []
    for word in arguments:
        filled += ["--classifier", "nearest"] if word == "{n}" else [word.format(**places)]
    status, out, err = run(*filled)
    assert (status, out) == (1, "")
    assert err.startswith("wordclass: ")
    assert err.count("\n") == 1
    assert message in err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [["train"], ["train", "a.csv", "-o", "m", "--set", "x"], ["predict", "m", "-", "-k", "0"]],
)
def test_wrong_usage_is_exit_status_2(run, arguments):
    status, _, err = run(*arguments)
    assert status == 2
    assert "Error" in err


def test_a_class_of_one_document_is_accepted(run, tmp_path):
    texts, labels = corpus(60)
    path = write(tmp_path / "a.jsonl", [*texts, "zebra moon"], [*labels, "zoo"])
    output = tmp_path / "m"
    assert (
        run("train", path, "-o", output, "--classifier", "nearest", "--set", "min_docs=2")[0] == 0
    )
    result = json.loads(run("evaluate", output, path, "--json", "--quiet")[1])
    assert result["n_classes"] == 4
    assert np.isfinite(result["macro_f1"])


def wordclass(command):
    return subprocess.run(
        f"{sys.executable} -m wordclass {command}", shell=True, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("predict {model} - <&-", "standard input is closed"),
        ("explain {model} - <&-", "standard input is closed"),
        ("explain {model} moon >&-", "standard output is closed"),
        (
            "predict {model} {data} --json >/dev/full",
            "standard output: cannot be written: No space",
        ),
        ("predict {model} {data} >/dev/full", "standard output: cannot be written: No space"),
        ("explain {model} moon >/dev/full", "standard output: cannot be written: No space"),
    ],
)
def test_a_stream_that_is_closed_or_full_is_one_line_and_exit_status_1(
    model, data, command, message
):
    done = wordclass(command.format(model=model, data=data))
    assert done.returncode == 1
    assert done.stderr.startswith(f"wordclass: {message}")
    assert done.stderr.count("\n") == 1


def test_a_name_too_long_is_one_line(run, data):
    for arguments in (["train", data, "-o", "a" * 300], ["info", "a" * 300]):
        status, _, err = run(*arguments)
        assert status == 1
        assert err == f"wordclass: {'a' * 300}: cannot be read: File name too long\n"
