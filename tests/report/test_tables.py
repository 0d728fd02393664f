from wordclass.report.tables import aligned, scored_lines


def test_cells_stand_under_one_another():
    assert aligned([("a", 10, "x"), ("bcd", 2, "")]) == ["a    10  x", "bcd  2"]
    assert aligned([]) == []


def test_a_long_cell_is_broken_between_words_only():
    lines = aligned([("where", "see /a/path-that-is-long or"), ("no", "")], 16)
    assert lines == ["where  see", "       /a/path-that-is-long", "       or", "no"]


def test_bars_are_for_scores_above_0():
    assert scored_lines([("a", 0.0), ("bc", -1.0)]) == "a    0.00\nbc  -1.00"
    assert scored_lines([]) == ""
