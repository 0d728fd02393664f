import pytest

from wordclass import catalogue
from wordclass.cli import dataset_overview


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("WORDCLASS_DATA", raising=False)
    return tmp_path


def test_every_dataset_is_described(home):
    datasets = dataset_overview.look_up_all(home)
    assert [dataset["name"] for dataset in datasets] == catalogue.names("datasets")
    installed = [dataset["name"] for dataset in datasets if dataset["is_here"]]
    assert installed == ["docstrings"]
    for dataset in datasets:
        assert {"title", "license", "n_train", "is_here", "how_to_get"} <= set(dataset)


def test_an_installed_dataset_has_a_path(home):
    archive = home / "newsgroups20" / "20news-bydate.tar.gz"
    archive.parent.mkdir()
    archive.touch()
    facts = dataset_overview.look_up("newsgroups20", home)
    assert facts["places"] == [str(archive)]
    assert str(archive) in dataset_overview.to_table([facts])
    assert "--download" not in dataset_overview.to_table([facts])
    assert "strip=('headers', 'footers', 'quotes')" in dataset_overview.to_text(facts, home)


def test_many_files_are_shown_as_one_path_and_a_count(home):
    for k in range(3):
        (home / f"EnglishWipoGamma{k}.zip").touch()
    facts = dataset_overview.look_up("wipo_gamma", home)
    assert "EnglishWipoGamma0.zip and 2 more" in dataset_overview.to_table([facts])


def test_the_table_has_sizes_licenses_and_sources(home):
    table = dataset_overview.to_table(dataset_overview.look_up_all(home))
    for part in ("9,603", "781,265", "2,706", "license: ", "trec.nist.gov", "built in"):
        assert part in table
    assert max(map(len, table.splitlines())) <= 100


def test_a_dataset_that_was_tested_on_samples_says_so(home):
    assert "on samples only" in dataset_overview.to_text(
        dataset_overview.look_up("rcv1", home), home
    )
    reuters = dataset_overview.look_up("reuters21578", home)
    assert "on the real corpus" in dataset_overview.to_text(reuters, home)
