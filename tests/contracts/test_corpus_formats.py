"""What holds for every corpus format, whatever its file."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordclass import naming, progress
from wordclass.corpus import LabelledCorpus, ReadOptions, read_corpus
from wordclass.errors import InputError, MissingDataError, StorageError

FORMATS = naming.names("corpus_formats")
# sorted by class, which is the order folders are read in
ONE_EACH = LabelledCorpus(["to the moon", "été\u2028日本 😀", "", "a;b,c\td"], [*"abcc"], False)
SEVERAL = LabelledCorpus(["to the moon", "été", "none"], [["a", "b_c"], ["b"], []], True)

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=8)
TRICKY = st.text(st.sampled_from(list(' \r\n\t\0\v;,"\\/.\ufeff\u2028\x85\x1c_a')), max_size=5)
TEXTS = ANYTHING | TRICKY | st.just("__label__a b")
VALID = (st.text(max_size=20) | TRICKY).filter(lambda text: text[:1] != "\ufeff")
LABELS = TEXTS | st.sampled_from("abc") | st.integers()


def entry(format):
    return naming.entry("corpus_formats", format)


def name_for(format, compression=""):
    return f"corpus{(*entry(format).ENDINGS, '')[0]}{compression}"


def assert_kept_or_refused(format, compression, corpus):
    """Write and read back; where that is refused, nothing may be left behind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name_for(format, compression))
        try:
            entry(format).write(path, corpus)
        except InputError:
            assert list(Path(folder).iterdir()) == []
        else:
            assert list(Path(folder).iterdir()) == [path]
            assert read_corpus(path, multilabel=corpus.is_multilabel) == corpus


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("format", FORMATS)
def test_reading_what_was_written_gives_the_same_single_label_corpus(format, compression, tmp_path):
    path = tmp_path / name_for(format, compression)
    entry(format).write(path, ONE_EACH)
    assert read_corpus(path) == ONE_EACH
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
@pytest.mark.parametrize("format", [format for format in FORMATS if format != "folders"])
def test_reading_what_was_written_gives_the_same_multilabel_corpus(format, compression, tmp_path):
    path = tmp_path / name_for(format, compression)
    entry(format).write(path, SEVERAL)
    assert read_corpus(path) == SEVERAL


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(LABELS, TEXTS), min_size=1, max_size=4))
def test_any_single_label_corpus_is_kept_or_refused_without_a_trace(format, pairs):
    pairs.sort(key=lambda pair: str(pair[0]))
    corpus = LabelledCorpus([text for _, text in pairs], [label for label, _ in pairs], False)
    assert_kept_or_refused(format, "", corpus)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60, deadline=None)
@given(
    pairs=st.lists(
        st.tuples(TEXTS, st.lists(LABELS, max_size=3, unique=True)), min_size=1, max_size=4
    )
)
def test_any_multilabel_corpus_is_kept_or_refused_without_a_trace(format, pairs):
    pairs.sort(key=lambda pair: [str(label) for label in pair[1]])
    corpus = LabelledCorpus([text for text, _ in pairs], [labels for _, labels in pairs], True)
    assert_kept_or_refused(format, "", corpus)


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "fasttext"])
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(VALID, min_size=1))
def test_every_text_of_valid_unicode_is_kept(format, texts):
    corpus = LabelledCorpus(texts, ["a"] * len(texts), False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name_for(format))
        entry(format).write(path, corpus)
        assert read_corpus(path).texts == texts


@pytest.mark.parametrize("format", FORMATS)
def test_endings_are_claimed_by_one_format_only_and_in_lower_case(format):
    others = {ending for other in FORMATS if other != format for ending in entry(other).ENDINGS}
    for ending in entry(format).ENDINGS:
        assert ending.startswith(".")
        assert ending == ending.lower()
        assert not any(ending.endswith(other) or other.endswith(ending) for other in others)


@pytest.mark.parametrize("label", [True, 1.5, None, ("a", "b"), ["a", "b"], []])
@pytest.mark.parametrize("format", FORMATS)
def test_a_label_that_is_neither_str_nor_int_is_refused(format, label, tmp_path):
    with pytest.raises(InputError, match="record 2"):
        entry(format).write(tmp_path / "x", LabelledCorpus(["x", "y"], ["a", label], False))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_corpus_is_not_written(format, tmp_path):
    with pytest.raises(InputError, match="empty"):
        entry(format).write(tmp_path / "x", LabelledCorpus([], [], False))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", FORMATS)
def test_a_path_that_is_not_there_is_missing_data(format, tmp_path):
    with pytest.raises(MissingDataError, match="nowhere"):
        list(entry(format).read(tmp_path / "nowhere", ReadOptions()))


@pytest.mark.parametrize("format", FORMATS)
def test_writing_into_a_folder_that_is_not_there_is_a_storage_error(format, tmp_path):
    with pytest.raises(StorageError, match="cannot be written"):
        entry(format).write(tmp_path / "nowhere" / "x", ONE_EACH)


@pytest.mark.parametrize("format", FORMATS)
def test_an_encoding_that_is_not_there_is_named_unless_the_format_has_none(format, tmp_path):
    path = tmp_path / name_for(format)
    entry(format).write(path, ONE_EACH)
    if format == "parquet":
        assert read_corpus(path, encoding="klingon") == ONE_EACH
    else:
        with pytest.raises(InputError, match="'klingon'"):
            read_corpus(path, encoding="klingon")


@pytest.mark.parametrize("format", FORMATS)
def test_progress_ends_with_the_number_of_records(format, tmp_path):
    path = tmp_path / name_for(format)
    entry(format).write(path, ONE_EACH)
    told = []
    with progress.on_progress(lambda *what: told.append(what)):
        read_corpus(path)
    assert told[-1] == (f"reading {path.name}", 4, 4)


@pytest.mark.parametrize("format", FORMATS)
def test_progress_is_reported_along_the_way(format, tmp_path):
    path = tmp_path / name_for(format)
    entry(format).write(path, LabelledCorpus(["x"] * 9000, ["a"] * 9000, False))
    told = []
    with progress.on_progress(lambda _step, done, total: told.append((done, total))):
        read_corpus(path)
    done = [done for done, _ in told]
    assert len(done) >= 3
    assert done == sorted(set(done))
    assert {total for _, total in told} <= {None, 9000}


@pytest.mark.parametrize("format", FORMATS)
def test_writing_again_replaces_the_file_or_leaves_the_folder_as_it_is(format, tmp_path):
    path = tmp_path / name_for(format)
    entry(format).write(path, ONE_EACH)
    other = LabelledCorpus(["another"], ["z"], False)
    if path.is_dir():
        with pytest.raises(StorageError, match="exists already"):
            entry(format).write(path, other)
    else:
        entry(format).write(path, other)
    assert read_corpus(path) == (ONE_EACH if path.is_dir() else other)
