import pytest

from wordclass.datasets import _download
from wordclass.datasets._download import Download
from wordclass.datasets._source import Source
from wordclass.errors import InputError, MissingDataError

SOURCE = Source(
    name="made_up",
    title="made up",
    url="https://example.org/page",
    license="free",
    how_to_get="Ask for made-up.zip",
    files=("made-up.zip",),
    companions=("topics.txt",),
    downloads=(Download("topics.txt", ("https://example.org/topics.txt",)),),
)


def test_what_is_missing_is_told_with_all_it_takes_to_get_it(tmp_path):
    with pytest.raises(MissingDataError) as caught:
        SOURCE.require(tmp_path)
    message = str(caught.value)
    for needed in ("made_up", "made-up.zip", "https://example.org/page", "WORDCLASS_DATA", "free"):
        assert needed in message
    assert str(tmp_path / "made_up") in message
    assert "\n" not in message


def test_what_is_here_is_found(tmp_path):
    assert SOURCE.find_companion(tmp_path) is None
    for name in ("made-up.zip", "topics.txt"):
        (tmp_path / name).write_text("")
    assert SOURCE.require(tmp_path) == SOURCE.find(tmp_path) == [tmp_path / "made-up.zip"]
    assert SOURCE.find_companion(tmp_path) == tmp_path / "topics.txt"


def test_downloads_go_to_the_own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "fetch", lambda download, folder: folder / download.file)
    assert SOURCE.download(tmp_path) == [tmp_path / "made_up" / "topics.txt"]
    assert not SOURCE.is_complete_download


def test_what_may_not_be_downloaded_is_told(tmp_path):
    secret = Source("secret", "", "", "", "ask its owner", files=("x",))
    with pytest.raises(InputError, match="secret cannot be downloaded by wordclass: ask its owner"):
        secret.download(tmp_path)
