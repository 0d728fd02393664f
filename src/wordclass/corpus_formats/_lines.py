"""Text files line by line, in any encoding, with the line of a byte that does not belong there."""

import codecs
import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from wordclass import storage
from wordclass.errors import FormatError, InputError

_CHUNK = 1 << 16
_MOST_BLANK = 1 << 20  # characters of white space in a row
_BYTE_ORDER_MARK = "\ufeff"


def decoded(path: Path, encoding: str) -> Iterator[str]:
    """Read the lines of a text file, compressed or not; see `line_blocks`."""
    with storage.reading(path, stream=True) as stream:
        for lines in line_blocks(stream, path, encoding):
            yield from lines


def line_blocks(stream: Any, name: Path | str, encoding: str) -> Iterator[list[str]]:  # noqa: ANN401
    r"""Give the lines of a stream of bytes, as many at a time as have come: slow input is no wait.

    A line ends at \n only and keeps its end as it is in the file; the first one loses its byte
    order mark.

    Raises
    ------
    InputError
        There is no such encoding.
    FormatError
        A byte is not valid in the encoding; the error names the line. Or there is white space
        without end, as a small compressed file can hold it.
    """
    # our own dropping of the mark looks at the first line only; that of utf-8-sig at each
    codec = codec_of(encoding).removesuffix("-sig")
    decoder = codecs.getincrementaldecoder(codec)()
    rest, n_lines, n_blank, chunk, has_begun = "", 0, 0, b"first", False
    while chunk:
        chunk, state = stream.read1(_CHUNK), decoder.getstate()
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            line = n_lines + 1 + _n_line_ends(decoder, state, chunk)
            raise FormatError(name, line, _reason(error, codec)) from error
        if not has_begun:
            text, has_begun = text.removeprefix(_BYTE_ORDER_MARK), bool(text)
        n_blank = n_blank + len(text) if text.isspace() else 0
        if n_blank > _MOST_BLANK:
            raise FormatError(name, n_lines, f"more than {_MOST_BLANK:,} blanks in a row")
        rest += text
        if "\n" in text or not chunk:
            lines = [*io.StringIO(rest, newline="\n")]
            rest = lines.pop() if chunk and not rest.endswith("\n") else ""
            n_lines += len(lines)
            if lines:
                yield lines


def _reason(error: UnicodeError, codec: str) -> str:
    found = f"not {codec}: {error}"  # a file of UTF-16 without a byte order mark
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start : error.start + 1].hex()
        found = f"byte 0x{byte} is not valid {codec} ({error.reason})"
    return f"{found}; give the encoding of the file with encoding= or --encoding"


def _n_line_ends(decoder: codecs.IncrementalDecoder, state: Any, chunk: bytes) -> int:  # noqa: ANN401
    """Count the lines of a chunk before the first byte that is not valid."""
    decoder.setstate(state)
    n_line_ends = 0
    with suppress(UnicodeError):
        for k in range(len(chunk)):
            n_line_ends += decoder.decode(chunk[k : k + 1]).count("\n")
    return n_line_ends


def codec_of(encoding: str) -> str:
    """Return Python's own name of an encoding."""
    try:
        "\n".encode(encoding)  # refuses codecs that are not of text, such as "hex"
        return codecs.lookup(encoding).name
    except (LookupError, ValueError) as error:
        expected = "expected one that Python knows, such as 'utf-8', 'latin-1' or 'utf-16'"
        raise InputError(f"unknown encoding {encoding!r}; {expected}") from error
