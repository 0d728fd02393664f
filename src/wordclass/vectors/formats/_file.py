"""What files of vectors have in common: terms, names of dimensions, headers, ends too early."""

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
from wordclass.vectors.word_vectors import WordVectors, checked_names, names_file

Names = tuple[str | int, ...] | None

# far beyond real vectors: what is larger is damaged, or made to fill the memory
MOST_DIMS = 100_000
_LONGEST_LINE = 1 << 22  # bytes
_LONGEST_TERM = 1 << 20
_CHUNK = 1 << 20  # bytes read ahead
_SIZES = re.compile(rb"\s*(\d{1,15})\s+(\d{1,15})\s*\n")  # they fit into every integer type
_UNWRITABLE = re.compile("\\A\\Z|[\n\ud800-\udfff]")


def expect(path: Path, is_so: bool, otherwise: str) -> None:
    """Refuse a file that does not hold what it should."""
    if not is_so:
        raise FormatError(path, None, otherwise)


def first_rows(terms: Iterable[str], wanted: frozenset[str] | None) -> dict[str, int]:
    """Return the terms that are wanted, and the row where each stands first.

    Of a term that occurs twice the first vector is kept: real files have such terms.
    """
    rows: dict[str, int] = {}
    for row, term in enumerate(terms):
        if wanted is None or term in wanted:
            rows.setdefault(term, row)
    return rows


def to_vectors(
    path: Path, terms: Iterable[str], rows: Floats32, names: Names, subwords: Subwords | None = None
) -> WordVectors:
    """Put together what a file held; errors name the file."""
    try:
        return WordVectors.of(terms, rows, names, subwords)
    except InputError as error:
        raise FormatError(path, None, str(error)) from error


def write(path: Path, vectors: WordVectors, content: Iterable[bytes]) -> None:
    """Write a file, and beside it the names of the dimensions; both or none.

    Names that are left from other vectors are removed. Beside a pipe or a device is no place.
    """
    side, has_place = names_file(path), not is_stream(path)
    with ExitStack() as stack:
        if has_place and vectors.dimension_names is not None:
            temporary = stack.enter_context(replace_atomically(side))
            # in ASCII: lone surrogates survive
            temporary.write_text(json.dumps(vectors.dimension_names), encoding="ascii")
        with replace_atomically(path) as temporary, temporary.open("wb") as out:
            out.writelines(content)
    if has_place and vectors.dimension_names is None:
        with as_storage_error(side, "removed", "; it names other vectors"):
            side.unlink(missing_ok=True)


def read_names(path: Path, n_dims: int) -> Names:
    """Read the names of the dimensions that stand beside a file; None where there are none."""
    side = names_file(path)
    if not side.exists():
        return None
    return names_from_json(side, read_content(side), n_dims)


def names_from_json(path: Path, text: str | bytes, n_dims: int) -> Names:
    """Read names from a JSON list; there must be one per dimension."""
    with as_format_error(path, "the dimension names are no JSON list of str and int"):
        names = parse_json(text)
        if not isinstance(names, list):
            raise TypeError(f"a {type(names).__name__}")
        return checked_names(names, n_dims)


def encoded(terms: Sequence[str]) -> list[bytes]:
    """Encode terms for a file of text.

    Raises
    ------
    InputError
        A term is empty, holds a newline or a lone surrogate: no reader would get it back.
    """
    if (bad := next(filter(_UNWRITABLE.search, terms), None)) is not None:
        raise InputError(
            f"the term {bad!r} cannot be written: it is empty, or holds a newline or a lone "
            "surrogate, which UTF-8 lacks; the format npz takes any term"
        )
    return [term.encode("utf-8") for term in terms]


def without_spaces(terms: Sequence[str]) -> list[str]:
    """Join the words of a term by underscores, word2vec's own way to write phrases.

    Other readers of its formats end a term at the first space.

    Raises
    ------
    InputError
        Two terms become the same.

    Examples
    --------
    >>> without_spaces(["new york", "rome"])
    ['new_york', 'rome']
    """
    term_of: dict[str, str] = {}
    for term in terms:
        name = term.replace(" ", "_")
        if (first := term_of.setdefault(name, term)) != term:
            raise InputError(
                f"the terms {first!r} and {term!r} would both be written as {name!r}: "
                "word2vec's formats have no spaces in terms; glove_text and npz do"
            )
    if len(term_of) < len(terms):  # as only a cache that somebody made up can have them
        raise InputError("a term occurs more than once; expected distinct terms")
    return list(term_of)


def read_sizes(path: Path, stream: BinaryIO) -> tuple[int, int]:
    """Read the first line of word2vec's formats: the number of terms and that of dimensions."""
    line = stream.readline(100)
    sizes = _SIZES.fullmatch(line)
    if sizes is None:
        shown = line[:40].decode("utf-8", errors="replace").rstrip()
        raise FormatError(path, 1, f"expected a line `n_vectors n_dimensions`, found {shown!r}")
    n_terms, n_dims = int(sizes[1]), int(sizes[2])
    if not 0 < n_dims <= MOST_DIMS:
        raise FormatError(path, 1, f"{n_dims} dimensions; expected 1 to {MOST_DIMS:,}")
    return n_terms, n_dims


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """Give the lines of a stream; one without an end is an EOFError, as in `Bytes`."""
    while line := stream.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise EOFError(f"a line has more than {_LONGEST_LINE:,} bytes")
        yield line


class Bytes:
    """A stream that has to hold all the bytes that are asked for.

    Raises EOFError at an early end, which `files.open_for_reading` turns into a FormatError.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._ahead, self._at = b"", 0  # bytes read ahead, and the first not handed out

    def read(self, n_bytes: int) -> bytearray:
        """Read so many bytes, in chunks: a size that is too large asks for no memory."""
        found = bytearray(self._ahead[self._at : self._at + n_bytes])
        self._at += len(found)
        while len(found) < n_bytes:
            found += self._chunk(min(_CHUNK, n_bytes - len(found)))
        return found

    def read_until(self, mark: bytes) -> bytes:
        """Read up to a byte, which is left out; a word without an end is an EOFError."""
        while (end := self._ahead.find(mark, self._at)) < 0:
            if len(self._ahead) - self._at > _LONGEST_TERM:
                raise EOFError(f"a word has more than {_LONGEST_TERM:,} bytes")
            self._ahead, self._at = self._ahead[self._at :] + self._chunk(_CHUNK), 0
        found = self._ahead[self._at : end]
        self._at = end + 1
        return found

    def rest(self, n_bytes: int) -> bytes:
        """Return what follows, at most so many bytes."""
        return (self._ahead[self._at :] + self._stream.read(n_bytes))[:n_bytes]

    def _chunk(self, n_bytes: int) -> bytes:
        if not (chunk := self._stream.read(n_bytes)):
            raise EOFError("the file ends before the vectors do")
        return chunk
