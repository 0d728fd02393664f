"""Tables of cells: the code that CSV, TSV and XLSX share."""

import csv
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from wordclass.corpus import records
from wordclass.corpus.documents import Record
from wordclass.corpus.lines import Span, cut_at_lines, decode_lines
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, InputError, NoRecordsError
from wordclass.storage.files import Address, File, open_for_reading

Rows = Iterator[tuple[int | str, Any]]  # place with cells, or with an error

_DELIMITERS = ",;\t|"
_SNIFFED_LINES = 64
_MAX_COUNTED_CELLS = 1 << 14  # distinct label cells that are examined for unusual separators
_MAX_CELL_CHARACTERS = 2**31 - 1  # the largest C long that all platforms have
_PROBLEMS = {  # messages of the csv module, and clearer ones
    "unexpected end of data": "a quote is opened and never closed",
    "new-line character seen": "a carriage return in a cell that is not quoted",
}


def read(
    path: File, options: ReadOptions, span: Span | None = None, delimiter: str | None = None
) -> Iterator[list[Any]]:
    """Read a table with cells quoted as Excel does it.

    All values are str, and an empty label cell is no label. The delimiter of the options takes
    precedence over the argument.
    """
    delimiter = options.delimiter or delimiter
    delimiter = "\t" if delimiter in ("tab", "\\t") else delimiter
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise InputError(f"delimiter is {delimiter!r}", expected="one character, such as ';'")
    rows = _rows(path, options, delimiter, span)
    return records.collect_blocks(path, records_of(path, rows, options))


def cut(path: File, options: ReadOptions, n_bytes: int) -> list[Span]:
    """Cut a file at line ends that are outside of quotes.

    Quotes are counted to find such line ends. The count is wrong after an unquoted cell with an odd
    number of quotes. If this cuts a quoted cell, the span before ends in an open quote, which is an
    error. A remote file stays whole because counting would download it.
    """
    spans = [] if isinstance(path, Address) else cut_at_lines(path, options.encoding, n_bytes)
    merged_spans = []
    n_quotes = 0
    begin = 0
    with open_for_reading(path, stream=True) as stream:
        for _, end in spans:
            while (n_remaining := end - stream.tell()) > 0:
                n_quotes += stream.read(min(n_remaining, 1 << 22)).count(b'"')
            if n_quotes % 2 == 0:
                merged_spans.append((begin, end))
                begin = end
    if spans and begin < spans[-1][1]:
        merged_spans.append((begin, spans[-1][1]))
    return merged_spans


def records_of(path: File, rows: Rows, options: ReadOptions) -> Iterator[Record | FormatError]:
    """Convert rows of cells to records. The first row names the columns if there is a header."""
    if options.label_separator == "":
        raise InputError(
            "label_separator is empty",
            expected="a character",
            hint="use None (--label-separator none) to keep cells whole",
        )
    place, header = next(rows, (None, []))
    if place is None:
        problem = "the file is empty"
        raise NoRecordsError(path, None, problem, expected="a header line that names the columns")
    if not options.header:
        rows = chain([(place, header)], rows)
        header = [str(k) for k in range(1, len(header) + 1)]
    fields = records.choose_fields(header, options, path, place)
    has_separator = options.label_separator not in (None, "none")
    fields = fields.at_positions(header, options.label_separator if has_separator else "")
    return records.from_rows(path, _check_rows(path, rows, fields), options, fields)


def _check_rows(path: File, rows: Rows, fields: records.Fields) -> Rows:
    """Yield the rows and check that all have the same length.

    At the end, warn if the label cells look as if another separator were in use. At most a few
    thousand different cells are examined, as classes are fewer.
    """
    n_columns = len(fields.header or [])
    column = fields.labels[0] if len(fields.labels) == 1 and fields.separator else None
    cell_counts: Counter[str] = Counter()
    for place, cells in rows:
        if len(cells) != n_columns:
            problem = f"{len(cells)} cells, but the header names {n_columns} columns"
            yield place, FormatError(path, place, problem)
            continue
        if column is not None:
            cell = cells[column]
            if cell in cell_counts or len(cell_counts) < _MAX_COUNTED_CELLS:
                cell_counts[cell] += 1
        yield place, cells
    if warning := _describe_suspicious_separator(cell_counts, fields.separator or ""):
        hint = "use label_separator= (--label-separator) to name the separator, or None"
        warnings.warn(f"{path}: {warning}; {hint}", stacklevel=2)


def _describe_suspicious_separator(cells: Counter[str], separator: str) -> str | None:
    """Describe a separator that seems to be part of names, or another one that seems to be in use.

    If a cell holds several labels, these usually occur in other cells too. If it is one name that
    contains the separator, its pieces occur nowhere else.

    Examples
    --------
    >>> _describe_suspicious_separator(Counter({"Sales; Returns": 9, "Support": 9}), ";")
    "'Sales; Returns' was read as several labels, which occur in no other cell"
    >>> cells = Counter({"sports|news": 9, "sports": 9, "news": 9})
    >>> _describe_suspicious_separator(cells, ";")
    "'sports|news' looks like several labels, separated by '|'"
    """
    names: Counter[str] = Counter()
    for cell, n_records in cells.items():
        names.update(dict.fromkeys(records.split_cell(cell, separator), n_records))
    if typical := _find_typical_cell(cells, separator, are_shared=False):
        return f"{typical!r:.60} was read as several labels, which occur in no other cell"
    for delimiter in _DELIMITERS.replace(separator, ""):
        candidate = _find_typical_cell(names, delimiter, are_shared=True)
        if delimiter == "|":  # no name contains that
            compound_names = (n for n in names if len(records.split_cell(n, delimiter)) > 1)
            candidate = next(compound_names, None)
        if candidate:
            return f"{candidate!r:.60} looks like several labels, separated by {delimiter!r}"
    return None


def _find_typical_cell(cells: Counter[str], separator: str, *, are_shared: bool) -> str | None:
    """Return the most frequent cell whose pieces are shared with other cells, or are not.

    If `are_shared`, the pieces all occur in other cells too, or one of them is a cell of its own.
    Otherwise none of them occurs elsewhere. Return None unless most records with a separator have
    such a cell and there are at least three of them, or three per cell if pieces are not shared.
    """
    pieces = {cell: {*records.split_cell(cell, separator)} for cell in cells if separator in cell}
    pieces = {cell: names for cell, names in pieces.items() if len(names) > 1}
    single_names = (cell.strip() for cell in cells if cell not in pieces)
    n_cells = Counter(chain(*pieces.values(), single_names))
    matches = [
        cell
        for cell, names in pieces.items()
        if {n_cells[name] > 1 for name in names} == {are_shared}
        or (are_shared and names & {*cells})
    ]
    n_records = sum(cells[cell] for cell in matches)
    min_records = 3 if are_shared else 3 * len(matches)
    is_typical = n_records >= max(min_records, sum(cells[cell] for cell in pieces) / 2)
    return max(matches, key=cells.__getitem__) if matches and is_typical else None


def _rows(
    path: File, options: ReadOptions, delimiter: str | None, span: Span | None = None
) -> Rows:
    """Yield each row that is not blank with its first line. For a span, the header comes first."""
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_CELL_CHARACTERS))
    lines = decode_lines(path, options.encoding)
    first_lines = [*islice(lines, _SNIFFED_LINES)]
    delimiter = delimiter or max(_DELIMITERS, key=lambda sign: _rate_delimiter(first_lines, sign))
    if span is None:
        lines = chain(first_lines, lines)
    else:
        if span[0] and options.header:
            yield from islice(_parse_rows(path, chain(first_lines, lines), delimiter), 1)
        lines = decode_lines(path, options.encoding, span)
    yield from _parse_rows(path, lines, delimiter)


def _parse_rows(path: File, lines: Iterable[str], delimiter: str) -> Rows:
    table = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = table.line_num + 1
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            problem = str(error)
            for start, clearer_problem in _PROBLEMS.items():
                if problem.startswith(start):
                    problem = clearer_problem
            raise FormatError(path, line, f"the row that starts here: {problem}") from error
        if cells:
            yield line, cells


def _rate_delimiter(lines: list[str], delimiter: str) -> tuple[bool, int]:
    """Return whether a delimiter gives rows of equal length, and the length of the first row."""
    try:
        lengths = [len(cells) for cells in csv.reader(lines, delimiter=delimiter) if cells]
    except csv.Error:
        return False, 0
    n_cells = lengths[0] if lengths else 0
    if len(lines) == _SNIFFED_LINES:
        del lengths[-1:]  # the last row may continue in the next line
    return n_cells > 1 and {*lengths} == {n_cells}, n_cells
