"""Tests of the command `unseen`, through the `main` that the script calls."""

import json

import numpy as np
import pytest
from made_up import COMMON, WORDS, corpus

import wordclass as wc
from wordclass.embedding.unseen_terms import UnseenTerms

SYNONYMS = {"space": "comet", "garden": "tulip", "music": "cello"}


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    path = tmp_path_factory.mktemp("wce") / "docs.wce"
    wc.WordClassEmbeddings(min_docs=2).fit(*corpus()).save(path)
    return path


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """Write vectors of similar words per class, one of which is not in the corpus."""
    generator = np.random.default_rng(0)
    rows = {word: generator.normal(size=6) / 2 for word in COMMON}
    for name, words in WORDS.items():
        center = 2 * generator.normal(size=6)
        rows |= {word: center + generator.normal(size=6) / 4 for word in [*words, SYNONYMS[name]]}
    path = tmp_path_factory.mktemp("vectors") / "pretrained.txt"
    wc.WordVectors.of(list(rows), np.array([*rows.values()])).save(path)
    return path


@pytest.fixture(scope="module")
def expected(embeddings, vectors):
    return UnseenTerms.predict(
        wc.WordVectors.load(vectors), wc.WordClassEmbeddings.load(embeddings)
    )


def test_terms_classes_scores_and_the_quality_are_printed(run, embeddings, vectors, expected):
    status, out, err = run("unseen", embeddings, vectors)
    assert (status, err) == (0, "")
    *lines, summary = out.splitlines()
    assert [tuple(line.split()) for line in lines] == [
        (term, name, f"{score:.2f}") for term, name, score in expected.report()
    ]
    assert {line.split()[0]: line.split()[1] for line in lines} == {
        term: name for name, term in SYNONYMS.items()
    }
    assert summary == (
        "3 terms predicted by ridge from 24 shared terms; on 2 held-out terms: "
        f"R2 {expected.quality.r2:.3f}, mean cosine {expected.quality.cosine:.3f}"
    )
    assert len(run("unseen", embeddings, vectors, "-n", 1)[1].splitlines()) == 2


def test_the_json_is_one_object(run, embeddings, vectors, expected):
    status, out, err = run("unseen", embeddings, vectors, "--json", "-n", 2)
    assert (status, err) == (0, "")
    assert json.loads(out) == {
        "regressor": "ridge",
        "n_terms": 3,
        "n_dims": 3,
        "n_shared": 24,
        "n_held_out": 2,
        "held_out_r2": expected.quality.r2,
        "held_out_cosine": expected.quality.cosine,
        "words": [list(row) for row in expected.report(2)],
    }


def test_one_class_can_be_selected(run, embeddings, vectors):
    lines = run("unseen", embeddings, vectors, "--class", "music")[1].splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["music"] * 3
    assert lines[0].startswith("cello")


def test_a_class_that_is_a_number_is_found_by_its_digits(run, vectors, tmp_path):
    texts, labels = corpus()
    numbers = [["garden", "music", "space"].index(label) for label in labels]
    wc.WordClassEmbeddings(min_docs=2).fit(texts, numbers).save(tmp_path / "a.wce")
    status, out, _ = run("unseen", tmp_path / "a.wce", vectors, "--class", "2", "-n", 1)
    assert (status, out.split()[:2]) == (0, ["comet", "2"])


@pytest.mark.parametrize("ending", [".txt", ".vec", ".bin", ".npz"])
def test_the_vectors_are_written_in_the_format_of_the_ending(
    run, embeddings, vectors, expected, tmp_path, ending
):
    output = tmp_path / f"unseen{ending}"
    status, out, err = run("unseen", embeddings, vectors, "-o", output)
    assert (status, err) == (0, f"{output}: 3 terms with 3 dimensions\n")
    assert len(out.splitlines()) == 4
    written = wc.WordVectors.load(output)
    assert list(written.terms) == list(expected.terms)
    np.testing.assert_allclose(written.matrix, expected.vectors, rtol=1e-5)


def test_nothing_is_overwritten_without_force_and_quiet_is_quiet(
    run, embeddings, vectors, tmp_path
):
    output = tmp_path / "unseen.txt"
    output.write_text("precious")
    status, out, err = run("unseen", embeddings, vectors, "-o", output)
    assert (status, out) == (1, "")
    assert err == f"wordclass: {output} exists; use --force to overwrite it\n"
    assert output.read_text() == "precious"
    status, out, err = run(
        "unseen", embeddings, vectors, "-o", output, "--force", "--quiet", "--json"
    )
    assert (status, err) == (0, "")
    assert json.loads(out)["output"] == str(output)
    assert len(wc.WordVectors.load(output)) == 3


def test_the_regressor_network_uses_the_seed(run, embeddings, vectors):
    pytest.importorskip("torch")

    def scores(*options):
        status, out, _ = run("unseen", embeddings, vectors, "--json", *options)
        assert status == 0
        return json.loads(out)["words"]

    network = scores("--regressor", "network")
    assert network == scores("--regressor", "network", "--seed", 0)
    assert network != scores("--regressor", "network", "--seed", 1)
    assert network != scores()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--class", "musik"], "unknown class 'musik'; close: music"),
        (["--regressor", "forest"], "unknown regressor 'forest'; expected one of network, ridge"),
        (["-o", "unseen.xyz"], "unseen.xyz: its ending names no vector format"),
        (
            ["-o", "unseen.wce"],
            "unseen.wce: word vectors cannot be saved as wce; expected .txt (glove",
        ),
    ],
)
def test_an_error_is_one_line_before_any_vectors_are_read(
    run, embeddings, tmp_path, options, message
):
    status, out, err = run("unseen", embeddings, tmp_path / "not-there.txt", *options)
    assert (status, out) == (1, "")
    assert err.startswith(f"wordclass: {message}")
    assert err.count("\n") == 1


def test_vectors_without_new_or_shared_terms_are_refused(run, embeddings, tmp_path):
    known = tmp_path / "known.txt"
    wc.WordVectors.of(["moon", "rose", "the"], [[1, 2], [3, 4], [0, 1]]).save(known)
    status, _, err = run("unseen", embeddings, known)
    assert status == 1
    problem = f"{known}: all its terms are in the vocabulary of {embeddings}"
    assert err == f"wordclass: {problem}; use vectors of more words\n"
    foreign = tmp_path / "foreign.txt"
    wc.WordVectors.of(["mond", "rosenstock"], [[1, 2], [3, 4]]).save(foreign)
    status, _, err = run("unseen", embeddings, foreign)
    assert status == 1
    assert err.startswith("wordclass: terms that both the pretrained vectors and the embeddings")
    assert err.count("\n") == 1
    status, _, err = run("unseen", embeddings, tmp_path / "not-there.txt")
    assert status == 1
    assert err.count("\n") == 1


def test_two_shared_terms_are_too_few_to_measure_the_quality(run, embeddings, tmp_path):
    vectors = tmp_path / "few.txt"
    wc.WordVectors.of(["moon", "rose", "tax"], [[1, 2], [3, 4], [0, 1]]).save(vectors)
    status, out, _ = run("unseen", embeddings, vectors)
    assert status == 0
    assert out.splitlines()[-1].endswith("too few shared terms to measure the quality")
    assert json.loads(run("unseen", embeddings, vectors, "--json")[1])["held_out_r2"] is None
