"""Rows of named values as a file: CSV, TSV, JSON lines or Parquet, as its ending says."""

import codecs
import csv
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from wordclass import storage
from wordclass.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Rows = list[dict[str, Any]]


def check_ending(path: Path) -> str:
    """Return the ending that decides the format, and refuse one that names none.

    A device or pipe without an ending, such as /dev/stdout, is given JSON lines.
    """
    ending = Path(storage.uncompressed_name(path)).suffix.lower()
    if not ending and storage.is_stream(path):
        return ".jsonl"
    if ending not in _WRITERS:
        raise InputError(
            f"{path}: its ending names no format of rows; expected {', '.join(_WRITERS)}, each "
            "also with .gz or .zst"
        )
    return ending


@contextmanager
def rows_to(path: Path, columns: Sequence[str] = ()) -> Iterator[Callable[[Rows], None]]:
    """Give a function that writes a block of rows; the file appears when all of them are written.

    In a table, several values in one cell are separated by `;` (CSV, TSV) or a list (Parquet), and
    nested values are JSON. The first block decides the columns of a CSV or TSV file; JSON lines and
    CSV are written as they come, Parquet is held in memory until the end.

    Parameters
    ----------
    path : Path
        Its ending decides: .csv, .tsv, .jsonl or .parquet, each also with .gz or .zst.
    columns : sequence of str, optional
        The first columns of a table, which it has also where there are no rows.
    """
    make = _WRITERS[check_ending(path)]
    with storage.writing(path) as stream, make(stream, columns) as write:
        yield write


def json_line(row: dict[str, Any]) -> bytes:
    """Write a row as a line of JSON; a lone surrogate, which UTF-8 cannot hold, becomes ?."""
    return _as_json(row).encode("utf-8", "replace") + b"\n"


@contextmanager
def _json_lines(stream: BinaryIO, _columns: Sequence[str]) -> Iterator[Callable[[Rows], None]]:
    yield lambda rows: stream.writelines(map(json_line, rows))


@contextmanager
def _cells(
    stream: BinaryIO, columns: Sequence[str], delimiter: str
) -> Iterator[Callable[[Rows], None]]:
    text = codecs.getwriter("utf-8")(stream, "replace")
    # all is quoted: the csv module would leave a lone \r bare, and then not read it
    table = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n")
    header: list[str] = []

    def write(rows: Rows) -> None:
        names = [*dict.fromkeys([*(header or columns), *(name for row in rows for name in row)])]
        if header and names != header:
            raise InputError(
                f"a row has the column {names[-1]!r}, which the first ones did not have; "
                "a .jsonl file may hold such rows"
            )
        if not header:
            table.writerow(names)
            header.extend(names)
        table.writerows([_cell(row.get(name)) for name in header] for row in rows)

    yield write
    if columns and not header:
        write([])


def _cell(value: object) -> object:
    if isinstance(value, list) and not any(isinstance(each, list | dict) for each in value):
        return ";".join(map(str, value))
    return _as_json(value) if isinstance(value, list | dict) else value


@contextmanager
def _parquet(stream: BinaryIO, columns: Sequence[str]) -> Iterator[Callable[[Rows], None]]:
    import polars as pl

    held: Rows = []
    yield held.extend
    names = dict.fromkeys([*columns, *(name for row in held for name in row)])
    table = [_column(name, [row.get(name) for row in held]) for name in names]
    pl.DataFrame(table).write_parquet(stream)


def _column(name: str, values: list[Any]) -> "pl.Series":
    """Return a column of one type: text where values are of several, or too large a number."""
    import polars as pl

    try:
        return pl.Series(name, [_cell(each) if isinstance(each, dict) else each for each in values])
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, [each if each is None else _as_text(each) for each in values])


def _as_text(value: object) -> str:
    written = value if isinstance(value, str) else _as_json(value)
    return written.encode("utf-8", "replace").decode()


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


_WRITERS = {
    ".csv": partial(_cells, delimiter=","),
    ".tsv": partial(_cells, delimiter="\t"),
    ".jsonl": _json_lines,
    ".parquet": _parquet,
}
