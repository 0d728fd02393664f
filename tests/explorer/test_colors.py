import re
from itertools import combinations

import pytest

from wordclass.explorer.colors import oklch, palette


@pytest.mark.parametrize("on_black", [False, True])
@pytest.mark.parametrize("n_colors", [1, 2, 3, 20, 36])
def test_all_colors_are_hexadecimal_and_distinct(n_colors, on_black):
    colors = palette(n_colors, on_black)
    assert len(set(colors)) == n_colors
    assert all(re.fullmatch("#[0-9a-f]{6}", color) for color in colors)


def test_no_two_of_36_colors_are_nearly_the_same():
    channels = [[int(color[k : k + 2], 16) for k in (1, 3, 5)] for color in palette(36)]
    gaps = [
        sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5
        for first, second in combinations(channels, 2)
    ]
    assert min(gaps) > 12


@pytest.mark.parametrize(("on_black", "paper"), [(False, 1.0), (True, 0.0075)])
def test_colors_stand_out_from_their_background(on_black, paper):
    for color in palette(36, on_black):
        channels = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in channels]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        low, high = sorted([luminance, paper])
        assert (high + 0.05) / (low + 0.05) > 2.3


def test_black_and_white_are_at_the_ends():
    assert oklch(0, 0, 0) == "#000000"
    assert oklch(1, 0.3, 100) == "#ffffff"
