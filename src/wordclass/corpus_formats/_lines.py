"""Text files line by line, in any encoding, with the line of a byte that does not belong there."""

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from wordclass import storage
from wordclass.errors import FormatError, InputError

_CHUNK = 1 << 16
_ASCII = bytes(range(128))
_BYTE_ORDER_MARK = "\ufeff"


def decoded(path: Path, encoding: str) -> Iterator[str]:
    r"""Read the lines of a text file, compressed or not.

    A line ends at \n only and keeps its end as it is in the file; the first one loses its byte
    order mark.

    Raises
    ------
    InputError
        There is no such encoding.
    FormatError
        A byte is not valid in the encoding; the error names the line.
    """
    # our own dropping of the mark looks at the first line only; that of utf-8-sig at each
    codec = _codec(encoding).removesuffix("-sig")
    with storage.reading(path) as stream:
        read = _line_by_line if _knows_line_ends(codec) else _as_a_stream
        lines = read(stream, codec, path)
        first = next(lines, "").removeprefix(_BYTE_ORDER_MARK)
        if first:
            yield first
        yield from lines


def _codec(encoding: str) -> str:
    try:
        "\n".encode(encoding)  # refuses codecs that are not of text, such as "hex"
        return codecs.lookup(encoding).name
    except (LookupError, ValueError) as error:
        raise InputError(
            f"unknown encoding {encoding!r}; expected one that Python knows, such as 'utf-8', "
            "'latin-1' or 'utf-16'"
        ) from error


def _knows_line_ends(codec: str) -> bool:
    r"""Tell whether a byte \n always ends a line and what follows does not depend on it."""
    try:
        return _ASCII.decode(codec) == _ASCII.decode("ascii")
    except UnicodeError:
        return False


def _line_by_line(stream: BinaryIO, codec: str, path: Path) -> Iterator[str]:
    for number, line in enumerate(stream, start=1):
        try:
            yield line.decode(codec)
        except UnicodeDecodeError as error:
            raise _invalid(path, number, codec, error) from error


def _as_a_stream(stream: BinaryIO, codec: str, path: Path) -> Iterator[str]:
    """Decode UTF-16 and its like, where a line cannot be told before it is decoded."""
    decoder = codecs.getincrementaldecoder(codec)()
    n_lines, rest, is_last = 0, "", False
    while not is_last:
        chunk = stream.read(_CHUNK)
        is_last = not chunk
        state = decoder.getstate()
        try:
            text = decoder.decode(chunk, final=is_last)
        except UnicodeDecodeError as error:
            decoder.setstate(state)
            n_lines += _line_ends_before_error(decoder, chunk)
            raise _invalid(path, n_lines + 1, codec, error) from error
        *lines, rest = (rest + text).split("\n")
        n_lines += len(lines)
        yield from (f"{line}\n" for line in lines)
    if rest:
        yield rest


def _line_ends_before_error(decoder: codecs.IncrementalDecoder, chunk: bytes) -> int:
    n_line_ends = 0
    for k in range(len(chunk)):
        try:
            n_line_ends += decoder.decode(chunk[k : k + 1]).count("\n")
        except UnicodeDecodeError:
            break
    return n_line_ends


def _invalid(path: Path, line: int, codec: str, error: UnicodeDecodeError) -> FormatError:
    found = error.object[error.start : error.start + 1].hex()
    return FormatError(
        path,
        line,
        f"byte 0x{found} is not valid {codec} ({error.reason}); give the encoding of the file "
        "with encoding= or --encoding",
    )
