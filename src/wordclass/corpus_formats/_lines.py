"""Text files line by line, in any encoding, with the line of a byte that does not belong there."""

import codecs
import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from wordclass import storage
from wordclass.errors import FormatError, InputError

_CHUNK = 1 << 16
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
        A byte is not valid in the encoding; the error names the line, unless it came from a pipe.
    """
    # our own dropping of the mark looks at the first line only; that of utf-8-sig at each
    codec = codec_of(encoding).removesuffix("-sig")
    with (
        storage.reading(path, stream=True) as stream,
        io.TextIOWrapper(stream, encoding=codec, newline="\n") as lines,
    ):
        try:
            first = next(lines, "").removeprefix(_BYTE_ORDER_MARK)
            if first:
                yield first
            yield from lines
        except UnicodeDecodeError as error:
            found = error.object[error.start : error.start + 1].hex()
            raise FormatError(
                path,
                _line_of_error(path, codec) if path.is_file() else None,  # a pipe is gone
                f"byte 0x{found} is not valid {codec} ({error.reason}); give the encoding of the "
                "file with encoding= or --encoding",
            ) from error


def codec_of(encoding: str) -> str:
    """Return Python's own name of an encoding."""
    try:
        "\n".encode(encoding)  # refuses codecs that are not of text, such as "hex"
        return codecs.lookup(encoding).name
    except (LookupError, ValueError) as error:
        raise InputError(
            f"unknown encoding {encoding!r}; expected one that Python knows, such as 'utf-8', "
            "'latin-1' or 'utf-16'"
        ) from error


def _line_of_error(path: Path, codec: str) -> int:
    """Read a file again and count the lines before the first byte that is not valid."""
    decoder = codecs.getincrementaldecoder(codec)()
    n_line_ends = 0
    with storage.reading(path) as stream:
        while chunk := stream.read(_CHUNK):
            state = decoder.getstate()
            try:
                n_line_ends += decoder.decode(chunk).count("\n")
            except UnicodeDecodeError:
                decoder.setstate(state)
                with suppress(UnicodeDecodeError):
                    for k in range(len(chunk)):
                        n_line_ends += decoder.decode(chunk[k : k + 1]).count("\n")
                break
    return n_line_ends + 1
