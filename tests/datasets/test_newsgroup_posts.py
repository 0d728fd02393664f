import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import _twenty_newsgroups as theirs

from wordclass.datasets import _newsgroup_posts as ours

LINES = st.sampled_from(
    [
        "", " ", "--", " --- ", "-- me", "text", "From: me", "> quoted", "| quoted",
        " > not quoted",
        "In article <1>", "see In article", "Quoted from x", "he writes:", "she wrote: x", "said:",
        "it says", "writes in", "\t", "\r", "-", "a-b",
    ]
)  # fmt: skip
POSTS = st.lists(LINES, max_size=12).map("\n".join)


@given(POSTS)
def test_each_rule_is_that_of_scikit_learn(post):
    assert ours.without_header(post) == theirs.strip_newsgroup_header(post)
    assert ours.without_footer(post) == theirs.strip_newsgroup_footer(post)
    assert ours.without_quotes(post) == theirs.strip_newsgroup_quoting(post)


@pytest.mark.parametrize("kinds", [(), ("quotes",), ("headers", "footers")])
def test_only_what_is_named_is_stripped(kinds):
    post = "From: me\n\n> why\nbecause\n\nme"
    stripped = ours.strip(post, kinds)
    assert ("From" in stripped) == ("headers" not in kinds)
    assert ("> why" in stripped) == ("quotes" not in kinds)
    assert stripped.endswith("\n\nme") == ("footers" not in kinds)


def test_a_post_may_be_empty():
    assert ours.strip("", ("headers", "footers", "quotes")) == ""
