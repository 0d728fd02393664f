"""The commands about models; `run` is in conftest."""

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


def test_evaluate_measures_on_the_test_part(run, data, model):
    status, out, err = run("evaluate", model, data, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    texts, labels = corpus(90)
    plain = wc.evaluate(labels[60:], wc.load(model).predict(texts[60:]))
    assert found["accuracy"] == pytest.approx(plain.accuracy, abs=1e-6)
    assert {"macro_f1", "micro_f1", "accuracy", "n_docs", "n_classes"} <= found.keys()
    assert (found["n_docs"], found["n_classes"]) == (30, 3)
    assert "per_class" not in found
    status, out, _ = run("evaluate", model, data, "-n", "1")
    assert out.startswith("macro F1")
    found = json.loads(run("evaluate", model, data, "--per-class", "--json")[1])
    assert found["per_class"]["space"]["n_true"] == 10


def test_evaluate_leaves_out_labels_that_training_never_saw(run, model, tmp_path):
    path = write(tmp_path / "a.jsonl", ["moon orbit", "ball goal"], ["space", "sports"])
    status, out, err = run("evaluate", model, path, "--json")
    assert status == 0
    assert json.loads(out)["n_dropped"] == 1
    assert "warning: 1 labels of classes that training never saw were left out" in err
    status, out, err = run("evaluate", model, path, "--strict-labels")
    assert (status, out) == (1, "")
    assert err.startswith("wordclass: 1 classes that the model does not know: 'sports'; ")


def test_evaluate_draws_which_class_is_taken_for_which(
    run, data, model, multilabel_model, tmp_path
):
    picture = tmp_path / "confusion.png"
    assert run("evaluate", model, data, "--confusion", picture)[0] == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "exists" in run("evaluate", model, data, "--confusion", picture)[2]
    status, _, err = run("evaluate", multilabel_model, data, "--confusion", tmp_path / "b.png")
    assert (status, "no confusion picture" in err) == (1, True)


def test_a_multilabel_model_is_measured_on_single_labels(run, data, multilabel_model):
    assert json.loads(run("evaluate", multilabel_model, data, "--json")[1])["n_docs"] == 30


def test_evaluate_refuses_documents_that_share_no_label_with_the_model(run, model, tmp_path):
    texts, _ = corpus(6)
    data = write(tmp_path / "other.jsonl", texts, ["sports", "war", "law"] * 2)
    status, out, err = run("evaluate", model, data)
    assert (status, out) == (1, "")
    assert "not one of the 6 true labels is among the classes 'garden', 'music', 'space'" in err


# --- evaluate --errors ----------------------------------------------------------------------

ERRORS = [("moon orbit rose", "garden", "x7"), ("moon orbit", "space", "x8"), ("rose", "war", "x9")]


@pytest.mark.parametrize("name", ["errors.jsonl", "errors.csv", "errors.parquet"])
def test_evaluate_writes_what_was_wrong_and_why(run, model, tmp_path, name):
    rows = [{"id": id, "text": text, "label": label} for text, label, id in ERRORS]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    errors = tmp_path / name
    status, _, err = run("evaluate", model, tmp_path / "docs.jsonl", "--errors", errors)
    assert status == 0
    assert f"{errors}: 2 documents whose labels are not exactly right\n" in err
    read = {"l": pl.read_ndjson, "v": pl.read_csv, "t": pl.read_parquet}[name[-1]]
    first, second = read(errors).to_dicts()
    assert [*first] == ["id", "text", "true", "predicted", "probability", "words"]
    assert (first["id"], first["text"]) == ("x7", "moon orbit rose")
    assert (first["true"], first["predicted"]) == ("garden", "space")
    assert 0 < first["probability"] < 1
    words = first["words"].split(";") if isinstance(first["words"], str) else first["words"]
    assert {*words} == {"moon", "orbit"}
    assert second["true"] == "war"
    status, _, err = run("evaluate", model, tmp_path / "docs.jsonl", "--errors", errors)
    assert (status, err) == (1, f"wordclass: {errors} exists; --force overwrites it\n")


def test_errors_of_a_multilabel_model_have_lists(run, multilabel_model, tmp_path):
    texts, labels = multilabel_corpus()
    data = write(tmp_path / "docs.jsonl", texts, [["music"] for _ in labels])
    run("evaluate", multilabel_model, data, "--errors", tmp_path / "errors.jsonl")
    rows = pl.read_ndjson(tmp_path / "errors.jsonl").to_dicts()
    predicted = wc.load(multilabel_model).predict(texts)
    assert [row["id"] for row in rows] == [
        k for k, each in enumerate(predicted, start=1) if each != ("music",)
    ]
    assert [*map(tuple, (row["predicted"] for row in rows))] == [
        each for each in predicted if each != ("music",)
    ]
    assert all(len(row["probability"]) == len(row["predicted"]) for row in rows)


def test_errors_in_a_file_of_no_known_ending_are_refused_before_any_work(run, tmp_path):
    status, _, err = run("evaluate", "nowhere", "nowhere", "--errors", tmp_path / "errors.txt")
    assert status == 1
    assert "its ending names no format of rows" in err


# --- shares ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shifted(tmp_path_factory):
    """Documents of which most are of one class, without labels."""
    texts, labels = corpus(400, seed=5)
    kept = [k for k, label in enumerate(labels) if label == "music" or k % 12 == 0]
    path = tmp_path_factory.mktemp("shifted") / "new.jsonl"
    path.write_text("".join(json.dumps({"id": k, "text": texts[k]}) + "\n" for k in kept))
    return path, [labels[k] for k in kept]


def test_shares_of_texts_without_labels_are_told_beside_those_of_training(run, model, shifted):
    path, labels = shifted
    status, out, err = run("shares", model, path, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert found["shares"].keys() == {"space", "garden", "music"}
    assert sum(found["shares"].values()) == pytest.approx(1, abs=1e-5)
    assert found["shares"]["music"] == pytest.approx(labels.count("music") / len(labels), abs=0.1)
    assert found["trained"]["music"] == pytest.approx(1 / 3, abs=1e-6)
    assert found["low"]["music"] <= found["shares"]["music"] <= found["high"]["music"]
    assert (found["n_docs"], found["n_classes"], found["level"]) == (len(labels), 3, 0.95)
    _, out, _ = run("shares", model, path, "-n", "1")
    assert out.split("\n")[0].split() == ["class", "share", "95%", "interval", "in", "training"]
    assert out.split("\n")[1].startswith("music")
    assert f"{len(labels)} documents, 3 classes" in out
    assert "garden" not in out


def test_predictions_are_adjusted_to_these_shares(run, model, shifted, tmp_path):
    path, _labels = shifted
    loaded = wc.load(model)
    texts = [json.loads(line)["text"] for line in path.read_text().splitlines()]
    _status, out, _ = run("predict", model, path, "--adjust-priors", "--proba")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["labels"][0] for row in rows] == loaded.predict_adjusted(texts).tolist()
    expected = loaded.prior_shift(texts).adjust(loaded.predict_proba(texts))
    names = loaded.classes_.tolist()
    found = np.array([[row["scores"][name] for name in names] for row in rows])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert run("predict", model, path, "--adjust-priors", "-o", tmp_path / "out.csv")[0] == 0
    assert pl.read_csv(tmp_path / "out.csv")["id"].to_list() == [row["id"] for row in rows]


def test_shares_come_from_standard_input_too(run, model, shifted, stdin):
    path, labels = shifted
    stdin(path.read_bytes())
    assert json.loads(run("shares", model, "-", "--json")[1])["n_docs"] == len(labels)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("shares",), "documents are too few to tell the shares of classes; 50 or more"),
        (("predict", "--adjust-priors"), "documents are too few to tell the shares"),
        (("shares", "--engine", "in_sequence"), "looks at all texts at once"),
        (("predict", "--adjust-priors", "--engine", "in_sequence"), "looks at all texts at once"),
    ],
)
def test_shares_that_cannot_be_told_are_one_line(run, model, tmp_path, arguments, message):
    path = write(tmp_path / "few.jsonl", *corpus(20))
    name, *options = arguments
    status, out, err = run(name, model, path, *options)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err


def test_a_model_without_probabilities_tells_no_shares(run, unsplit, tmp_path):
    texts, labels = corpus(90)
    bare = wc.classifier("nearest", min_docs=2, probabilities=False).fit(texts, labels)
    bare.save(tmp_path / "bare")
    status, _, err = run("shares", tmp_path / "bare", unsplit)
    assert (status, err.count("\n")) == (1, 1)
    assert "fitted without probabilities" in err


def test_evaluate_warns_where_shares_are_not_those_of_training(run, model, tmp_path):
    texts, labels = corpus(400, seed=5)
    kept = [k for k, label in enumerate(labels) if label == "music" or k % 12 == 0]
    path = write(tmp_path / "new.jsonl", [texts[k] for k in kept], [labels[k] for k in kept])
    status, _, err = run("evaluate", model, path, "--json")
    assert status == 0
    assert re.search(
        r"shares of classes are not those of training: music 79\.6% \(was 33\.3%\)", err
    )
    assert "predict --adjust-priors" in err
    in_parts = run("evaluate", model, path, "--engine", "in_sequence", "--json")[2]
    assert "shares of classes are not those of training: music" in in_parts


def test_documents_of_a_class_that_training_had_not_have_no_part_in_shares(run, model, tmp_path):
    texts, labels = corpus(400, seed=5)
    labels = ["new" if k % 2 else label for k, label in enumerate(labels)]
    status, _, err = run("evaluate", model, write(tmp_path / "new.jsonl", texts, labels))
    assert status == 0
    assert "shares of classes" not in err


# --- explain, info --------------------------------------------------------------------------


def test_explain_shows_the_words_that_made_the_label(run, model, stdin):
    status, out, err = run("explain", model, "The Moon, a rose", "-n", "1")
    assert (status, err) == (0, "")
    assert out.startswith("space  probability 0.")
    assert "moon" in out
    assert "\x1b" not in out
    found = json.loads(run("explain", model, "The Moon, a rose", "--json")[1])
    assert found["labels"] == ["space"]
    assert found["terms"]["space"][0][0] == "moon"
    assert ["Moon", 4, 8] in [word[:3] for word in found["words"]["space"]]
    out = run("explain", model, "The [bold]Moon[/bold]", "--color")[1]
    assert "\x1b[" in out
    assert "[bold]" in out
    stdin(b"The moon\nand an orbit\n")
    assert run("explain", model)[1].startswith("space  probability 0.")


def test_explain_shows_what_sums_to_the_score(run, model, multilabel_model):
    for each in (model, multilabel_model):
        found = json.loads(run("explain", each, "The Moon, a rose", "--json", "-n", "99")[1])
        for label, account in found["accounts"].items():
            added = sum(value for _, value in found["terms"][label])
            assert account["sum"] == pytest.approx(added, abs=1e-5)
            assert account["score"] == pytest.approx(account["intercept"] + added, abs=1e-5)
            assert 0 < found["scores"][label] < 1
        out = run("explain", each, "The Moon, a rose")[1]
        assert f"score {account['score']:.4f} = intercept {account['intercept']:.4f} + " in out


def test_explain_shows_the_path_in_a_tree_of_classes(run, model, tmp_path):
    hierarchy = {"space": "sky", "garden": "life", "music": "life"}
    folder = tmp_path / "tree"
    wc.classifier("linear", classes=hierarchy).fit(*corpus(60)).save(folder)
    out = run("explain", folder, "a rose", "--class", "garden")[1]
    found = json.loads(run("explain", folder, "a rose", "--class", "garden", "--json")[1])
    (life, outer), (garden, inner) = found["paths"]["garden"]
    assert (life, garden) == ("life", "garden")
    assert f"path: life {outer:.4f} > garden {inner:.4f}" in out
    assert found["scores"]["garden"] == pytest.approx(inner, abs=1e-5)
    assert "path:" not in run("explain", model, "a rose")[1]


def test_explain_tells_why_a_class_was_not_given(run, model):
    status, out, _ = run("explain", model, "The Moon, a rose", "--class", "garden")
    assert status == 0
    assert out.startswith("predicted: space\ngarden  probability 0.")
    assert "\nrose " in out
    found = json.loads(run("explain", model, "Moon, rose", "--class", "garden", "--json")[1])
    assert (found["labels"], [*found["accounts"]]) == (["space"], ["garden"])
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
    found = json.loads(run("explain", model, "moon orbit", "--json")[1])
    assert found["labels"] == [HOSTILE]


def test_explain_says_where_no_word_is_known(run, model, multilabel_model):
    for each in (model, multilabel_model):
        for text in ("", "луна"):
            status, out, _ = run("explain", each, text)
            assert status == 0
            assert "no word of this text is known to the model" in out


def test_info_tells_what_a_model_is(run, model):
    status, out, _ = run("info", model)
    assert status == 0
    assert "nearest" in out
    assert "garden, music, space" in out
    assert json.loads(run("info", model, "--json")[1])["documents"] == 60


def test_info_tells_what_was_chosen(run, tmp_path):
    texts, labels = multilabel_corpus()
    linear = wc.classifier("linear").fit(texts, labels)
    linear.save(tmp_path / "linear")
    found = json.loads(run("info", tmp_path / "linear", "--json")[1])
    for name, value in linear.settings_.items():
        assert found[f"chosen {name}"] == (list(value) if isinstance(value, tuple) else value)
    assert found["thresholds"] == pytest.approx(linear.thresholds_.tolist(), rel=1e-3)
    svm = wc.classifier("svm").fit(texts, labels)
    svm.save(tmp_path / "svm")
    assert json.loads(run("info", tmp_path / "svm", "--json")[1])["chosen C"] == svm.C_.tolist()


# --- mistakes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "{data}", "-o", "m", "--classifier", "nearst"], "did you mean 'nearest'?"),
        (
            ["train", "{data}", "-o", "m", "{n}", "--set", "C=1"],
            "has no option 'C'; expected one of an",
        ),
        (["train", "{data}", "-o", "m", "{n}", "--vectors", "v.txt"], "no option 'vectors'"),
        (["train", "{data}", "-o", "m", "{n}", "--set", "vectors=v.txt"], "give it by --vectors"),
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
def test_a_mistake_is_one_line_and_exit_status_1(
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
    for each in arguments:
        filled += ["--classifier", "nearest"] if each == "{n}" else [each.format(**places)]
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


def test_a_class_of_one_document_is_no_problem(run, tmp_path):
    texts, labels = corpus(60)
    path = write(tmp_path / "a.jsonl", [*texts, "zebra moon"], [*labels, "zoo"])
    output = tmp_path / "m"
    assert (
        run("train", path, "-o", output, "--classifier", "nearest", "--set", "min_docs=2")[0] == 0
    )
    found = json.loads(run("evaluate", output, path, "--json", "--quiet")[1])
    assert found["n_classes"] == 4
    assert np.isfinite(found["macro_f1"])


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
