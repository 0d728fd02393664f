from dataclasses import replace

import pytest

from wordclass.corpus.datasets import _download
from wordclass.corpus.datasets._download import Download
from wordclass.corpus.datasets._source import Source
from wordclass.corpus.documents import Record
from wordclass.errors import FormatError, InputError, MissingDataError

SOURCE = Source(
    name="made_up",
    title="made up",
    url="https://example.org/page",
    license="free",
    advice="Ask for made-up.zip",
    files=("made-up.zip",),
    companions=("topics.txt",),
    download=Download("topics.txt", ("https://example.org/topics.txt",)),
)


def test_what_is_missing_is_told_with_all_it_takes_to_get_it(tmp_path):
    with pytest.raises(MissingDataError) as caught:
        SOURCE.require(tmp_path)
    message = str(caught.value)
    for needed in ("made_up", "made-up.zip", "https://example.org/page", "WORDCLASS_DATA", "free"):
        assert needed in message
    assert str(tmp_path / "made_up") in message
    assert "\n" not in message


def test_files_of_the_corpus_are_located(tmp_path):
    assert SOURCE.find_companion(tmp_path) is None
    for name in ("made-up.zip", "topics.txt"):
        (tmp_path / name).write_text("")
    assert SOURCE.require(tmp_path) == SOURCE.find(tmp_path) == [tmp_path / "made-up.zip"]
    assert SOURCE.find_companion(tmp_path) == tmp_path / "topics.txt"


def test_downloads_go_to_the_own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "fetch", lambda download, folder: folder / download.file)
    assert SOURCE.fetch(tmp_path) == tmp_path / "made_up" / "topics.txt"
    assert not SOURCE.is_complete_download


def test_a_corpus_that_may_not_be_downloaded_is_an_error(tmp_path):
    secret = Source("secret", "", "", "", "ask its owner", files=("x",))
    with pytest.raises(InputError, match="secret cannot be downloaded by wordclass; ask its owner"):
        secret.fetch(tmp_path)


def test_the_advice_has_the_command_and_the_last_address():
    download = Download("a.zip", ("https://example.org/5", "https://example.org/a.zip"))
    advice = replace(SOURCE, advice="", download=download).how_to_get
    assert advice == (
        "Run `wordclass datasets made_up --download`, or download a.zip from https://example.org/a.zip"
    )


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("WORDCLASS_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def put(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    return path


def with_files(*patterns):
    return replace(SOURCE, files=patterns)


def test_all_places_are_looked_at_and_the_own_folder_comes_first(home, data):
    for folder in [data / "raw", data / "raw" / "made_up", data, data / "made_up", home]:
        expected = put(folder / "made-up.zip")
        assert SOURCE.find(home) == [expected]
    expected = put(home / "made_up" / "made-up.zip")
    assert SOURCE.find(home) == [expected]


def test_an_archive_is_preferred_to_what_is_in_it(home):
    unpacked = [put(home / "made_up" / name) for name in ("b.sgm", "a.sgm")]
    source = with_files("made-up.zip", "*.sgm")
    assert source.find(home) == sorted(unpacked)
    archive = put(home / "made_up" / "made-up.zip")
    assert source.find(home) == [archive]


def test_nothing_is_found_where_nothing_is(home, data):
    assert with_files("*").find(home) == []
    put(home)  # a file in place of the folder
    assert with_files("*").find(home) == []


def test_without_the_variable_only_the_home_is_looked_at(home, tmp_path):
    put(tmp_path / "data" / "made-up.zip")
    assert SOURCE.find(home) == []


def test_the_variable_may_begin_with_the_users_folder(home, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WORDCLASS_DATA", "~/corpora")
    expected = put(tmp_path / "corpora" / "made-up.zip")
    assert SOURCE.find(home) == [expected]


ONE, TWO = Record("one", ["b", "a"], "train"), Record("two", ["c"], "test")


def test_classes_are_those_of_training_sorted(home):
    dataset = SOURCE.to_dataset(home, [(2, ONE), (1, TWO)], is_multilabel=True)
    assert dataset.classes == ["a", "b"]
    assert dataset.train.labels == [["b", "a"]]
    assert dataset.test.labels == [["c"]]
    assert dataset.name == "made_up"


def test_records_are_sorted_by_what_stands_beside_them(home):
    keyed = [(10, ONE._replace(text="last")), (2, ONE), (1, TWO)]
    assert SOURCE.to_dataset(home, keyed, is_multilabel=True).train.texts == ["one", "last"]


def test_single_labels_are_no_lists(home):
    dataset = SOURCE.to_dataset(home, [(1, ONE), (2, TWO)], is_multilabel=False)
    assert dataset.test.labels == ["c"]


@pytest.mark.parametrize("record", [ONE, TWO])
def test_an_empty_part_is_refused(home, record):
    put(home / "made-up.zip")
    with pytest.raises(FormatError, match=r"made-up\.zip: there are no t\w+ documents of made_up"):
        SOURCE.to_dataset(home, [(1, record)], is_multilabel=True)
