"""Tables of cells: the code that CSV, TSV and XLSX share."""

import csv
import re
import warnings
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

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
_MAX_ROW_LINES = 10_000  # of one row, if rows that cannot be parsed are skipped
_MAX_TABBED_ROW_LINES = 2_000
_MAX_CELL_CHARACTERS = 2**31 - 1  # the largest C long that all platforms have
_PROBLEMS = {  # messages of the csv module, and clearer ones
    "unexpected end of data": "a quote is opened and never closed",
    "new-line character seen": "a carriage return in a cell that is not quoted",
}


class Dialect(NamedTuple):
    """Delimiter, encoding and byte order mark of a CSV or TSV file."""

    delimiter: str
    encoding: str
    has_mark: bool


def detect_dialect(path: File, options: ReadOptions) -> Dialect:
    """Return the dialect of a CSV or TSV file."""
    with open_for_reading(path) as stream:
        has_mark = stream.read(3) == b"\xef\xbb\xbf"
    delimiter = "\t" if options.delimiter in ("tab", "\\t") else options.delimiter
    if delimiter is None:
        lines = [*islice(decode_lines(path, options.encoding), _SNIFFED_LINES)]
        delimiter = detect_delimiter(lines, _quote_character(options))
    return Dialect(delimiter, options.encoding, has_mark)


def read(
    path: File, options: ReadOptions, span: Span | None = None, delimiter: str | None = None
) -> Iterator[list[Any]]:
    """Read a table with cells quoted as Excel does it.

    All values are str, and an empty label cell is no label. The delimiter of the options takes
    precedence over the argument.
    """
    delimiter = options.delimiter or delimiter
    delimiter = "\t" if delimiter in ("tab", "\\t") else delimiter
    quote = _quote_character(options)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in f"{quote}\r\n"):
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
    quote = _quote_character(options).encode(options.encoding)
    n_quotes = 0
    begin = 0
    with open_for_reading(path, stream=True) as stream:
        for _, end in spans:
            while (n_remaining := end - stream.tell()) > 0:
                chunk = stream.read(min(n_remaining, 1 << 22))
                n_quotes += chunk.count(quote) if quote else 0
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
        if isinstance(cells, FormatError):
            yield place, cells
            continue
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
    quote = _quote_character(options)
    lines = decode_lines(path, options.encoding)
    first_lines = [*islice(lines, _SNIFFED_LINES)]
    delimiter = delimiter or detect_delimiter(first_lines, quote)

    def parse(lines: Iterable[str]) -> Rows:
        if delimiter == "\t":
            return _parse_tabbed_rows(lines, quote)
        return _parse_rows(path, lines, delimiter, options)

    if span is None:
        lines = chain(first_lines, lines)
    else:
        if span[0] and options.header:
            yield from islice(parse(chain(first_lines, lines)), 1)
        lines = decode_lines(path, options.encoding, span)
    yield from parse(lines)


def _quote_character(options: ReadOptions) -> str:
    """Return the quote character, or "" if no cell is quoted."""
    quote = "" if options.quote in (None, "none", "") else str(options.quote)
    if len(quote) > 1 or (quote in "\r\n" and quote):
        raise InputError(f"quote is {quote!r}", expected="one character, or none")
    return quote


class _LineFeed:
    """Iterator of lines for the csv module that remembers the lines of the current row.

    Parameters
    ----------
    lines : iterator of str
        The lines of a file.
    max_lines : int, optional
        Largest number of lines of a row. By default a row may have any number.
    """

    def __init__(self, lines: Iterator[str], max_lines: int | None = None) -> None:
        self._lines = lines
        self._waiting: deque[str] = deque()
        self._row: list[str] = []
        self._max_lines = max_lines
        self.n_lines = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._max_lines is not None and len(self._row) >= self._max_lines:
            raise StopIteration
        line = self._waiting.popleft() if self._waiting else next(self._lines)
        self._row.append(line)
        self.n_lines += 1
        return line

    def start_row(self) -> None:
        """Forget the lines of the last row."""
        self._row = []

    def skip_first_line(self) -> None:
        """Return all lines of the row but the first, so that they are read again."""
        self._waiting.extendleft(reversed(self._row[1:]))
        self.n_lines -= len(self._row[1:])
        self._row = []


def _csv_reader(
    lines: Iterable[str], delimiter: str, quote: str, *, is_strict: bool
) -> Iterator[list[str]]:
    if not quote:
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=is_strict)
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=is_strict)


def _parse_rows(path: File, lines: Iterable[str], delimiter: str, options: ReadOptions) -> Rows:
    """Yield rows with the line they start on. A row that cannot be parsed may be skipped."""
    can_skip = options.on_bad_record == "skip"
    feed = _LineFeed(iter(lines), _MAX_ROW_LINES if can_skip else None)
    quote = _quote_character(options)
    table = _csv_reader(feed, delimiter, quote, is_strict=True)
    while True:
        line = feed.n_lines + 1
        feed.start_row()
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            problem = str(error)
            for start, clearer_problem in _PROBLEMS.items():
                if problem.startswith(start):
                    problem = clearer_problem
            hint = 'use quote=None (--quote none) if " is text' if "quote" in problem else None
            bad_row = FormatError(path, line, f"the row that starts here: {problem}", hint=hint)
            if not can_skip:
                raise bad_row from error
            feed.skip_first_line()
            yield line, bad_row
            continue
        if cells:
            yield line, cells


def _parse_tabbed_rows(lines: Iterable[str], quote: str) -> Rows:
    """Yield rows of cells between tabs with the line they start on.

    A quote is part of the text unless the cell starts and ends with it. A quoted cell may contain
    line ends if the row then has as many cells as the first one.
    """
    feed = _LineFeed(iter(lines), _MAX_TABBED_ROW_LINES)
    n_columns = 0
    for text in feed:
        line = feed.n_lines
        cells, is_open = _split_tabs(text, quote)
        row = text
        while is_open and (next_line := next(feed, "")):
            row += next_line
            if quote not in next_line:
                continue
            row_cells, is_open = _split_tabs(row, quote)
            if row_cells and not is_open and n_columns in (0, len(row_cells)):
                cells = row_cells
                feed.start_row()
        feed.skip_first_line()
        n_columns = n_columns or len(cells)
        if cells != [""]:
            yield line, cells


def _split_tabs(text: str, quote: str) -> tuple[list[str], bool]:
    r"""Split a row into cells, and return whether a quoted cell may continue in the next line.

    There are no cells if one without quotes would contain a line end.

    Examples
    --------
    >>> _split_tabs('a 5" disk\t"a ""quoted"" cell"', '"')
    (['a 5" disk', 'a "quoted" cell'], False)
    """
    content = text.removesuffix("\n").removesuffix("\r")
    if not quote or quote not in content:
        return content.split("\t"), False
    cells: list[str] = []
    start = 0
    while start <= len(content):
        cell, is_closed = _read_quoted(content, start, quote)
        if is_closed:
            cells.append(cell.replace(quote * 2, quote))
            start += len(cell) + 3
            continue
        if cell:
            return [*cells, *content[start:].split("\t")], True
        end = content.find("\t", start)
        end = len(content) if end < 0 else end
        if "\n" in content[start:end]:
            return [], False
        cells.append(content[start:end])
        start = end + 1
    return cells, False


def _read_quoted(content: str, start: int, quote: str) -> tuple[str, bool]:
    """Return the content of a quoted cell, and whether its quote is closed.

    The content is "" if the cell is not quoted.
    """
    if not content.startswith(quote, start):
        return "", False
    inner = re.escape(quote)
    match = re.compile(f"{inner}((?:[^{inner}]|{inner}{inner})*)({inner})?").match(content, start)
    if match is None:
        return "", False
    if match[2] is None:
        return match[1] or quote, False  # open until the end of the line
    is_end = match.end() == len(content) or content[match.end()] == "\t"
    return (match[1], True) if is_end else ("", False)


def detect_delimiter(lines: Sequence[str], quote: str = '"') -> str:
    """Return the delimiter that splits lines into the most cells of equal number."""
    return max(_DELIMITERS, key=lambda sign: _rate_delimiter(lines, sign, quote))


def _rate_delimiter(lines: Sequence[str], delimiter: str, quote: str) -> tuple[bool, int]:
    """Return whether a delimiter gives rows of equal length, and the length of the first row."""
    if delimiter == "\t":
        lengths = [len(line.split("\t")) for line in lines if line.strip()]
        if lengths and min(lengths) == max(lengths) > 1:
            return True, lengths[0]  # whatever quotes the cells contain
    table = _csv_reader(lines, delimiter, quote, is_strict=False)
    try:
        lengths = [len(cells) for cells in table if cells]
    except csv.Error:
        return False, 0
    n_cells = lengths[0] if lengths else 0
    if len(lines) == _SNIFFED_LINES:
        del lengths[-1:]  # the last row may continue in the next line
    return n_cells > 1 and {*lengths} == {n_cells}, n_cells
