"""JSON lines with one object per line and the fields `text` and `labels` (or `label`).

A file may also be one array of such objects.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from wordclass.corpus import records
from wordclass.corpus.documents import Record
from wordclass.corpus.lines import Span, cut_at_lines, number_lines
from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError
from wordclass.storage.files import File, open_for_reading

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
    for number, line in remaining_lines:
        if isinstance(line, FormatError):
            yield number, line
            continue
        if not line or line.isspace():
            continue
        if is_first and line.lstrip().startswith("["):
            content = line + "".join(str(line) for _, line in remaining_lines)
            array = _parse_json(path, None, "\n" * (number - 1) + content)
            for k, value in enumerate(array, start=1):
                yield f"record {k}", _require_object(path, f"record {k}", value)
            return
        is_first = False
        try:
            yield number, _require_object(path, number, _parse_json(path, number, line))
        except FormatError as error:
            yield number, error


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
