"""JSON lines with one object per line and the fields `text` and `labels` (or `label`).

A file may also be one array of such objects, or one object that maps splits to lists of records or
pairs, or columns to their values.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NoReturn

from wordclass.corpus import records
from wordclass.corpus.documents import Record
from wordclass.corpus.lines import Span, cut_at_lines, number_lines
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, list_some
from wordclass.storage.files import File, open_for_reading

_OBJECT_OF_LISTS = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[\[{]')

ENDINGS = (".jsonl", ".ndjson", ".json")


def read(path: File, options: ReadOptions, span: Span | None = None) -> Iterator[list[Any]]:
    """Read one record per line. Labels are one str or int, or a list of them."""
    lines = number_lines(path, options, span)
    return records.collect_blocks(path, records_of(path, lines, options))


def cut(path: File, options: ReadOptions, n_bytes: int) -> list[Span]:
    """Cut a file at line ends unless it is one array."""
    with open_for_reading(path, stream=True) as stream:
        is_array = stream.read(1 << 10).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    return [] if is_array else cut_at_lines(path, options.encoding, n_bytes)


def records_of(
    path: File, lines: Iterable[tuple[int, str | FormatError]], options: ReadOptions
) -> Iterator[Record | FormatError]:
    """Convert numbered lines to records. The lines may form one array."""
    return records.from_rows(path, _rows(path, lines, options), options)


def _rows(
    path: File, lines: Iterable[tuple[int, str | FormatError]], options: ReadOptions
) -> Iterator[tuple[int | str, dict[str, Any] | FormatError]]:
    remaining_lines = iter(lines)
    is_first = True
    while (numbered_line := next(remaining_lines, None)) is not None:
        number, line = numbered_line
        if isinstance(line, FormatError):
            yield number, line
            continue
        if not line or line.isspace():
            continue
        if is_first and line.lstrip().startswith("["):
            content = line + "".join(str(line) for _, line in remaining_lines)
            array = _parse_json(path, None, "\n" * (number - 1) + content)
            yield from _number_rows(path, array)
            return
        if is_first and _is_start_of_object(line):
            lines_of_file = [*remaining_lines]
            content = line + "".join(str(line) for _, line in lines_of_file)
            value = None
            with suppress(FormatError):  # else these are lines of JSON, some of them bad
                value = _parse_json(path, None, content)
            if value is not None:
                yield from _number_rows(path, _rows_of_object(path, value))
                return
            remaining_lines = iter(lines_of_file)
        is_first = False
        try:
            yield number, _require_object(path, number, _parse_json(path, number, line))
        except FormatError as error:
            yield number, error


def _number_rows(path: File, values: Iterable[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for k, value in enumerate(values, start=1):
        yield f"record {k}", _require_object(path, f"record {k}", value)


def _is_start_of_object(line: str) -> bool:
    """Return True if a line starts one object that holds all records."""
    start = line.strip()
    if start == "{" or _OBJECT_OF_LISTS.match(start):
        try:
            value = _DECODER.decode(start)
        except (ValueError, RecursionError):
            return True
        return all(isinstance(item, list | dict) for item in value.values())
    return False


def _rows_of_object(path: File, value: dict[str, Any]) -> Iterator[Any]:
    """Yield the records of one object.

    The object maps splits to lists of records or pairs, or columns to their values, or it is one
    record itself.
    """
    tables = {key: item for key, item in value.items() if isinstance(item, list)}
    rows = {
        key: item for key, item in tables.items() if all(isinstance(r, dict | list) for r in item)
    }
    if rows and len(rows) == len(value):
        for split, items in rows.items():
            extra = {"split": split} if len(rows) > 1 else {}
            for item in items:
                if isinstance(item, list) and len(item) != 2:
                    problem = f"a list of {len(item)} values in {split!r}"
                    raise FormatError(path, None, problem, expected="pairs of text and label")
                row = {"text": item[0], "label": item[1]} if isinstance(item, list) else item
                yield {**row, **extra}
        return
    columns = {key: [*item.values()] for key, item in value.items() if isinstance(item, dict)}
    columns |= tables
    if len(columns) == len(value) > 1 and len({*map(len, columns.values())}) == 1:
        for cells in zip(*columns.values(), strict=True):
            yield dict(zip(columns, cells, strict=True))
        return
    if any(isinstance(item, str) for item in value.values()):
        yield value
        return
    raise FormatError(
        path,
        None,
        f"one JSON object with the keys {list_some(value)}",
        expected="one object per line, an array of objects, or an object of lists of records",
    )


def _require_object(path: File, place: int | str, value: Any) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(value, dict):
        return value
    expected = 'an object such as {"text": "...", "labels": ["..."]}'
    raise FormatError(path, place, records.describe_value(value), expected=expected)


def _parse_json(path: File, line: int | None, text: str) -> Any:  # noqa: ANN401
    """Parse the JSON of a line, or of the whole file if `line` is None."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} (column {error.colno})"
        raise FormatError(path, line or error.lineno, problem) from error
    except (
        ValueError,
        RecursionError,
    ) as error:  # a number of too many digits, or nesting that is too deep
        raise FormatError(path, line, f"JSON that cannot be read: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
