"""JSON lines: one object per line, with the fields `text` and `labels` (or `label`)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from wordclass import storage
from wordclass.corpus import LabelledCorpus, ReadOptions, Record
from wordclass.corpus_formats import _records
from wordclass.corpus_formats._lines import decoded
from wordclass.errors import FormatError

ENDINGS = (".jsonl", ".ndjson")


def read(path: Path, options: ReadOptions) -> Iterator[list[Record]]:
    """Read one record per line; labels are a list of str or int, or one of them alone."""
    rows = _rows(path, options.encoding)
    return _records.in_blocks(path, _records.from_rows(path, rows, options))


def write(path: Path, corpus: LabelledCorpus) -> None:
    """Write one record per line; a lone surrogate is written as an escape."""

    def encode(record: Record) -> bytes:
        labels = {"labels": record.labels} if corpus.is_multilabel else {"label": record.labels[0]}
        row = {"text": record.text} | labels
        line = json.dumps(row, ensure_ascii=False).encode(errors="backslashreplace")
        if json.loads(line) != row:
            raise ValueError("two surrogates in a row would be read as one character")
        return line + b"\n"

    with storage.writing(path) as stream:
        for line in _records.encoded(corpus, encode, str, int, errors="surrogatepass"):
            stream.write(line)


def _rows(path: Path, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(decoded(path, encoding), start=1):
        if line.isspace():
            continue
        try:
            row = _DECODER.decode(line)
        except json.JSONDecodeError as error:
            reason = f"not JSON: {error.msg} (column {error.colno})"
            raise FormatError(path, number, reason) from error
        except (ValueError, RecursionError) as error:  # a number or a nesting without end
            raise FormatError(path, number, f"not JSON that can be read: {error}") from error
        if not isinstance(row, dict):
            expected = 'expected an object such as {"text": "...", "labels": ["..."]}'
            raise FormatError(path, number, f"{_records.described(row)}, {expected}")
        yield number, row


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
