"""Tests of the command `predict`."""

import json
import subprocess
import sys

import polars as pl
import pytest
from made_up import corpus

import wordclass as wc


def lines_of(out):
    return [json.loads(line) for line in out.splitlines()]


def test_predict_prints_one_object_per_record_in_order(run, data, model, tmp_path):
    status, out, err = run("predict", model, data)
    assert (status, err) == (0, "")
    texts, _ = corpus(90)
    expected = wc.load(model).predict(texts).tolist()
    assert [row["labels"] for row in lines_of(out)] == [[label] for label in expected]
    output = tmp_path / "out.jsonl"
    status, printed, err = run("predict", model, data, "-o", output)
    assert (status, printed) == (0, "")
    assert "predictions for 90 documents" in err
    assert output.read_text() == out
    assert "exists" in run("predict", model, data, "-o", output)[2]
    result = json.loads(run("predict", model, data, "--json", "--split", "test")[1])
    assert len(result["predictions"]) == 30


def test_predict_needs_no_labels(run, model, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "moon orbit"}\n{"text": "rose soil"}\n')
    (tmp_path / "a.txt").write_text("moon orbit\n\n__label__space rose soil\n")
    (tmp_path / "a.csv").write_text("id,body\n7,moon orbit\n")
    labels = [row["labels"] for row in lines_of(run("predict", model, tmp_path / "a.jsonl")[1])]
    assert labels == [["space"], ["garden"]]
    labels = [row["labels"] for row in lines_of(run("predict", model, tmp_path / "a.txt")[1])]
    assert len(labels) == 3
    assert (labels[0], labels[2]) == (["space"], ["garden"])
    out = run("predict", model, tmp_path / "a.csv", "--text-field", "body")[1]
    assert lines_of(out)[0]["labels"] == ["space"]


def test_predict_reads_lines_from_standard_input(run, model, stdin):
    stdin("\ufeffmoon orbit\r\n\nrose soil été".encode())
    status, out, _ = run("predict", model, "-", "-k", "2")
    assert status == 0
    rows = lines_of(out)
    assert len(rows) == 3
    assert rows[0]["labels"] == ["space"]
    assert [len(row["scores"]) for row in rows] == [2, 2, 2]
    stdin(b"moon\n")
    (row,) = lines_of(run("predict", model, "-", "--proba")[1])
    assert sum(row["scores"].values()) == pytest.approx(1.0, abs=1e-5)
    stdin(b"")
    assert run("predict", model, "-") == (0, "", "")
    stdin(b"moon\nros\xe9\n")
    status, _, err = run("predict", model, "-")
    assert status == 1
    assert "standard input, line 2: byte 0xe9 is not valid utf-8" in err
    stdin(b"moon\nros\xe9\n")
    assert run("predict", model, "-", "--encoding", "latin-1")[0] == 0
    stdin(b"moon\n")
    assert "unknown encoding" in run("predict", model, "-", "--encoding", "hex")[2]


def test_a_line_is_answered_before_the_next_one_arrives(model):
    process = subprocess.Popen(
        [sys.executable, "-m", "wordclass", "predict", str(model), "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    for text, label in (("moon orbit", "space"), ("rose soil", "garden")):
        process.stdin.write(f"{text}\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["labels"] == [label]
    assert process.communicate()[1] == ""
    assert process.returncode == 0


def test_any_text_is_answered(run, model, stdin):
    stdin("\n   \n!?\nлуна\n妈妈\n\0\n".encode())
    status, out, err = run("predict", model, "-")
    assert (status, err) == (0, "")
    assert len(lines_of(out)) == 6


# --- predict: files of many kinds ----------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("id;text;labels;scores\n7;moon orbit;x;0.5\n8;rose soil;y;0.25\n")
    return path


def test_predict_writes_the_format_of_the_ending_and_keeps_all_columns(run, model, table, tmp_path):
    expected = {"id": "7", "text": "moon orbit", "given_labels": "x", "given_scores": "0.5"}
    path = tmp_path / "out.csv"
    assert run("predict", model, table, "-o", path)[0] == 0
    rows = pl.read_csv(path, separator=";", infer_schema=False).to_dicts()
    assert [*rows[0]] == ["id", "text", "labels", "scores", "predicted", "probability"]
    assert [row["predicted"] for row in rows] == ["space", "garden"]
    for ending, read in {
        "jsonl": lambda path: lines_of(path.read_text()),
        "parquet": lambda path: pl.read_parquet(path).to_dicts(),
    }.items():
        assert run("predict", model, table, "-o", tmp_path / f"out.{ending}")[0] == 0
        rows = read(tmp_path / f"out.{ending}")
        assert expected.items() <= rows[0].items()
        assert [row["labels"] for row in rows] in ([["space"], ["garden"]], ["space", "garden"])
        assert list(rows[0])[-2:] == ["labels", "scores"]
    (printed, _) = lines_of(run("predict", model, table)[1])
    assert expected.items() <= printed.items()


def test_predict_refuses_an_unknown_ending_before_any_work(run, table, tmp_path):
    status, _, err = run("predict", tmp_path / "no model", table, "-o", tmp_path / "out.xyz")
    assert (status, "names no format" in err) == (1, True)


def test_a_threshold_decides_which_labels_are_predicted(run, model, multilabel_model, table):
    without = [row["labels"] for row in lines_of(run("predict", model, table)[1])]
    for threshold, expected in ((0, without), (1, [[], []])):
        out = run("predict", model, table, "--threshold", threshold)[1]
        assert [row["labels"] for row in lines_of(out)] == expected
    rows = lines_of(run("predict", multilabel_model, table, "--threshold", "0", "--proba")[1])
    assert all(set(row["labels"]) == set(row["scores"]) for row in rows)
    middle = sorted(rows[0]["scores"].values())[1]
    out = run("predict", multilabel_model, table, "--threshold", middle - 1e-6)[1]
    assert len(lines_of(out)[0]["labels"]) == len(rows[0]["scores"]) - 1
    assert run("predict", model, table, "--threshold", "2")[0] == 2


@pytest.mark.parametrize("indent", [None, 1])
def test_a_json_array_is_recognized_on_standard_input(run, model, stdin, indent):
    rows = [{"id": k, "text": text} for k, text in enumerate(["moon orbit", "rose soil"] * 3_000)]
    stdin(json.dumps(rows, indent=indent).encode())
    predictions = lines_of(run("predict", model, "-")[1])
    assert [row["id"] for row in predictions] == [*range(6_000)]
    assert predictions[1]["labels"] == ["garden"]


def test_a_threshold_applies_to_probabilities_and_not_to_scores(run, tmp_path):
    texts = ["moon orbit"] * 30 + ["rose soil"] * 3
    labels = ["space"] * 30 + ["garden"] * 3
    wc.classifier("nearest", min_docs=1).fit(texts, labels).save(tmp_path / "model")
    (tmp_path / "a.jsonl").write_text('{"text": "nothing known"}\n')
    (row,) = lines_of(
        run("predict", tmp_path / "model", tmp_path / "a.jsonl", "--threshold", ".6", "-k", "2")[1]
    )
    assert row["labels"] == ["space"] == [*row["scores"]][:1]
    assert row["scores"]["space"] > 0.6


def test_json_lines_are_recognized_on_standard_input(run, model, stdin):
    stdin(b'{"id": 7, "text": "moon orbit", "labels": "x"}\n\n{"id": 8, "text": "rose soil"}\n')
    first, second = lines_of(run("predict", model, "-")[1])
    assert (first["id"], first["labels"], first["given_labels"]) == (7, ["space"], "x")
    assert (second["id"], second["labels"]) == (8, ["garden"])
    stdin(b'{"body": "moon orbit"}\n')
    assert (
        "standard input, line 1: no field 'text'; there are: 'body'"
        in (run("predict", model, "-")[2])
    )
    stdin(b'{"body": "moon orbit"}\n')
    assert run("predict", model, "-", "--text-field", "body")[0] == 0


def test_predict_does_not_need_labels_in_a_column(run, model, tmp_path):
    (tmp_path / "a.csv").write_text("text,label\nmoon orbit,space\nrose soil,\n")
    assert run("predict", model, tmp_path / "a.csv")[0] == 0
    status, _, err = run("evaluate", model, tmp_path / "a.csv")
    assert (status, "a.csv, line 3: no label" in err) == (1, True)
    out = run("evaluate", model, tmp_path / "a.csv", "--on-missing-label", "skip", "--json")[1]
    assert json.loads(out)["n_docs"] == 1


def test_a_model_remembers_the_fields_it_was_trained_with(run, tmp_path):
    texts, labels = corpus(60)
    rows = [f"{k};{labels[k]};{text};none" for k, text in enumerate(texts)]
    path = tmp_path / "a.csv"
    trained = tmp_path / "model"
    path.write_text("\n".join(rows))
    reading = ["--no-header", "--text-field", "4", "--text-field", "3", "--label-field", "2"]
    reading += ["--delimiter", ";", "--label-separator", "none"]
    options = ["--classifier", "nearest", "--set", "min_docs=2", "--holdout", "0.3"]
    status, _, err = run("train", path, "-o", trained, *reading, *options)
    assert status == 0, err
    assert "(single-label, 3 classes)" in err
    rows = lines_of(run("predict", trained, path)[1])
    assert (len(rows), rows[0]["1"], rows[0]["2"]) == (60, "0", labels[0])
    held_out = json.loads(run("evaluate", trained, path, "--holdout", "--json")[1])
    predictions = lines_of(run("predict", trained, path, "--holdout")[1])
    assert 0 < len(predictions) == held_out["n_docs"] < 60
    n_correct = sum(row["labels"] == [row["2"]] for row in predictions)
    accuracy = n_correct / len(predictions)
    assert held_out["accuracy"] == pytest.approx(accuracy, abs=1e-6)
    (tmp_path / "b.txt").write_text("moon orbit\n")
    assert run("predict", trained, tmp_path / "b.txt")[0] == 0  # a format without fields
    (tmp_path / "c.csv").write_text("text,label\nmoon orbit,space\n")
    other = ["--header", "--delimiter", ",", "--text-field", "text"]
    assert len(lines_of(run("predict", trained, tmp_path / "c.csv", *other)[1])) == 1
    status, _, err = run("predict", trained, tmp_path / "c.csv", "--header")
    assert (status, "no field '4'" in err) == (1, True)


def test_predict_holdout_needs_a_model_with_one(run, model, data):
    status, _, err = run("predict", model, data, "--holdout")
    assert (status, "trained without --holdout" in err) == (1, True)


def test_ambiguous_label_cells_are_a_warning(run, tmp_path):
    rows = "".join(f'"moon {k}",Sales; Returns\n"rose {k}",Support\n' for k in range(20))
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}")
    options = ["--classifier", "nearest", "--set", "min_docs=1", "--force"]
    status, _, err = run("train", tmp_path / "a.csv", "-o", tmp_path / "m", *options)
    assert status == 0
    assert err.startswith("warning: ")
    assert "'Sales; Returns' was read as several labels" in err
    assert "(multilabel, 3 classes)" in err
    no_separator = ["--label-separator", "none"]
    status, _, err = run("train", tmp_path / "a.csv", "-o", tmp_path / "m", *options, *no_separator)
    assert (status, "warning" in err, "(single-label, 2 classes)" in err) == (0, False, True)
