import re

import pytest

from wordclass.reproduction.page import fill, join, static, tag


def test_text_and_attributes_are_escaped():
    element = tag("p", '<b>&"', title='"><i>')
    assert element == '<p title="&quot;&gt;&lt;i&gt;">&lt;b&gt;&amp;&quot;</p>'


def test_markup_is_not_escaped_twice():
    assert tag("p", tag("b", "<"), [tag("i"), None, 3]) == "<p><b>&lt;</b><i></i>3</p>"


def test_attributes_may_be_left_out_or_have_no_value():
    assert tag("input", disabled=True, hidden=False, id=None, aria_label="x") == (
        '<input disabled aria-label="x">'
    )


def test_joining_nothing_is_empty():
    assert join() == ""


def test_content_of_a_page_is_escaped_unless_it_is_markup():
    names = re.findall(r"\$(\w+)", static("experiment.html"))
    first, *remaining = dict.fromkeys(names)
    content = {name: "<i>$seed" for name in remaining}
    page = fill("experiment.html", **content, **{first: tag("b", "&")})
    assert page.count("&lt;i&gt;$seed") == sum(name != first for name in names)
    assert "<b>&amp;</b>" in page
    with pytest.raises(KeyError, match=first):
        fill("experiment.html")
