"""Every kind of file, changed on purpose and sealed again: refused or of use, never believed.

The variants are those of `hostile_files`; each process that uses them has little memory and time.
"""

import sys

import pytest
from hostile_files import CLASSIFIERS, KINDS, attack

NETWORKS = ("cnn", "lstm", "attention", "leam", "checkpoint")
N_VARIANTS = 300

# what once killed the process, or led to foreign errors: the numbers of `hostile_files.numbered`
QUICK = {name: 6 if name in NETWORKS else 12 for name in KINDS}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")


def check(name, folder, numbers):
    if name in NETWORKS:
        pytest.importorskip("torch")
    if name == "fasttext":
        pytest.importorskip("fasttext")
    results = attack(name, folder, numbers)
    failed = [f"{each['number']}: {each['name']}: {each['reason']}" for each in results
              if each["outcome"] == "failed"]  # fmt: skip
    assert not failed, "\n".join(failed)
    assert [each["number"] for each in results] == [*numbers]


@pytest.mark.parametrize("name", KINDS)
def test_some_hostile_files_are_refused_or_of_use(name, tmp_path):
    check(name, tmp_path, range(QUICK[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_three_hundred_hostile_files_are_refused_or_of_use(name, tmp_path):
    check(name, tmp_path, range(N_VARIANTS))


def test_every_classifier_is_attacked():
    from wordclass import naming

    assert set(CLASSIFIERS) == set(naming.names("classifiers"))
