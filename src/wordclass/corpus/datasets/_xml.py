"""Elements of an XML document that may be broken, or out to do harm."""

import re
from collections.abc import Iterator
from contextlib import suppress
from html.entities import name2codepoint
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from wordclass.corpus.datasets._members import Member
from wordclass.errors import FormatError

# what XML forbids, and what some corpora have all the same
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BARE_AMPERSAND = re.compile(rb"&(?![A-Za-z][\w.-]*;|#\d+;|#x[0-9A-Fa-f]+;)")
_FORBIDDEN_REFERENCE = re.compile(rb"&#0*(?:[0-8]|1[124-9]|2\d|3[01]);")
_ENTITIES = {name: chr(code) for name, code in name2codepoint.items()}


def parse(member: Member) -> Element:
    """Parse a document and return its root.

    Nothing outside the document is ever read. Entities of its own are refused, since a few lines
    of them can stand for gigabytes; those of HTML are understood. Where the document is not well
    formed, it is tried again without control characters and with bare ampersands escaped.

    Raises
    ------
    FormatError
        It still is not XML; the line is that of the document.
    """
    data = member.data
    if b"<!ENTITY" in (data.replace(b"\0", b"") if b"\0" in data else data):
        raise FormatError(member.place, None, "it declares entities, which no corpus does: refused")
    with suppress(ElementTree.ParseError, ValueError, LookupError):
        return _parse(data)
    data = _FORBIDDEN_REFERENCE.sub(b" ", _CONTROLS.sub(b" ", data))
    try:
        return _parse(_BARE_AMPERSAND.sub(b"&amp;", data))
    except ElementTree.ParseError as error:
        reason = f"not well-formed XML: {error.msg}"
        raise FormatError(member.place, error.position[0], reason) from error
    except (ValueError, LookupError) as error:  # an encoding that is not, or is not known
        raise FormatError(member.place, None, f"no readable XML: {error}") from error


def text_of(element: Element) -> str:
    """Return all text in an element, whatever elements are in it, without space around it."""
    return "".join(element.itertext()).strip()


def texts_of(elements: Iterator[Element] | list[Element]) -> list[str]:
    """Return the texts of elements, without those that are empty."""
    return [text for element in elements if (text := text_of(element))]


def _parse(data: bytes) -> Element:
    parser = ElementTree.XMLParser()
    parser.entity.update(_ENTITIES)
    return ElementTree.XML(data, parser)
