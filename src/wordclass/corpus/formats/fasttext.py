"""fastText's own format: one text per line, after its labels, each of them `__label__NAME`."""

import re
from collections.abc import Iterator
from typing import Any

from wordclass.corpus import records
from wordclass.corpus.lines import Span, numbered, spans
from wordclass.corpus.reader import ReadOptions, Record
from wordclass.errors import FormatError
from wordclass.storage.files import File

ENDINGS = (".txt", ".ft")

_PREFIX = "__label__"
_SPACE = " \t\v\f\r\0"  # what fastText takes for white space; U+00A0 and the like are none
_LABEL = re.compile(rf"{_PREFIX}([^{_SPACE}]*)(?:[{_SPACE}]+|\Z)")


def read(path: File, options: ReadOptions, span: Span | None = None) -> Iterator[list[Any]]:
    """Read one text per line; one without labels has none.

    Blank lines are skipped, unless texts alone are read: then line k is text k.
    """
    records.refuse_fields(options, "fasttext")
    return records.in_blocks(path, _read_records(path, options, span))


def cut(path: File, options: ReadOptions, n_bytes: int) -> list[Span]:
    """Cut a file at line ends."""
    return spans(path, options.encoding, n_bytes)


def _read_records(
    path: File, options: ReadOptions, span: Span | None
) -> Iterator[Record | FormatError]:
    for number, line in numbered(path, options, span):
        if isinstance(line, FormatError):
            yield records.skipped(line, options)
            continue
        content = line.removesuffix("\n").removesuffix("\r")
        text, labels = _parsed(content)
        if options.texts_only:
            yield Record(text, [], None, number)
        elif "" in labels:
            reason = f"a label without a name: {_PREFIX!r} alone"
            yield records.skipped(FormatError(path, number, reason), options)
        elif content.strip(_SPACE):
            yield Record(text, [*labels], None, number)


def _parsed(content: str) -> tuple[str, list[str]]:
    """Take the labels off a line.

    Examples
    --------
    >>> _parsed("__label__sci __label__space to the moon")
    ('to the moon', ['sci', 'space'])
    """
    labels = []
    start = len(content) - len(content.lstrip(_SPACE))
    while found := _LABEL.match(content, start):
        labels.append(found[1])
        start = found.end()
    return content[start:], labels
