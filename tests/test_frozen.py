"""Fits give the numbers that were frozen, and saved files of earlier code load: see `frozen/`."""

import numpy as np
import pytest
from frozen.embedding_entries import CORRELATIONS, PROJECTORS, WEIGHTINGS, fit_in_shards
from frozen.entries import CATALOGUE
from frozen.observation import observe, observe_loaded
from frozen.store import (
    ARRAYS,
    MAX_STORED_CELLS,
    SAVED,
    TOLERANCE,
    differences,
    is_exact,
    pack,
    read,
    write,
)

from wordclass import catalogue

TOLERANCE_OF_LOADING = 1e-5
SAVED_ENTRIES = [name for name, entry in CATALOGUE.items() if entry.is_saved]
OTHER_ENGINES = [
    pytest.param(
        name, marks=pytest.mark.xdist_group("clusters") if name in ("dask", "spark") else ()
    )
    for name in catalogue.names("engines")
    if name != "in_sequence"
]
# weightings that see labels are no part of the method
NOT_FROZEN = {"tf_chi", "tf_conf_weight", "tf_ig", "tf_rf"}


def skip_without_packages(entry):
    for package in entry.missing_packages():
        pytest.skip(f"{package} is not installed")


def fail_if_different(title, lines, remedy):
    if lines:
        listed = "\n  ".join(lines)
        pytest.fail(
            f"{title} differs from the frozen numbers:\n  {listed}\n{remedy}", pytrace=False
        )


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_fit_gives_the_frozen_numbers(name):
    entry = CATALOGUE[name]
    skip_without_packages(entry)
    path = ARRAYS / f"{name}.npz"
    expected = read(path)
    assert expected is not None, f"{path} is missing: python tests/frozen/freeze.py {name}"
    lines = differences(pack(entry.observe()), expected, entry.tolerance, exact=is_exact())
    remedy = (
        "If this change is intended, freeze the entry again in a commit of its own that names it:\n"
        f"  python tests/frozen/freeze.py {name}"
    )
    fail_if_different(name, lines, remedy)


@pytest.mark.parametrize("name", SAVED_ENTRIES)
def test_a_saved_file_gives_the_scores_it_was_saved_with(name):
    entry = CATALOGUE[name]
    skip_without_packages(entry)
    expected = read(SAVED / f"{name}.npz")
    assert expected is not None, f"missing: python tests/frozen/freeze.py --saved {name}"
    lines = differences(pack(observe_loaded(entry.load())), expected, TOLERANCE_OF_LOADING)
    remedy = "Files that users have must load and give the same scores: repair the loading."
    fail_if_different(f"the saved {name}", lines, remedy)


@pytest.mark.parametrize("name", OTHER_ENGINES)
def test_an_engine_gives_the_bits_of_in_sequence(name, engine_named):
    expected = pack(observe(fit_in_shards("in_sequence")))
    with engine_named(name) as engine:
        stored = pack(observe(fit_in_shards(engine)))
    assert differences(stored, expected, exact=True) == []


def test_every_choice_by_name_is_frozen():
    assert {*CORRELATIONS} == {*catalogue.names("correlations")}
    assert {*WEIGHTINGS} == {*catalogue.names("weightings")} - NOT_FROZEN
    assert {*PROJECTORS} == {*catalogue.names("projectors")}
    kinds = {name.partition("_")[0] for name in CATALOGUE}
    assert kinds >= {*catalogue.names("classifiers")}
    saved_kinds = {name.partition("_")[0] for name in SAVED_ENTRIES}
    assert saved_kinds == {*catalogue.names("classifiers"), "embeddings"}
    assert {f"unseen_terms_{name}" for name in catalogue.names("regressors")} <= CATALOGUE.keys()


def test_there_are_no_other_files():
    assert {path.stem for path in ARRAYS.iterdir()} == CATALOGUE.keys()
    saved = {CATALOGUE[name].saved_path.name for name in SAVED_ENTRIES}
    assert {path.name for path in SAVED.iterdir()} == saved | {
        f"{name}.npz" for name in SAVED_ENTRIES
    }


def compare(array, expected, **options):
    return differences(pack({"x": array}), pack({"x": expected}), **options)


def test_floats_may_differ_by_the_tolerance_of_the_largest_value():
    expected = np.array([1e-9, 100.0, np.nan, -np.inf])
    changed = expected + np.array([5e-5, 0, 0, 0])
    assert compare(changed, expected) == []
    assert compare(changed, expected, exact=True)
    assert compare(changed, expected, tolerance=TOLERANCE / 10)[0].startswith(
        "x: 1 of 4 numbers differ, by at most 5e-07 of the largest"
    )
    assert compare(np.array([1e-9, 100.0, 0.0, -np.inf]), expected)
    assert compare(np.array([1e-9, 100.0, np.nan, np.inf]), expected)
    assert compare(np.array([1e-9, np.nan, np.nan, -np.inf]), expected)
    assert compare(np.zeros(2), np.zeros(2)) == []
    assert compare(np.array([0.0, 1e-30]), np.zeros(2))


def test_types_shapes_integers_and_text_must_be_equal():
    assert compare(np.zeros(2, np.float32), np.zeros(2)) == ["x: float32 instead of float64"]
    assert compare(np.zeros((1, 2)), np.zeros(2)) == ["x: float64 (1, 2) instead of float64 (2,)"]
    assert compare(np.array([1, 2]), np.array([1, 3])) == ["x: 1 of 2 numbers differ"]
    (line,) = compare(np.array('["moon"]'), np.array('["mood"]'))
    assert "moon" in line
    assert "mood" in line
    assert differences({"y": np.zeros(1)}, {"x": np.zeros(1)}) == [
        "x: missing now",
        "y: not frozen yet",
    ]


def test_of_large_arrays_a_sample_and_a_checksum_are_kept(tmp_path):
    array = np.arange(10 * MAX_STORED_CELLS, dtype=np.float64).reshape(10, -1)
    path = tmp_path / "x.npz"
    write(path, pack({"x": array}))
    expected = read(path)
    assert sum(each.nbytes for each in expected.values()) < array.nbytes / 5
    assert differences(pack({"x": array}), expected, exact=True) == []
    assert differences(pack({"x": array + 1}), expected)
    changed = array.copy()
    changed[3, 7] += 1  # is not in the sample
    assert differences(pack({"x": changed}), expected) == []
    assert differences(pack({"x": changed}), expected, exact=True)
    assert differences(pack({"x": array.T}), expected)
