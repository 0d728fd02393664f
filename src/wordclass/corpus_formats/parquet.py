"""Parquet: a column of texts, and one of labels or of lists of labels."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from wordclass import naming, storage
from wordclass.corpus import ReadOptions
from wordclass.corpus_formats import _records
from wordclass.errors import FormatError, MissingExtraError
from wordclass.storage import Address, File

Span = tuple[int, int]  # of rows

ENDINGS = (".parquet",)

_ROWS = 1 << 14  # to be held at a time
_TRIAL = """import os, sys, polars
source, start, n_rows = sys.argv[1] or sys.stdin.buffer.read(), *map(int, sys.argv[2:])
table = polars.scan_parquet(source, glob=False)
(table.slice(start, n_rows) if n_rows else table).sink_ipc(os.devnull)"""

Rows = Iterator[tuple[str, tuple[Any, ...]]]


def read(path: File, options: ReadOptions, span: Span | None = None) -> Iterator[list[Any]]:
    """Read a Parquet file, or a range of its rows, some thousand rows at a time.

    Errors name the row, counted from 1.
    """
    storage.require(path)
    is_remote = isinstance(path, Address) and not _is_compressed(path)
    names, n_rows, rows_of = (_opened_by_arrow if is_remote else _opened)(path, span)
    fields = _records.choose_fields(names, options, path, None)
    used = [*fields.texts, *fields.labels, *([] if fields.split is None else [fields.split])]
    columns = names if options.keep_rows else used
    start, end = span or (0, n_rows)
    rows = rows_of(columns, start, end)
    records = _records.from_rows(path, rows, options, fields.at_positions(columns))
    return _records.in_blocks(path, records, end - start)


def cut(path: File, options: ReadOptions, n_bytes: int) -> list[Span]:
    """Cut a file into ranges of rows of about so many bytes, where pyarrow is here at row groups.

    Without, a range may begin inside a row group, which is then read for both of its parts.
    """
    size = storage.size_of(path)
    if _is_compressed(path) or size is None or size < 2 * n_bytes:
        return []
    try:
        groups = _n_rows_of_groups(path)
    except MissingExtraError:
        if isinstance(path, Address):
            raise
        _, n_rows, _ = _opened(path, (0, 1))
        n_parts = max(1, round(size / n_bytes))
        groups = [n_rows // n_parts + (k < n_rows % n_parts) for k in range(n_parts)]
    most, ends = max(1, round(sum(groups) * n_bytes / size)), [0]
    n_before = 0
    for n_rows in groups:
        n_before += n_rows
        if n_before - ends[-1] >= most or n_before == sum(groups):
            ends.append(n_before)
    return [(start, end) for start, end in pairwise(ends) if end > start]


def _is_compressed(path: File) -> bool:
    return path.suffix.lower() in storage.COMPRESSIONS


def _opened(
    path: File, span: Span | None
) -> tuple[list[str], int, Callable[[list[str], int, int], Rows]]:
    """Return the columns of a local file, its number of rows, and what reads a range of them."""
    import polars as pl

    is_plain = isinstance(path, Path) and path.is_file() and not _is_compressed(path)
    source: Any = path if is_plain else storage.content_of(path)
    _try_out(path, source, span)
    table = pl.scan_parquet(source, glob=False)
    n_rows: int = table.select(pl.len()).collect().item()

    def rows(columns: list[str], start: int, end: int) -> Rows:
        chosen = table.select(columns)
        for first in range(start, end, _ROWS):
            part = chosen.slice(first, min(_ROWS, end - first)).collect()
            yield from ((f"row {k}", row) for k, row in enumerate(part.iter_rows(), first + 1))

    return table.collect_schema().names(), n_rows, rows


def _opened_by_arrow(
    path: File, span: Span | None
) -> tuple[list[str], int, Callable[[list[str], int, int], Rows]]:
    """Do the same for a remote file, of which polars would fetch everything."""
    groups = _n_rows_of_groups(path)
    with _arrow_file(path) as file:
        names = file.schema_arrow.names

    def rows(columns: list[str], start: int, end: int) -> Rows:
        ends = [*accumulate(groups)]
        wanted = [k for k, last in enumerate(ends) if last > start and last - groups[k] < end]
        number = ends[wanted[0]] - groups[wanted[0]] if wanted else 0
        with _arrow_file(path) as file:
            for batch in file.iter_batches(_ROWS, row_groups=wanted, columns=columns):
                values = [batch.column(name).to_pylist() for name in columns]
                for row in zip(*values, strict=True):
                    number += 1
                    if start < number <= end:
                        yield f"row {number}", row

    return names, sum(groups), rows


def _n_rows_of_groups(path: File) -> list[int]:
    with _arrow_file(path) as file:
        found = file.metadata
        return [found.row_group(k).num_rows for k in range(found.num_row_groups)]


@contextmanager
def _arrow_file(path: File) -> Iterator[Any]:
    parquet = naming.extra("pyarrow.parquet", f"to read {path} in parts", "fsspec")
    with (
        storage.opened(path) as stream,
        storage.refusing(path, "not a Parquet file, or a damaged one"),
    ):
        yield parquet.ParquetFile(stream)


def _try_out(path: File, source: Path | bytes, span: Span | None) -> None:
    """Let another process read the rows first: a damaged file can make polars end its process."""
    content = None if isinstance(source, Path) else source
    start, end = span or (0, 0)
    name = str(path) if content is None else ""
    command = [sys.executable, "-P", "-c", _TRIAL, name, str(start), str(end - start)]
    trial = subprocess.run(command, input=content, capture_output=True, check=False)
    if trial.returncode:
        told = trial.stderr.decode(errors="replace").strip().splitlines() or ["no reason"]
        reason = told[-1] if trial.returncode > 0 else told[0]
        raise FormatError(path, None, f"not a Parquet file, or a damaged one: {reason:.200}")
