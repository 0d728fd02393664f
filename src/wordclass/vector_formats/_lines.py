"""Vectors as lines of text, `term v1 ... vq`: what the text formats share.

Lines end at a newline only: terms may hold any other character that Unicode ends lines at.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from wordclass import native, progress
from wordclass.arrays import Floats32
from wordclass.vector_formats import _numbers
from wordclass.vector_formats._native_lines import NativeLines
from wordclass.vector_formats._plain_lines import PlainLines
from wordclass.word_vectors import WordVectors

_BLOCK_BYTES = 1 << 20  # read at a time
_BLOCK_LINES = 1000  # written at a time


def blocks_of(stream: BinaryIO) -> Iterator[bytes]:
    """Cut what is left of a file into blocks of whole lines."""
    while block := stream.read(_BLOCK_BYTES):
        yield block + stream.readline()


def read(
    path: Path,
    blocks: Iterable[bytes],
    n_dims: int,
    wanted: frozenset[str] | None,
    first_line: int = 1,
    n_lines: int | None = None,
) -> WordVectors:
    """Read lines whose last `n_dims` fields are numbers; what stands before is the term.

    The numbers of terms that are not wanted are counted, but not looked at.
    """
    native.warn_if_missing()
    kind = PlainLines if native.text_reader is None else NativeLines
    lines = kind(path, n_dims, wanted, first_line)
    n_read = 0
    for block in blocks:
        n_read += lines.add(block)
        progress.report(f"reading {path.name}", n_read, n_lines)
    return lines.to_vectors()


def written(terms: list[bytes], matrix: Floats32) -> Iterator[bytes]:
    """Write one line a vector, with the fewest digits from which the same float32 is read."""
    for start in range(0, len(terms), _BLOCK_LINES):
        block = matrix[start : start + _BLOCK_LINES]
        n_dims = block.shape[1]
        numbers = _numbers.as_text(block.ravel())
        for row, term in enumerate(terms[start : start + _BLOCK_LINES]):
            fields = numbers[row * n_dims : (row + 1) * n_dims]
            yield b"%s %s\n" % (term, " ".join(fields).encode("ascii"))
