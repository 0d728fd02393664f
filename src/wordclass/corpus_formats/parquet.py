"""Parquet: a column of texts, and one of labels or of lists of labels."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordclass import storage
from wordclass.corpus import ReadOptions, Record
from wordclass.corpus_formats import _records
from wordclass.errors import FormatError

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet",)

_ROWS = 1 << 14  # to be held at a time
_TRIAL = """import os, sys, polars
source = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.buffer.read()
polars.scan_parquet(source, glob=False).sink_ipc(os.devnull)"""


def read(path: Path, options: ReadOptions) -> Iterator[list[Record]]:
    """Read a Parquet file some thousand rows at a time; errors name the row, counted from 1."""
    import polars as pl

    storage.require(path)
    is_plain = path.is_file() and path.suffix.lower() not in storage.COMPRESSIONS
    source = path if is_plain else storage.content_of(path)
    _try_out(path, source)
    table = pl.scan_parquet(source, glob=False)
    names, n_rows = table.collect_schema().names(), table.select(pl.len()).collect().item()
    fields = _records.choose_fields(names, options, path, None)
    used = [*fields.texts, *fields.labels, *([] if fields.split is None else [fields.split])]
    columns = names if options.keep_rows else used
    rows = _rows(table.select(columns), n_rows)
    records = _records.from_rows(path, rows, options, fields.at_positions(columns))
    return _records.in_blocks(path, records, n_rows)


def _try_out(path: Path, source: Path | bytes) -> None:
    """Let another process read the file first: a damaged one can make polars end its process."""
    content = None if isinstance(source, Path) else source
    command = [sys.executable, "-P", "-c", _TRIAL, *([str(path)] if content is None else [])]
    trial = subprocess.run(command, input=content, capture_output=True, check=False)
    if trial.returncode:
        told = trial.stderr.decode(errors="replace").strip().splitlines() or ["no reason"]
        reason = told[-1] if trial.returncode > 0 else told[0]
        raise FormatError(path, None, f"not a Parquet file, or a damaged one: {reason:.200}")


def _rows(table: "pl.LazyFrame", n_rows: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for start in range(0, n_rows, _ROWS):
        part = table.slice(start, _ROWS).collect()
        yield from ((f"row {k}", row) for k, row in enumerate(part.iter_rows(), start=start + 1))
