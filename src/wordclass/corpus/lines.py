"""Text files line by line, in any encoding, with the line of a byte that does not belong there."""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from wordclass.corpus.reader import ReadOptions
from wordclass.errors import FormatError, InputError
from wordclass.storage import files

_CHUNK = 1 << 16
_MOST_BLANK = 1 << 20  # characters of white space in a row
_BYTE_ORDER_MARK = "\ufeff"
_NOT_DECODED = re.compile("[\udc80-\udcff]")  # bytes that "surrogateescape" let pass
_CUT_AT_LINES = re.compile(r"utf-8|ascii|iso8859-\d+|cp125\d|koi8-\w+")  # where \n is one byte

Span = tuple[int, int]


def decode_lines(path: files.File, encoding: str, span: Span | None = None) -> Iterator[str]:
    """Read the lines of a text file, compressed or not, or of a range of its bytes."""
    with files.open_for_reading(path, stream=True) as stream:
        for lines in iterate_line_blocks(*_ranged(stream, span), path, encoding):
            yield from lines


def numbered(
    path: files.File, options: ReadOptions, span: Span | None = None
) -> Iterator[tuple[int, str | FormatError]]:
    """Give the lines of a text file with their numbers, those of a range counted from its start.

    Where bad records are skipped, a line that cannot be decoded is an error in its place.
    """
    if options.on_bad_record == "stop" or not is_cut_at_lines(options.encoding):
        yield from enumerate(decode_lines(path, options.encoding, span), start=1)
        return
    codec, n_lines = codec_of(options.encoding), 0
    with files.open_for_reading(path, stream=True) as stream:
        for lines in iterate_line_blocks(
            *_ranged(stream, span), path, options.encoding, is_strict=False
        ):
            is_whole = not _NOT_DECODED.search("".join(lines))
            for number, line in enumerate(lines, start=n_lines + 1):
                found = None if is_whole else _NOT_DECODED.search(line)
                reason = found and f"byte 0x{ord(found[0]) - 0xDC00:02x} is not valid {codec}"
                yield number, FormatError(path, number, reason) if reason else line
            n_lines += len(lines)


def is_cut_at_lines(encoding: str) -> bool:
    """Whether the byte of a line end is a line end wherever it stands in a file."""
    return _CUT_AT_LINES.fullmatch(codec_of(encoding).removesuffix("-sig")) is not None


def spans(path: files.File, encoding: str, n_bytes: int) -> list[Span]:
    """Cut a file into ranges of about so many bytes, each of whole lines; [] if it must be one."""
    size = files.size_of(path)
    is_plain = path.suffix.lower() not in files.COMPRESSIONS and is_cut_at_lines(encoding)
    if size is None or size < 2 * n_bytes or not is_plain:
        return []
    ends = [0]
    with files.open_for_reading(path) as stream:
        for target in range(n_bytes, size - n_bytes // 2, n_bytes):
            if target > ends[-1]:
                stream.seek(target - 1)  # a line that ends there is whole
                stream.readline()
                ends.append(stream.tell())
    inside = [end for end in ends if end < size]
    return [*zip(inside, [*inside[1:], size], strict=True)]


def n_lines_before(path: files.File, end: int) -> int:
    """Count the lines of a file that end before a byte."""
    n_lines = 0
    with files.open_for_reading(path) as stream:
        while end > 0 and (chunk := stream.read(min(end, 1 << 22))):
            n_lines += chunk.count(b"\n")
            end -= len(chunk)
    return n_lines


def _ranged(stream: Any, span: Span | None) -> tuple["_Range", bool]:  # noqa: ANN401
    """Return what reads a range of a stream, and whether it is the beginning of the file."""
    start, end = span or (0, None)
    if start:
        stream.seek(start)
    return _Range(stream, None if end is None else end - start), start == 0


class _Range:
    """As many bytes of a stream as there are, or no more than so many."""

    def __init__(self, stream: Any, n_bytes: int | None) -> None:  # noqa: ANN401
        self._read = getattr(stream, "read1", stream.read)
        self._left = n_bytes

    def read1(self, n_bytes: int) -> bytes:
        if self._left is None:
            return bytes(self._read(n_bytes))
        chunk = bytes(self._read(min(n_bytes, self._left))) if self._left else b""
        self._left -= len(chunk)
        return chunk


def iterate_line_blocks(
    stream: Any,  # noqa: ANN401
    is_first: bool,
    name: files.File | str,
    encoding: str,
    *,
    is_strict: bool = True,
) -> Iterator[list[str]]:
    r"""Give the lines of a stream of bytes, as many at a time as have come: slow input is no wait.

    A line ends at \n only and keeps its end as it is in the file; the first one loses its byte
    order mark, where `is_first` says that it is the first of a file. Bytes that are not valid are
    escaped by lone surrogates unless this `is_strict`.

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
    decoder = codecs.getincrementaldecoder(codec)("strict" if is_strict else "surrogateescape")
    rest, n_lines, n_blank, chunk, has_begun = "", 0, 0, b"first", not is_first
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
