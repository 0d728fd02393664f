import struct
from dataclasses import replace

import pytest

pytest.importorskip("matplotlib")

from wordclass.report import map_picture


def test_the_picture_is_about_2000_pixels_wide(term_map, tmp_path):
    path = tmp_path / "terms.png"
    map_picture.draw(term_map, "A title", path)
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    assert 1900 < width < 2300
    assert 1400 < height < width


def test_the_same_map_gives_the_same_picture(term_map, tmp_path):
    for name in ("a.png", "b.png"):
        map_picture.draw(term_map, "A title", tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_names_that_look_like_formulas_are_written_as_they_are(term_map, tmp_path):
    strange = replace(term_map, classes=["$\\frac$", "$", "_^$$"])
    map_picture.draw(strange, "A title", tmp_path / "terms.png")
