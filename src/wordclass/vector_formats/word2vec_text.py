"""word2vec's text format, also fastText's .vec: a header `n q`, then `term v1 ... vq` a line.

Of a term that occurs twice the first vector counts.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from wordclass.errors import FormatError
from wordclass.storage import reading
from wordclass.vector_formats import _dimension_names, _header, _lines
from wordclass.word_vectors import WordVectors

ENDINGS = (".vec",)
sources = _dimension_names.sources


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of these terms, or of all.

    Raises
    ------
    FormatError
        There are not as many lines as the header says; or a line has too few fields, a field that
        is no finite number, or a term that is not UTF-8.
    """
    with reading(path) as stream:
        n_terms, n_dims = _header.parse(path, stream.readline())
        blocks = _counted(path, _lines.blocks_of(stream), n_terms)
        return _lines.read(path, blocks, n_dims, terms, first_line=2, n_lines=n_terms)


def write(path: Path, vectors: WordVectors) -> None:
    """Write the vectors; spaces in terms become underscores."""
    _header.write(path, vectors, _lines.written)


def _counted(path: Path, blocks: Iterable[bytes], n_terms: int) -> Iterator[bytes]:
    """Hand the lines on, and see to it that they are as many as the header says."""
    n_lines = 0
    for block in blocks:
        n_left = n_terms - n_lines
        n_lines += block.count(b"\n") + (not block.endswith(b"\n"))
        if n_lines <= n_terms:
            yield block
            continue
        if n_left:  # these first: what is wrong with them is said first
            yield b"\n".join(block.split(b"\n", n_left)[:n_left])
        reason = f"the header says {n_terms} vectors, but here is one more line"
        raise FormatError(path, n_terms + 2, reason)
    if n_lines < n_terms:
        reason = f"the header says {n_terms} vectors, but the file ends after {n_lines}"
        raise FormatError(path, None, reason)
