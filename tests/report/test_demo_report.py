import json
import re
from html.parser import HTMLParser

import pytest

from wordclass.report.demo_report import colored, verdict

EMPTY_ELEMENTS = {"meta", "input", "br", "link"}


class Reader(HTMLParser):
    """Checks that elements end in order, and keeps elements and texts."""

    def __init__(self):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY_ELEMENTS:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))


@pytest.fixture(scope="module")
def written(dataset, tmp_path_factory):
    from wordclass.report import demo

    folder = tmp_path_factory.mktemp("page") / "report"
    demo.report_on(dataset, "A <made up> corpus.", folder)
    return (folder / "index.html").read_bytes().decode("utf-8")


@pytest.fixture(scope="module")
def reader(written):
    read = Reader()
    read.feed(written)
    read.close()
    assert read.open == []
    return read


def test_the_page_is_html_with_a_language_and_a_title(written, reader):
    assert written.startswith("<!DOCTYPE html>")
    assert reader.elements[0] == ("html", {"lang": "en"})
    assert ("meta", {"charset": "utf-8"}) in reader.elements
    assert ("title", "Word-class embeddings of made up") in reader.texts


def test_the_page_loads_nothing(written, reader):
    assert not re.search(r"(https?:)?//[a-z]", re.sub(r"(?m)^ *//.*$", "", written))
    assert "@import" not in written
    assert "url(" not in written
    for tag, attributes in reader.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        assert "src" not in attributes
        if "href" in attributes:
            assert attributes["href"] in {"terms.png", "demo.wce", "result.json"}


def test_a_hostile_class_name_stays_text(reader, hostile):
    assert not any(tag == "b" for tag, _ in reader.elements)
    headings = [text for tag, text in reader.texts if tag == "h3"]
    assert hostile in headings
    assert ("p", "A <made up> corpus.") in reader.texts


def test_there_are_exactly_the_two_scripts_that_were_meant(reader, hostile):
    scripts = [attributes for tag, attributes in reader.elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "map-values"}, {}]
    values = next(text for tag, text in reader.texts if tag == "script" and text.startswith("{"))
    assert hostile in json.loads(values)["classes"]


def test_pictures_and_fields_say_what_they_are(reader):
    for tag, attributes in reader.elements:
        if tag in {"svg", "input"}:
            assert attributes["aria-label"]


def test_identities_are_given_once(reader):
    identities = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(set(identities)) == len(identities)


def test_the_script_finds_every_element_it_asks_for(written, reader):
    script = [text for tag, text in reader.texts if tag == "script"][-1]
    asked = set(re.findall(r'getElementById\("([^"]+)"\)', script))
    assert asked <= {attributes.get("id") for _, attributes in reader.elements}


def test_the_page_adapts_to_dark_screens_and_phones(written):
    assert "prefers-color-scheme: dark" in written
    assert "max-width: 640px" in written
    assert 'name="viewport"' in written


def test_words_are_marked_by_their_side_and_strength():
    shown = colored("a moon, no rose <b>", [(2, 6, 1.0), (8, 10, 0.01), (11, 15, -0.5)])
    assert shown == (
        'a <mark class="for" style="--s:100%">moon</mark>, no '
        '<mark class="against" style="--s:50%">rose</mark> &lt;b&gt;'
    )
    assert colored("<b>", []) == "&lt;b&gt;"
    assert colored("moon", [(0, 4, 0.0)]) == "moon"


def test_nobody_is_told_of_certainty():
    sure = {"kind": "right", "true": "a", "probability": 0.9999}
    assert verdict(sure) == "over 99% sure, and right"
    unsure = {"kind": "mistaken", "true": "b", "probability": 0.42}
    assert verdict(unsure) == "42% sure, but it is b"
