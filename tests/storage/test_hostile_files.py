"""Every kind of file, changed on purpose and sealed again: refused or of use, never believed.

The variants are those of `hostile_files`; the processes that use them have little memory and time.
"""

import sys

import pytest
from hostile_files import CLASSIFIERS, KINDS, attack

NETWORKS = ["cnn", "lstm", "attention", "leam", "checkpoint"]
OTHERS = [name for name in KINDS if name not in NETWORKS]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")


def check(names, folder, n_variants):
    if set(names) & set(NETWORKS):
        pytest.importorskip("torch")
    if "fasttext" in names:
        pytest.importorskip("fasttext")
    jobs = [(name, number) for name in names for number in range(n_variants)]
    results = attack(folder, jobs)
    assert [(each["kind"], each["number"]) for each in results] == jobs
    told = "{kind} {number}: {name}: {reason}"
    failed = [told.format(**each) for each in results if each["outcome"] == "failed"]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize(("names", "n_variants"), [(NETWORKS, 5), (OTHERS, 8)])
def test_some_hostile_files_are_refused_or_of_use(names, n_variants, tmp_path):
    check(names, tmp_path, n_variants)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_three_hundred_hostile_files_are_refused_or_of_use(name, tmp_path):
    check([name], tmp_path, 300)


def test_every_classifier_is_attacked():
    from wordclass import naming

    assert set(CLASSIFIERS) == set(naming.names("classifiers"))
