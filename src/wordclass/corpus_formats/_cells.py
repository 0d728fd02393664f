"""Tables of cells in a text file, with a header line: what CSV and TSV share."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from wordclass import storage
from wordclass.corpus import LabelledCorpus, ReadOptions, Records
from wordclass.corpus_formats import _fields, _records
from wordclass.corpus_formats._lines import decoded
from wordclass.errors import FormatError, InputError

_LARGEST_CELL = 2**31 - 1  # the most a C long can hold everywhere
_SEPARATOR = ReadOptions().label_separator


def read(path: Path, options: ReadOptions, delimiter: str) -> Iterator[Records]:
    """Read a table whose cells are quoted as Excel does it."""
    if not options.label_separator:
        raise InputError(
            "label_separator is empty; to keep cells whole, give one that no label holds"
        )
    return _records.in_blocks(path, _read_records(path, options, delimiter))


def write(path: Path, corpus: LabelledCorpus, delimiter: str) -> None:
    """Write a table with the columns `text` and `labels`, or `label` where there is one each."""
    with (
        storage.writing(path) as stream,
        io.TextIOWrapper(stream, encoding="utf-8", newline="") as file,
    ):
        # all is quoted: the csv module would leave a lone \r bare, and then not read it
        table = csv.writer(
            file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n"
        )  # fmt: skip
        table.writerow(["text", "labels" if corpus.is_multilabel else "label"])
        for number, (text, labels) in enumerate(_records.spread_as_text(corpus), start=1):
            cell = _SEPARATOR.join(labels)
            if _split(cell, _SEPARATOR) != labels:
                raise _records.cannot_write(
                    number,
                    f"its labels are {labels!r}; in a cell a label cannot be empty, hold "
                    f"{_SEPARATOR!r}, or begin or end with white space",
                )
            table.writerow([text, cell])


def _read_records(path: Path, options: ReadOptions, delimiter: str) -> Iterator[_records.Record]:
    rows = _rows(path, options, delimiter)
    line, header = next(rows, (None, None))
    if header is None:
        raise FormatError(path, None, "empty: expected a header line that names the columns")
    fields = _fields.choose(header, options, path, line)
    text = header.index(fields.text)
    label = None if fields.label is None else header.index(fields.label)
    split = None if fields.split is None else header.index(fields.split)
    for line, cells in rows:
        if len(cells) != len(header):
            raise FormatError(
                path, line, f"{len(cells)} cells, but the header names {len(header)} columns"
            )
        labels = [] if label is None else _split(cells[label], options.label_separator)
        yield _records.Record(cells[text], [*labels], None if split is None else cells[split])


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
            raise FormatError(path, line, f"the row that starts here: {_reason(error)}") from error
        if cells:
            yield line, cells


def _reason(error: csv.Error) -> str:
    known = {
        "unexpected end of data": "a quote is opened and never closed",
        "new-line character seen": "a carriage return in a cell that is not quoted",
    }
    return next((text for start, text in known.items() if str(error).startswith(start)), str(error))


def _split(cell: str, separator: str) -> list[str]:
    pieces = (piece.strip() for piece in cell.split(separator))
    return [piece for piece in pieces if piece]
