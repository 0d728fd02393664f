"""Training from texts on disk gives the same model as training from texts in memory."""

import mmap
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from in_parts import write_parts
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass.corpus.splits import Holdout
from wordclass.text.spool import spool_corpus

CLUSTERS = pytest.mark.xdist_group("clusters")
UNUSUAL_TEXTS = ["", "é", "\ud800 lone", "a\nb", "moon " * 5000]


def spool(tmp_path, texts, labels, n_shards, engine):
    sharded = wc.ShardedCorpus.of(write_parts(tmp_path / "shards", texts, labels, n_shards))
    (tmp_path / "spool").mkdir()
    return spool_corpus(sharded, engine, tmp_path / "spool")


def test_texts_on_disk_equal_the_texts_of_the_corpus(tmp_path):
    texts = [*UNUSUAL_TEXTS, *corpus(20)[0]]
    labels = ["a", "b"] * 12 + ["a"]
    spooled, encoded, summary = spool(tmp_path, texts, labels, 4, wc.engine("in_sequence"))
    assert list(spooled) == texts
    assert [spooled[k] for k in range(25)] == texts
    assert (spooled[3:20:4], spooled[-1], len(spooled)) == (texts[3:20:4], texts[-1], 25)
    assert encoded.codeframe.kind == "single"
    assert encoded.codeframe.to_labels(encoded.Y.toarray() > 0).tolist() == labels
    assert summary.n_docs == 25
    with pytest.raises(IndexError):
        spooled[25]


@pytest.mark.parametrize("weighting", ["tfidf", "count"])
def test_the_matrix_of_spooled_texts_is_mapped_and_equals_that_in_memory(tmp_path, weighting):
    texts, labels = corpus(90)
    spooled, _, _ = spool(tmp_path, texts, labels, 7, wc.engine("processes", n_workers=2))
    in_memory = wc.DocumentVectorizer(min_docs=2, weighting=weighting)
    on_disk = wc.DocumentVectorizer(min_docs=2, weighting=weighting)
    expected = in_memory.fit_transform(texts)
    X = on_disk.fit_transform(spooled)
    assert on_disk.vocabulary_.agrees_with(in_memory.vocabulary_)
    np.testing.assert_array_equal(X.toarray(), expected.toarray())
    for values in (X.data, X.indices):
        while isinstance(values, np.ndarray):
            values = values.base
        assert isinstance(values, mmap.mmap)
    assert sorted(path.suffix for path in (tmp_path / "spool").glob("X-*")) == [
        ".columns",
        ".values",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "in_sequence",
        "processes",
        pytest.param("dask", marks=CLUSTERS),
        pytest.param("spark", marks=CLUSTERS),
    ],
)
def test_an_engine_trains_the_same_model_as_fit(name, engine_named, tmp_path):
    texts, labels = multilabel_corpus(150)
    options = {"block_weight": 0.1, "C": 1.0, "shrinkage": 5.0, "characters": None}
    options |= {"ngrams": (1, 1)}
    shards = write_parts(tmp_path / "shards", texts, labels, 6)
    expected = wc.classifier("linear", **options).fit(texts, labels)
    model = wc.classifier("linear", **options)
    with engine_named(name) as engine:
        model.fit_parts(shards, engine=engine, folder=tmp_path)
    np.testing.assert_array_equal(model.class_scores(texts), expected.class_scores(texts))
    np.testing.assert_array_equal(model.thresholds_, expected.thresholds_)
    assert model.training_.fingerprint == expected.training_.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["shards"]  # temporary files are removed


@pytest.mark.parametrize("name", ["linear", "svm", "nearest"])
def test_searches_inside_a_fit_work_from_disk(name, tmp_path):
    texts, labels = corpus(60)
    shards = write_parts(tmp_path / "shards", texts, labels, 4)
    expected = wc.classifier(name).fit(texts, labels)
    model = wc.classifier(name).fit_parts(shards)
    np.testing.assert_array_equal(model.predict_proba(texts), expected.predict_proba(texts))


def test_held_out_documents_are_not_used(tmp_path):
    texts, labels = corpus(120)
    holdout = Holdout(0.3, 1)
    is_held_out = holdout.contains(texts)
    shards = write_parts(tmp_path / "shards", texts, labels, 4)
    training_texts = [text for text, out in zip(texts, is_held_out, strict=True) if not out]
    training_labels = [label for label, out in zip(labels, is_held_out, strict=True) if not out]
    expected = wc.classifier("nearest").fit(training_texts, training_labels)
    model = wc.classifier("nearest").fit_parts(shards, aside=holdout)
    np.testing.assert_array_equal(model.class_scores(texts), expected.class_scores(texts))


KILLED_TRAINING = """
import sys
sys.path.insert(0, sys.argv[3])
import wordclass as wc
from in_parts import Failing
doomed = Failing("doomed", sys.argv[2] + "/journal", {1}, kills=True)
wc.classifier("nearest", analyzer=doomed).fit_parts(sys.argv[1], folder=sys.argv[2])
"""


def test_files_of_a_killed_training_are_removed_by_the_next_one(tmp_path):
    texts, labels = corpus(30)
    texts[20] += " doomed"
    shards = write_parts(tmp_path / "shards", texts, labels, 3)
    folder = tmp_path / "folder"
    folder.mkdir()
    tests = Path(__file__).parents[1]
    command = [sys.executable, "-c", KILLED_TRAINING, str(shards), str(folder), str(tests)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert len([*folder.glob(".wordclass-scratch.*")]) == 1
    wc.classifier("nearest").fit_parts(shards, folder=folder)
    assert [path.name for path in folder.iterdir()] == ["journal"]
