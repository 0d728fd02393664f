import json
import re
from dataclasses import replace
from itertools import combinations

import numpy as np

from wordclass.report.label_placement import Box
from wordclass.report.map_svg import label_places, large_panel, map_values, small_panel


def test_every_term_is_a_point_with_a_name(term_map):
    drawn = large_panel(term_map, term_map.panels[0])
    assert drawn.count("<circle") == len(term_map.terms)
    assert "<title>term0 (&lt;/script&gt;&lt;b&gt;&amp;&quot;)</title>" in drawn


def test_y_points_upwards(term_map):
    lowest = replace(term_map.panels[0], places=np.tile([0.5, 0.0], (60, 1)))
    assert 'cy="970.0"' in large_panel(term_map, lowest)


def test_a_small_panel_has_one_path_a_class_and_one_move_a_term(term_map):
    drawn = small_panel(term_map, term_map.panels[0])
    assert drawn.count("<path") == 3
    assert len(re.findall(r"M[\d.]+ [\d.]+h0", drawn)) == len(term_map.terms)


def test_the_script_gets_all_it_needs(term_map):
    written = re.search(r"<script[^>]*>(.*)</script>", map_values(term_map)).group(1)
    values = json.loads(written)
    assert values["terms"] == term_map.terms
    assert values["classOf"] == term_map.class_of.tolist()
    assert [len(panel["places"]) for panel in values["panels"]] == [60, 60, 60]


def test_labels_that_are_shown_do_not_overlap(term_map):
    names = [f"class number {k}" for k in range(30)]
    crowded = replace(term_map, classes=names, class_of=np.arange(60) % 30)
    heaped = replace(term_map.panels[0], places=term_map.panels[0].places / 10)
    places = label_places(crowded, heaped)
    boxes = [Box(x, y, 0.5 * 15 * len(names[0]), 15) for x, y, has_room in places if has_room]
    assert 2 < len(boxes) < 30
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_a_class_that_is_all_over_the_map_has_no_label(term_map):
    assert [shown for *_, shown in label_places(term_map, term_map.panels[0])] == [0, 0, 0]
