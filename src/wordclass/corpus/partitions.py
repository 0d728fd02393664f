"""Partitions of tables that Dask or Spark hold, read as records."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wordclass.corpus import records
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import NoRecordsError


def is_table(data: object) -> bool:
    """Return True for a table of Dask or Spark, which is already in partitions."""
    return type(data).__module__.partition(".")[0] in ("dask", "pyspark")


def columns_of_table(table: Any) -> list[str]:  # noqa: ANN401
    """Return the columns of a table. The first record of a bag decides."""
    if hasattr(table, "columns"):
        return [*map(str, table.columns)]
    (first,) = table.take(1, npartitions=-1) or (("", ""),)
    return [*first] if isinstance(first, Mapping) else ["text", "labels"]


def read_partition(path: Path, table: Any, options: ReadOptions) -> Iterator[list[Any]]:  # noqa: ANN401
    """Yield the records of one partition, block by block. An empty one has none."""
    rows = ((f"row {k}", row) for k, row in enumerate(_table_rows(table), start=1))
    try:
        yield from records.collect_blocks(path, records.from_rows(path, rows, options))
    except NoRecordsError:
        return


def _table_rows(table: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - see the summary
    """Yield the rows of a partition: a pandas frame, Arrow batches, dicts or pairs."""
    if hasattr(table, "columns") and hasattr(table, "iloc"):
        names = [*map(str, table.columns)]
        columns = [
            [_to_json_value(cell) for cell in table[name].tolist()] for name in table.columns
        ]
        yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
        return
    for row in table:
        if hasattr(row, "to_pylist"):  # a batch of Arrow
            yield from row.to_pylist()
        elif isinstance(row, Mapping):
            yield row
        else:
            text, labels = row
            yield {"text": text, "labels": _to_json_value(labels)}


def _to_json_value(cell: Any) -> Any:  # noqa: ANN401 - any value of a frame
    """Return a cell as a value of JSON: an array as a list, a missing value as None."""
    if isinstance(cell, str):
        return cell
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, tuple | set | frozenset):
        return sorted(cell) if isinstance(cell, set | frozenset) else [*cell]
    is_missing = cell is None or (isinstance(cell, float) and cell != cell) or repr(cell) == "<NA>"
    return None if is_missing else cell
