"""fastText's own format: one text per line, after its labels, each of them `__label__NAME`."""

import re
from collections.abc import Iterator
from pathlib import Path

from wordclass import storage
from wordclass.corpus import LabelledCorpus, ReadOptions, Record
from wordclass.corpus_formats import _records
from wordclass.corpus_formats._lines import decoded
from wordclass.errors import FormatError

ENDINGS = (".txt", ".ft")

_PREFIX = "__label__"
_SPACE = " \t\v\f\r\0"  # what fastText takes for white space; U+00A0 and the like are none
_LABEL = re.compile(rf"{_PREFIX}([^{_SPACE}]*)(?:[{_SPACE}]+|\Z)")


def read(path: Path, options: ReadOptions) -> Iterator[list[Record]]:
    """Read one text per line; one without labels has none.

    Blank lines are skipped, unless texts alone are read: then line k is text k.
    """
    _records.refuse_fields(options, "fasttext")
    return _records.in_blocks(path, _read_records(path, options))


def write(path: Path, corpus: LabelledCorpus) -> None:
    """Write one text per line; a text with a line break, or a label with a space, is an error."""
    with storage.writing(path) as stream:
        for line in _records.encoded(corpus, _line, str):
            stream.write(line)


def _line(record: Record) -> bytes:
    text, labels = record.text, record.labels
    line = "".join(f"{_PREFIX}{label} " for label in labels) + text
    if "\n" in text or text.endswith("\r"):
        raise ValueError("its text holds a line break, and a fastText file has one text per line")
    if any(not label or set(str(label)) & set(f"{_SPACE}\n") for label in labels):
        raise ValueError("a label is empty or holds white space")
    # U+FEFF at the start of the file would be taken for a byte order mark
    if not line or line.startswith("\ufeff") or _parsed(line) != (text, labels):
        raise ValueError(f"its text is empty or begins with white space, U+FEFF or {_PREFIX!r}")
    return f"{line}\n".encode()


def _read_records(path: Path, options: ReadOptions) -> Iterator[Record]:
    for number, line in enumerate(decoded(path, options.encoding), start=1):
        content = line.removesuffix("\n").removesuffix("\r")
        text, labels = _parsed(content)
        if options.texts_only:
            yield Record(text, [], None, number)
        elif "" in labels:
            raise FormatError(path, number, f"a label without a name: {_PREFIX!r} alone")
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
