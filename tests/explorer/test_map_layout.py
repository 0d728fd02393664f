from dataclasses import replace
from itertools import combinations

import numpy as np

from wordclass.explorer.map_layout import (
    SIDE,
    Box,
    around,
    class_labels,
    label_position,
    next_to,
    place,
    to_drawing_units,
)


def test_y_points_upwards(term_map):
    lowest = replace(term_map.panels[0], places=np.tile([0.5, 0.0], (60, 1)))
    assert to_drawing_units(lowest)[0].tolist() == [500.0, 970.0]


def test_labels_that_are_shown_do_not_overlap(term_map):
    names = [f"class number {k}" for k in range(30)]
    crowded = replace(term_map, classes=names, class_of=np.arange(60) % 30)
    heaped = replace(term_map.panels[0], places=term_map.panels[0].places / 10)
    boxes = [box for box, is_shown in class_labels(crowded, heaped) if is_shown]
    assert {box.width for box in boxes} == {0.62 * 15 * 14 + 6, 0.62 * 15 * 15 + 6}
    assert 2 < len(boxes) < 30
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_a_class_that_is_all_over_the_map_has_no_label(term_map):
    assert [shown for _, shown in class_labels(term_map, term_map.panels[0])] == [False] * 3


def test_labels_at_one_point_do_not_overlap():
    occupied = []
    placed = [place(around(20, 20, 20, 8, reach=40), occupied) for _ in range(6)]
    assert all(placed)
    assert placed == occupied
    assert not any(a.overlaps(b) for a, b in combinations(placed, 2))
    assert all(box.is_inside for box in placed)


def test_a_label_without_space_is_omitted():
    occupied = []
    assert place(next_to(10, 10, SIDE, 5, gap=1), occupied) is None
    assert occupied == []


def test_the_first_candidate_with_space_is_used():
    right, left, *_ = next_to(50, 50, 8, 8, gap=1)
    assert place([right, left], [Box(60, 50, 10, 10)]) == left


def test_a_box_that_touches_the_edge_is_inside():
    assert Box(5, SIDE - 4, 10, 8).is_inside
    assert not Box(4.9, 50, 10, 8).is_inside
    assert not Box(50, SIDE - 3.9, 10, 8).is_inside


def test_boxes_that_touch_do_not_overlap():
    assert not Box(0, 0, 2, 2).overlaps(Box(2, 0, 2, 2))
    assert Box(0, 0, 2, 2).overlaps(Box(1.9, 0, 2, 2))


def test_the_label_of_a_class_is_above_its_cluster_not_above_an_outlier():
    x, y, is_cluster = label_position(np.array([[100, 900], [120, 800], [140, 900], [900, 50]]))
    assert x < 200
    assert y >= 800
    assert is_cluster


def test_terms_all_over_the_map_are_not_a_cluster():
    assert not label_position(np.array([[0, 0], [0, 1000], [1000, 0], [1000, 1000]]))[2]


def test_a_class_without_terms_has_a_label_position():
    assert label_position(np.zeros((0, 2))) == (500, 500, False)
