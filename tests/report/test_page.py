import json
import re

import pytest

from wordclass.report.page import embedded_json, fill, join, static, tag


def test_text_and_attributes_are_escaped():
    made = tag("p", '<b>&"', title='"><i>')
    assert made == '<p title="&quot;&gt;&lt;i&gt;">&lt;b&gt;&amp;&quot;</p>'


def test_markup_is_not_escaped_twice():
    assert tag("p", tag("b", "<"), [tag("i"), None, 3]) == "<p><b>&lt;</b><i></i>3</p>"


def test_attributes_may_be_left_out_or_have_no_value():
    assert tag("input", disabled=True, hidden=False, id=None, aria_label="x") == (
        '<input disabled aria-label="x">'
    )


def test_embedded_values_cannot_end_their_element():
    values = {"name": "</script><!-- & \u2028"}
    made = embedded_json(values, "it")
    inner = made.removeprefix('<script type="application/json" id="it">').removesuffix("</script>")
    assert "<" not in inner
    assert json.loads(inner) == values


def test_joining_nothing_is_empty():
    assert join() == ""


def test_the_parts_of_a_page_are_escaped_where_they_are_no_markup():
    names = re.findall(r"\$(\w+)", static("demo.html"))
    parts = {name: "<i>$seed" for name in names}
    page = fill("demo.html", **(parts | {"about": tag("b", "&")}))
    assert page.count("&lt;i&gt;$seed") == len(names) - 1
    assert "<p><b>&amp;</b></p>" in page
    with pytest.raises(KeyError, match="corpus"):
        fill("demo.html")
