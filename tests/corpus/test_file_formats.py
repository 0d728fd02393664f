"""Formats that are recognized by their content, and the corpora of Annif."""

import json

import pytest

import wordclass as wc
from wordclass.corpus.file_formats import choose_format
from wordclass.corpus.selection import ReadOptions

JSON_LINE = '{"text": "x", "label": "a"}\n'
ANNIF_LINES = "to the moon\t<http://a.org/1> <http://a.org/2>\nx\ty\t<http://a.org/2>\n"


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("docs", JSON_LINE, "jsonl"),
        ("docs.data", "text,label\nx,a\n", "csv"),
        ("docs.dat", "text\tlabel\nx\ta\n", "tsv"),
        ("docs.csv", JSON_LINE, "jsonl"),
        ("docs.tsv", ANNIF_LINES, "annif"),
        ("docs.txt", ANNIF_LINES, "annif"),
        ("docs.txt", "text\tlabel\nx\ta\n", "tsv"),
        ("docs.txt", "a line, of text\nanother, one\n", "fasttext"),
        ("docs.txt", "__label__a\tx\n__label__b\ty\n", "fasttext"),
        ("docs.tsv", "text\tlabel\nx\ta\n", "tsv"),
        ("docs.csv", "text\tlabel\nx\ta\n", "csv"),
    ],
)
def test_the_content_decides_where_the_ending_is_unknown_or_wrong(tmp_path, name, content, format):
    (tmp_path / name).write_text(content)
    assert choose_format(tmp_path / name, ReadOptions()) == format


def test_lines_of_a_text_file_stay_texts_if_only_texts_are_read(tmp_path):
    (tmp_path / "a.txt").write_text("x\ty\nz\tu\n")
    assert choose_format(tmp_path / "a.txt", ReadOptions(texts_only=True)) == "fasttext"


def test_content_without_a_format_and_databases_are_refused(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\0\1\2")
    with pytest.raises(wc.InputError, match=r"neither its ending nor its content .* \.csv, .*--fo"):
        wc.read_corpus(tmp_path / "a.bin")
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(
        wc.InputError, match=r"an SQLite database; export its table as a \.csv file"
    ):
        wc.read_corpus(tmp_path / "a.db")


def test_json_is_another_name_of_jsonl(tmp_path):
    (tmp_path / "docs").write_text(JSON_LINE)
    assert wc.read_corpus(tmp_path / "docs", format="json").texts == ["x"]


PAIRS = {"train": [["book a flight", "travel"], ["pay", "bank"]], "test": [["fly", "travel"]]}
RECORDS = {"data": [{"text": "x", "label": "a"}, {"text": "y", "label": "b"}]}
COLUMNS = {"text": ["x", "y"], "label": ["a", "b"]}
INDEXED = {"text": {"0": "x", "1": "y"}, "label": {"0": "a", "1": "b"}}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("content", [RECORDS, COLUMNS, INDEXED])
def test_one_object_may_hold_records_or_columns(tmp_path, content, indent):
    (tmp_path / "docs.json").write_text(json.dumps(content, indent=indent))
    corpus = wc.read_corpus(tmp_path / "docs.json")
    assert (corpus.texts, corpus.labels) == (["x", "y"], ["a", "b"])


@pytest.mark.parametrize("indent", [None, 2])
def test_one_object_may_map_splits_to_pairs(tmp_path, indent):
    (tmp_path / "docs.json").write_text(json.dumps(PAIRS, indent=indent))
    corpus = wc.read_corpus(tmp_path / "docs.json", "train")
    assert (corpus.texts, corpus.labels) == (["book a flight", "pay"], ["travel", "bank"])
    assert wc.read_corpus(tmp_path / "docs.json", "test").texts == ["fly"]


def test_an_object_of_another_shape_is_refused(tmp_path):
    (tmp_path / "docs.json").write_text(json.dumps({"a": [1, 2], "b": {"c": 3}}))
    with pytest.raises(wc.FormatError, match="one JSON object with the keys 'a', 'b'; expected"):
        wc.read_corpus(tmp_path / "docs.json")
    (tmp_path / "docs.json").write_text(json.dumps({"train": [["a", "b", "c"]]}))
    with pytest.raises(wc.FormatError, match="a list of 3 values in 'train'; expected pairs"):
        wc.read_corpus(tmp_path / "docs.json")


def test_lines_of_annif_have_uris_as_labels(tmp_path):
    (tmp_path / "docs.tsv").write_text(ANNIF_LINES)
    corpus = wc.read_corpus(tmp_path / "docs.tsv")
    assert corpus.texts == ["to the moon", "x\ty"]
    assert corpus.labels == [["http://a.org/1", "http://a.org/2"], ["http://a.org/2"]]
    (tmp_path / "bad.tsv").write_text("no tab here\n")
    with pytest.raises(wc.FormatError, match="line 1: no subjects; expected a text, a tab and"):
        wc.read_corpus(tmp_path / "bad.tsv", format="annif")


def test_a_folder_of_annif_has_subjects_in_files(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "1.txt").write_text("to the moon")
    (folder / "1.tsv").write_text("<http://a.org/1>\tspace\n<http://a.org/2>\tmoon\n")
    (folder / "2.txt").write_text("roses")
    (folder / "2.key").write_text("garden\n\nflowers\n")
    (folder / "3.txt").write_text("nothing")
    corpus = wc.read_corpus(folder)
    assert corpus.texts == ["to the moon", "roses", "nothing"]
    assert corpus.labels == [["http://a.org/1", "http://a.org/2"], ["garden", "flowers"], []]
    assert wc.ShardedCorpus.of(folder).read() == corpus
