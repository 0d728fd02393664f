import gzip
import os

import pytest

from wordclass.corpus.formats import folders
from wordclass.corpus.reader import read_corpus
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, InputError, StorageError


def lay_out(top, files):
    for name, content in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return top


def test_the_folder_of_a_text_is_its_label_however_deep_the_file_lies(tmp_path):
    lay_out(tmp_path, {"b/2": "x", "b/10": "y", "a/deep/er/1.txt": "z", "B/1": "w"})
    corpus = read_corpus(tmp_path)
    assert list(zip(corpus.labels, corpus.texts, strict=True)) == [
        ("B", "w"),
        ("a", "z"),
        ("b", "y"),
        ("b", "x"),
    ]
    assert not corpus.is_multilabel


def test_hidden_files_and_folders_are_ignored(tmp_path):
    lay_out(
        tmp_path,
        {"a/1": "x", "a/.DS_Store": b"\xff", ".git/c/1": "y", ".hidden": "z", "a/.d/1": "w"},
    )
    assert read_corpus(tmp_path).texts == ["x"]


def test_texts_are_kept_to_the_last_line_end_and_a_byte_order_mark_is_dropped(tmp_path):
    lay_out(tmp_path, {"a/1": "\ufeffx\r\n\ny \n", "a/2": "", "a/3": "\n"})
    assert read_corpus(tmp_path).texts == ["x\r\n\ny \n", "", "\n"]


def test_compressed_files_are_read_as_they_are(tmp_path):
    lay_out(tmp_path, {"a/1.txt.gz": gzip.compress(b"x"), "a/2.txt": "y"})
    assert read_corpus(tmp_path).texts == ["x", "y"]


def test_folders_named_as_splits_are_splits_where_they_hold_folders(tmp_path):
    lay_out(tmp_path, {"train/a/1": "x", "train/b/1": "y", "test/a/1": "z"})
    assert read_corpus(tmp_path, "train").labels == ["a", "b"]
    assert read_corpus(tmp_path, "test").texts == ["z"]


def test_folders_named_as_splits_are_classes_where_they_hold_files_only(tmp_path):
    lay_out(tmp_path, {"train/1": "by rail", "test/1": "an exam"})
    assert read_corpus(tmp_path).labels == ["test", "train"]


def test_folders_named_as_splits_are_classes_next_to_other_folders(tmp_path):
    lay_out(tmp_path, {"train/a/1": "x", "plane/1": "y"})
    assert read_corpus(tmp_path).labels == ["plane", "train"]


@pytest.mark.parametrize("files", [{}, {".hidden": "x"}, {"a/.hidden": "x"}])
def test_a_folder_without_files_is_an_error_that_tells_the_layout(tmp_path, files):
    (tmp_path / "a").mkdir()
    with pytest.raises(InputError, match=r"no files.*FOLDER/CLASS/FILE"):
        read_corpus(lay_out(tmp_path, files))


@pytest.mark.parametrize("stray", ["readme.txt", "train/readme.txt"])
def test_a_file_in_no_class_is_an_error_that_names_it_and_tells_the_layout(tmp_path, stray):
    with pytest.raises(InputError, match=r"'readme\.txt'.*FOLDER/CLASS/FILE"):
        read_corpus(lay_out(tmp_path, {"train/a/1": "x", stray: "about"}))


def test_a_byte_that_is_not_valid_is_named_with_its_file_and_line(tmp_path):
    lay_out(tmp_path, {"a/1": "x", "b/2": b"x\ny\ncaf\xe9\n"})
    with pytest.raises(FormatError) as caught:
        read_corpus(tmp_path)
    assert (caught.value.path, caught.value.line) == (tmp_path / "b" / "2", 3)
    assert read_corpus(tmp_path, encoding="latin-1").texts[1] == "x\ny\ncafé\n"


def test_a_file_is_no_folder(tmp_path):
    lay_out(tmp_path, {"file": "x"})
    with pytest.raises(InputError, match="not a folder"):
        read_corpus(tmp_path / "file", format="folders")


@pytest.mark.parametrize("option", ["text_field", "label_field"])
def test_names_of_fields_are_refused(tmp_path, option):
    with pytest.raises(InputError, match=f"{option} 'body' does not apply"):
        list(folders.read(lay_out(tmp_path, {"a/1": "x"}), ReadOptions(**{option: "body"})))


def test_a_folder_that_cannot_be_listed_is_a_storage_error(monkeypatch, tmp_path):
    lay_out(tmp_path, {"a/1": "x"})

    def fail(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.iterdir", fail)
    with pytest.raises(StorageError, match="cannot be read: Permission denied"):
        read_corpus(tmp_path)


def test_a_pipe_among_the_files_is_refused_and_not_waited_for(tmp_path):
    lay_out(tmp_path, {"a/1": "x"})
    os.mkfifo(tmp_path / "a" / "2")
    with pytest.raises(FormatError, match="2: a pipe or a device; expected files and folders"):
        read_corpus(tmp_path)
