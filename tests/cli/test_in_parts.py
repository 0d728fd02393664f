"""Tests of commands on sharded corpora: engines, resumed predictions, skipped records."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from in_parts import assert_equal_vectors, write_parts
from made_up import corpus, multilabel_corpus

import wordclass as wc

CLUSTERS = pytest.mark.xdist_group("clusters")


@pytest.fixture
def parts(tmp_path):
    return write_parts(tmp_path / "parts", *corpus(120), 6)


@pytest.fixture
def model(tmp_path):
    clf = wc.classifier("nearest", min_docs=2).fit(*corpus(90, seed=5))
    clf.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("engine", [None, "in_sequence", "processes"])
def test_fit_takes_many_files_patterns_and_folders(run, parts, tmp_path, engine):
    all_documents = wc.WordClassEmbeddings().fit(*corpus(120))
    chosen = ["--engine", engine] if engine else []
    for k, data in enumerate(([parts], [parts / "part-*.jsonl"], sorted(parts.glob("*.jsonl")))):
        output = tmp_path / f"{k}.wce"
        status, out, error = run("fit", *data, "-o", output, *chosen, "--json", "-j", 2)
        assert (status, json.loads(out)["n_docs"]) == (0, 120), error
        assert_equal_vectors(wc.WordClassEmbeddings.load(output), all_documents)


@CLUSTERS
def test_fit_uses_a_scheduler_of_dask(run, parts, tmp_path, dask_client):
    address = dask_client.scheduler.address
    status, _, error = run(
        "fit", parts, "-o", tmp_path / "a.wce", "--engine", "dask", "--scheduler", address
    )
    assert status == 0, error
    all_documents = wc.WordClassEmbeddings().fit(*corpus(120))
    assert_equal_vectors(wc.WordClassEmbeddings.load(tmp_path / "a.wce"), all_documents)


def test_bad_records_stop_or_are_counted(run, parts, tmp_path):
    bad = parts / "part-004.jsonl"
    lines = bad.read_text().splitlines()
    bad.write_text("\n".join([*lines[:3], "{", *lines[3:], '{"text": "no label"}']) + "\n")
    status, _, error = run("fit", parts, "-o", tmp_path / "a.wce")
    assert (status, error.count("\n")) == (1, 1)
    assert f"{bad}, line 4: not JSON" in error
    status, out, error = run(
        "fit", parts, "-o", tmp_path / "a.wce", "--on-bad-record", "skip", "--json"
    )
    assert status == 0
    assert f"skipped 2 records that cannot be read; the first: {bad}, line 4: not JSON" in error
    assert json.loads(out)["n_docs"] == 120
    # one file, too
    status, _, error = run("fit", bad, "-o", tmp_path / "b.wce", "--on-bad-record", "skip")
    assert status == 0, error
    assert "skipped 2 records" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "hadoop"], "unknown engine 'hadoop'"),
        (
            ["--engine", "spark", "--scheduler", "tcp://x:1"],
            "--scheduler does not apply to the engine 'spark'; use it with --engine dask",
        ),
        (
            ["--master", "local"],
            "--master does not apply to the engine 'in_sequence'; use it with --engine spark",
        ),
        (["--on-bad-record", "forgive"], "on_bad_record is 'forgive'; expected 'stop' or 'skip'"),
    ],
)
def test_wrong_options_are_one_line(run, parts, tmp_path, arguments, message):
    status, _, error = run("fit", parts, "-o", tmp_path / "a.wce", *arguments)
    assert (status, error.count("\n")) == (1, 1)
    assert message in error


def test_a_corpus_that_cannot_be_sharded_is_refused(run, tmp_path, model):
    for data, message in (
        (["dataset:docstrings"], "a dataset, or standard input, cannot be read in shards"),
        (["nothing/*.jsonl"], "nothing/*.jsonl: no such file or folder"),
    ):
        status, _, error = run("fit", *data, "-o", tmp_path / "a.wce", "--engine", "in_sequence")
        assert status == 1
        assert message in error
    status, _, error = run("tune", "a.jsonl", "b.jsonl", "-o", tmp_path / "m")
    assert "2 files were given; expected one file, folder or dataset" in error
    status, _, error = run("predict", model, tmp_path, "--engine", "processes")
    assert "use -o to name the folder" in error


def predicted(folder):
    files = sorted(folder.glob("part-*"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.mark.parametrize("engine", ["in_sequence", "processes"])
def test_predictions_are_one_file_per_shard_and_are_reused(run, parts, model, tmp_path, engine):
    command = ["predict", model, parts, "-o", tmp_path / "out", "--engine", engine, "--json"]
    status, out, error = run(*command)
    assert status == 0, error
    expected = wc.load(model).predict(corpus(120)[0])
    assert [row["labels"][0] for row in predicted(tmp_path / "out")] == expected.tolist()
    assert all("given_labels" in row for row in predicted(tmp_path / "out"))
    first = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    assert len(first) == 6

    def count_changes():
        now = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
        return len(now), sum(first.get(name) != time for name, time in now.items())

    (tmp_path / "out" / min(first)).unlink()
    _, out, _ = run(*command)
    assert (json.loads(out)["n_parts_kept"], count_changes()) == (5, (6, 1))
    # another input, other options, another model
    changed = parts / "part-003.jsonl"
    changed.write_text(changed.read_text().replace("the", "and", 1))
    _, out, _ = run(*command)
    assert (json.loads(out)["n_parts_kept"], count_changes()) == (5, (6, 2))
    _, out, _ = run(*command, "-k", 2)
    assert (json.loads(out)["n_parts_kept"], count_changes()) == (0, (6, 6))
    assert all(len(row["scores"]) == 2 for row in predicted(tmp_path / "out"))
    wc.classifier("nearest", min_docs=1).fit(*corpus(60)).save(model)
    _, out, _ = run(*command, "-k", 2)
    assert json.loads(out)["n_parts_kept"] == 0


def test_predictions_may_be_tables_or_one_file(run, parts, model, tmp_path):
    import polars as pl

    run("predict", model, parts, "-o", tmp_path / "out.parquet", "--engine", "in_sequence")
    table = pl.concat(map(pl.read_parquet, sorted((tmp_path / "out.parquet").iterdir())))
    assert table["text"].to_list() == corpus(120)[0]
    status, _, error = run("predict", model, parts, "-o", tmp_path / "all.jsonl")
    assert status == 0, error
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == table["text"].to_list()


def test_a_folder_of_something_else_is_not_touched(run, parts, model, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    status, _, error = run("predict", model, parts, "-o", tmp_path / "out", "--engine", "processes")
    assert status == 1
    assert "holds thesis.txt, which is not one of the predictions" in error
    assert (tmp_path / "out" / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("make_corpus", [corpus, multilabel_corpus])
@pytest.mark.parametrize("engine", ["in_sequence", "processes"])
def test_an_evaluation_in_shards_equals_that_of_all_documents(run, tmp_path, make_corpus, engine):
    texts, labels = make_corpus(150)
    wc.classifier("nearest", min_docs=2).fit(texts[:60], labels[:60]).save(tmp_path / "model")
    # one shard has a class that the model does not know
    labels = [*labels[:-1], "unknown" if make_corpus is corpus else ["unknown"]]
    parts = write_parts(tmp_path / "parts", texts, labels, 7)
    all_documents = tmp_path / "all.jsonl"
    all_documents.write_text("".join(path.read_text() for path in sorted(parts.iterdir())))
    _, expected, _ = run("evaluate", tmp_path / "model", all_documents, "--json", "--per-class")
    status, out, error = run(
        "evaluate", tmp_path / "model", parts, "--engine", engine, "--json", "--per-class"
    )
    assert status == 0, error
    expected = json.loads(expected)
    result = json.loads(out)
    assert result.pop("per_class") == expected.pop("per_class")
    assert result == pytest.approx(expected, abs=1e-6)
    assert "the model was trained on 60 of these 150 documents" in error
    status, _, error = run("evaluate", tmp_path / "model", parts, "--strict-labels")
    assert "classes that the model does not know: 'unknown'" in error


def test_a_missing_label_is_reported_with_file_and_line(run, parts, model):
    path = parts / "part-002.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[6]["labels"] = None
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, _, error = run("evaluate", model, parts)
    assert (status, error.count("\n")) == (1, 1)
    assert f"{path}, line 7: no label, in a single-label task" in error
    status, out, _ = run("evaluate", model, parts, "--on-missing-label", "skip", "--json")
    assert json.loads(out)["n_docs"] == 119


SLOW = """
import sys, time
from wordclass.batch import sharded
plain = sharded.predict_rows
def slow(model, texts, **options):
    time.sleep(0.4)
    return plain(model, texts, **options)
sharded.predict_rows = slow
sys.argv = ["wordclass", *sys.argv[1:]]
from wordclass.cli.main import main
main()
"""


def test_a_killed_driver_leaves_only_complete_files(run, parts, model, tmp_path):
    out = tmp_path / "out"
    command = ["predict", model, parts, "-o", out, "--engine", "in_sequence", "--json"]
    driver = subprocess.Popen([sys.executable, "-c", SLOW, *map(str, command)])
    for _ in range(2_400):  # a busy machine takes a minute to start
        if out.is_dir() and len(list(out.glob("part-*"))) >= 2:
            break
        time.sleep(0.05)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    finished = {path.name: path.read_bytes() for path in out.glob("part-*")}
    assert 2 <= len(finished) < 6
    assert all(content.endswith(b"\n") for content in finished.values())
    status, result, error = run(*command)
    assert status == 0, error
    assert json.loads(result)["n_parts_kept"] == len(finished)
    assert all((out / name).read_bytes() == content for name, content in finished.items())
    assert [row["text"] for row in predicted(out)] == corpus(120)[0]
    assert len(list(out.iterdir())) == 6  # unfinished files are removed


@pytest.mark.parametrize("engine", [None, "in_sequence", "processes"])
def test_train_learns_the_same_model_from_shards(run, parts, tmp_path, engine):
    chosen = ["--engine", engine] if engine else []
    all_documents = tmp_path / "all.jsonl"
    all_documents.write_text("".join(path.read_text() for path in sorted(parts.iterdir())))
    results = []
    for data, options in ((all_documents, []), (parts, chosen)):
        output = tmp_path / f"{data.name}-model"
        status, out, error = run(
            "train", data, "-o", output, "--holdout", 0.3, "--json", *options, "--set", "C=1"
        )
        assert status == 0, error
        result = json.loads(out)
        results.append({k: v for k, v in result.items() if k not in ("output", "seconds")})
    assert results[0] == results[1]
    one, other = (wc.load(tmp_path / f"{name}-model") for name in ("all.jsonl", "parts"))
    texts, _ = corpus(120)
    assert (one.class_scores(texts) == other.class_scores(texts)).all()
    _, first, _ = run("evaluate", tmp_path / "parts-model", all_documents, "--holdout", "--json")
    _, second, _ = run("evaluate", tmp_path / "parts-model", parts, "--holdout", "--json", *chosen)
    assert json.loads(first) == json.loads(second)
