import pytest

from wordclass.corpus.datasets import ohsumed
from wordclass.corpus.reader import load_dataset
from wordclass.errors import FormatError

# 20 documents of C01, of which every third is in C04 too, and 11 of C23 alone
FILES = {f"ohsumed-all/C01/{k:07}": f"title {k}\n caf\xe9".encode("latin-1") for k in range(20)}
FILES |= {f"ohsumed-all/C04/{k:07}": FILES[f"ohsumed-all/C01/{k:07}"] for k in range(0, 20, 3)}
FILES |= {f"ohsumed-all/C23/{k:07}": f"title {k}\n text".encode() for k in range(20, 31)}


@pytest.fixture
def home(tmp_path, write_tar):
    write_tar(tmp_path / "ohsumed" / "ohsumed-all-docs.tar.gz", FILES)
    return tmp_path


def documents(dataset):
    parts = (dataset.train, dataset.test)
    return [dict(zip(part.texts, part.labels, strict=True)) for part in parts]


def test_a_document_in_several_folders_is_one_with_several_labels(home):
    train, test = documents(ohsumed.load(home))
    both = train | test
    assert len(both) == len(train) + len(test) == 31
    assert both["title 3\n café"] == ["C01", "C04"]
    assert both["title 4\n café"] == ["C01"]


def test_seventy_percent_of_each_first_class_are_for_training_rounded_down(home):
    dataset = ohsumed.load(home)
    assert sum("C01" in labels for labels in dataset.train.labels) == 14
    assert sum("C23" in labels for labels in dataset.train.labels) == 7
    assert len(dataset.test) == 10
    assert dataset.classes == ["C01", "C04", "C23"]


def test_the_split_depends_on_the_seed_alone(home, tmp_path, write_folder):
    write_folder(tmp_path / "unpacked" / "ohsumed", dict(reversed(FILES.items())))
    assert load_dataset("ohsumed", tmp_path / "unpacked") == ohsumed.load(home)
    other = load_dataset("ohsumed", home, seed=1)
    assert other != ohsumed.load(home)
    assert len(other.train) == len(ohsumed.load(home).train)


def test_the_published_sizes_are_those_of_rounding_by_class(published_sizes):
    sizes = published_sizes["ohsumed"]
    n_docs = sizes["n_train"] + sizes["n_test"]
    assert n_docs == 34_389
    # 70 % of all would be 24,072: rounding down 23 times loses up to 23 documents
    assert 0 <= 0.7 * n_docs - sizes["n_train"] < 23


def test_another_archive_is_refused(tmp_path, write_tar):
    write_tar(tmp_path / "ohsumed-all-docs.tar.gz", {"readme": b""})
    with pytest.raises(FormatError, match="no training documents of ohsumed"):
        ohsumed.load(tmp_path)
