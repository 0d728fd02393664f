"""Training from texts on disk: the same model as from texts in memory."""

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
AWKWARD = ["", "é", "\ud800 lone", "a\nb", "moon " * 5000]


def on_disk(tmp_path, texts, labels, n_parts, engine):
    parts = wc.ShardedCorpus.of(write_parts(tmp_path / "parts", texts, labels, n_parts))
    (tmp_path / "spool").mkdir()
    return spool_corpus(parts, engine, tmp_path / "spool")


def test_texts_on_disk_are_the_texts(tmp_path):
    texts = [*AWKWARD, *corpus(20)[0]]
    labels = ["a", "b"] * 12 + ["a"]
    found, encoded, seen = on_disk(tmp_path, texts, labels, 4, wc.engine("in_sequence"))
    assert list(found) == texts
    assert [found[k] for k in range(25)] == texts
    assert (found[3:20:4], found[-1], len(found)) == (texts[3:20:4], texts[-1], 25)
    assert encoded.codeframe.kind == "single"
    assert encoded.codeframe.to_labels(encoded.Y.toarray() > 0).tolist() == labels
    assert seen.n_docs == 25
    with pytest.raises(IndexError):
        found[25]


@pytest.mark.parametrize("weighting", ["tfidf", "count"])
def test_x_is_that_of_texts_in_memory_and_is_mapped(tmp_path, weighting):
    texts, labels = corpus(90)
    found, _, _ = on_disk(tmp_path, texts, labels, 7, wc.engine("processes", n_workers=2))
    whole, mapped = (wc.DocumentVectorizer(min_docs=2, weighting=weighting) for _ in range(2))
    expected, X = whole.fit_transform(texts), mapped.fit_transform(found)
    assert mapped.vocabulary_.agrees_with(whole.vocabulary_)
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
def test_an_engine_trains_the_model_of_all_texts_at_once(name, engine_named, tmp_path):
    texts, labels = multilabel_corpus(150)
    options = {"block_weight": 0.1, "C": 1.0, "shrinkage": 5.0, "characters": None}
    options |= {"ngrams": (1, 1)}
    parts = write_parts(tmp_path / "parts", texts, labels, 6)
    whole = wc.classifier("linear", **options).fit(texts, labels)
    with engine_named(name) as engine:
        found = wc.classifier("linear", **options).fit_parts(parts, engine=engine, folder=tmp_path)
    np.testing.assert_array_equal(found.class_scores(texts), whole.class_scores(texts))
    np.testing.assert_array_equal(found.thresholds_, whole.thresholds_)
    assert found.training_.fingerprint == whole.training_.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]  # nothing is left


@pytest.mark.parametrize("name", ["linear", "svm", "nearest"])
def test_every_search_inside_a_fit_works_from_disk(name, tmp_path):
    texts, labels = corpus(60)
    parts = write_parts(tmp_path / "parts", texts, labels, 4)
    whole = wc.classifier(name).fit(texts, labels)
    found = wc.classifier(name).fit_parts(parts)
    np.testing.assert_array_equal(found.predict_proba(texts), whole.predict_proba(texts))


def test_documents_kept_aside_are_left_out(tmp_path):
    texts, labels = corpus(120)
    aside = Holdout(0.3, 1)
    is_aside = aside.contains(texts)
    parts = write_parts(tmp_path / "parts", texts, labels, 4)
    kept = [[each for each, out in zip(given, is_aside, strict=True) if not out]
            for given in (texts, labels)]  # fmt: skip
    whole = wc.classifier("nearest").fit(*kept)
    found = wc.classifier("nearest").fit_parts(parts, aside=aside)
    np.testing.assert_array_equal(found.class_scores(texts), whole.class_scores(texts))


KILLED = """
import sys
sys.path.insert(0, sys.argv[3])
import wordclass as wc
from in_parts import Failing
doomed = Failing("doomed", sys.argv[2] + "/journal", {1}, kills=True)
wc.classifier("nearest", analyzer=doomed).fit_parts(sys.argv[1], folder=sys.argv[2])
"""


def test_what_a_killed_training_left_is_removed_by_the_next(tmp_path):
    texts, labels = corpus(30)
    texts[20] += " doomed"
    parts, place = write_parts(tmp_path / "parts", texts, labels, 3), tmp_path / "place"
    place.mkdir()
    tests = Path(__file__).parents[1]
    command = [sys.executable, "-c", KILLED, str(parts), str(place), str(tests)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert len([*place.glob(".wordclass-scratch.*")]) == 1
    wc.classifier("nearest").fit_parts(parts, folder=place)
    assert [path.name for path in place.iterdir()] == ["journal"]
