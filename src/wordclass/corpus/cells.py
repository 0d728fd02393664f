"""Tables of cells: what CSV, TSV and XLSX share."""

import csv
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from wordclass.corpus import records
from wordclass.corpus.lines import Span, decode_lines, spans
from wordclass.corpus.reader import ReadOptions, Record
from wordclass.errors import FormatError, InputError, NoRecordsError
from wordclass.storage.files import Address, File, open_for_reading

Rows = Iterator[tuple[int | str, Any]]  # cells, or what is wrong

_DELIMITERS = ",;\t|"
_SAMPLE = 64  # lines that tell the delimiter
_MOST_CELLS = 1 << 14  # that are looked at for strange separators
_LARGEST_CELL = 2**31 - 1  # the most a C long can hold everywhere
_REASONS = {  # what the csv module says, and what it means
    "unexpected end of data": "a quote is opened and never closed",
    "new-line character seen": "a carriage return in a cell that is not quoted",
}


def read(
    path: File, options: ReadOptions, span: Span | None = None, delimiter: str | None = None
) -> Iterator[list[Any]]:
    """Read a table whose cells are quoted as Excel does it; the options may name the delimiter.

    All values are str, and an empty label cell is no label.
    """
    delimiter = options.delimiter or delimiter
    delimiter = "\t" if delimiter in ("tab", "\\t") else delimiter
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InputError(f"delimiter is {delimiter!r}; expected one character, such as ';'")
    rows = _rows(path, options, delimiter, span)
    return records.in_blocks(path, records_of(path, rows, options))


def cut(path: File, options: ReadOptions, n_bytes: int) -> list[Span]:
    """Cut a file at line ends that are outside of quotes.

    That is known by counting quotes. Where a cell that is not quoted has an odd number of them
    this is wrong, and if it cuts a quoted cell, the part before ends in an open quote, which is an
    error. A remote file stays whole: counting would fetch all of it.
    """
    found = [] if isinstance(path, Address) else spans(path, options.encoding, n_bytes)
    kept, n_quotes, begin = [], 0, 0
    with open_for_reading(path, stream=True) as stream:
        for start, end in found:
            while (left := end - stream.tell()) > 0:
                n_quotes += stream.read(min(left, 1 << 22)).count(b'"')
            del start
            if n_quotes % 2 == 0:
                kept.append((begin, end))
                begin = end
    if found and begin < found[-1][1]:
        kept.append((begin, found[-1][1]))
    return kept


def records_of(path: File, rows: Rows, options: ReadOptions) -> Iterator[Record | FormatError]:
    """Make records of rows of cells, the first of which names the columns unless told otherwise."""
    if options.label_separator == "":
        whole = "None (--label-separator none) keeps cells whole"
        raise InputError(f"label_separator is empty; {whole}")
    place, header = next(rows, (None, []))
    if place is None:
        raise NoRecordsError(path, None, "empty: expected a header line that names the columns")
    if not options.header:
        rows = chain([(place, header)], rows)
        header = [str(k) for k in range(1, len(header) + 1)]
    fields = records.choose_fields(header, options, path, place)
    is_whole = options.label_separator in (None, "none")
    fields = fields.at_positions(header, "" if is_whole else options.label_separator)
    return records.from_rows(path, _checked(path, rows, fields), options, fields)


def _checked(path: File, rows: Rows, fields: records.Fields) -> Rows:
    """Give the rows, all of one length; in the end, warn where cells hold labels in a strange way.

    At most a few thousand different cells are looked at: classes are fewer.
    """
    n_columns = len(fields.header or [])
    column = fields.labels[0] if len(fields.labels) == 1 and fields.separator else None
    seen: Counter[str] = Counter()
    for place, cells in rows:
        if len(cells) != n_columns:
            reason = f"{len(cells)} cells, but the header names {n_columns} columns"
            yield place, FormatError(path, place, reason)
            continue
        if column is not None and (cells[column] in seen or len(seen) < _MOST_CELLS):
            seen[cells[column]] += 1
        yield place, cells
    if problem := _problem(seen, fields.separator or ""):
        hint = "label_separator= (--label-separator) tells what separates labels; None: nothing"
        warnings.warn(f"{path}: {problem}; {hint}", stacklevel=2)


def _problem(cells: Counter[str], separator: str) -> str | None:
    """Tell of a separator that seems to be part of names, or of another that seems to be in use.

    Where a cell holds several labels, these usually occur in other cells too; where it is one name
    that happens to have the separator in it, its parts occur nowhere else.

    Examples
    --------
    >>> _problem(Counter({"Sales; Returns": 9, "Support": 9}), ";")
    "'Sales; Returns' was read as several labels, which occur in no other cell"
    >>> _problem(Counter({"sports|news": 9, "sports": 9, "news": 9}), ";")
    "'sports|news' looks like several labels, separated by '|'"
    """
    names: Counter[str] = Counter()
    for cell, n_records in cells.items():
        names.update(dict.fromkeys(records.split_cell(cell, separator), n_records))
    if name := _usual(cells, separator, are_shared=False):
        return f"{name!r:.60} was read as several labels, which occur in no other cell"
    for other in _DELIMITERS.replace(separator, ""):
        name = _usual(names, other, are_shared=True)
        if other == "|":  # no name has that
            name = next((each for each in names if len(records.split_cell(each, other)) > 1), None)
        if name:
            return f"{name!r:.60} looks like several labels, separated by {other!r}"
    return None


def _usual(cells: Counter[str], separator: str, *, are_shared: bool) -> str | None:
    """Return a cell whose parts all occur in other cells too (or one alone), or all do not.

    None unless most records with a separator have such a cell, and there are a few of them; where
    the parts are not shared, of each.
    """
    parts = {cell: {*records.split_cell(cell, separator)} for cell in cells if separator in cell}
    parts = {cell: each for cell, each in parts.items() if len(each) > 1}
    n_cells = Counter(chain(*parts.values(), (cell.strip() for cell in cells if cell not in parts)))
    found = [
        cell
        for cell, each in parts.items()
        if {n_cells[part] > 1 for part in each} == {are_shared} or (are_shared and each & {*cells})
    ]
    n_found, n_least = sum(cells[cell] for cell in found), 3 if are_shared else 3 * len(found)
    is_usual = found and n_found >= max(n_least, sum(cells[cell] for cell in parts) / 2)
    return max(found, key=cells.__getitem__) if is_usual else None


def _rows(
    path: File, options: ReadOptions, delimiter: str | None, span: Span | None = None
) -> Rows:
    """Give each row that is not blank, with the line it starts on; of a range, the header first."""
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))
    lines = decode_lines(path, options.encoding)
    first = [*islice(lines, _SAMPLE)]
    delimiter = delimiter or max(_DELIMITERS, key=lambda each: _fitness(first, each))
    if span is None:
        lines = chain(first, lines)
    else:
        if span[0] and options.header:
            yield from islice(_parsed(path, chain(first, lines), delimiter), 1)
        lines = decode_lines(path, options.encoding, span)
    yield from _parsed(path, lines, delimiter)


def _parsed(path: File, lines: Iterable[str], delimiter: str) -> Rows:
    table = csv.reader(lines, delimiter=delimiter, strict=True)
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


def _fitness(lines: list[str], delimiter: str) -> tuple[bool, int]:
    """Tell whether a delimiter cuts lines into rows of equal length, and how long the first is."""
    try:
        lengths = [len(cells) for cells in csv.reader(lines, delimiter=delimiter) if cells]
    except csv.Error:
        return False, 0
    n_cells = lengths[0] if lengths else 0
    whole = lengths[:-1] if len(lines) == _SAMPLE else lengths  # the last row may go on
    return n_cells > 1 and {*whole} == {n_cells}, n_cells
