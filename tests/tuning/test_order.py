from itertools import islice

import pytest

from wordclass.tuning.order import Grid, expected_seconds, proposals
from wordclass.tuning.trial import Trial

VALUES = {"a": [0, 1, 2], "b": ["x", "y"], "c": [1.0, 2.0]}
START = {"a": 0, "b": "x", "c": 1.0}


def search(goodness, seed=0, n=None):
    """Return what is proposed, where the best is known at once."""
    tried = []
    best = lambda: max(tried, key=goodness)  # noqa: E731
    for settings in islice(proposals(Grid.of(VALUES, START), seed, best), n):
        tried.append(settings)
    return tried


def test_everything_comes_once():
    tried = search(lambda _: 0)
    assert len(tried) == 12
    assert len({tuple(each.values()) for each in tried}) == 12
    assert tried[0] == START


def test_what_differs_in_one_value_from_the_best_comes_next():
    tried = search(lambda each: each["a"], n=5)
    assert tried[1:3] == [{**START, "a": 1}, {**START, "a": 2}]
    # the best is now at a = 2, and all others of a were tried
    assert tried[3:5] == [{**START, "a": 2, "b": "y"}, {**START, "a": 2, "c": 2.0}]


def test_a_good_value_of_each_setting_is_found_before_most_of_the_grid_was_tried():
    tried = search(lambda each: each["a"] + (each["b"] == "y") + each["c"])
    # the start, two more of a, one of b, one of c
    assert tried[4] == {"a": 2, "b": "y", "c": 2.0}


def test_the_order_depends_on_the_seed_alone():
    assert search(lambda _: 0, seed=1) == search(lambda _: 0, seed=1)
    assert search(lambda _: 0, seed=1) != search(lambda _: 0, seed=2)


def test_a_whole_number_is_the_float_it_stands_for():
    grid = Grid.of({"a": [0, 1], "n": [1, 1.0]}, {"a": 0.0, "n": 1})
    assert len(list(proposals(grid, 0, lambda: grid.start))) == 4


def test_a_huge_grid_is_no_trouble():
    grid = Grid.of({f"s{k}": list(range(10)) for k in range(12)}, {f"s{k}": 0 for k in range(12)})
    assert len(list(islice(proposals(grid, 0, lambda: grid.start), 300))) == 300


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({"a": 9, "b": 0}, 7.0),  # as the longest of the two with the same b
        ({"a": 0, "b": 9}, 3.0),
        ({"a": 8, "b": 8}, 7.0),  # all differ in both
    ],
)
def test_a_trial_is_expected_to_take_as_long_as_those_like_it(settings, seconds):
    trials = [
        Trial({"a": 0, "b": 0}, "done", 3.0),
        Trial({"a": 1, "b": 0}, "done", 7.0),
        Trial({"a": 1, "b": 1}, "done", 5.0),
        Trial({"a": 9, "b": 0}, "failed", 100.0),
    ]
    assert expected_seconds(settings, trials) == seconds
    assert expected_seconds(settings, []) == 0.0
