"""Lines of text files in any encoding, with the line number of invalid bytes."""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from wordclass.corpus.selection import ReadOptions
from wordclass.errors import FormatError, InputError
from wordclass.storage import files

_CHUNK_BYTES = 1 << 16
_MAX_BLANK_CHARACTERS = 1 << 20  # in a row
_BYTE_ORDER_MARK = "\ufeff"
_UNDECODED = re.compile("[\udc80-\udcff]")  # bytes that "surrogateescape" lets pass
_ENCODINGS_CUT_AT_LINES = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp125\d|koi8-\w+"
)  # \n is one byte in these

Span = tuple[int, int]


def decode_lines(path: files.File, encoding: str, span: Span | None = None) -> Iterator[str]:
    """Yield the lines of a text file, which may be compressed, or of a span of its bytes."""
    with files.open_for_reading(path, stream=True) as stream:
        for lines in iterate_line_blocks(*_open_span(stream, span), path, encoding):
            yield from lines


def number_lines(
    path: files.File, options: ReadOptions, span: Span | None = None
) -> Iterator[tuple[int, str | FormatError]]:
    """Yield the lines of a text file with their numbers, which count from the start of the span.

    If bad records are skipped, the error takes the place of a line that cannot be decoded.
    """
    if options.on_bad_record == "stop" or not is_cut_at_lines(options.encoding):
        yield from enumerate(decode_lines(path, options.encoding, span), start=1)
        return
    codec = codec_of(options.encoding)
    n_lines = 0
    with files.open_for_reading(path, stream=True) as stream:
        blocks = iterate_line_blocks(
            *_open_span(stream, span), path, options.encoding, is_strict=False
        )
        for lines in blocks:
            is_decoded = not _UNDECODED.search("".join(lines))
            for number, line in enumerate(lines, start=n_lines + 1):
                match = None if is_decoded else _UNDECODED.search(line)
                if match is None:
                    yield number, line
                else:
                    problem = f"byte 0x{ord(match[0]) - 0xDC00:02x} is not valid {codec}"
                    yield number, FormatError(path, number, problem)
            n_lines += len(lines)


def is_cut_at_lines(encoding: str) -> bool:
    """Return True if every line-end byte of this encoding ends a line."""
    return _ENCODINGS_CUT_AT_LINES.fullmatch(codec_of(encoding).removesuffix("-sig")) is not None


def cut_at_lines(path: files.File, encoding: str, n_bytes: int) -> list[Span]:
    """Cut a file into spans of whole lines of about `n_bytes`. Return [] if it must stay whole."""
    size = files.size_of(path)
    is_plain = path.suffix.lower() not in files.COMPRESSIONS and is_cut_at_lines(encoding)
    if size is None or size < 2 * n_bytes or not is_plain:
        return []
    ends = [0]
    with files.open_for_reading(path) as stream:
        for target in range(n_bytes, size - n_bytes // 2, n_bytes):
            if target > ends[-1]:
                stream.seek(target - 1)  # keeps a line whole that ends there
                stream.readline()
                ends.append(stream.tell())
    starts = [end for end in ends if end < size]
    return [*zip(starts, [*starts[1:], size], strict=True)]


def count_lines_before(path: files.File, end: int) -> int:
    """Count the lines of a file that end before a byte."""
    n_lines = 0
    with files.open_for_reading(path) as stream:
        while end > 0 and (chunk := stream.read(min(end, 1 << 22))):
            n_lines += chunk.count(b"\n")
            end -= len(chunk)
    return n_lines


def _open_span(stream: Any, span: Span | None) -> tuple["_SpanReader", bool]:  # noqa: ANN401
    """Return a reader of a span of a stream, and whether the span starts the file."""
    start, end = span or (0, None)
    if start:
        stream.seek(start)
    return _SpanReader(stream, None if end is None else end - start), start == 0


class _SpanReader:
    """Reader of all bytes of a stream, or of a limited number."""

    def __init__(self, stream: Any, n_bytes: int | None) -> None:  # noqa: ANN401
        self._read = getattr(stream, "read1", stream.read)
        self._n_remaining = n_bytes

    def read1(self, n_bytes: int) -> bytes:
        if self._n_remaining is None:
            return bytes(self._read(n_bytes))
        chunk = bytes(self._read(min(n_bytes, self._n_remaining))) if self._n_remaining else b""
        self._n_remaining -= len(chunk)
        return chunk


def iterate_line_blocks(
    stream: Any,  # noqa: ANN401
    is_first: bool,
    name: files.File | str,
    encoding: str,
    *,
    is_strict: bool = True,
) -> Iterator[list[str]]:
    r"""Yield the lines of a stream of bytes as they arrive, without waiting for slow input.

    A line ends at \n only and keeps its end as it is in the file. If `is_first`, the stream starts
    a file, and the byte order mark is dropped. Unless `is_strict`, invalid bytes are escaped by
    lone surrogates.

    Raises
    ------
    InputError
        There is no such encoding.
    FormatError
        A byte is not valid in the encoding. The error names the line. Or there is endless white
        space, which a small compressed file can hold.
    """
    # only the mark at the start is dropped here, while utf-8-sig would drop one in every span
    codec = codec_of(encoding).removesuffix("-sig")
    decoder = codecs.getincrementaldecoder(codec)("strict" if is_strict else "surrogateescape")
    incomplete_line = ""
    n_lines = 0
    n_blank = 0
    chunk = b"first"
    has_text = not is_first
    while chunk:
        chunk = stream.read1(_CHUNK_BYTES)
        state = decoder.getstate()
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            line = n_lines + 1 + _count_valid_line_ends(decoder, state, chunk)
            raise _encoding_error(name, line, error, codec) from error
        if not has_text:
            text = text.removeprefix(_BYTE_ORDER_MARK)
            has_text = bool(text)
        n_blank = n_blank + len(text) if text.isspace() else 0
        if n_blank > _MAX_BLANK_CHARACTERS:
            problem = f"more than {_MAX_BLANK_CHARACTERS:,} blanks in a row"
            raise FormatError(name, n_lines, problem)
        incomplete_line += text
        if "\n" in text or not chunk:
            lines = [*io.StringIO(incomplete_line, newline="\n")]
            is_complete = not chunk or incomplete_line.endswith("\n")
            incomplete_line = "" if is_complete else lines.pop()
            n_lines += len(lines)
            if lines:
                yield lines


def _encoding_error(
    name: files.File | str, line: int, error: UnicodeError, codec: str
) -> FormatError:
    problem = f"not {codec}: {error}"  # a file of UTF-16 without a byte order mark
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start : error.start + 1].hex()
        problem = f"byte 0x{byte} is not valid {codec} ({error.reason})"
    hint = "give the encoding of the file with encoding= or --encoding"
    return FormatError(name, line, problem, hint=hint)


def _count_valid_line_ends(
    decoder: codecs.IncrementalDecoder,
    state: Any,  # noqa: ANN401
    chunk: bytes,
) -> int:
    """Count the lines of a chunk before the first invalid byte."""
    decoder.setstate(state)
    n_line_ends = 0
    with suppress(UnicodeError):
        for k in range(len(chunk)):
            n_line_ends += decoder.decode(chunk[k : k + 1]).count("\n")
    return n_line_ends


def codec_of(encoding: str) -> str:
    """Return Python's own name of an encoding."""
    try:
        "\n".encode(encoding)  # refuses codecs that do not encode text, such as "hex"
        return codecs.lookup(encoding).name
    except (LookupError, ValueError) as error:
        raise InputError(
            f"unknown encoding {encoding!r}",
            expected="one that Python knows, such as 'utf-8', 'latin-1' or 'utf-16'",
        ) from error
