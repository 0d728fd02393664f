"""Every kind of file, modified on purpose with correct checksums, is refused or usable.

`hostile_changes` makes the variants; the processes that use them have little memory and time.
"""

import sys

import numpy as np
import pytest
from hostile_changes import variants
from hostile_files import CLASSIFIERS, KINDS, attack, make_sound
from hostile_uses import ASKED

import wordclass as wc
from wordclass.errors import FormatError, InputError

NETWORKS = ["cnn", "lstm", "attention", "leam", "checkpoint", "cnn-commands"]
OTHER_KINDS = [name for name in KINDS if name not in NETWORKS]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")


def check(names, folder, n_variants):
    if set(names) & set(NETWORKS):
        pytest.importorskip("torch")
    if "fasttext" in names:
        pytest.importorskip("fasttext")
    check_jobs([(name, number) for name in names for number in range(n_variants)], folder)


def check_jobs(jobs, folder):
    results = attack(folder, jobs)
    assert [(result["kind"], result["number"]) for result in results] == jobs
    line = "{kind} {number}: {name}: {reason}"
    failed = [line.format(**result) for result in results if result["outcome"] == "failed"]
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize(("names", "n_variants"), [(NETWORKS, 5), (OTHER_KINDS, 8)])
def test_some_hostile_files_are_refused_or_usable(names, n_variants, tmp_path):
    check(names, tmp_path, n_variants)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_three_hundred_hostile_files_are_refused_or_usable(name, tmp_path):
    check([name], tmp_path, 300)


@pytest.mark.parametrize("start", ["scores.holdout", "fields"])
def test_hostile_metadata_for_commands_raises_one_line_errors(start, tmp_path):
    kind = KINDS["nearest-commands"]
    content = kind.read(make_sound(kind.name, tmp_path / kind.name))
    names = [name for name, _ in variants(content, kind)]
    chosen = [number for number, name in enumerate(names) if name.startswith(start)]
    check_jobs([(kind.name, number) for number in chosen[:20]], tmp_path)


def test_every_classifier_is_attacked():
    from wordclass import catalogue

    assert set(CLASSIFIERS) == set(catalogue.names("classifiers"))


def modified_model(tmp_path, name, **changes):
    """Return the folder of a valid model with modified arrays and correct checksums."""
    kind = KINDS[name]
    place = make_sound(name, tmp_path)
    content = kind.read(place)
    for array, change in changes.items():
        content.arrays[array] = change(content.arrays[array].copy())
    kind.write(place, content)
    return place


@pytest.mark.parametrize("name", ["linear", "svm"])
def test_weights_whose_sum_overflows_raise_an_error_when_a_text_needs_them(name, tmp_path):
    largest = np.finfo(np.float32).max
    place = modified_model(tmp_path, name, weights=lambda weights: np.full_like(weights, largest))
    model = wc.load(place)
    uses = [
        model.predict, model.predict_proba, model.decision_function, model.top_classes,
        lambda texts: model.explain(texts[0]),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(InputError, match=f"scores of this '{name}' model are not finite"):
            use(ASKED[-1:])


def test_a_steep_calibration_gives_valid_probabilities(tmp_path):
    largest = np.finfo(np.float64).max
    place = modified_model(
        tmp_path, "nearest", calibration=lambda parameters: np.full_like(parameters, largest)
    )
    probabilities = wc.load(place).predict_proba(ASKED)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_thresholds_may_be_infinite_but_not_below_all_scores(tmp_path):
    place = modified_model(tmp_path, "linear", thresholds=lambda old: np.full_like(old, np.inf))
    assert not any(wc.load(place).predict(ASKED))
    place = modified_model(tmp_path, "linear", thresholds=lambda old: np.full_like(old, -np.inf))
    with pytest.raises(FormatError, match="a threshold is minus infinity"):
        wc.load(place)
