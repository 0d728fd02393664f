import numpy as np

from wordclass.report.word_profiles import telling_profiles

TERMS = ["clear", "torn", "bland", "x_1", "second"]
SCORES = np.float32([[9, 0, 0, 0], [0, 5, 5, 0], [1, 1, 1, 1], [0, 0, 0, 99], [8, 0, 0, 0]])


def test_words_ahead_in_one_class_and_words_between_two_are_found():
    clear, torn = telling_profiles(TERMS, list("abcd"), SCORES, n_clear=1, n_torn=1)
    assert (clear.word, clear.is_torn, clear.classes[0]) == ("clear", False, ("a", 9.0))
    assert (torn.word, torn.is_torn) == ("torn", True)
    assert [name for name, _ in torn.classes[:2]] == ["b", "c"]


def test_no_class_leads_twice_and_only_plain_words_are_shown():
    words = [each.word for each in telling_profiles(TERMS, list("abcd"), SCORES, 5, 0)]
    assert "x_1" not in words
    assert "second" not in words  # its class is that of "clear"


def test_two_classes_are_enough():
    found = telling_profiles(["alpha", "beta"], ["a", "b"], np.float32([[3, 0], [2, 2]]), 1, 1)
    assert [each.word for each in found] == ["alpha", "beta"]
