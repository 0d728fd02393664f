"""The format of fastText: one text per line, after its labels in the form `__label__NAME`."""

import re
from collections.abc import Iterator
from typing import Any

from wordclass.corpus import records
from wordclass.corpus.documents import Record
from wordclass.corpus.lines import Span, cut_at_lines, number_lines
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError
from wordclass.storage.files import File

ENDINGS = (".txt", ".ft")

_PREFIX = "__label__"
_SPACE = " \t\v\f\r\0"  # the white space of fastText, which excludes U+00A0 and the like
_LABEL = re.compile(rf"{_PREFIX}([^{_SPACE}]*)(?:[{_SPACE}]+|\Z)")


def read(path: File, options: ReadOptions, span: Span | None = None) -> Iterator[list[Any]]:
    """Read one text per line.

    Blank lines are skipped unless only texts are read. Line k is then text k.
    """
    records.refuse_fields(options, "fasttext")
    return records.collect_blocks(path, _read_records(path, options, span))


def cut(path: File, options: ReadOptions, n_bytes: int) -> list[Span]:
    """Cut a file at line ends."""
    return cut_at_lines(path, options.encoding, n_bytes)


def _read_records(
    path: File, options: ReadOptions, span: Span | None
) -> Iterator[Record | FormatError]:
    for number, line in number_lines(path, options, span):
        if isinstance(line, FormatError):
            yield records.stop_or_skip(line, options)
            continue
        content = line.removesuffix("\n").removesuffix("\r")
        text, labels = _split_line(content)
        if options.texts_only:
            yield Record(text, [], None, number)
        elif "" in labels:
            problem = f"a label without a name: {_PREFIX!r} alone"
            error = FormatError(path, number, problem, expected=f"{_PREFIX}NAME")
            yield records.stop_or_skip(error, options)
        elif content.strip(_SPACE):
            yield Record(text, [*labels], None, number)


def _split_line(content: str) -> tuple[str, list[str]]:
    """Split a line into its text and its labels.

    Examples
    --------
    >>> _split_line("__label__sci __label__space to the moon")
    ('to the moon', ['sci', 'space'])
    """
    labels = []
    start = len(content) - len(content.lstrip(_SPACE))
    while match := _LABEL.match(content, start):
        labels.append(match[1])
        start = match.end()
    return content[start:], labels
