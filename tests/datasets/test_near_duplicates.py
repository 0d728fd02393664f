from wordclass.datasets._near_duplicates import distinct

LONG = "one long text about the many words that two copies of it share and one that they do not"


def test_of_near_duplicates_the_first_is_kept():
    texts = [LONG, "something else entirely", f"{LONG} indeed", LONG]
    assert distinct(texts, ["a"] * 4, limit=0.9) == [0, 1]


def test_only_texts_of_one_group_are_compared():
    assert distinct([LONG, LONG, LONG], ["a", "b", "a"], limit=0.9) == [0, 1]


def test_a_text_is_compared_with_those_kept_alone():
    chain = ["a1 a2 a3 a4", "a2 a3 a4 a5", "a3 a4 a5 a6"]
    near = distinct(chain, ["a"] * 3, limit=0.5)
    assert near == [0, 2]


def test_order_is_kept_across_groups():
    texts = ["red apples", "blue skies", "green fields"]
    assert distinct(texts, ["b", "a", "b"], limit=0.9) == [0, 1, 2]
