"""Tables of text, what may be printed, and what is escaped."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from wordclass.tables import align_columns, escape_control_characters, format_scores, one_line

ANY = st.text(st.characters())  # lone surrogates too


@given(ANY)
def test_nothing_that_controls_a_terminal_is_left(text):
    shown = escape_control_characters(text)
    shown.encode()  # no lone surrogate
    assert {unicodedata.category(each) for each in shown} <= {
        *(unicodedata.category(each) for each in text), "Po", "Ll", "Nd"
    }  # fmt: skip
    for character in shown:
        assert (
            unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp") or character in "\n\t"
        )
        assert unicodedata.bidirectional(character) not in (
            "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"
        )  # fmt: skip


@given(ANY)
def test_in_json_what_is_escaped_means_the_same(text):
    assert json.loads(escape_control_characters(json.dumps([text], ensure_ascii=False))) == [text]


@given(st.text().filter(str.isprintable))
def test_what_can_be_printed_stays_as_it_is(text):
    assert escape_control_characters(text) == text
    assert one_line(text) == text


def test_a_line_is_one_line_and_not_too_long():
    assert one_line("a\nwordclass: fake\r\tb") == r"a\nwordclass: fake\u000d\tb"
    assert one_line("x" * 2000) == "x" * 2000
    long = one_line("x" * 200_000)
    assert len(long) == 2000
    assert long.endswith("x ... (200,000 characters)")


def test_cells_stand_under_one_another():
    assert align_columns([("a", 10, "x"), ("bcd", 2, "")]) == ["a    10  x", "bcd  2"]
    assert align_columns([]) == []


def test_a_long_cell_is_broken_between_words_only():
    lines = align_columns([("where", "see /a/path-that-is-long or"), ("no", "")], 16)
    assert lines == ["where  see", "       /a/path-that-is-long", "       or", "no"]


def test_bars_are_for_scores_above_0():
    assert format_scores([("a", 0.0), ("bc", -1.0)]) == "a    0.00\nbc  -1.00"
    assert format_scores([]) == ""
