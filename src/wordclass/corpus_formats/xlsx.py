"""Workbooks of Excel: the first sheet, its cells taken for text as those of a CSV file are."""

import io
from collections.abc import Iterator
from pathlib import Path

from wordclass import naming, storage
from wordclass.corpus import ReadOptions, Record
from wordclass.corpus_formats import _cells, _records
from wordclass.errors import FormatError

ENDINGS = (".xlsx",)


def read(path: Path, options: ReadOptions) -> Iterator[list[Record]]:
    """Read the rows of the first sheet that are not empty; formulas count with their results."""
    return _records.in_blocks(path, _cells.records_of(path, _rows(path), options))


def _rows(path: Path) -> _cells.Rows:
    openpyxl = naming.extra("openpyxl", f"to read {path}")
    n_columns = 0
    with io.BytesIO(storage.content_of(path)) as content:
        try:
            sheet = openpyxl.load_workbook(content, read_only=True, data_only=True).worksheets[0]
            sheet.reset_dimensions()  # which need not be true
            for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
                cells = [_as_text(value) for value in values]
                n_used = max((k for k, cell in enumerate(cells, start=1) if cell), default=0)
                n_columns = n_columns or n_used  # as many as there are in the header
                if n_used:
                    yield f"row {number}", (cells + [""] * n_columns)[: max(n_used, n_columns)]
        except Exception as error:  # whatever a strange file makes of zipfile, XML and openpyxl
            raise FormatError(path, None, f"not a workbook, or a damaged one: {error}") from error


def _as_text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)
