import errno
import json
import os
import struct

import numpy as np
import pytest
from made_up import corpus, multilabel_corpus
from safetensors.numpy import save_file

import wordclass as wc

TEXTS, LABELS = corpus()


def split_words(text):
    return text.split()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_dims": 2, "shrinkage": 5.0, "ngrams": (1, 2), "stop_words": ["the"]},
        {"correlation": "information_gain", "stop_words": frozenset({"and", "the"})},
        {"keep_documents": True},
        {"correlation": "fisher", "weighting": "bm25", "min_docs": 0.1, "max_dims": None},
    ],
)
def test_what_was_saved_is_loaded_to_the_bit(options, tmp_path):
    wce = wc.WordClassEmbeddings(**{"min_docs": 2, **options}).fit(TEXTS, LABELS)
    path = tmp_path / "news.wce"
    wce.save(path)
    again = wc.WordClassEmbeddings.load(path)
    assert again.get_params() == wce.get_params()
    assert (again.terms_, again.classes_, again.columns_) == (
        wce.terms_, wce.classes_, wce.columns_
    )  # fmt: skip
    np.testing.assert_array_equal(again.vectors_, wce.vectors_)
    np.testing.assert_array_equal(again.class_vectors_, wce.class_vectors_)
    np.testing.assert_array_equal(again.transform(TEXTS), wce.transform(TEXTS))
    again.partial_fit(["moon rose"], ["space"])
    wce.partial_fit(["moon rose"], ["space"])
    np.testing.assert_array_equal(again.vectors_, wce.vectors_)
    path_again = tmp_path / "again.wce"
    wc.WordClassEmbeddings.load(path).save(path_again)
    assert path_again.read_bytes() == path.read_bytes()


def test_terms_and_classes_of_every_kind_are_kept(tmp_path):
    texts = ["line\nbreak|\ud800|été", "line\nbreak|\ud800|été", "été|x"]
    labels = [["ü\ud801", "b\n"], [], ["b\n"]]
    wce = wc.WordClassEmbeddings(analyzer=lambda text: text.split("|"), min_docs=1)
    wce.fit(texts, labels).save(tmp_path / "a.wce")
    again = wc.WordClassEmbeddings.load(tmp_path / "a.wce", analyzer=lambda text: text.split("|"))
    assert again.terms_ == ["line\nbreak", "x", "été", "\ud800"]
    assert again.classes_ == ["b\n", "ü\ud801"]
    assert again.learned_.codeframe == wce.learned_.codeframe


def test_integers_and_matrices_come_back_as_such(tmp_path):
    Y = np.array([[0, 1], [1, 0], [0, 1]])
    wce = wc.WordClassEmbeddings(min_docs=1).fit(["aa", "bb", "cc"], Y, class_names=[7, 3])
    wce.save(tmp_path / "a.wce")
    again = wc.WordClassEmbeddings.load(tmp_path / "a.wce")
    assert again.classes_ == [3, 7]
    assert again.learned_.codeframe == wce.learned_.codeframe


def test_a_function_is_saved_by_name_and_must_be_given_again(tmp_path):
    path = tmp_path / "a.wce"
    wc.WordClassEmbeddings(analyzer=split_words, min_docs=2).fit(TEXTS, LABELS).save(path)
    with pytest.raises(wc.InputError, match=r"saved with analyzer=.*split_words, a function"):
        wc.WordClassEmbeddings.load(path)
    assert wc.WordClassEmbeddings.load(path, analyzer=split_words).analyzer is split_words
    with pytest.raises(wc.InputError, match="unknown option 'analyser'"):
        wc.WordClassEmbeddings.load(path, analyser=split_words, analyzer=split_words)


def test_characters_are_an_option_like_others(tmp_path):
    wce = wc.WordClassEmbeddings(analyzer="characters", ngrams=(1, 3), min_docs=2)
    wce.fit(TEXTS, LABELS).save(tmp_path / "a.wce")
    again = wc.WordClassEmbeddings.load(tmp_path / "a.wce")
    assert (again.analyzer, again.terms_[0]) == ("characters", " ")
    np.testing.assert_array_equal(again.transform(TEXTS), wce.transform(TEXTS))


def test_embeddings_are_read_as_word_vectors(tmp_path):
    path = tmp_path / "a.wce"
    wce = wc.WordClassEmbeddings(min_docs=2).fit(*multilabel_corpus())
    wce.save(path)
    vectors = wc.WordVectors.load(path, terms=["moon", "rose", "nowhere"])
    assert list(vectors.terms) == ["moon", "rose"]
    np.testing.assert_array_equal(vectors["moon"], wce["moon"])
    assert vectors.dimension_names == tuple(wce.classes_)
    with pytest.raises(wc.InputError, match="wce"):
        vectors.save(tmp_path / "b.wce")


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_name_may_ask_for_compression(tmp_path, ending):
    if ending == ".zst":
        pytest.importorskip("zstandard")
    wce = wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS)
    wce.save(tmp_path / "a.wce")
    path = tmp_path / f"a.wce{ending}"
    wce.save(path)
    assert path.stat().st_size < (tmp_path / "a.wce").stat().st_size
    np.testing.assert_array_equal(wc.WordClassEmbeddings.load(path).vectors_, wce.vectors_)
    np.testing.assert_array_equal(wc.WordVectors.load(path).matrix, wce.vectors_)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "a.wce"
    wc.WordClassEmbeddings(min_docs=2).fit(TEXTS, LABELS).save(path)
    return path


def test_a_file_cut_short_is_refused_wherever_it_is_cut(saved):
    content = saved.read_bytes()
    for length in [0, 1, 7, 8, 9, 100, *range(200, len(content), 997), len(content) - 1]:
        saved.write_bytes(content[:length])
        with pytest.raises(wc.FormatError, match=r"a\.wce"):
            wc.WordClassEmbeddings.load(saved)


def test_a_flipped_bit_is_noticed_wherever_it_is(saved):
    content = saved.read_bytes()
    (header_length,) = struct.unpack("<Q", content[:8])
    places = [*range(8, 8 + header_length, 211), *range(8 + header_length, len(content), 401)]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 4
        saved.write_bytes(damaged)
        with pytest.raises(wc.FormatError):
            wc.WordClassEmbeddings.load(saved)


def test_a_foreign_or_newer_file_is_refused(tmp_path, saved):
    foreign = tmp_path / "foreign.wce"
    foreign.write_text("not even close")
    with pytest.raises(wc.FormatError, match="not a wce file, or damaged"):
        wc.WordClassEmbeddings.load(foreign)
    save_file({"a": np.zeros(3)}, foreign)
    with pytest.raises(wc.FormatError, match="not a wce file of wordclass"):
        wc.WordClassEmbeddings.load(foreign)
    for described, message in (
        ({"kind": "wce", "version": 99, "header": {}, "digest": ""}, "version 99"),
        ({"kind": "other", "version": 1, "header": {}, "digest": ""}, "holds 'other'"),
        ({"kind": "wce", "version": 1, "header": {}, "digest": ""}, "match its checksum"),
        ({"kind": "wce"}, "description is unreadable"),
        ([], "description is unreadable"),
    ):
        save_file({"a": np.zeros(3)}, foreign, metadata={"wordclass": json.dumps(described)})
        with pytest.raises(wc.FormatError, match=message):
            wc.WordClassEmbeddings.load(foreign)


def test_a_missing_file_or_a_folder_is_refused(tmp_path):
    with pytest.raises(wc.MissingDataError, match="no such file"):
        wc.WordClassEmbeddings.load(tmp_path / "nowhere.wce")
    with pytest.raises(wc.WordClassError, match="cannot be read: Is a directory"):
        wc.WordClassEmbeddings.load(tmp_path)


def test_a_full_disk_leaves_the_old_file_and_no_other(saved, monkeypatch):
    before = saved.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    wce = wc.WordClassEmbeddings.load(saved)
    with pytest.raises(wc.StorageError, match=r"a\.wce: cannot be written: No space left.*nothing"):
        wce.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == ["a.wce"]


def test_a_folder_that_is_not_there_is_named(tmp_path, saved):
    wce = wc.WordClassEmbeddings.load(saved)
    with pytest.raises(wc.StorageError, match="cannot be written"):
        wce.save(tmp_path / "nowhere" / "a.wce")
