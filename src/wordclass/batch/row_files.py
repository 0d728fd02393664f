"""Files of rows with named values: CSV, TSV, JSON lines, Parquet or XLSX."""

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordclass import catalogue
from wordclass.corpus.cells import Dialect
from wordclass.corpus.formats.xlsx import MAX_ROWS
from wordclass.errors import InputError
from wordclass.storage import files

if TYPE_CHECKING:
    import polars as pl

Rows = list[dict[str, Any]]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_ENDINGS = (*_DELIMITERS, ".jsonl", ".parquet", ".xlsx")
SPREADSHEET_ENDINGS = (*_DELIMITERS, ".xlsx")

# The first characters of what spreadsheets read as a formula (OWASP ASVS 1.2.10, CWE-1236): a sign,
# or a control character that some of them drop. Full-width signs are included because East Asian
# input methods treat them as the same sign.
_FORMULA = re.compile("[=+\\-@\uff1d\uff0b\uff0d\uff20\t\r\n\0]")
_UNPRINTABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not in XML
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def check_ending(path: Path) -> str:
    """Return the ending of a file of rows, and refuse other endings.

    A device or pipe without an ending, such as /dev/stdout, gets JSON lines.
    """
    ending = Path(files.uncompressed_name(path)).suffix.lower()
    if not ending and files.is_stream(path):
        return ".jsonl"
    if ending not in _ENDINGS:
        expected = f"{', '.join(_ENDINGS)}, each also with .gz or .zst"
        raise InputError(f"{path}: its ending names no format of rows", expected=expected)
    return ending


def check_output(path: Path | None, *, escape_formulas: bool) -> None:
    """Refuse a file whose ending is unknown, or whose format has no formulas to escape.

    Parameters
    ----------
    path : Path or None
        The file, or None for standard output.
    escape_formulas : bool
        See `open_row_writer`.
    """
    ending = None if path is None else check_ending(path)
    if escape_formulas and ending not in _DELIMITERS:
        raise InputError(
            "--escape-formulas is for files that spreadsheets open",
            expected="an output that ends in .csv or .tsv",
            hint="leave the option out, or use another ending",
        )


@contextmanager
def open_row_writer(
    path: Path,
    columns: Sequence[str] = (),
    *,
    escape_formulas: bool = False,
    dialect: Dialect | None = None,
) -> Iterator[Callable[[Rows], None]]:
    """Yield a function that writes a block of rows. The file appears when the context ends.

    JSON lines are written at once. A table needs the columns of all rows and is held in memory
    until the end. Several values in one cell of a table are separated by `;` (CSV, TSV) or form a
    list (Parquet). Nested values are written as JSON.

    Parameters
    ----------
    path : Path
        A file that ends in .csv, .tsv, .jsonl, .parquet or .xlsx, also followed by .gz or .zst.
    columns : sequence of str, optional
        The first columns of a table, which it also has without any rows.
    escape_formulas : bool, default=False
        Whether cells of a CSV or TSV file that a spreadsheet would evaluate start with an
        apostrophe.
    dialect : Dialect, optional
        Delimiter, encoding and byte order mark of a CSV file, and all but the delimiter of a TSV
        file. By default the file is UTF-8 without a mark.
    """
    ending = check_ending(path)
    all_rows: Rows = []
    with files.open_for_writing(path) as stream:
        if ending == ".jsonl":
            yield lambda rows: stream.writelines(map(json_line, rows))
            return
        yield all_rows.extend
        names = [*dict.fromkeys([*columns, *chain.from_iterable(all_rows)])]
        if ending == ".parquet":
            import polars as pl

            table = [_column(name, [row.get(name) for row in all_rows]) for name in names]
            content = io.BytesIO()  # polars would hide why writing to a disk failed
            pl.DataFrame(table).write_parquet(content)
            stream.write(content.getbuffer())
            return
        if ending == ".xlsx":
            cells = [[_cell(row.get(name)) for name in names] for row in all_rows]
            stream.write(_encode_workbook(path, [names, *cells]))
            return
        encoding = "utf-8" if dialect is None else dialect.encoding
        if dialect is not None and dialect.has_mark:
            encoding = "utf-8-sig"
        delimiter = _DELIMITERS[ending]
        if dialect is not None and ending == ".csv":
            delimiter = dialect.delimiter
        text = codecs.getwriter(encoding)(stream, "replace")
        # the csv module would not quote a lone \r, and could not read it then
        writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        to_cell = _escaped_cell if escape_formulas else _cell
        writer.writerow(map(to_cell, names))
        writer.writerows([to_cell(row.get(name)) for name in names] for row in all_rows)


def _encode_workbook(path: Path, rows: Sequence[Sequence[object]]) -> bytes:
    """Return an Excel workbook of one sheet, in which all text is text and not a formula."""
    openpyxl: Any = catalogue.import_extra("openpyxl", f"to write {path}")
    writing: Any = catalogue.import_extra("openpyxl.cell", f"to write {path}")
    if len(rows) > MAX_ROWS:
        problem = f"{path}: {len(rows):,} rows are more than the {MAX_ROWS:,} of Excel"
        raise InputError(problem, hint="write a .csv or .parquet file")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("predictions")
    for row in rows:
        cells = []
        for value in row:
            is_text = not isinstance(value, bool | int | float | None) or _is_too_large(value)
            text = _UNPRINTABLE.sub("?", str(value)) if is_text else value
            cell = writing.WriteOnlyCell(sheet, value=text)
            if is_text:
                cell.data_type = "s"  # openpyxl would take "=1" for a formula
            cells.append(cell)
        sheet.append(cells)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _is_too_large(value: object) -> bool:
    """Return True for numbers that a workbook cannot hold exactly."""
    is_finite = not isinstance(value, float) or math.isfinite(value)
    return not is_finite or (isinstance(value, int) and abs(value) > 2**53)


def json_line(row: dict[str, Any]) -> bytes:
    """Encode a row as a line of JSON. A lone surrogate, which UTF-8 cannot encode, becomes ?."""
    return _as_json(row).encode("utf-8", "replace") + b"\n"


def _cell(value: object) -> object:
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        return ";".join(map(str, value))
    return _as_json(value) if isinstance(value, list | dict) else value


def _escaped_cell(value: object) -> object:
    """Return a cell with an apostrophe before text that a spreadsheet would evaluate.

    Numbers remain unchanged, also in strings and with several in one cell.
    """
    cell = _cell(value)
    if not isinstance(cell, str) or not _FORMULA.match(cell):
        return cell
    is_number = all(_NUMBER.fullmatch(part) for part in cell.split(";"))
    return cell if is_number else f"'{cell}"


def _column(name: str, values: list[Any]) -> "pl.Series":
    """Return a column of one type, which is text if values have several types or are too large."""
    import polars as pl

    flat_values = [_as_json(value) if isinstance(value, dict) else value for value in values]
    try:
        return pl.Series(name, flat_values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        texts = [v if isinstance(v, str | None) else _as_json(v) for v in values]
        encodable = [text and text.encode("utf-8", "replace").decode() for text in texts]
        return pl.Series(name, encodable)


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
