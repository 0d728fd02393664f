"""Excel workbooks: the cells of the first sheet, read as text like those of a CSV file."""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from wordclass import catalogue
from wordclass.corpus import cells, records
from wordclass.corpus.documents import Record
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, MissingExtraError
from wordclass.storage import files

ENDINGS = (".xlsx",)

# the limits of Excel
MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384

_CELL_BYTES = 8  # memory of a cell in a list, without its text


def read(path: Path, options: ReadOptions) -> Iterator[list[Record]]:
    """Read the rows of the first sheet that are not empty, with the results of formulas."""
    return records.collect_blocks(path, cells.records_of(path, _rows(path), options))


def _rows(path: Path) -> cells.Rows:
    """Yield the rows that are not empty, all at least as long as the first."""
    n_columns = 0
    content = files.read_content(path)
    growth = files.growth_of(path, len(content))
    with io.BytesIO(content) as stream:
        for number, texts in _stored_rows(path, stream):
            n_used = max(texts, default=0)
            n_columns = n_columns or n_used  # the number of columns of the header
            if n_used:
                n_cells = max(n_used, n_columns)
                growth.add(_CELL_BYTES * n_cells + sum(map(len, texts.values())))
                row = [""] * n_cells
                for column, text in texts.items():
                    row[column - 1] = text
                yield f"row {number}", row


def _stored_rows(path: Path, content: io.BytesIO) -> Iterator[tuple[int, dict[int, str]]]:
    """Yield the number of each row in the file and its cells that are not empty, by column.

    `openpyxl.iter_rows` also creates all rows and cells in between, so a small file could ask for
    any number of them.
    """
    n_before = 0
    try:
        files.check_archive(path, content)
        for number, described_cells in _parse_first_sheet(path, content):
            _check_number("row", number, n_before + 1, MAX_ROWS)
            n_before = number
            yield number, _texts_by_column(described_cells)
    except (FormatError, MissingExtraError):
        raise
    except Exception as error:  # zipfile, XML and openpyxl raise many kinds
        raise FormatError(path, None, f"not a workbook, or a damaged one: {error}") from error


def _parse_first_sheet(
    path: Path, content: io.BytesIO
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield the number of each row in the file and its cells as openpyxl describes them."""
    openpyxl = catalogue.import_extra("openpyxl", f"to read {path}")
    reader = catalogue.import_extra("openpyxl.worksheet._reader", f"to read {path}")
    book = openpyxl.load_workbook(content, read_only=True, data_only=True)
    sheet = book.worksheets[0]
    with sheet._get_source() as source:
        parser = reader.WorkSheetParser(
            source,
            _SharedStrings(sheet._shared_strings),
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        yield from parser.parse()


class _SharedStrings(list[str]):
    """Texts that cells refer to by number. Negative numbers are refused."""

    def __getitem__(self, number: Any) -> Any:  # noqa: ANN401 - as in list
        if number < 0:
            raise IndexError(f"shared string {number}")
        return super().__getitem__(number)


def _texts_by_column(described_cells: Iterable[dict[str, Any]]) -> dict[int, str]:
    texts = {}
    for cell in described_cells:
        if text := _as_text(cell["value"]):
            _check_number("column", cell["column"], 1, MAX_COLUMNS)
            texts[cell["column"]] = text
    return texts


def _check_number(kind: str, number: int, lowest: int, highest: int) -> None:
    if not lowest <= number <= highest:
        raise ValueError(f"{kind} {number} is not between {lowest:,} and {highest:,}")


def _as_text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)
