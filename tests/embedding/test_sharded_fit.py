"""Learning in parts: cross-fitting, workers that die, corpora that change under way."""

import json
import time

import numpy as np
import pytest
from in_parts import Failing, assert_equal_vectors, write_parts
from made_up import corpus, multilabel_corpus

import wordclass as wc

CLUSTERS = pytest.mark.xdist_group("clusters")


@pytest.mark.parametrize("n_parts", [1, 3, 7, 50])
@pytest.mark.parametrize("made", [corpus, multilabel_corpus])
def test_cross_fitted_features_are_those_of_all_texts_at_once(n_parts, made, tmp_path):
    texts, labels = made(200)
    options = {"min_docs": 2, "folds": 4, "seed": 3, "correlation": "ppmi"}
    whole = wc.WordClassEmbeddings(**options)
    features = whole.fit_transform(texts, labels)
    parts = write_parts(tmp_path / "parts", texts, labels, n_parts)
    wce = wc.WordClassEmbeddings(**options)
    files = wce.fit_transform_parts(parts, tmp_path / "features")
    assert len(files) == n_parts
    np.testing.assert_allclose(
        np.concatenate([np.load(file) for file in files]), features, rtol=1e-6, atol=1e-6
    )
    assert_equal_vectors(wce, whole)


@pytest.mark.parametrize(
    "name",
    ["processes", pytest.param("dask", marks=CLUSTERS), pytest.param("spark", marks=CLUSTERS)],
)
def test_engines_write_the_same_features(name, engine_named, tmp_path):
    parts = write_parts(tmp_path / "parts", *corpus(100), 5)
    wce = wc.WordClassEmbeddings(min_docs=2)
    expected = wce.fit_transform_parts(parts, tmp_path / "in_sequence")
    with engine_named(name) as engine:
        found = wce.fit_transform_parts(parts, tmp_path / name, engine=engine)
    assert [path.name for path in found] == [path.name for path in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.read_bytes() == other.read_bytes()


@CLUSTERS
def test_a_worker_that_is_killed_in_each_pass_changes_nothing(dask_client, tmp_path):
    texts, labels = corpus(120)
    texts[70] += " doomed doomed doomed doomed doomed"
    parts = write_parts(tmp_path / "parts", texts, labels, 12)
    whole = wc.WordClassEmbeddings(analyzer=str.split, min_docs=1).fit(texts, labels)
    journal = tmp_path / "journal"
    doomed = Failing("doomed", journal, {1, 3}, kills=True)  # the first time in each pass
    wce = wc.WordClassEmbeddings(analyzer=doomed, min_docs=1)
    wce.fit_parts(parts, engine=wc.engine("dask", client=dask_client))
    assert journal.stat().st_size == 4
    assert_equal_vectors(wce, whole)
    assert wce.learned_.vocabulary.agrees_with(whole.learned_.vocabulary)
    np.testing.assert_array_equal(wce.learned_.counts.term_docs, whole.learned_.counts.term_docs)
    dask_client.wait_for_workers(2)


@CLUSTERS
def test_a_task_of_spark_that_fails_twice_is_counted_once(spark_session, tmp_path):
    texts, labels = corpus(60)
    texts[40] += " doomed"
    parts = write_parts(tmp_path / "parts", texts, labels, 6)
    whole = wc.WordClassEmbeddings(analyzer=str.split, min_docs=1).fit(texts, labels)
    journal = tmp_path / "journal"
    failing = Failing("doomed", journal, {1, 2, 4, 5}, kills=False)  # twice in each pass
    wce = wc.WordClassEmbeddings(analyzer=failing, min_docs=1)
    wce.fit_parts(parts, engine=wc.engine("spark", session=spark_session))
    assert journal.stat().st_size == 6
    assert_equal_vectors(wce, whole)
    np.testing.assert_array_equal(wce.learned_.counts.term_docs, whole.learned_.counts.term_docs)


@pytest.mark.parametrize(
    ("name", "killer"),
    [("processes", "memory ran out"), pytest.param("dask", "KilledWorker", marks=CLUSTERS)],
)
def test_workers_that_always_die_are_told_of_in_one_line(name, killer, engine_named, tmp_path):
    texts, labels = corpus(30)
    texts[20] += " doomed"
    parts = write_parts(tmp_path / "parts", texts, labels, 3)
    doomed = Failing("doomed", tmp_path / "journal", range(1000), kills=True)
    with engine_named(name) as engine, pytest.raises(wc.EngineError, match=killer) as told:
        wc.WordClassEmbeddings(analyzer=doomed).fit_parts(parts, engine=engine)
    assert "\n" not in str(told.value)


@CLUSTERS
def test_a_table_of_dask_is_a_corpus_in_parts(dask_client):
    import dask.bag
    import dask.dataframe
    import pandas as pd

    texts, labels = multilabel_corpus(90)
    whole = wc.WordClassEmbeddings(min_docs=2).fit(texts, labels)
    engine = wc.engine("dask", client=dask_client)
    pairs = dask.bag.from_sequence(zip(texts, labels, strict=True), npartitions=4)
    dicts = pairs.map(lambda pair: {"body": pair[0], "topics": pair[1], "id": 5})
    for bag, names in ((pairs, {}), (dicts, {"text_field": "body", "label_field": "topics"})):
        parts = wc.ShardedCorpus.of(bag, **names)
        found = wc.WordClassEmbeddings(min_docs=2).fit_parts(parts, engine=engine)
        assert_equal_vectors(found, whole)
    texts, labels = corpus(90)
    frame = pd.DataFrame({"text": texts, "label": labels, "more": range(90)})
    table = dask.dataframe.from_pandas(frame, npartitions=3)
    found = wc.WordClassEmbeddings(min_docs=2).fit_parts(table, engine=engine)
    assert_equal_vectors(found, wc.WordClassEmbeddings(min_docs=2).fit(texts, labels))
    with pytest.raises(wc.FormatError, match="no field 'body'; there are: 'text', 'label', 'more'"):
        wc.ShardedCorpus.of(table, text_field="body")


@CLUSTERS
def test_a_table_of_spark_is_a_corpus_in_parts(spark_session):
    texts, labels = multilabel_corpus(90)
    rows = [*zip(texts, labels, strict=True)]
    table = spark_session.createDataFrame(rows, "text string, labels array<string>").repartition(3)
    engine = wc.engine("spark", session=spark_session)
    found = wc.WordClassEmbeddings(min_docs=2).fit_parts(table, engine=engine)
    assert_equal_vectors(found, wc.WordClassEmbeddings(min_docs=2).fit(texts, labels))


def on_second_pass(change):
    """A listener that changes something when the second pass begins."""
    done = []

    def listen(step, _done, _total):
        if "adding up" in step and not done:
            done.append(step)
            change()

    return wc.on_progress(listen)


@pytest.mark.parametrize("name", ["in_sequence", pytest.param("dask", marks=CLUSTERS)])
def test_a_part_that_vanishes_between_the_passes_is_told_of(name, engine_named, tmp_path):
    parts = write_parts(tmp_path / "parts", *corpus(60), 6)
    gone = parts / "part-003.jsonl"
    with (
        engine_named(name) as engine,
        on_second_pass(gone.unlink),
        pytest.raises(wc.MissingDataError) as told,
    ):
        wc.WordClassEmbeddings().fit_parts(parts, engine=engine)
    assert str(told.value).startswith(f"{gone}: the file has disappeared since the work began")


def test_a_part_that_grows_between_the_passes_is_told_of(tmp_path):
    parts = write_parts(tmp_path / "parts", *corpus(60), 6)
    grown = parts / "part-003.jsonl"
    with (
        on_second_pass(lambda: grown.write_text(grown.read_text() * 2)),
        pytest.raises(wc.StorageError, match=r"part-003.jsonl: changed while it was read"),
    ):
        wc.WordClassEmbeddings().fit_parts(parts)


def test_progress_is_one_account_of_all_passes(tmp_path):
    parts = write_parts(tmp_path / "parts", *corpus(60), 4)
    told = []
    with wc.on_progress(lambda *given: told.append(given)):
        wc.WordClassEmbeddings().fit_parts(parts)
    assert {step.partition(":")[0] for step, _, _ in told} == {"learning"}
    assert {total for _, _, total in told} == {8}
    done = [done for _, done, _ in told]
    assert done == sorted(done)
    assert done[-1] == 8


def test_parts_without_documents_are_no_problem(tmp_path):
    parts = write_parts(tmp_path / "parts", *corpus(60), 4)
    (parts / "part-002a.jsonl").write_text("")
    (parts / "_SUCCESS").write_text("")
    rows = [{"text": f"unseen {k}", "labels": "other", "split": "test"} for k in range(4)]
    whole = wc.WordClassEmbeddings().fit(*corpus(60))
    assert_equal_vectors(wc.WordClassEmbeddings().fit_parts(parts), whole)
    for path in parts.glob("part-*.jsonl"):
        given = [json.loads(line) for line in path.read_text().splitlines()]
        given = [{**row, "split": "train"} for row in given] or rows
        path.write_text("".join(json.dumps(row) + "\n" for row in given))
    found = wc.WordClassEmbeddings().fit_parts(wc.ShardedCorpus.of(parts, "train"))
    assert_equal_vectors(found, whole)


class Slow:
    """Splits texts at spaces, and takes its time for the first of each part."""

    def __call__(self, text):
        if "first" in text:
            time.sleep(0.4)
        return text.split()


@CLUSTERS
@pytest.mark.parametrize("name", ["dask", "spark"])
def test_clusters_tell_how_far_they_are(name, engine_named, tmp_path):
    texts, labels = corpus(60)
    texts = [f"{text} first" if k % 10 == 0 else text for k, text in enumerate(texts)]
    parts = write_parts(tmp_path / "parts", texts, labels, 6)
    told = []
    with (
        wc.on_progress(lambda step, done, total: told.append((step, done, total))),
        engine_named(name) as engine,
    ):
        wc.WordClassEmbeddings(analyzer=Slow(), min_docs=1).fit_parts(parts, engine=engine)
    done = [each for step, each, _ in told if "counting" in step]
    assert done == sorted(done)
    assert any(0 < each < 6 for each in done)
    assert told[-1][1:] == (12, 12)
