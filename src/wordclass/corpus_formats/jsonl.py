"""JSON lines: one object a line, with the fields `text` and `labels` (or `label`)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from wordclass import storage
from wordclass.corpus import Label, LabelledCorpus, ReadOptions, Records
from wordclass.corpus_formats import _fields, _records
from wordclass.corpus_formats._lines import decoded
from wordclass.errors import FormatError

ENDINGS = (".jsonl", ".ndjson")

_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def read(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Read one record a line; labels are a list of str or int, or one of them alone."""
    return _records.in_blocks(path, _read_records(path, options))


def write(path: Path, corpus: LabelledCorpus) -> None:
    """Write one record a line; a lone surrogate is written as an escape."""
    with storage.writing(path) as stream:
        for number, record in enumerate(_records.spread(corpus), start=1):
            labels = (
                {"labels": record.labels} if corpus.is_multilabel else {"label": record.labels[0]}
            )
            line = json.dumps({"text": record.text} | labels, ensure_ascii=False)
            if _SURROGATE_PAIR.search(line):
                reason = "two surrogates in a row would be read as one character"
                raise _records.cannot_write(number, reason)
            stream.write(line.encode("utf-8", errors="backslashreplace") + b"\n")


def _read_records(path: Path, options: ReadOptions) -> Iterator[_records.Record]:
    fields: _fields.Fields | None = None
    for number, line in enumerate(decoded(path, options.encoding), start=1):
        if line.isspace():
            continue
        try:
            found = _parsed(line)
            # the first record decides for the file, as a header does
            fields = fields or _fields.choose([*found], options, path, number)
            yield _record(found, fields)
        except KeyError as error:
            raise _fields.missing(error.args[0], [*found], path, number) from error
        except _RecordError as error:
            raise FormatError(path, number, str(error)) from error


class _RecordError(Exception):
    """What is wrong with a line; the caller knows which line it is."""


def _refuse_constant(name: str) -> NoReturn:
    raise _RecordError(f"not JSON: {name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _parsed(line: str) -> dict[str, Any]:
    try:
        found = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise _RecordError(f"not JSON: {error.msg} (column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number or a nesting without end
        raise _RecordError(f"not JSON that can be read: {error}") from error
    if not isinstance(found, dict):
        raise _RecordError(
            f'{_described(found)}, expected an object such as {{"text": "...", "labels": ["..."]}}'
        )
    return found


def _record(found: dict[str, Any], fields: _fields.Fields) -> _records.Record:
    text = found[fields.text]
    if not isinstance(text, str):
        raise _RecordError(f"field {fields.text!r} is {_described(text)}, expected a string")
    labels = [] if fields.label is None else _labels(found[fields.label], fields.label)
    if fields.split is not None:
        split = found[fields.split]
        if not isinstance(split, str):
            raise _RecordError(f"field 'split' is {_described(split)}, expected a string")
        return _records.Record(text, labels, split)
    if "split" in found and "split" not in (fields.text, fields.label):
        raise _RecordError(
            "field 'split' is here but not in the records before; expected all or none"
        )
    return _records.Record(text, labels)


def _labels(given: object, field: str) -> list[Label]:
    if given is None:
        raise _RecordError(f"field {field!r} is null; write [] for a text without labels")
    labels: list[Label] = []
    for label in given if isinstance(given, list) else [given]:
        if isinstance(label, bool) or not isinstance(label, str | int):
            kind = "holds" if isinstance(given, list) else "is"
            raise _RecordError(
                f"field {field!r} {kind} {_described(label)}, expected strings or whole numbers"
            )
        labels.append(label)
    return labels


def _described(value: object) -> str:
    if isinstance(value, bool | None):
        return json.dumps(value)
    if isinstance(value, int | float):
        return f"the number {value!r:.20}"
    kinds = {"str": "a string", "list": "a list", "dict": "an object"}
    return kinds[type(value).__name__]
