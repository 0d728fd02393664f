"""Tests of the commands `cache` and `distill`; the fixture `run` is in conftest."""

import json
import shutil

import numpy as np
import pytest
from made_up import corpus
from small_encoders import N_DIMS, static_folder

import wordclass as wc
from wordclass.sentence import cache
from wordclass.sentence.encoder import SentenceEncoder


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WORDCLASS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("WORDCLASS_CACHE_BYTES", raising=False)
    return tmp_path / "home" / "cache"


@pytest.fixture
def folder(tmp_path):
    return static_folder(tmp_path / "model")


@pytest.fixture
def data(tmp_path):
    texts, labels = corpus(90)
    rows = [
        {"text": text, "labels": [label], "split": "test" if k >= 60 else "train"}
        for k, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_an_empty_cache_is_shown_with_its_limit(run, home):
    assert run("cache") == (0, f"0.0 MB of at most 5.0 GB in {home}\n", "")
    status, out, _ = run("cache", "--json")
    assert (status, json.loads(out)) == (
        0, {"home": str(home), "limit_bytes": 5_000_000_000, "files": [], "total_bytes": 0},
    )  # fmt: skip


def test_all_files_of_the_cache_are_listed(run, home, folder, monkeypatch):
    SentenceEncoder.of(folder).vectors([f"moon {k}" for k in range(1500)])
    (home / "abc.tokens").write_bytes(bytes(2_000_000))
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", "90000000")
    status, out, err = run("cache")
    head, *rows, last = out.splitlines()
    assert (status, err) == (0, "")
    assert head.split() == ["encoder", "vectors", "size", "last", "use", "file"]
    assert rows[0].split()[:2] == [str(folder), "1,500"]
    assert rows[1].split()[:3] == ["-", "2.0", "MB"]
    assert rows[1].endswith("abc.tokens")
    assert last.endswith(f"of at most 90.0 MB in {home}")
    result = json.loads(run("cache", "--json")[1])
    assert [file["n_vectors"] for file in result["files"]] == [1500, None]
    assert result["total_bytes"] == sum(file["n_bytes"] for file in result["files"])


def test_clearing_deletes_everything_and_reports_the_size(run, home, folder):
    SentenceEncoder.of(folder).vectors([f"moon {k}" for k in range(100)])
    (home / "abc.tokens").write_bytes(bytes(2_000_000))
    n_bytes = sum(path.stat().st_size for path in home.iterdir())
    shown = f"{home}: deleted 2 files, {n_bytes / 1e6:.1f} MB\n"
    assert run("cache", "--clear") == (0, shown, "")
    assert cache.cache_files() == []
    result = json.loads(run("cache", "--clear", "--json")[1])
    assert (result["removed_bytes"], result["files"]) == (0, [])


def test_a_file_that_cannot_be_deleted_is_an_error(run, home):
    (home / "folder.tokens" / "inside").mkdir(parents=True)
    status, _, err = run("cache", "--clear")
    assert status == 1
    assert err.startswith(f"wordclass: {home}/folder.tokens: cannot be deleted; check")


def test_an_invalid_limit_is_one_line(run, monkeypatch):
    monkeypatch.setenv("WORDCLASS_CACHE_BYTES", "lots")
    status, out, err = run("cache")
    assert (status, out) == (1, "")
    problem = "the environment variable WORDCLASS_CACHE_BYTES is 'lots'"
    assert err == f"wordclass: {problem}; expected a number of bytes\n"


def test_distill_computes_vectors_of_the_training_split(run, folder, data, tmp_path):
    output = tmp_path / "small.vec"
    status, out, err = run("distill", folder, data, "-o", output, "--dims", "5", "--min-docs", "2")
    assert (status, out) == (0, "")
    texts = corpus(90)[0][:60]
    expected = wc.distill(folder, texts, 5, min_docs=2)
    assert f"{len(expected)} terms with 5 dimensions, by {folder}, from 60 documents" in err
    vectors = wc.WordVectors.load(output)
    assert list(vectors.terms) == list(expected.terms)
    np.testing.assert_allclose(vectors.matrix, expected.matrix, atol=1e-6)


def test_distill_has_options_about_terms_and_reports_json(run, folder, data, tmp_path):
    output = tmp_path / "small.npz"
    status, out, _ = run(
        "distill", folder, data, "-o", output, "--split", "all", "--max-terms", "20", "--ngrams",
        "1,2", "--stop-words", "english", "--smoothing", "0", "--min-docs", "1", "--json",
    )  # fmt: skip
    result = json.loads(out)
    assert status == 0
    assert {name: result[name] for name in ("n_docs", "n_terms", "n_dims", "encoder")} == {
        "n_docs": 90, "n_terms": 20, "n_dims": N_DIMS, "encoder": str(folder),
    }  # fmt: skip
    assert "the" not in wc.WordVectors.load(output)
    status, out, _ = run("nearest", output, "moon", "-n", "1")
    assert status == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "{data}", "-o", "{out}.npz"), "the encoder nothing does not exist"),
        (("{data}", "{data}", "-o", "{out}.npz"), "is not an encoder"),
        (("{folder}", "{data}", "-o", "{out}.xyz"), "its ending names no vector format"),
        (("{folder}", "{data}", "-o", "{out}.npz", "--dims", "0"), "n_dims is 0"),
        (("{folder}", "{data}", "-o", "{out}.npz", "--min-docs", "900"), "no term is left"),
        (("{folder}", "{folder}/no.csv", "-o", "{out}.npz"), "no such file"),
        (("{folder}", "{data}", "-o", "{data}"), "use --force to overwrite it"),
    ],
)
def test_an_error_of_distill_is_one_line(run, folder, data, tmp_path, arguments, message):
    places = {"data": data, "folder": folder, "out": tmp_path / "out"}
    status, out, err = run("distill", *(word.format(**places) for word in arguments))
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_model_finds_an_encoder_that_was_moved(run, folder, data, tmp_path):
    place = shutil.copytree(folder, tmp_path / "encoder")
    options = ("--set", f"encoder={place}", "--set", "encoder_weight=1", "--set", "C=1")
    status, _, err = run("train", data, "-o", tmp_path / "trained", *options)
    assert status == 0, err
    status, expected, _ = run("evaluate", tmp_path / "trained", data, "--json")
    assert status == 0
    place.rename(tmp_path / "moved")
    status, out, err = run("evaluate", tmp_path / "trained", data, "--json")
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert "--encoder FOLDER" in err
    moved = ("--encoder", tmp_path / "moved")
    assert run("evaluate", tmp_path / "trained", data, "--json", *moved)[1] == expected
    assert run("predict", tmp_path / "trained", data, *moved)[0] == 0
    assert run("explain", tmp_path / "trained", "the moon", *moved)[0] == 0
