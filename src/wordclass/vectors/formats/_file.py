"""Functions that vector formats share: terms, dimension names, headers and reading of bytes."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from wordclass.arrays import Floats32
from wordclass.errors import FormatError, InputError
from wordclass.storage.files import (
    as_format_error,
    as_storage_error,
    is_stream,
    read_content,
    replace_atomically,
)
from wordclass.storage.state import parse_json
from wordclass.vectors.subwords import Subwords
from wordclass.vectors.word_vectors import WordVectors, list_dimension_names, names_file

Names = tuple[str | int, ...] | None

# A file with more is damaged, or was made to exhaust the memory.
MAX_DIMS = 100_000
_MAX_LINE_BYTES = 1 << 22
_MAX_TERM_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 20  # read ahead
_SIZES = re.compile(rb"\s*(\d{1,15})\s+(\d{1,15})\s*\n")  # 15 digits fit into a 64-bit integer
_UNWRITABLE = re.compile("\\A\\Z|[\n\ud800-\udfff]")


def require(path: Path, condition: bool, problem: str, expected: str | None = None) -> None:
    """Raise a FormatError unless a condition is met.

    Parameters
    ----------
    path : Path
        The file.
    condition : bool
        The condition.
    problem : str
        What is wrong if the condition is not met.
    expected : str, optional
        The accepted content.
    """
    if not condition:
        raise FormatError(path, None, problem, expected=expected)


def find_first_rows(terms: Iterable[str], requested: frozenset[str] | None) -> dict[str, int]:
    """Return the requested terms with the rows of their first occurrences.

    Some published files contain a term twice. Its first vector is used.

    Parameters
    ----------
    terms : iterable of str
        The terms of a file.
    requested : frozenset of str, or None
        The requested terms. None stands for all.
    """
    rows: dict[str, int] = {}
    for row, term in enumerate(terms):
        if requested is None or term in requested:
            rows.setdefault(term, row)
    return rows


def to_vectors(
    path: Path, terms: Iterable[str], rows: Floats32, names: Names, subwords: Subwords | None = None
) -> WordVectors:
    """Create word vectors from the content of a file. Errors name the file."""
    try:
        return WordVectors.of(terms, rows, names, subwords)
    except InputError as error:
        raise FormatError(path, None, str(error)) from error


def write(path: Path, vectors: WordVectors, content: Iterable[bytes]) -> None:
    """Write a file and the file of its dimension names. Either both are written or none.

    If the vectors have no dimension names, an existing file of names is removed. No names are
    written beside a pipe or a device.
    """
    side_file = names_file(path)
    has_folder = not is_stream(path)
    with ExitStack() as stack:
        if has_folder and vectors.dimension_names is not None:
            temporary = stack.enter_context(replace_atomically(side_file))
            # ASCII, because JSON then escapes lone surrogates
            temporary.write_text(json.dumps(vectors.dimension_names), encoding="ascii")
        with replace_atomically(path) as temporary, temporary.open("wb") as out:
            out.writelines(content)
    if has_folder and vectors.dimension_names is None:
        with as_storage_error(side_file, "removed", "; it names other vectors"):
            side_file.unlink(missing_ok=True)


def read_names(path: Path, n_dims: int) -> Names:
    """Read the file of dimension names that belongs to a file, or return None if there is none."""
    side_file = names_file(path)
    if not side_file.exists():
        return None
    return parse_names(side_file, read_content(side_file), n_dims)


def parse_names(path: Path, text: str | bytes, n_dims: int) -> Names:
    """Parse a JSON list with one name per dimension."""
    with as_format_error(path, "the dimension names are not a JSON list of str and int"):
        names = parse_json(text)
        if not isinstance(names, list):
            raise TypeError(f"a {type(names).__name__}")
        return list_dimension_names(names, n_dims)


def encode_terms(terms: Sequence[str]) -> list[bytes]:
    """Encode terms for a text file.

    Raises
    ------
    InputError
        A term cannot be represented: it is empty or contains a newline or a lone surrogate.
    """
    unwritable = next(filter(_UNWRITABLE.search, terms), None)
    if unwritable is not None:
        raise InputError(
            f"the term {unwritable!r} cannot be written in this format",
            expected="terms that are not empty, without newlines and lone surrogates",
            hint="use the format npz, which accepts any term",
        )
    return [term.encode("utf-8") for term in terms]


def replace_spaces(terms: Sequence[str]) -> list[str]:
    """Replace spaces in terms by underscores, which is how word2vec writes phrases.

    Other programs that read word2vec's formats end a term at the first space.

    Raises
    ------
    InputError
        Two terms become equal.

    Examples
    --------
    >>> replace_spaces(["new york", "rome"])
    ['new_york', 'rome']
    """
    term_of_name: dict[str, str] = {}
    for term in terms:
        name = term.replace(" ", "_")
        other_term = term_of_name.setdefault(name, term)
        if other_term != term:
            raise InputError(
                f"the terms {other_term!r} and {term!r} would both be written as {name!r}, because "
                "word2vec's formats have no spaces in terms",
                hint="use the format glove_text or npz",
            )
    if len(term_of_name) < len(terms):  # possible only if a cache was forged
        raise InputError("a term occurs more than once", expected="distinct terms")
    return list(term_of_name)


def read_sizes(path: Path, stream: BinaryIO) -> tuple[int, int]:
    """Read the header of word2vec's formats: the number of terms and the number of dimensions."""
    line = stream.readline(100)
    sizes = _SIZES.fullmatch(line)
    if sizes is None:
        start = line[:40].decode("utf-8", errors="replace").rstrip()
        raise FormatError(
            path, 1, f"the header is {start!r}", expected="a line `n_vectors n_dimensions`"
        )
    n_terms = int(sizes[1])
    n_dims = int(sizes[2])
    if not 0 < n_dims <= MAX_DIMS:
        raise FormatError(path, 1, f"{n_dims} dimensions", expected=f"1 to {MAX_DIMS:,}")
    return n_terms, n_dims


def iterate_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a stream, and raise EOFError if a line is too long. See `ByteReader`."""
    while line := stream.readline(_MAX_LINE_BYTES):
        if len(line) == _MAX_LINE_BYTES:
            raise EOFError(f"a line has more than {_MAX_LINE_BYTES:,} bytes")
        yield line


class ByteReader:
    """Reader of a stream that must contain all bytes that are requested.

    It raises EOFError if the stream ends early. `files.open_for_reading` turns that into a
    FormatError.

    Parameters
    ----------
    stream : binary stream
        The stream.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._buffer = b""
        self._position = 0  # of the first byte in the buffer that was not returned yet

    def read(self, n_bytes: int) -> bytearray:
        """Read a number of bytes. They come in chunks, so a wrong number allocates no memory."""
        content = bytearray(self._buffer[self._position : self._position + n_bytes])
        self._position += len(content)
        while len(content) < n_bytes:
            content += self._read_chunk(min(_CHUNK_BYTES, n_bytes - len(content)))
        return content

    def read_until(self, mark: bytes) -> bytes:
        """Read up to a byte, which is skipped, and raise EOFError if it does not come soon."""
        while (end := self._buffer.find(mark, self._position)) < 0:
            if len(self._buffer) - self._position > _MAX_TERM_BYTES:
                raise EOFError(f"a word has more than {_MAX_TERM_BYTES:,} bytes")
            self._buffer = self._buffer[self._position :] + self._read_chunk(_CHUNK_BYTES)
            self._position = 0
        content = self._buffer[self._position : end]
        self._position = end + 1
        return content

    def peek(self, n_bytes: int) -> bytes:
        """Return at most this number of the following bytes. Nothing can be read afterwards."""
        return (self._buffer[self._position :] + self._stream.read(n_bytes))[:n_bytes]

    def _read_chunk(self, n_bytes: int) -> bytes:
        chunk = self._stream.read(n_bytes)
        if not chunk:
            raise EOFError("the file ends before the vectors do")
        return chunk
