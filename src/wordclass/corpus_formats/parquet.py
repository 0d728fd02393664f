"""Parquet: a column of texts, and one of labels or of lists of labels."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wordclass import storage
from wordclass.corpus import Label, LabelledCorpus, ReadOptions, Records
from wordclass.corpus_formats import _fields, _records
from wordclass.errors import FormatError

if TYPE_CHECKING:
    import polars as pl

ENDINGS = (".parquet",)

_INT64 = range(-(2**63), 2**63)
_ROWS = 1 << 14  # to be held at a time


def read(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Read a Parquet file some thousand rows at a time; errors name the row, counted from 1."""
    source = _source(path)
    with _format_errors(path):
        lazy = _scanned(source)
        fields = _fields.choose(lazy.collect_schema().names(), options, path, None)
        n_rows = lazy.select(n=_length()).collect()["n"][0]
    return _records.in_blocks(path, _read_records(path, source, fields, n_rows), n_rows)


def _read_records(
    path: Path, source: Path | io.BytesIO, fields: _fields.Fields, n_rows: int
) -> Iterator[_records.Record]:
    wanted = [name for name in (fields.text, fields.label, fields.split) if name is not None]
    for start in range(0, n_rows, _ROWS):
        with _format_errors(path):
            table = _scanned(source).select(wanted).slice(start, _ROWS).collect()
        texts = _strings(table[fields.text], path, start)
        labels: list[list[Label]] = [[] for _ in texts]
        if fields.label is not None:
            labels = _labels(table[fields.label], path, start)
        splits: list[str] | list[None] = [None] * len(table)
        if fields.split is not None:
            splits = _strings(table[fields.split], path, start)
        yield from map(_records.Record, texts, labels, splits)


def write(path: Path, corpus: LabelledCorpus) -> None:
    """Write the columns `text` and `labels` (lists), or `label` where there is one each."""
    import polars as pl

    records = list(_records.spread(corpus))
    labels = [label for record in records for label in record.labels]
    kind = pl.Int64 if labels and all(isinstance(label, int) for label in labels) else pl.String
    for number, record in enumerate(records, start=1):
        _check(number, record, is_text=kind == pl.String)
    if corpus.is_multilabel:
        column = pl.Series("labels", [record.labels for record in records], pl.List(kind))
    else:
        column = pl.Series("label", labels, kind)
    content = io.BytesIO()
    texts = pl.Series("text", [record.text for record in records], pl.String)
    pl.DataFrame([texts, column]).write_parquet(content)
    with storage.writing(path) as stream:
        stream.write(content.getbuffer())


def _check(number: int, record: _records.Record, is_text: bool) -> None:
    """Refuse labels that a column of this kind cannot hold."""
    _records.check_utf8(number, record.text)
    for label in record.labels:
        if isinstance(label, str) != is_text:
            reason = "its labels are str, those of others int; a column has one type"
            raise _records.cannot_write(number, reason)
        if isinstance(label, str):
            _records.check_utf8(number, label)
        elif label not in _INT64:
            raise _records.cannot_write(number, f"its label {label} has more than 64 bits")


def _source(path: Path) -> Path | io.BytesIO:
    """Return the file itself, or what is in it where it is compressed."""
    with storage.reading(path) as stream:
        return io.BytesIO(stream.read()) if path.suffix.lower() in storage.COMPRESSIONS else path


def _scanned(source: Path | io.BytesIO) -> "pl.LazyFrame":
    import polars as pl

    if isinstance(source, io.BytesIO):
        source.seek(0)
    return pl.scan_parquet(source, glob=False)


def _length() -> "pl.Expr":
    import polars as pl

    return pl.len()


@contextmanager
def _format_errors(path: Path) -> Iterator[None]:
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = " ".join(str(error).split())  # on one line
        raise FormatError(path, None, f"not a Parquet file, or a damaged one: {reason}") from error


def _strings(column: "pl.Series", path: Path, start: int) -> list[str]:
    if not _is_text(column.dtype):
        raise FormatError(
            path, None, f"column {column.name!r} holds {column.dtype}, expected strings"
        )
    values: list[str] = []
    for row, value in enumerate(column.to_list(), start=start + 1):
        if value is None:
            raise FormatError(path, None, f"row {row}: {column.name!r} is null, expected a string")
        values.append(value)
    return values


def _labels(column: "pl.Series", path: Path, start: int) -> list[list[Label]]:
    import polars as pl

    dtype = column.dtype
    is_nested = isinstance(dtype, pl.List | pl.Array)
    inner = column.explode().dtype if is_nested else dtype
    # a column of nothing but empty lists may have lost its type
    if not (_is_text(inner) or inner.is_integer() or (is_nested and inner == pl.Null)):
        raise FormatError(
            path,
            None,
            f"column {column.name!r} holds {dtype}, expected strings or integers, or lists of them",
        )
    values = column.to_list()
    for row, value in enumerate(values, start=start + 1):
        if value is None or (is_nested and None in value):
            hint = "; a text without labels has an empty list" if is_nested else ""
            raise FormatError(path, None, f"row {row}: {column.name!r} holds null{hint}")
    return values if is_nested else [[value] for value in values]


def _is_text(dtype: "pl.DataType") -> bool:
    import polars as pl

    return any(dtype == kind for kind in (pl.String, pl.Categorical, pl.Enum))
