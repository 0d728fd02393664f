from itertools import combinations

import numpy as np

from wordclass.report.label_placement import Box, Head, Placement, around, beside, heads


def test_labels_at_one_point_do_not_overlap():
    placement = Placement(Box(50, 50, 100, 100))
    placed = [placement.place(around(50, 50, 20, 8, reach=40)) for _ in range(6)]
    assert all(placed)
    assert not any(a.overlaps(b) for a, b in combinations(placed, 2))
    assert all(box.is_within(placement.bounds) for box in placed)


def test_a_label_without_room_is_left_out():
    placement = Placement(Box(10, 10, 20, 20))
    assert placement.place(beside(10, 10, 30, 5, gap=1)) is None
    assert placement.taken == []


def test_the_first_candidate_with_room_is_taken():
    placement = Placement(Box(0, 0, 100, 100), [Box(10, 0, 10, 10)])
    right, left, *_ = beside(0, 0, 8, 8, gap=1)
    assert placement.place([right, left]) == left


def test_boxes_that_touch_do_not_overlap():
    assert not Box(0, 0, 2, 2).overlaps(Box(2, 0, 2, 2))
    assert Box(0, 0, 2, 2).overlaps(Box(1.9, 0, 2, 2))


def test_the_head_of_a_class_is_above_its_cluster_not_above_a_stray_term():
    places = np.array([[0.1, 0.1], [0.12, 0.2], [0.14, 0.1], [0.9, 0.95]])
    (head,) = heads(places, np.zeros(4, int), 1)
    assert head.x < 0.2
    assert head.y <= 0.2
    assert head.is_gathered


def test_terms_all_over_the_map_are_not_gathered():
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert not heads(corners, np.zeros(4, int), 1)[0].is_gathered


def test_a_class_without_terms_has_a_head_all_the_same():
    assert heads(np.zeros((0, 2)), np.zeros(0, int), 1) == [Head(0.5, 0.5, False)]
