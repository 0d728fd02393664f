import pytest

from wordclass.datasets import _places


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


def test_all_places_are_looked_at_and_the_own_folder_comes_first(home, data):
    for folder in [data / "raw", data / "raw" / "corpus", data, data / "corpus", home]:
        expected = put(folder / "corpus.tar.gz")
        assert _places.find("corpus", ("corpus.tar.gz",), home) == [expected]
    expected = put(home / "corpus" / "corpus.tar.gz")
    assert _places.find("corpus", ("corpus.tar.gz",), home) == [expected]


def test_an_archive_is_preferred_to_what_is_in_it(home):
    unpacked = [put(home / "corpus" / name) for name in ("b.sgm", "a.sgm")]
    patterns = ("corpus.tar.gz", "*.sgm")
    assert _places.find("corpus", patterns, home) == sorted(unpacked)
    archive = put(home / "corpus" / "corpus.tar.gz")
    assert _places.find("corpus", patterns, home) == [archive]


def test_nothing_is_found_where_nothing_is(home, data):
    assert _places.find("corpus", ("*",), home) == []
    put(home)  # a file in place of the folder
    assert _places.find("corpus", ("*",), home) == []


def test_without_the_variable_only_the_home_is_looked_at(home):
    assert _places.folders("corpus", home) == [home / "corpus", home]


def test_the_variable_may_begin_with_the_users_folder(home, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WORDCLASS_DATA", "~/corpora")
    assert tmp_path / "corpora" in _places.folders("corpus", home)
