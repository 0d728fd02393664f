import json
import os
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from wordclass.corpus.documents import LabelledCorpus, Record
from wordclass.corpus.reader import CorpusReader, read_corpus
from wordclass.corpus.selection import ReadOptions
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import FormatError, InputError, MissingDataError, StorageError
from wordclass.options import check_lengths, list_texts


@pytest.fixture
def docs(tmp_path):
    """Write records of (text, labels, split) as JSONL, and return the path."""

    def write(*records, name="docs.jsonl"):
        lines = [json.dumps({"text": t, "labels": names, "split": s}) for t, names, s in records]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
        return tmp_path / name

    return write


def test_a_split_keeps_its_records_in_order(docs):
    path = docs(("x", ["a"], "train"), ("y", ["b"], "test"), ("z", ["c"], "train"))
    assert read_corpus(path, "train") == LabelledCorpus(["x", "z"], ["a", "c"], False)
    assert read_corpus(path, split="test").texts == ["y"]
    assert read_corpus(path).texts == ["x", "y", "z"]


def test_the_whole_file_decides_whether_a_corpus_is_multilabel_whatever_the_split(docs):
    path = docs(("x", ["a"], "train"), ("y", ["b", "c"], "test"))
    assert read_corpus(path, "train") == LabelledCorpus(["x"], [["a"]], True)
    path = docs(("x", ["a"], "train"), ("y", [], "test"))
    assert not read_corpus(path, "train").is_multilabel


def test_multilabel_true_or_false_decides_instead(docs):
    path = docs(("x", ["a"], "train"), ("y", ["b", "c"], "test"))
    assert read_corpus(path, "train", multilabel=False) == LabelledCorpus(["x"], ["a"], False)
    with pytest.raises(InputError, match="record 2 has 2 labels"):
        read_corpus(path, multilabel=False)
    with pytest.raises(InputError, match="record 1 has 2 labels"):
        read_corpus(path, "test", multilabel=False)
    path = docs(("x", ["a"], "train"))
    assert read_corpus(path, multilabel=True).labels == [["a"]]


def test_a_split_that_is_not_there_is_an_error_that_lists_those_that_are(docs):
    with pytest.raises(InputError, match=r"'validation'.*'test', 'train'"):
        read_corpus(docs(("x", ["a"], "train"), ("y", ["b"], "test")), "validation")


def test_a_split_of_records_without_splits_is_an_error(tmp_path):
    (tmp_path / "docs.ft").write_text("__label__a x\n", encoding="utf-8")
    with pytest.raises(InputError, match="no field 'split'"):
        read_corpus(tmp_path / "docs.ft", "train")


def test_an_unknown_ending_is_an_error_that_lists_the_known_ones(tmp_path):
    (tmp_path / "docs.xml.gz").write_bytes(b"")
    with pytest.raises(InputError) as caught:
        read_corpus(tmp_path / "docs.xml.gz")
    for ending in (".csv", ".ft", ".jsonl", ".ndjson", ".parquet", ".tsv", ".txt", "docs.xml.gz"):
        assert ending in str(caught.value)


def test_the_case_of_an_ending_does_not_matter(docs):
    assert read_corpus(docs(("x", ["a"], "train"), name="DOCS.JSONL")).texts == ["x"]


def test_format_decides_where_the_ending_does_not(docs):
    path = docs(("x", ["a"], "train"), name="docs.txt")
    assert read_corpus(path, format="jsonl").texts == ["x"]
    assert read_corpus(path).texts == ["x"]  # the content decides, too
    corpus = read_corpus(path, format="fasttext", multilabel=True)
    assert corpus.texts[0].startswith("{")


def test_an_unknown_format_is_an_error_that_suggests_a_known_one(docs):
    with pytest.raises(InputError, match=r"'jsnl'.*did you mean 'jsonl'"):
        read_corpus(docs(("x", ["a"], "train")), format="jsnl")


def test_a_path_may_be_a_str(docs):
    assert len(read_corpus(str(docs(("x", ["a"], "train"))))) == 1


def test_a_line_that_is_no_json_is_one_line_with_file_and_number(docs):
    path = docs(("x", ["a"], "train"))
    path.write_text(path.read_text(encoding="utf-8") + "\nnot json\n", encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        read_corpus(path)
    assert str(caught.value).startswith(f"{path}, line 2: not JSON")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["nowhere.jsonl", "nowhere", "docs.jsonl/below", "a\0b"])
def test_a_path_that_is_not_there_is_missing_data(docs, name):
    with pytest.raises(MissingDataError, match="no such file or folder"):
        read_corpus(docs(("x", ["a"], "train")).parent / name)


def test_a_name_no_file_can_have_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError, match="cannot be read"):
        read_corpus(tmp_path / ("x" * 5000))


def test_a_folder_where_a_file_is_expected_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError, match="cannot be read"):
        read_corpus(tmp_path, format="jsonl")


@pytest.mark.parametrize(
    "texts",
    [
        ["x", "é"],
        ("x", "é"),
        (text for text in ["x", "é"]),
        {"x": 1, "é": 2}.keys(),
        np.array(["x", "é"]),
        np.array(["x", "é"], dtype=object),
        pd.Series(["x", "é"], index=[7, 3]),
        pd.Series(["x", "é"], dtype="category"),
        pl.Series(["x", "é"]),
        pa.array(["x", "é"]),
        pa.chunked_array([["x"], ["é"]]),
    ],
    ids=lambda texts: type(texts).__name__,
)
def test_texts_of_any_kind_are_listed(texts):
    listed = list_texts(texts)
    assert isinstance(listed, list)
    assert listed == ["x", "é"]
    assert all(isinstance(text, str) for text in listed)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["x", None], "text 1 is None"),
        (["x", b"y"], "text 1 is a bytes, not a str; decode it first"),
        ([float("nan")], "text 0 is a float"),
        ([5], "text 0 is a int"),
        (pd.Series(["x", None], dtype=object), "text 1 is None"),
        (pd.Series(["x", np.nan]), "text 1 is a float"),
        (pa.array(["x", None]), "text 1 is None"),
        (iter(["x", ["y"]]), "text 1 is a list"),
        ("one text", "texts is one str"),
        (b"one text", "texts is one bytes"),
        (None, "texts is None"),
        (5, "texts is a int"),
    ],
)
def test_what_is_no_text_is_refused_by_place_and_type(texts, message):
    with pytest.raises(InputError, match=message):
        list_texts(texts)


def test_texts_and_labels_must_be_as_many_and_at_least_one():
    check_lengths(["x"], 1)
    with pytest.raises(InputError, match="1 texts but 2 labels"):
        check_lengths(["x"], 2)
    with pytest.raises(InputError, match="empty"):
        check_lengths([], 0)


def test_a_corpus_is_made_of_records_whatever_their_split():
    records = [Record("x", ["a"], "train"), Record("y", ["b"])]
    assert LabelledCorpus.of(records, False) == LabelledCorpus(["x", "y"], ["a", "b"], False)
    assert LabelledCorpus.of(records, True) == LabelledCorpus(["x", "y"], [["a"], ["b"]], True)


@pytest.mark.parametrize("table", [pd.DataFrame({"text": ["x"]}), {"text": "x"}])
def test_a_table_is_no_list_of_texts(table):
    with pytest.raises(InputError, match="expected an iterable of str"):
        list_texts(table)


def texts_of(path, **options):
    split = options.pop("split", None)
    reader = CorpusReader(path, ReadOptions(**options), split)
    return [text for block in reader.records() for text, *_ in block]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"text": "aa"}\n{"text": "bb"}\n'),
        ("a.jsonl", '{"text": "aa", "labels": null}\n{"text": "bb", "labels": 1.5}\n'),
        ("a.csv", "text,id\naa,1\nbb,2\n"),
        ("a.tsv", "id\ttext\n1\taa\n2\tbb\n"),
        ("a.txt", "aa\n__label__x bb\n"),
    ],
)
def test_texts_are_read_alone_with_labels_or_without(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    assert texts_of(tmp_path / name) == ["aa", "bb"]


def test_texts_of_parquet_and_folders_are_read_alone(tmp_path):
    pl.DataFrame({"body": ["aa", "bb"]}).write_parquet(tmp_path / "a.parquet")
    assert texts_of(tmp_path / "a.parquet", text_field="body") == ["aa", "bb"]
    (tmp_path / "folder" / "x").mkdir(parents=True)
    (tmp_path / "folder" / "x" / "1.txt").write_text("aa")
    assert texts_of(tmp_path / "folder") == ["aa"]


def test_blank_lines_are_texts_where_texts_are_read_alone(tmp_path):
    (tmp_path / "a.txt").write_text("aa\n\nbb\n__label__\n")
    assert texts_of(tmp_path / "a.txt") == ["aa", "", "bb", ""]


def test_texts_of_one_split_are_read_alone(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "aa", "split": "train"}\n{"text": "bb", "split": "test"}\n')
    assert texts_of(path, split="test") == ["bb"]
    with pytest.raises(
        InputError, match="no record is in split 'dev'; expected one of 'test', 'train'"
    ):
        texts_of(path, split="dev")


def test_a_part_of_a_corpus_keeps_texts_and_labels_together():
    corpus = LabelledCorpus(["a", "b", "c"], [["x"], [], ["y"]], True)
    part = corpus.part([True, False, True])
    assert (part.texts, part.labels, part.is_multilabel) == (["a", "c"], [["x"], ["y"]], True)


def test_a_record_with_several_labels_is_told_by_its_number_among_those_chosen(docs, monkeypatch):
    monkeypatch.setattr("wordclass.corpus.records._MAX_BLOCK_RECORDS", 2)
    several = ("v", ["a", "b"], "train")
    path = docs(*[("x", ["a"], "train"), ("y", ["a", "b"], "test")] * 3, several)
    reader = CorpusReader(path, split="train", multilabel=False)
    with pytest.raises(InputError, match="record 4 has 2 labels"):
        list(reader)
    assert reader.n_docs == 3
    assert len(list(CorpusReader(path, split="train"))) == 4  # blocks of two records, or of one


def test_the_default_split_is_that_of_records_that_have_splits(docs, tmp_path):
    path = docs(("x", ["a"], "train"), ("y", ["b"], "test"))
    assert CorpusReader(path, default_split="test").read().texts == ["y"]
    assert CorpusReader(path, split="train", default_split="test").read().texts == ["x"]
    (tmp_path / "docs.ft").write_text("__label__a x\n", encoding="utf-8")
    assert CorpusReader(tmp_path / "docs.ft", default_split="test").read().texts == ["x"]


def test_missing_labels_of_another_split_do_not_matter(docs):
    path = docs(("x", ["a"], "train"), ("y", [], "test"), ("z", [], "train"))
    with pytest.raises(FormatError, match=r"docs\.jsonl, line 2: no label"):
        read_corpus(path, "test")
    with pytest.raises(FormatError, match=r"docs\.jsonl, line 3: no label"):
        read_corpus(path, "train")
    with pytest.raises(InputError, match="no record has a label"):
        read_corpus(path, "test", on_missing_label="skip")
    path = docs(("x", ["a"], "train"), ("y", [], "test"))
    assert read_corpus(path, "train") == LabelledCorpus(["x"], ["a"], False)
    assert read_corpus(path, "train", on_missing_label="empty").labels == [["a"]]


def test_what_to_do_about_missing_labels_is_checked(docs):
    path = docs(("x", ["a"], "train"))
    with pytest.raises(InputError, match="on_missing_label is 'drop'; expected 'error', 'skip'"):
        read_corpus(path, on_missing_label="drop")
    with pytest.raises(InputError, match="single-label"):
        read_corpus(path, multilabel=False, on_missing_label="empty")


def test_the_last_record_of_many_blocks_may_settle_what_the_task_is(docs, monkeypatch):
    monkeypatch.setattr("wordclass.corpus.records._MAX_BLOCK_RECORDS", 2)
    records = [("moon", ["a"], "train"), ("rose", ["b"], "train"), ("x", [], "train")] * 3
    reader = CorpusReader(docs(*records))
    with pytest.raises(FormatError, match="line 3: no label"):
        list(reader)
    with pytest.raises(FormatError, match="line 3: no label"):
        WordClassEmbeddings(min_docs=1).fit_blocks(reader)
    reader = CorpusReader(docs(*records, ("y", ["a", "b"], "test")), default_split="train")
    assert WordClassEmbeddings(min_docs=1).fit_blocks(reader).classes_ == ["a", "b"]
    assert (reader.is_multilabel, reader.n_docs) == (True, 9)
    reader = CorpusReader(docs(*records), on_missing_label="skip")
    assert sum(len(texts) for texts, _ in reader) == 6
    assert not reader.is_multilabel


def test_a_corpus_is_shown_by_its_size_alone():
    assert repr(LabelledCorpus(["x"] * 1000, ["a"] * 1000, False)) == (
        "LabelledCorpus(1,000 documents, single-label)"
    )


@pytest.mark.parametrize("option", ["text_field", "label_field", "label_separator", "delimiter"])
def test_an_option_that_is_no_str_is_refused(docs, option):
    with pytest.raises(InputError, match=f"{option} is 5"):
        read_corpus(docs(("x", ["a"], "train")), **{option: 5})


@pytest.mark.parametrize("ending", ["jsonl", "csv", "txt", "parquet", "xlsx"])
def test_a_pipe_is_read_as_a_stream_and_never_waited_for(tmp_path, ending):
    path = tmp_path / f"docs.{ending}"
    os.mkfifo(path)
    with pytest.raises(FormatError):
        read_corpus(path)
    if ending in ("jsonl", "csv", "txt"):
        content = {"jsonl": '{"text": "x", "label": "a"}', "csv": "text,label\nx,a"}
        line = content.get(ending, "__label__a x")
        writer = threading.Thread(target=path.write_text, args=(line,))
        writer.start()
        assert read_corpus(path) == LabelledCorpus(["x"], ["a"], False)
        writer.join()
