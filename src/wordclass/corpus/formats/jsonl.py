"""JSON lines: one object per line, with the fields `text` and `labels` (or `label`).

A file may also be one array of such objects.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from wordclass.corpus import records
from wordclass.corpus.lines import Span, numbered, spans
from wordclass.corpus.reader import ReadOptions, Record
from wordclass.errors import FormatError
from wordclass.storage.files import File, open_for_reading

ENDINGS = (".jsonl", ".ndjson", ".json")


def read(path: File, options: ReadOptions, span: Span | None = None) -> Iterator[list[Any]]:
    """Read one record per line; labels are a list of str or int, or one of them alone."""
    lines = numbered(path, options, span)
    return records.in_blocks(path, records_of(path, lines, options))


def cut(path: File, options: ReadOptions, n_bytes: int) -> list[Span]:
    """Cut a file at line ends, unless it is one array."""
    with open_for_reading(path, stream=True) as stream:
        is_array = stream.read(1 << 10).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    return [] if is_array else spans(path, options.encoding, n_bytes)


def records_of(
    path: File, lines: Iterable[tuple[int, str | FormatError]], options: ReadOptions
) -> Iterator[Record | FormatError]:
    """Make records of numbered lines, which may be those of an array."""
    return records.from_rows(path, _rows(path, lines, options), options)


def _rows(
    path: File, lines: Iterable[tuple[int, str | FormatError]], options: ReadOptions
) -> Iterator[tuple[int | str, dict[str, Any] | FormatError]]:
    lines, is_first = iter(lines), True
    for number, line in lines:
        if isinstance(line, FormatError):
            yield number, line
            continue
        if not line or line.isspace():
            continue
        if is_first and line.lstrip().startswith("["):
            whole = "\n" * (number - 1) + line + "".join(str(rest) for _, rest in lines)
            for k, each in enumerate(_parsed(path, None, whole), start=1):
                yield f"record {k}", _object(path, f"record {k}", each)
            return
        is_first = False
        try:
            yield number, _object(path, number, _parsed(path, number, line))
        except FormatError as error:
            yield number, error


def _object(path: File, place: int | str, value: Any) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(value, dict):
        return value
    expected = 'expected an object such as {"text": "...", "labels": ["..."]}'
    raise FormatError(path, place, f"{records.described(value)}, {expected}")


def _parsed(path: File, line: int | None, text: str) -> Any:  # noqa: ANN401
    """Read the JSON of a line; None: of the whole file."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} (column {error.colno})"
        raise FormatError(path, line or error.lineno, reason) from error
    except (ValueError, RecursionError) as error:  # a number or a nesting without end
        raise FormatError(path, line, f"not JSON that can be read: {error}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
