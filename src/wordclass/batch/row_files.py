"""Rows of named values as a file: CSV, TSV, JSON lines or Parquet, as its ending says."""

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordclass.errors import InputError
from wordclass.storage import files

if TYPE_CHECKING:
    import polars as pl

Rows = list[dict[str, Any]]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_ENDINGS = (*_DELIMITERS, ".jsonl", ".parquet")

# What spreadsheets take for the start of a formula (OWASP ASVS 1.2.10, CWE-1236): a sign, or a
# control character that some of them drop. Full-width signs are escaped as a precaution: East
# Asian input methods treat them as the same sign.
_FORMULA = re.compile("[=+\\-@\uff1d\uff0b\uff0d\uff20\t\r\n\0]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def check_ending(path: Path) -> str:
    """Return the ending that decides the format, and refuse one that names none.

    A device or pipe without an ending, such as /dev/stdout, is given JSON lines.
    """
    ending = Path(files.uncompressed_name(path)).suffix.lower()
    if not ending and files.is_stream(path):
        return ".jsonl"
    if ending not in _ENDINGS:
        expected = f"expected {', '.join(_ENDINGS)}, each also with .gz or .zst"
        raise InputError(f"{path}: its ending names no format of rows; {expected}")
    return ending


def check_output(path: Path | None, *, escape_formulas: bool) -> None:
    """Refuse a file whose ending names no format, or whose format has no formulas to escape.

    Parameters
    ----------
    path : Path or None
        None for standard output.
    escape_formulas : bool
        See `rows_to`.
    """
    ending = None if path is None else check_ending(path)
    if escape_formulas and ending not in _DELIMITERS:
        problem = "--escape-formulas is for files that spreadsheets open"
        expected = "expected an output that ends in .csv or .tsv"
        raise InputError(f"{problem}; {expected}, or leave the option out")


@contextmanager
def open_row_writer(
    path: Path, columns: Sequence[str] = (), *, escape_formulas: bool = False
) -> Iterator[Callable[[Rows], None]]:
    """Give a function that writes a block of rows; the file appears when all of them are written.

    JSON lines are written as they come; a table, which needs the columns of all rows, is held in
    memory until the end. Several values in one cell of a table are separated by `;` (CSV, TSV) or a
    list (Parquet), and nested values are JSON.

    Parameters
    ----------
    path : Path
        Its ending decides: .csv, .tsv, .jsonl or .parquet, each also with .gz or .zst.
    columns : sequence of str, optional
        The first columns of a table, which it has also where there are no rows.
    escape_formulas : bool, default=False
        Put an apostrophe before cells of a CSV or TSV file that a spreadsheet would evaluate.
    """
    ending, held = check_ending(path), Rows()
    with files.open_for_writing(path) as stream:
        if ending == ".jsonl":
            yield lambda rows: stream.writelines(map(json_line, rows))
            return
        yield held.extend
        names = [*dict.fromkeys([*columns, *chain.from_iterable(held)])]
        if ending == ".parquet":
            import polars as pl

            table = [_column(name, [row.get(name) for row in held]) for name in names]
            content = io.BytesIO()  # polars would hide the reason why a disk takes no more
            pl.DataFrame(table).write_parquet(content)
            stream.write(content.getbuffer())
            return
        text, delimiter = codecs.getwriter("utf-8")(stream, "replace"), _DELIMITERS[ending]
        # all is quoted: the csv module would leave a lone \r bare, and then not read it
        writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
        to_cell = _escaped_cell if escape_formulas else _cell
        writer.writerow(map(to_cell, names))
        writer.writerows([to_cell(row.get(name)) for name in names] for row in held)


def json_line(row: dict[str, Any]) -> bytes:
    """Write a row as a line of JSON; a lone surrogate, which UTF-8 cannot hold, becomes ?."""
    return _as_json(row).encode("utf-8", "replace") + b"\n"


def _cell(value: object) -> object:
    if isinstance(value, list) and not any(isinstance(each, list | dict) for each in value):
        return ";".join(map(str, value))
    return _as_json(value) if isinstance(value, list | dict) else value


def _escaped_cell(value: object) -> object:
    """Return a cell with an apostrophe before text that a spreadsheet would evaluate.

    Numbers stay as they are, also in text or several in one cell.
    """
    cell = _cell(value)
    if not isinstance(cell, str) or not _FORMULA.match(cell):
        return cell
    is_number = all(_NUMBER.fullmatch(part) for part in cell.split(";"))
    return cell if is_number else f"'{cell}"


def _column(name: str, values: list[Any]) -> "pl.Series":
    """Return a column of one type: text where values are of several, or too large a number."""
    import polars as pl

    plain = [_as_json(each) if isinstance(each, dict) else each for each in values]
    try:
        return pl.Series(name, plain)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        written = [each if isinstance(each, str | None) else _as_json(each) for each in values]
        texts = [each and each.encode("utf-8", "replace").decode() for each in written]
        return pl.Series(name, texts)


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
