"""Parquet: a column of texts, and one of labels or of lists of labels."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordclass import storage
from wordclass.corpus import Label, LabelledCorpus, ReadOptions, Record
from wordclass.corpus_formats import _records
from wordclass.errors import FormatError

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet",)

_INT64 = range(-(2**63), 2**63)
_ROWS = 1 << 14  # to be held at a time


def read(path: Path, options: ReadOptions) -> Iterator[list[Record]]:
    """Read a Parquet file some thousand rows at a time; errors name the row, counted from 1."""
    import polars as pl

    with storage.reading(path) as stream:
        is_compressed = path.suffix.lower() in storage.COMPRESSIONS
        source = io.BytesIO(stream.read()) if is_compressed else path
    with _scanned(path, source) as table:
        names = table.collect_schema().names()
        n_rows = table.select(pl.len()).collect().item()
    fields = _records.choose_fields(names, options, path, None)
    used = [*fields.texts, *fields.labels, *([] if fields.split is None else [fields.split])]
    columns = names if options.keep_rows else used
    rows = _rows(path, source, columns, n_rows)
    records = _records.from_rows(path, rows, options, fields.at_positions(columns))
    return _records.in_blocks(path, records, n_rows)


def write(path: Path, corpus: LabelledCorpus) -> None:
    """Write the columns `text` and `labels` (lists), or `label` where there is one each."""
    import polars as pl

    def encode(record: Record) -> tuple[str, Label | list[Label]]:
        if is_int and any(label not in _INT64 for label in record.labels):
            raise ValueError("a label has more than 64 bits")
        return record.text, record.labels if corpus.is_multilabel else record.labels[0]

    # a column has one type: that of the first label
    first = next((given for given in corpus.labels if given != []), None)
    is_int = isinstance(first[0] if isinstance(first, list) else first, int)
    rows = list(_records.encoded(corpus, encode, int if is_int else str))
    kind = pl.Int64() if is_int else pl.String()
    column = ("labels", pl.List(kind)) if corpus.is_multilabel else ("label", kind)
    content = io.BytesIO()
    pl.DataFrame(rows, [("text", pl.String()), column], orient="row").write_parquet(content)
    with storage.writing(path) as stream:
        stream.write(content.getbuffer())


@contextmanager
def _scanned(path: Path, source: Path | io.BytesIO) -> Iterator["pl.LazyFrame"]:
    """Give the table, not yet read; what polars then stumbles over is a FormatError."""
    import polars as pl

    if isinstance(source, io.BytesIO):
        source.seek(0)
    try:
        yield pl.scan_parquet(source, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = " ".join(str(error).split())  # on one line
        raise FormatError(path, None, f"not a Parquet file, or a damaged one: {reason}") from error


def _rows(
    path: Path, source: Path | io.BytesIO, columns: list[str], n_rows: int
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for start in range(0, n_rows, _ROWS):
        with _scanned(path, source) as table:
            part = table.select(columns).slice(start, _ROWS).collect()
        yield from ((f"row {k}", row) for k, row in enumerate(part.iter_rows(), start=start + 1))
