"""Parser of XML documents that may be malformed or hostile."""

import re
from collections.abc import Iterator
from contextlib import suppress
from html.entities import name2codepoint
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from wordclass.corpus.datasets._members import Member
from wordclass.errors import FormatError

# characters that XML forbids and some corpora contain
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_BARE_AMPERSAND = re.compile(rb"&(?![A-Za-z][\w.-]*;|#\d+;|#x[0-9A-Fa-f]+;)")
_FORBIDDEN_REFERENCE = re.compile(rb"&#0*(?:[0-8]|1[124-9]|2\d|3[01]);")
_ENTITIES = {name: chr(code) for name, code in name2codepoint.items()}


def parse(member: Member) -> Element:
    """Parse a document and return its root.

    Nothing outside the document is read. Entities of HTML are known. Entities that the document
    declares are refused, because a few lines of them can expand to gigabytes. A malformed document
    is parsed again without control characters and with bare ampersands escaped.

    Raises
    ------
    FormatError
        The document is not XML. The error names the line.
    """
    data = member.data
    if b"<!ENTITY" in (data.replace(b"\0", b"") if b"\0" in data else data):
        raise FormatError(
            member.place, None, "declared entities", expected="none, as in all corpora"
        )
    with suppress(ElementTree.ParseError, ValueError, LookupError):
        return _parse(data)
    data = _FORBIDDEN_REFERENCE.sub(b" ", _CONTROLS.sub(b" ", data))
    try:
        return _parse(_BARE_AMPERSAND.sub(b"&amp;", data))
    except ElementTree.ParseError as error:
        problem = f"not well-formed XML: {error.msg}"
        raise FormatError(member.place, error.position[0], problem) from error
    except (ValueError, LookupError) as error:  # an unknown or wrong encoding
        raise FormatError(member.place, None, f"XML that cannot be read: {error}") from error


def text_of(element: Element) -> str:
    """Return all text in an element and its descendants, without white space around it."""
    return "".join(element.itertext()).strip()


def texts_of(elements: Iterator[Element] | list[Element]) -> list[str]:
    """Return the texts of elements without empty ones."""
    return [text for element in elements if (text := text_of(element))]


def _parse(data: bytes) -> Element:
    parser = ElementTree.XMLParser()
    parser.entity.update(_ENTITIES)
    return ElementTree.XML(data, parser)
