"""Tests of the commands about embeddings, through the `main` that the script calls."""

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus

import wordclass as wc


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "docs.jsonl"
    texts, labels = corpus(90)
    with path.open("w") as file:
        for k, (text, label) in enumerate(zip(texts, labels, strict=True)):
            split = "test" if k >= 60 else "train"
            file.write(json.dumps({"text": text, "labels": [label], "split": split}) + "\n")
    return path


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    path = tmp_path_factory.mktemp("wce") / "docs.wce"
    wc.WordClassEmbeddings(min_docs=2).fit(*corpus()).save(path)
    return path


def test_fit_learns_from_the_training_split_and_reports_it(run, data, tmp_path):
    output = tmp_path / "docs.wce"
    status, out, err = run("fit", data, "-o", output, "--shrinkage", "5", "--ngrams", "1,2")
    assert (status, out) == (0, "")
    assert "from 60 documents (single-label, 3 classes)" in err
    wce = wc.WordClassEmbeddings.load(output)
    assert wce.get_params()["shrinkage"] == 5
    assert wce.get_params()["ngrams"] == (1, 2)
    assert wce.learned_.counts.n_docs == 60


def test_fit_reads_the_given_split_and_fields(run, tmp_path):
    path = tmp_path / "docs.csv"
    texts, labels = multilabel_corpus()
    rows = [f"{text},{'|'.join(names)}" for text, names in zip(texts, labels, strict=True)]
    path.write_text("body,topics\n" + "\n".join(rows) + "\n")
    status, out, _ = run(
        "fit", path, "-o", tmp_path / "a.wce", "--text-field", "body", "--label-field", "topics",
        "--label-separator", "|", "--json", "--correlation", "chi_square", "--max-dims", "2",
        "--min-docs", "2", "--stop-words", "english", "--keep-documents",
    )  # fmt: skip
    assert status == 0
    result = json.loads(out)
    assert {name: result[name] for name in ("n_docs", "n_classes", "n_dims")} == {
        "n_docs": 60, "n_classes": 3, "n_dims": 2
    }  # fmt: skip
    wce = wc.WordClassEmbeddings.load(tmp_path / "a.wce")
    assert "the" not in wce
    assert wce.learned_.documents is not None


def test_stop_words_are_read_in_the_encoding_of_the_command(run, data, tmp_path):
    words = tmp_path / "stop.txt"
    words.write_bytes("mélodie\nmoon\n".encode("latin-1"))
    arguments = ("fit", data, "-o", tmp_path / "a.wce", "--stop-words", words)
    status, _, err = run(*arguments)
    assert status == 1
    assert err.startswith(f"wordclass: {words}, line 1: byte 0xe9 is not valid utf-8")
    assert err.count("\n") == 1
    assert run(*arguments, "--encoding", "latin-1")[0] == 0
    assert "mélodie" in wc.WordClassEmbeddings.load(tmp_path / "a.wce").stop_words


def test_fit_reads_stop_words_from_a_file(run, data, tmp_path):
    (tmp_path / "stop.txt").write_text("moon\norbit\n")
    run("fit", data, "-o", tmp_path / "a.wce", "--stop-words", tmp_path / "stop.txt")
    wce = wc.WordClassEmbeddings.load(tmp_path / "a.wce")
    assert "moon" not in wce
    assert "rocket" in wce


@pytest.mark.parametrize(("split", "n_docs"), [("train", 60), ("test", 30), ("all", 90)])
def test_a_split_can_be_chosen(run, data, tmp_path, split, n_docs):
    _, out, _ = run("fit", data, "-o", tmp_path / "a.wce", "--split", split, "--json", "--quiet")
    assert json.loads(out)["n_docs"] == n_docs


def test_nothing_is_overwritten_without_force(run, data, tmp_path):
    output = tmp_path / "docs.wce"
    output.write_text("precious")
    status, _, err = run("fit", data, "-o", output)
    assert status == 1
    assert err == f"wordclass: {output} exists; use --force to overwrite it\n"
    assert output.read_text() == "precious"
    assert run("fit", data, "-o", output, "--force")[0] == 0
    assert wc.WordClassEmbeddings.load(output)


def test_a_word_is_found_in_upper_and_lower_case(run, embeddings):
    lower, upper = (run("profile", embeddings, word, "--json") for word in ("moon", "MOON"))
    assert lower == upper
    assert lower[0] == 0
    lower, upper = (
        run("nearest", embeddings, word, "--json", "-n", "3") for word in ("moon", "MOON")
    )
    assert lower == upper
    result = json.loads(lower[1])
    assert result["word"] == "moon"
    assert [*map(tuple, result["nearest"])] == wc.WordVectors.load(embeddings).nearest("moon", 3)
    status, _, err = run("nearest", embeddings, "nowhere")
    problem = f"{embeddings}: unknown word 'nowhere'"
    hint = "try another spelling or a more common word"
    assert (status, err) == (1, f"wordclass: {problem}; {hint}\n")


@pytest.mark.parametrize("ending", [".vec", ".npz", ".txt"])
def test_the_ending_decides_what_fit_writes(run, data, embeddings, tmp_path, ending):
    output = tmp_path / f"vectors{ending}"
    assert run("fit", data, "-o", output, "--min-docs", "2")[0] == 0
    assert run("fit", data, "-o", tmp_path / "plain", "--min-docs", "2")[0] == 0
    vectors, expected = wc.WordVectors.load(output), wc.WordClassEmbeddings.load(tmp_path / "plain")
    assert [*vectors.terms] == expected.terms_
    np.testing.assert_allclose(vectors.matrix, expected.vectors_, rtol=1e-6)
    status, _, err = run("fit", "nowhere", "-o", tmp_path / "x.doc")
    assert status == 1
    assert "x.doc: its ending names no vector format" in err


def test_words_and_profile_show_the_best_first(run, embeddings):
    status, out, err = run("words", embeddings, "space", "-n", 3)
    assert (status, err) == (0, "")
    best = wc.WordClassEmbeddings.load(embeddings).top_terms("space", 3)
    assert [line.split()[0] for line in out.splitlines()] == [term for term, _ in best]
    status, out, _ = run("profile", embeddings, "moon")
    assert out.splitlines()[0].startswith("space")
    assert json.loads(run("words", embeddings, "space", "-n", 2, "--json")[1]) == {
        "class": "space",
        "words": [list(row) for row in best[:2]],
    }
    result = json.loads(run("profile", embeddings, "moon", "--json")[1])
    assert result["classes"][0][0] == "space"


def test_a_class_that_is_a_number_is_found_by_its_digits(run, tmp_path):
    texts, labels = corpus()
    numbers = [{"space": 10, "garden": 9, "music": 2}[label] for label in labels]
    wc.WordClassEmbeddings(min_docs=2).fit(texts, numbers).save(tmp_path / "a.wce")
    assert run("words", tmp_path / "a.wce", "10", "-n", "1")[0] == 0


def test_convert_writes_embeddings_in_other_formats(run, embeddings, tmp_path):
    wce = wc.WordClassEmbeddings.load(embeddings)
    for ending, options in ((".txt", []), (".bin", []), (".out", ["--format", "word2vec_text"])):
        target = tmp_path / f"vectors{ending}"
        status, _, err = run("convert", embeddings, target, *options)
        assert status == 0
        assert f"{len(wce)} terms with 3 dimensions" in err
        again = wc.WordVectors.load(target)
        np.testing.assert_array_equal(again.matrix, wce.vectors_)
        assert again.dimension_names == ("garden", "music", "space")
    assert run("convert", embeddings, tmp_path / "vectors.txt")[0] == 1
    result = json.loads(run("convert", embeddings, tmp_path / "b.npz", "--json")[1])
    assert result["n_dims"] == 3


def test_info_shows_the_type_of_a_file(run, embeddings, tmp_path):
    status, out, _ = run("info", embeddings)
    assert status == 0
    assert "word-class embeddings" in out
    assert "garden, music, space" in out
    run("convert", embeddings, tmp_path / "a.npz")
    facts = json.loads(run("info", tmp_path / "a.npz", "--json")[1])
    assert facts["what"] == "word vectors"
    assert facts["classes"] == ["garden", "music", "space"]


def test_a_built_in_dataset_is_a_corpus(run, data_home, monkeypatch, tmp_path):
    monkeypatch.setenv("WORDCLASS_HOME", str(data_home))
    status, out, _ = run("fit", "dataset:docstrings", "-o", tmp_path / "a.wce", "--json")
    assert status == 0
    assert json.loads(out)["n_classes"] >= 30
    status, _, err = run("fit", "dataset:docstring", "-o", tmp_path / "b.wce")
    assert status == 1
    assert "did you mean 'docstrings'" in err
    status, _, err = run("fit", "dataset:docstrings", "-o", tmp_path / "b.wce", "--split", "x")
    assert "--split is 'x'; expected train or test" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "nowhere.jsonl", "-o", "x.wce"], "nowhere.jsonl: no such file or folder"),
        (["fit", "{data}", "-o", "x.wce", "--correlation", "dott"], "did you mean 'dot'?"),
        (["fit", "{data}", "-o", "x.wce", "--text-field", "body"], "body"),
        (["fit", "{data}", "-o", "x.wce", "--min-docs", "1000"], "no term is left"),
        (["fit", "{data}", "-o", "x.wce", "--ngrams", "one"], "--ngrams is 'one'"),
        (["fit", "{data}", "-o", "x.wce", "--split", "dev"], "no record is in split 'dev'"),
        (["fit", "{data}", "-o", "x.wce", "--stop-words", "nowhere.txt"], "nowhere.txt"),
        (["words", "{wce}", "spase"], "unknown class 'spase'; close: space"),
        (["words", "{data}", "space"], "not a wce file, or damaged"),
        (["words", "nowhere.wce", "space"], "nowhere.wce: no such file"),
        (["profile", "{wce}", "mooon"], "unknown word 'mooon'; close: moon"),
        (["convert", "{wce}", "x.what"], "x.what"),
        (["convert", "{wce}", "x.wce"], "wce"),
        (["info", "nowhere"], "nowhere: no such file"),
        (["info", "{data}"], "docs.jsonl"),
    ],
)
def test_an_error_is_one_line_and_exit_status_1(
    run, data, embeddings, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    filled = [word.format(data=data, wce=embeddings) for word in arguments]
    status, out, err = run(*filled)
    assert (status, out) == (1, "")
    assert err.startswith("wordclass: ")
    assert err.count("\n") == 1
    assert message in err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("arguments", [["fit"], ["words", "--nonsense"], ["nothing"], ["fit", "a"]])
def test_wrong_usage_is_exit_status_2_without_a_box(run, arguments):
    status, _, err = run(*arguments)
    assert status == 2
    assert "Error" in err
    assert not set("╭│╰─") & set(err)


def test_version_and_help(run):
    assert run("--version") == (0, f"wordclass {wc.__version__}\n", "")
    status, out, _ = run("--help")
    assert status == 0
    for name in (
        "fit",
        "words",
        "profile",
        "convert",
        "info",
        "demo",
        "train",
        "evaluate",
        "predict",
        "explain",
        "datasets",
    ):
        assert name in out


def test_quiet_is_quiet(run, data, tmp_path):
    assert run("fit", data, "-o", tmp_path / "a.wce", "--quiet") == (0, "", "")


def test_a_full_disk_is_one_line_and_leaves_nothing(run, data, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    status, _, err = run("fit", data, "-o", tmp_path / "a.wce")
    assert status == 1
    assert "No space left on device" in err
    assert os.listdir(tmp_path) == []


def test_ctrl_c_is_reported_and_leaves_nothing(run, data, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(wc.WordClassEmbeddings, "save", interrupt)
    status, _, err = run("fit", data, "-o", tmp_path / "a.wce")
    assert status == 130
    assert "stopped" in err
    assert os.listdir(tmp_path) == []


def test_a_closed_pipe_is_not_an_error(embeddings):
    command = f"set -o pipefail; {sys.executable} -m wordclass words {embeddings} space | head -n 0"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_surrogate_in_a_class_can_be_shown(run, tmp_path):
    wce = wc.WordClassEmbeddings(min_docs=1).fit(["aa bb", "cc bb"], ["x\ud800", "y"])
    wce.save(tmp_path / "a.wce")
    for arguments in (["info"], ["info", "--json"]):
        status, out, _ = run(*arguments, tmp_path / "a.wce")
        assert status == 0
        assert r"x\ud800" in out


# --- pte ----------------------------------------------------------------------------------------


def test_pte_learns_from_the_training_split(run, data, tmp_path):
    output = tmp_path / "pte.npz"
    options = ("--dims", "6", "--min-docs", "2", "--samples", "2000", "--seed", "3")
    status, out, err = run(
        "pte", data, "-o", output, *options, "--window", "2", "--negatives", "3",
        "--learning-rate", "0.1",
    )  # fmt: skip
    assert (status, out) == (0, "")
    texts, labels = (column[:60] for column in corpus(90))
    expected = wc.pte(
        texts, labels, 6, min_docs=2, n_samples=2_000, seed=3, window=2, n_negatives=3,
        learning_rate=0.1,
    )  # fmt: skip
    assert f"{len(expected)} terms with 6 dimensions, from 60 documents" in err
    vectors = wc.WordVectors.load(output)
    assert list(vectors.terms) == list(expected.terms)
    np.testing.assert_array_equal(vectors.matrix, expected.matrix)


def test_a_classifier_is_trained_with_the_vectors(run, data, tmp_path):
    output = tmp_path / "pte.npz"
    status, out, _ = run("pte", data, "-o", output, "--dims", "8", "--json", "--max-terms", "20")
    result = json.loads(out)
    assert status == 0
    assert {name: result[name] for name in ("n_docs", "n_terms", "n_dims")} == {
        "n_docs": 60, "n_terms": 20, "n_dims": 8,
    }  # fmt: skip
    model = tmp_path / "model"
    options = ("--classifier", "svm", "--set", "features=vectors", "--vectors", output)
    assert run("train", data, "-o", model, *options)[0] == 0
    status, out, _ = run("evaluate", model, data, "--json")
    assert status == 0
    assert json.loads(out)["macro_f1"] > 0.8


def test_pte_uses_documents_without_labels_if_requested(run, tmp_path):
    path = tmp_path / "docs.csv"
    rows = ["moon orbit,space", "rose soil,garden", "moon rocket,", "rose seed,"] * 3
    path.write_text("text,label\n" + "\n".join(rows) + "\n")
    command = ("pte", path, "-o", tmp_path / "out.npz", "--min-docs", "2")
    status, _, err = run(*command)
    assert status == 1
    assert "no label" in err
    assert run(*command, "--on-missing-label", "empty")[0] == 0
    assert "rocket" in wc.WordVectors.load(tmp_path / "out.npz")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("{data}", "-o", "{out}.xyz"), "its ending names no vector format"),
        (("{data}", "-o", "{out}.npz", "--dims", "0"), "n_dims is 0"),
        (("{data}", "-o", "{out}.npz", "--negatives", "0"), "n_negatives is 0"),
        (("{data}", "-o", "{out}.npz", "--samples", "-5"), "n_samples is -5"),
        (("{data}", "-o", "{out}.npz", "--seed", "-1"), "seed is -1"),
        (("{data}", "-o", "{out}.npz", "--min-docs", "900"), "no term is left"),
        (("{out}.csv", "-o", "{out}.npz"), "no such file"),
        (("{data}", "-o", "{data}"), "use --force to overwrite it"),
    ],
)
def test_an_error_of_pte_is_one_line(run, data, tmp_path, arguments, message):
    places = {"data": data, "out": tmp_path / "out"}
    status, out, err = run("pte", *(word.format(**places) for word in arguments))
    assert (status, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1
