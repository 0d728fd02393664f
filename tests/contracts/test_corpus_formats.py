"""What holds for every corpus format, whatever its file."""

import tempfile
from pathlib import Path

import pytest
import written
from hypothesis import given, settings
from hypothesis import strategies as st

from wordclass import catalogue, progress
from wordclass.corpus.documents import LabelledCorpus
from wordclass.corpus.reader import CorpusReader, read_corpus
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, InputError, MissingDataError

FORMATS = catalogue.names("corpus_formats")
# sorted by class, which is the order folders are read in
ONE_EACH = LabelledCorpus(["to the moon", "été\u2028日本 😀", "", "a;b,c\td"], [*"abcc"], False)
SEVERAL = LabelledCorpus(["to the moon", "été", "none"], [["a", "b_c"], ["b"], []], True)

TRICKY = st.text(st.sampled_from(list(' \r\n\t\0\v;,"\\/.\ufeff\u2028\x85\x1c_a')), max_size=5)
VALID = (st.text(max_size=20) | TRICKY).filter(lambda text: text[:1] != "\ufeff")


def entry(format):
    return catalogue.entry("corpus_formats", format)


def name_for(format, compression=""):
    return f"corpus{(*entry(format).ENDINGS, '')[0]}{compression}"


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("format", FORMATS)
def test_reading_what_was_written_gives_the_same_single_label_corpus(format, compression, tmp_path):
    path = tmp_path / name_for(format, compression)
    written.write(format, path, ONE_EACH)
    assert read_corpus(path) == ONE_EACH
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("format", [format for format in FORMATS if format != "folders"])
def test_reading_what_was_written_gives_the_same_multilabel_corpus(format, compression, tmp_path):
    path = tmp_path / name_for(format, compression)
    written.write(format, path, SEVERAL)
    assert read_corpus(path) == SEVERAL


@pytest.mark.untraced  # with every line traced it takes twice as long
@pytest.mark.parametrize("format", ["csv", "folders", "jsonl", "tsv"])
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(VALID, min_size=1))
def test_every_text_of_valid_unicode_is_kept(format, texts):
    corpus = LabelledCorpus(texts, ["a"] * len(texts), False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name_for(format))
        written.write(format, path, corpus)
        assert read_corpus(path).texts == texts


@pytest.mark.parametrize("format", FORMATS)
def test_endings_are_claimed_by_one_format_only_and_in_lower_case(format):
    others = {ending for other in FORMATS if other != format for ending in entry(other).ENDINGS}
    for ending in entry(format).ENDINGS:
        assert ending.startswith(".")
        assert ending == ending.lower()
        assert not any(ending.endswith(other) or other.endswith(ending) for other in others)


@pytest.mark.parametrize("format", FORMATS)
def test_a_path_that_is_not_there_is_missing_data(format, tmp_path):
    with pytest.raises(MissingDataError, match="nowhere"):
        list(entry(format).read(tmp_path / "nowhere", ReadOptions()))


@pytest.mark.parametrize("format", FORMATS)
def test_an_encoding_that_is_not_there_is_named_unless_the_format_has_none(format, tmp_path):
    path = tmp_path / name_for(format)
    written.write(format, path, ONE_EACH)
    if format in ("parquet", "xlsx"):
        assert read_corpus(path, encoding="klingon") == ONE_EACH
    else:
        with pytest.raises(InputError, match="'klingon'"):
            read_corpus(path, encoding="klingon")


@pytest.mark.parametrize("format", FORMATS)
def test_progress_ends_with_the_number_of_records(format, tmp_path):
    path = tmp_path / name_for(format)
    written.write(format, path, ONE_EACH)
    told = []
    with progress.on_progress(lambda *what: told.append(what)):
        read_corpus(path)
    assert told[-1] == (f"reading {path.name}", 4, 4)


@pytest.mark.parametrize("format", FORMATS)
def test_progress_is_reported_along_the_way(format, tmp_path):
    path = tmp_path / name_for(format)
    written.write(format, path, LabelledCorpus(["x"] * 9000, ["a"] * 9000, False))
    told = []
    with progress.on_progress(lambda _step, done, total: told.append((done, total))):
        read_corpus(path)
    done = [done for done, _ in told]
    assert len(done) >= 3
    assert done == sorted(set(done))
    assert {total for _, total in told} <= {None, 9000}


# one label each but for the third record, which has none; and the place that errors tell
MISSING = LabelledCorpus(["x", "y", "z", "u"], [["a"], ["b"], [], ["a"]], True)
PLACES = {"jsonl": "line 3", "fasttext": "line 3", "csv": "line 4", "tsv": "line 4",
          "parquet": "row 3", "xlsx": "row 4"}  # fmt: skip


@pytest.mark.parametrize("format", PLACES)
def test_a_missing_label_is_an_error_with_its_place_unless_told_otherwise(format, tmp_path):
    path = written.write(format, tmp_path / name_for(format), MISSING)
    with pytest.raises(FormatError, match=f"{PLACES[format]}: no label, in a single-label task"):
        read_corpus(path)
    with pytest.raises(FormatError, match=PLACES[format]):
        read_corpus(path, multilabel=False)
    skipped = read_corpus(path, on_missing_label="skip")
    assert skipped == LabelledCorpus(["x", "y", "u"], ["a", "b", "a"], False)
    assert read_corpus(path, on_missing_label="empty") == MISSING
    assert read_corpus(path, multilabel=True) == MISSING


@pytest.mark.parametrize("format", PLACES)
def test_where_some_have_several_labels_a_missing_one_is_an_empty_list(format, tmp_path):
    several = LabelledCorpus(["x", "y", "z"], [["a"], [], ["a", "b"]], True)
    path = written.write(format, tmp_path / name_for(format), several)
    assert read_corpus(path) == several
    assert read_corpus(path, on_missing_label="skip").texts == ["x", "z"]


@pytest.mark.parametrize("format", [*PLACES, "folders"])
def test_records_keep_their_columns_where_asked(format, tmp_path):
    path = written.write(format, tmp_path / name_for(format), ONE_EACH)
    (block,) = CorpusReader(path).records()
    assert [record.text for record in block] == ONE_EACH.texts
    assert all(record.labels == [] for record in block)
    if format == "folders":
        assert block[0].row == {"file": "a/00000.txt"}
    elif format != "fasttext":
        assert block[0].row == {"text": "to the moon", "label": "a"}
    corpus = CorpusReader(path, ReadOptions(keep_rows=True)).read()
    assert corpus.rows == [record.row for record in block if record.row]
    assert corpus.part([False, True, True, True]).rows == corpus.rows[1:]
