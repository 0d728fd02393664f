"""Every engine adds the same sums in the same order and passes user errors on unchanged."""

import functools

import numpy as np
import pytest
from in_parts import assert_equal_vectors, write_parts
from made_up import corpus, multilabel_corpus

import wordclass as wc
from wordclass import catalogue
from wordclass.engines.engine import open_engine
from wordclass.engines.tasks import tree_sum

ENGINES = [
    pytest.param(
        name, marks=pytest.mark.xdist_group("clusters") if name in ("dask", "spark") else ()
    )
    for name in catalogue.names("engines")
]
N_SHARDS = {"spark": (7,)}  # fewer trials, because Spark is slow


def join(left, right):
    return f"({left}{right})"


def letters(items):
    return tree_sum((f"{number}{item}" for number, item in items), join)


def raise_at_item_5(items):
    for number, item in items:
        if number == 5:
            raise wc.FormatError(f"{item}.jsonl", 7, "invalid")
    return ""


@pytest.mark.parametrize("name", ENGINES)
def test_all_engines_add_sums_in_the_same_order(name, engine_named):
    with engine_named(name) as engine:
        for n_items in (1, 50) if name == "spark" else (1, 3, 11, 50):
            items = [chr(ord("a") + k % 26) for k in range(n_items)]
            reported = []
            total = engine.map_and_add(letters, items, join, reported.append)
            assert total == letters(enumerate(items))
            assert sum(reported) <= n_items


@pytest.mark.parametrize("name", ENGINES)
def test_a_user_error_is_passed_on_unchanged(name, engine_named):
    with engine_named(name) as engine, pytest.raises(wc.FormatError) as error:
        engine.map_and_add(raise_at_item_5, ["a"] * 9, join, lambda _: None)
    assert str(error.value) == "a.jsonl, line 7: invalid"


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_gives_the_fit_of_all_texts_at_once(name, engine_named, tmp_path):
    texts, labels = multilabel_corpus(300)
    order = np.random.default_rng(0).permutation(50)
    with engine_named(name) as engine:
        for n_shards in N_SHARDS.get(name, (1, 3, 7, 50)):
            names = [name for name in order if name < n_shards]
            parts = write_parts(tmp_path / str(n_shards), texts, labels, n_shards, names)
            for correlation in ("dot", "ppmi", "information_gain", "chi_square"):
                wce = functools.partial(wc.WordClassEmbeddings, correlation=correlation, min_docs=2)
                whole = wce().fit(texts, labels)
                fitted = wce().fit_parts(parts, engine=engine)
                assert_equal_vectors(fitted, whole)
        again = wce().fit_parts(parts, engine=engine)
        np.testing.assert_array_equal(again.vectors_, fitted.vectors_)
        in_sequence = wce().fit_parts(parts)
        np.testing.assert_array_equal(in_sequence.vectors_, fitted.vectors_)
        np.testing.assert_array_equal(
            in_sequence.learned_.counts.term_weight, fitted.learned_.counts.term_weight
        )


@pytest.mark.parametrize("name", ENGINES)
def test_every_option_of_a_fit_has_the_same_effect(name, engine_named, tmp_path):
    texts, labels = corpus(200)
    parts = write_parts(tmp_path / "parts", texts, labels, 6)
    options = [
        {"shrinkage": 5.0, "ngrams": (1, 2), "weighting": "bm25"},
        {"max_dims": 2},
        {"analyzer": str.split, "min_docs": 0.1},
        {"analyzer": "characters", "ngrams": (2, 3), "stop_words": None},
    ]
    with engine_named(name) as engine:
        for option_values in options[: 2 if name == "spark" else None]:
            whole = wc.WordClassEmbeddings(**option_values).fit(texts, labels)
            fitted = wc.WordClassEmbeddings(**option_values).fit_parts(parts, engine=engine)
            assert fitted.columns_ == whole.columns_
            np.testing.assert_allclose(fitted.vectors_, whole.vectors_, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ENGINES)
def test_a_malformed_record_is_reported_with_file_and_line(name, engine_named, tmp_path):
    parts = write_parts(tmp_path / "parts", *corpus(200), 20)
    bad = parts / "part-017.jsonl"
    lines = bad.read_text().splitlines()
    bad.write_text("\n".join([*lines[:4], '{"text": 5}', *lines[4:]]) + "\n")
    with engine_named(name) as engine:
        with pytest.raises(wc.FormatError) as error:
            wc.WordClassEmbeddings().fit_parts(parts, engine=engine)
        assert str(error.value).startswith(f"{bad}, line 5: field 'text' is the number 5")
        skipping = wc.ShardedCorpus.of(parts, on_bad_record="skip")
        fitted = wc.WordClassEmbeddings().fit_parts(skipping, engine=engine)
        assert (fitted.seen_.n_docs, fitted.seen_.n_skipped) == (200, 1)
        assert fitted.seen_.first_skipped.line == 5
        assert_equal_vectors(fitted, wc.WordClassEmbeddings().fit(*corpus(200)))


def test_an_unknown_engine_is_refused():
    with pytest.raises(wc.InputError, match=r"unknown engine 'daks' .did you mean 'dask'"):
        wc.engine("daks")
    with (
        pytest.raises(wc.InputError, match="engine is 5; expected one of dask, in_sequence"),
        open_engine(5),
    ):
        pass
    with pytest.raises(
        wc.InputError,
        match="'processes' has no option 'master'; expected n_workers",
    ):
        wc.engine("processes", master="local")
    with pytest.raises(wc.InputError, match="'in_sequence' has no option 'n_workers'; leave it"):
        wc.engine("in_sequence", n_workers=2)


@pytest.mark.parametrize("name", ["in_sequence", "processes"])
def test_a_table_of_dask_is_refused_by_other_engines(name):
    bag = pytest.importorskip("dask.bag", reason="the extra 'dask' is not installed")
    table = bag.from_sequence([*zip(*corpus(30), strict=True)], npartitions=2)
    with pytest.raises(wc.InputError, match="a table of dask; use the engine 'dask'"):
        wc.WordClassEmbeddings().fit_parts(table, engine=name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "file", ["20ng_bydate_stripped.jsonl.zst", "reuters21578_modapte.jsonl.zst"]
)
def test_real_corpora_give_the_fit_of_all_texts_at_once(
    name, file, engine_named, shared_data, tmp_path
):
    train = wc.read_corpus(shared_data(file), split="train")
    order = np.random.default_rng(1).permutation(50)
    correlations = ("dot", "ppmi", "information_gain", "chi_square")
    expected = {name: wc.WordClassEmbeddings(correlation=name) for name in correlations}
    for embeddings in expected.values():
        embeddings.fit(train.texts, train.labels)
    with engine_named(name) as engine:
        for n_shards in (1, 3, 7, 50):
            names = [name for name in order if name < n_shards]
            folder = tmp_path / str(n_shards)
            parts = write_parts(folder, train.texts, train.labels, n_shards, names)
            for correlation in correlations:
                fitted = wc.WordClassEmbeddings(correlation=correlation)
                assert_equal_vectors(fitted.fit_parts(parts, engine=engine), expected[correlation])
        again = wc.WordClassEmbeddings(correlation=correlation).fit_parts(parts, engine=engine)
        np.testing.assert_array_equal(again.vectors_, fitted.vectors_)
        # cross-fitted: the features of the documents, in the order of the parts
        files = again.fit_transform_parts(parts, tmp_path / "features", engine=engine)
    whole = wc.WordClassEmbeddings(correlation=correlation)
    features = whole.fit_transform(*_in_order_of_parts(train, order))
    np.testing.assert_allclose(
        np.concatenate([np.load(file) for file in files]), features, rtol=1e-5, atol=1e-5
    )


def _in_order_of_parts(train, order):
    bounds = np.linspace(0, len(train), 51).astype(int)
    pieces = sorted(zip(order, bounds[:-1], bounds[1:], strict=True))
    rows = [k for _, start, end in pieces for k in range(start, end)]
    return [train.texts[k] for k in rows], [train.labels[k] for k in rows]
