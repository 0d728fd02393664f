"""Between a corpus in memory and the records of a file, one at a time."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, cast

from wordclass import progress
from wordclass.corpus import Label, LabelledCorpus, Records, check_lengths
from wordclass.errors import FormatError, InputError

_BLOCK = 4 << 20  # characters
_MOST_RECORDS = 1 << 12


class Record(NamedTuple):
    """One text, its labels in the order of the file, and its split where there is one."""

    text: str
    labels: list[Label]
    split: str | None = None


def in_blocks(path: Path, records: Iterable[Record], total: int | None = None) -> Iterator[Records]:
    """Collect the records of a file into blocks of a few million characters, and report progress.

    Each label of a record is kept once. `total` is the number of records, where it is known
    beforehand. All records have a split, or none.
    """
    step = f"reading {path.name or path}"
    n_read = 0
    for block in _blocks(records):
        progress.report(step, n_read, total)
        n_read += len(block)
        splits = [record.split for record in block if record.split is not None]
        labels = [list(dict.fromkeys(record.labels)) for record in block]
        yield Records([record.text for record in block], labels, splits or None)
    if not n_read:
        raise FormatError(path, None, "no records: expected at least one text")
    progress.report(step, n_read, n_read)


def _blocks(records: Iterable[Record]) -> Iterator[list[Record]]:
    block: list[Record] = []
    n_characters = 0
    for record in records:
        block.append(record)
        n_characters += len(record.text)
        if n_characters >= _BLOCK or len(block) == _MOST_RECORDS:
            yield block
            block, n_characters = [], 0
    if block:
        yield block


def spread(corpus: LabelledCorpus) -> Iterator[Record]:
    """Give the records of a corpus that is to be written, and check each.

    Raises
    ------
    InputError
        The corpus is empty, or a label is neither a str nor an int.
    """
    check_lengths(corpus.texts, len(corpus.labels))
    for number, (text, given) in enumerate(zip(corpus.texts, corpus.labels, strict=True), start=1):
        labels = cast("list[Label]", list(given) if isinstance(given, list) else [given])
        for label in labels:
            if isinstance(label, bool) or not isinstance(label, str | int):
                kind = type(label).__name__
                raise cannot_write(number, f"its label {label!r} is a {kind}, not a str or an int")
        yield Record(text, labels)


def spread_as_text(corpus: LabelledCorpus) -> Iterator[tuple[str, list[str]]]:
    """Give the texts and labels of a corpus that is to be written where all is UTF-8 text.

    Raises
    ------
    InputError
        A label is an int, which would come back as a str; or there is a lone surrogate.
    """
    for number, record in enumerate(spread(corpus), start=1):
        for label in record.labels:
            if not isinstance(label, str):
                raise cannot_write(
                    number, f"its label {label!r} is an int, which would be read as a str; "
                    "make it a str, or write JSONL or Parquet"
                )  # fmt: skip
        names = cast("list[str]", record.labels)
        check_utf8(number, record.text, *names)
        yield record.text, names


def check_utf8(number: int, *values: str) -> None:
    """Refuse a lone surrogate: UTF-8 cannot express it."""
    for value in values:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            found = f"U+{ord(value[error.start]):04X}"
            reason = f"it holds the lone surrogate {found}, which UTF-8 cannot express"
            raise cannot_write(number, reason) from error


def cannot_write(number: int, reason: str) -> InputError:
    """Return the error of a record, counted from 1, that a format cannot express."""
    return InputError(f"record {number} cannot be written: {reason}")
