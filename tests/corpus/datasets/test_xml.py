from pathlib import Path

import pytest

from wordclass.corpus.datasets import _xml
from wordclass.corpus.datasets._members import Member
from wordclass.errors import FormatError


def parse(data):
    return _xml.parse(Member("doc.xml", data, Path("corpus.zip")))


def test_a_document_is_parsed_in_its_encoding():
    latin = '<?xml version="1.0" encoding="iso-8859-1"?><a>Größe</a>'.encode("latin-1")
    assert parse(latin).text == "Größe"
    assert parse('<?xml version="1.0" encoding="utf-16"?><a>Größe</a>'.encode("utf-16")).text


def test_text_is_all_that_is_in_an_element():
    root = parse(b"<a> one <b>two</b> three <c/> </a>")
    assert _xml.text_of(root) == "one two three"
    assert _xml.texts_of(root.findall("*")) == ["two"]


@pytest.mark.parametrize(
    "bomb",
    [
        b'<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;">]><a>&c;</a>',
        b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
        b'<!DOCTYPE a [<!ENTITY % b SYSTEM "http://localhost/x">%b;]><a/>',
        '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE a [<!ENTITY b "ha">]><a/>'.encode(
            "utf-16"
        ),
    ],
)
def test_entities_of_its_own_are_refused(bomb):
    with pytest.raises(FormatError, match=r"corpus.zip/doc.xml: declared entities; expected"):
        parse(bomb)


def test_the_entities_of_html_are_understood():
    doctype = b'<!DOCTYPE TEI.2 SYSTEM "tei.dtd">'
    assert parse(doctype + b"<a>caf&eacute; &amp; &#233;</a>").text == "café & é"


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (b"<a>Marks & Spencer</a>", "Marks & Spencer"),
        (b"<a>AT&T; &amp; &#65;</a>", None),
        (b"<a>bell\x07bell</a>", "bell bell"),
        (b"<a>end&#3;</a>", "end "),
        (b"<a>tab&#9;tab</a>", "tab\ttab"),
    ],
)
def test_small_damage_is_mended(broken, text):
    if text is None:
        with pytest.raises(FormatError, match="undefined entity"):
            parse(broken)
    else:
        assert parse(broken).text == text


@pytest.mark.parametrize(
    ("broken", "line"),
    [(b"<a>\n<b>\n</a>", 3), (b"", None), (b"no XML", 1), (b"<a></a><b/>", 1)],
)
def test_what_is_no_xml_is_refused_with_its_line(broken, line):
    with pytest.raises(FormatError, match="not well-formed") as caught:
        parse(broken)
    assert caught.value.line == line or line is None


def test_an_unknown_encoding_is_refused():
    with pytest.raises(FormatError, match=r"doc\.xml"):
        parse(b'<?xml version="1.0" encoding="nonsense"?><a/>')
