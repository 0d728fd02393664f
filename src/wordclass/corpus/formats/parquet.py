"""Parquet files with a column of texts and one of labels or lists of labels."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from wordclass import catalogue
from wordclass.corpus.records import choose_fields, collect_blocks, from_rows
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, MissingExtraError
from wordclass.storage import files
from wordclass.storage.files import Address, File

Span = tuple[int, int]  # of rows

ENDINGS = (".parquet",)

_CHUNK_ROWS = 1 << 14  # held in memory at a time
_REMOTE_CHUNK_ROWS = 1 << 10  # decoded at a time, before their size is known
_MIN_ROW_BYTES = 64  # in memory, even if all values are null
_VALUE_BYTES = 16
_TOO_LARGE_EXIT_CODE = 77
_SPARE_BYTES = 1 << 30  # memory that the trial may use beyond the content

# A damaged file may crash the process, and a hostile one may fill the memory. A separate process
# therefore reads all rows once, with limited memory, and sums their sizes as Python objects.
_TRIAL = f"""import os, sys
from contextlib import suppress
source = sys.argv[1] or sys.stdin.buffer.read()
start, n_rows, max_bytes = map(int, sys.argv[2:])
import polars
with suppress(ImportError, OSError, ValueError):
    import resource
    n_data = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
    limit = n_data + 4 * max_bytes + {_SPARE_BYTES}
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))
n_bytes = 0
def count_values(column):
    if isinstance(column.dtype, polars.List | polars.Array):
        return len(column) + count_values(column.explode())
    if isinstance(column.dtype, polars.Struct):
        return sum(map(count_values, column.struct.unnest()))
    return len(column)
def measure(chunk):
    global n_bytes
    n_values = sum(map(count_values, chunk))
    n_bytes += {_MIN_ROW_BYTES} * len(chunk) + {_VALUE_BYTES} * n_values + chunk.estimated_size()
    if n_bytes > max_bytes:
        os._exit({_TOO_LARGE_EXIT_CODE})
    return chunk.head(0)
table = polars.scan_parquet(source, glob=False)
if {_MIN_ROW_BYTES} * table.select(polars.len()).collect().item() > max_bytes:
    sys.exit({_TOO_LARGE_EXIT_CODE})
chosen = table.slice(start, n_rows) if n_rows else table
chosen.map_batches(measure, streamable=True).sink_ipc(os.devnull)"""

Rows = Iterator[tuple[str, tuple[Any, ...]]]


def read(path: File, options: ReadOptions, span: Span | None = None) -> Iterator[list[Any]]:
    """Read a Parquet file or a span of its rows, some thousand rows at a time.

    Errors name the row, counted from 1.
    """
    files.require_existing(path)
    is_remote = isinstance(path, Address) and not _is_compressed(path)
    open_table = _open_with_pyarrow if is_remote else _open_with_polars
    names, n_rows, rows_of = open_table(path, span)
    fields = choose_fields(names, options, path, None)
    chosen = [*fields.texts, *fields.labels]
    if fields.split is not None:
        chosen.append(fields.split)
    columns = names if options.keep_rows else chosen
    start, end = span or (0, n_rows)
    rows = rows_of(columns, start, end)
    records = from_rows(path, rows, options, fields.at_positions(columns))
    return collect_blocks(path, records, end - start)


def cut(path: File, options: ReadOptions, n_bytes: int) -> list[Span]:
    """Cut a file into spans of rows of about `n_bytes`, at row groups if pyarrow is installed.

    Without pyarrow a span may begin inside a row group, which is then read for two spans.
    """
    size = files.size_of(path)
    if _is_compressed(path) or size is None or size < 2 * n_bytes:
        return []
    try:
        groups = _n_rows_of_groups(path)
    except MissingExtraError:
        if isinstance(path, Address):
            raise
        _, n_rows, _ = _open_with_polars(path, (0, 1))
        n_spans = max(1, round(size / n_bytes))
        groups = [n_rows // n_spans + (k < n_rows % n_spans) for k in range(n_spans)]
    max_rows = max(1, round(sum(groups) * n_bytes / size))
    ends = [0]
    n_before = 0
    for n_rows in groups:
        n_before += n_rows
        if n_before - ends[-1] >= max_rows or n_before == sum(groups):
            ends.append(n_before)
    return [(start, end) for start, end in pairwise(ends) if end > start]


def _is_compressed(path: File) -> bool:
    return path.suffix.lower() in files.COMPRESSIONS


def _open_with_polars(
    path: File, span: Span | None
) -> tuple[list[str], int, Callable[[list[str], int, int], Rows]]:
    """Return the columns and the number of rows of a local file, and a function that reads rows."""
    import polars as pl

    is_plain = isinstance(path, Path) and path.is_file() and not _is_compressed(path)
    source: Any = path if is_plain else files.read_content(path)
    _try_out(path, source, span)
    table = pl.scan_parquet(source, glob=False)
    n_rows: int = table.select(pl.len()).collect().item()

    def rows(columns: list[str], start: int, end: int) -> Rows:
        chosen = table.select(columns)
        for first in range(start, end, _CHUNK_ROWS):
            chunk = chosen.slice(first, min(_CHUNK_ROWS, end - first)).collect()
            yield from ((f"row {k}", row) for k, row in enumerate(chunk.iter_rows(), first + 1))

    return table.collect_schema().names(), n_rows, rows


def _open_with_pyarrow(
    path: File, span: Span | None
) -> tuple[list[str], int, Callable[[list[str], int, int], Rows]]:
    """Open a remote file without downloading all of it, which polars would do."""
    groups = _n_rows_of_groups(path)
    growth = files.growth_of(path)
    growth.add(_MIN_ROW_BYTES * sum(groups))
    with _arrow_file(path) as file:
        names = file.schema_arrow.names

    def rows(columns: list[str], start: int, end: int) -> Rows:
        ends = [*accumulate(groups)]
        chosen = [k for k, last in enumerate(ends) if last > start and last - groups[k] < end]
        number = ends[chosen[0]] - groups[chosen[0]] if chosen else 0
        with _arrow_file(path) as file:
            for batch in file.iter_batches(_REMOTE_CHUNK_ROWS, row_groups=chosen, columns=columns):
                growth.add(batch.nbytes)
                values = [batch.column(name).to_pylist() for name in columns]
                for row in zip(*values, strict=True):
                    number += 1
                    if start < number <= end:
                        yield f"row {number}", row

    return names, sum(groups), rows


def _n_rows_of_groups(path: File) -> list[int]:
    """Return the number of rows of each row group after checking the declared sizes."""
    with _arrow_file(path) as file:
        groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
    files.growth_of(path).add(sum(max(0, group.total_byte_size) for group in groups))
    return [group.num_rows for group in groups]


@contextmanager
def _arrow_file(path: File) -> Iterator[Any]:
    parquet = catalogue.import_extra("pyarrow.parquet", f"to read {path} in shards", "fsspec")
    with (
        files.open_raw(path) as stream,
        files.wrap_foreign_errors(path, "not a Parquet file, or a damaged one"),
    ):
        yield parquet.ParquetFile(stream)


def _try_out(path: File, source: Path | bytes, span: Span | None) -> None:
    """Read all rows in another process to detect a file that crashes it or expands too far."""
    content = None if isinstance(source, Path) else source
    start, end = span or (0, 0)
    name = str(path) if content is None else ""
    growth = files.growth_of(path, len(content or b""))
    numbers = map(str, (start, end - start, growth.limit()))
    command = [sys.executable, "-P", "-c", _TRIAL, name, *numbers]
    trial = subprocess.run(command, input=content, capture_output=True, check=False)
    if trial.returncode == _TOO_LARGE_EXIT_CODE:
        raise growth.error()
    if trial.returncode:
        lines = trial.stderr.decode(errors="replace").strip().splitlines() or ["no reason"]
        reason = lines[-1] if trial.returncode > 0 else lines[0]
        hint = f"if it is sound, {growth.remedy}" if "allocat" in reason else None
        problem = f"not a Parquet file, or a damaged one: {reason:.200}"
        raise FormatError(path, None, problem, hint=hint)
