"""What every data set has to tell, and what happens where it is not here."""

import inspect
import json
from pathlib import Path

import pytest

from wordclass import catalogue
from wordclass.corpus.datasets import _download
from wordclass.corpus.reader import load_dataset
from wordclass.errors import FormatError, InputError, MissingDataError

NAMES = catalogue.names("datasets")
FROM_FILES = [name for name in NAMES if not catalogue.entry("datasets", name).SOURCE.is_built]
PUBLISHED = json.loads((Path(__file__).parents[1] / "golden" / "dataset_sizes.json").read_text())
# all others were run on samples only, because nobody here has them
RUN_ON_THE_REAL_CORPUS = {"docstrings", "newsgroups20", "reuters21578"}


def source(name):
    return catalogue.entry("datasets", name).SOURCE


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("WORDCLASS_DATA", str(tmp_path / "data"))
    return tmp_path / "home"


def test_the_data_sets_of_the_paper_are_all_there():
    assert set(FROM_FILES) == set(PUBLISHED)
    assert set(NAMES) - set(PUBLISHED) == {"docstrings"}


@pytest.mark.parametrize("name", NAMES)
def test_the_source_is_complete(name):
    told = source(name)
    assert told.name == name
    assert told.url.startswith(("http://", "https://"))
    for text in (told.title, told.license, told.how_to_get):
        assert text.strip()
        assert "\n" not in text
    assert told.is_verified_here == (name in RUN_ON_THE_REAL_CORPUS)
    if (download := told.download) is not None:
        assert download.urls
        assert all(url.startswith(("http://", "https://")) for url in download.urls)
        assert download.sha256 is None or len(download.sha256) == 64
        assert download.file in (*told.files, *told.companions)


@pytest.mark.parametrize("name", FROM_FILES)
def test_the_sizes_are_the_published_ones(name):
    sizes = source(name).sizes
    told = {"n_train": sizes.n_train, "n_test": sizes.n_test, "n_classes": sizes.n_classes}
    assert told == {key: PUBLISHED[name][key] for key in told}


@pytest.mark.parametrize("name", FROM_FILES)
def test_what_is_missing_is_told_with_where_to_get_it_and_where_to_put_it(name, home):
    with pytest.raises(MissingDataError) as caught:
        load_dataset(name, home)
    message = str(caught.value)
    assert source(name).url in message
    assert source(name).license in message
    assert str(home / name) in message
    assert "WORDCLASS_DATA" in message
    assert not home.exists()


@pytest.mark.parametrize("name", FROM_FILES)
@pytest.mark.parametrize("content", [b"", b"<html>404</html>", b"\x1f\x8b\x08", b"PK\x03\x04" * 9])
def test_what_is_no_archive_is_refused_with_its_path(name, home, content):
    patterns = {"rcv1": "19960820.zip", "wipo_gamma": "EnglishWipoGamma1.zip"}
    path = home / name / patterns.get(name, source(name).files[0])
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(FormatError, match=path.name):
        load_dataset(name, home)


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_option_is_refused_and_the_known_ones_are_named(name, home):
    known = [*inspect.signature(catalogue.entry("datasets", name).load).parameters][1:]
    with pytest.raises(InputError, match=f"{name} has no option 'colour'; ") as caught:
        load_dataset(name, home, colour="red")
    assert all(option in str(caught.value) for option in known)


@pytest.mark.parametrize("name", NAMES)
def test_options_have_defaults_and_go_by_name(name):
    first, *options = inspect.signature(catalogue.entry("datasets", name).load).parameters.values()
    assert first.name == "home"
    assert all(option.kind is option.KEYWORD_ONLY for option in options)
    assert all(option.default is not option.empty for option in options)


@pytest.mark.parametrize("name", FROM_FILES)
def test_it_is_downloaded_only_when_asked_for(name, home, monkeypatch):
    asked = []

    def note(download, folder):
        asked.append(folder / download.file)
        return asked[-1]

    monkeypatch.setattr(_download, "fetch", note)
    with pytest.raises(MissingDataError):
        load_dataset(name, home)
    assert asked == []
    with pytest.raises(InputError):
        load_dataset(name, home, download=True)
    download = source(name).download
    assert asked == ([] if download is None else [home / name / download.file])
