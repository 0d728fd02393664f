"""Tables of cells in a text file, with a header line: what CSV and TSV share."""

import codecs
import csv
from collections.abc import Iterator
from pathlib import Path

from wordclass import storage
from wordclass.corpus import LabelledCorpus, ReadOptions, Record
from wordclass.corpus_formats import _records
from wordclass.corpus_formats._lines import decoded
from wordclass.errors import FormatError, InputError

_LARGEST_CELL = 2**31 - 1  # the most a C long can hold everywhere
_SEPARATOR = ReadOptions().label_separator
_REASONS = {  # what the csv module says, and what it means
    "unexpected end of data": "a quote is opened and never closed",
    "new-line character seen": "a carriage return in a cell that is not quoted",
}


def read(path: Path, options: ReadOptions, delimiter: str) -> Iterator[list[Record]]:
    """Read a table whose cells are quoted as Excel does it.

    All values are str, and an empty label cell is no label.
    """
    if not options.label_separator:
        raise InputError(
            "label_separator is empty; to keep cells whole, give one that no label holds"
        )
    return _records.in_blocks(path, _read_records(path, options, delimiter))


def write(path: Path, corpus: LabelledCorpus, delimiter: str) -> None:
    """Write a table with the columns `text` and `labels`, or `label` where there is one each."""
    with storage.writing(path) as stream:
        file = codecs.getwriter("utf-8")(stream)
        # all is quoted: the csv module would leave a lone \r bare, and then not read it
        table = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        table.writerow(["text", "labels" if corpus.is_multilabel else "label"])
        table.writerows(_records.encoded(corpus, _row, str))


def _row(record: Record) -> tuple[str, str]:
    cell = _SEPARATOR.join(map(str, record.labels))
    if _records.split_cell(cell, _SEPARATOR) != record.labels:
        raise ValueError(f"a label is empty, holds {_SEPARATOR!r}, or has white space around it")
    return record.text, cell


def _read_records(path: Path, options: ReadOptions, delimiter: str) -> Iterator[Record]:
    rows = _rows(path, options, delimiter)
    line, header = next(rows, (None, None))
    if header is None:
        raise FormatError(path, None, "empty: expected a header line that names the columns")
    fields = _records.choose_fields(header, options, path, line)
    fields = fields._replace(separator=options.label_separator)
    named = ((line, _named(header, cells, path, line)) for line, cells in rows)
    return _records.from_rows(path, named, options, fields)


def _named(header: list[str], cells: list[str], path: Path, line: int) -> dict[str, str]:
    if len(cells) != len(header):
        reason = f"{len(cells)} cells, but the header names {len(header)} columns"
        raise FormatError(path, line, reason)
    return dict(zip(header, cells, strict=True))


def _rows(path: Path, options: ReadOptions, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Give each row that is not blank, with the line it starts on."""
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))
    table = csv.reader(decoded(path, options.encoding), delimiter=delimiter, strict=True)
    while True:
        line = table.line_num + 1
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            told = str(error)
            reason = next((_REASONS[start] for start in _REASONS if told.startswith(start)), told)
            raise FormatError(path, line, f"the row that starts here: {reason}") from error
        if cells:
            yield line, cells
