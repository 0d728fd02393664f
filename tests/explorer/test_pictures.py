import struct
from dataclasses import replace

import pytest

pytest.importorskip("matplotlib")

import numpy as np

from wordclass.errors import InputError
from wordclass.explorer.pictures import (
    confusion_counts,
    draw_confusion,
    draw_map,
    row_shares,
    select_confused_classes,
)


def test_the_picture_is_about_2000_pixels_wide(term_map, tmp_path):
    path = tmp_path / "terms.png"
    draw_map(term_map, "A title", path)
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    assert 1900 < width < 2300
    assert 1400 < height < width


def test_the_same_map_gives_the_same_picture(term_map, tmp_path):
    for name in ("a.png", "b.png"):
        draw_map(term_map, "A title", tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_names_that_look_like_formulas_are_written_as_they_are(term_map, tmp_path):
    strange = replace(term_map, classes=["$\\frac$", "$", "_^$$"])
    draw_map(strange, "A title", tmp_path / "terms.png")


def test_documents_are_counted_by_true_and_predicted_class():
    counts = confusion_counts(["a", "a", "b", "new"], ["a", "b", "b", "a"], ["a", "b", "c"])
    np.testing.assert_array_equal(counts, [[1, 1, 0], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(row_shares(counts), [[0.5, 0.5, 0], [0, 1, 0], [0, 0, 0]])


def test_of_many_classes_the_most_confused_are_drawn():
    counts = np.diag(np.full(50, 9))
    assert select_confused_classes(counts[:40, :40]) == list(range(40))
    counts[41, 7] = 3
    chosen = select_confused_classes(counts)
    assert len(chosen) == 30
    assert {7, 41} <= set(chosen)
    assert chosen == sorted(chosen)


@pytest.mark.parametrize(
    ("n_classes", "ending"), [(2, ".png"), (20, ".png"), (50, ".png"), (2, ".pdf")]
)
def test_a_picture_is_drawn(tmp_path, n_classes, ending):
    classes = [f"class ${k}_{'long name ' * (k % 4)}" for k in range(n_classes)]
    chance = np.random.default_rng(0)
    true = chance.choice(classes, 500).tolist()
    path = tmp_path / f"confusion{ending}"
    draw_confusion(path, true, chance.permutation(true).tolist(), classes)
    assert path.stat().st_size > 5_000
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_file_that_is_not_a_picture_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"ends in \.png"):
        draw_confusion(tmp_path / "a.txt", ["a"], ["a"], ["a"])
