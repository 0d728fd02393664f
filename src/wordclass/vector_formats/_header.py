"""The first line of word2vec's formats: how many vectors there are, and of what length."""

from collections.abc import Callable, Iterable
from pathlib import Path

from wordclass.arrays import Floats32
from wordclass.errors import FormatError
from wordclass.storage import replacing
from wordclass.vector_formats import _dimension_names, _terms
from wordclass.word_vectors import WordVectors

_MOST_DIGITS = 15  # a number that fits into every integer type


def parse(path: Path, line: bytes) -> tuple[int, int]:
    """Return n_terms and n_dims."""
    fields = line.split()
    is_whole = line.endswith(b"\n")
    if not is_whole or len(fields) != 2 or not all(map(_is_size, fields)):
        shown = line[:40].decode("utf-8", errors="replace").rstrip()
        raise FormatError(path, 1, f"expected a line `n_vectors n_dimensions`, found {shown!r}")
    n_terms, n_dims = int(fields[0]), int(fields[1])
    if n_dims == 0:
        raise FormatError(path, 1, "the vectors have no dimensions")
    return n_terms, n_dims


def write(
    path: Path, vectors: WordVectors, written: Callable[[list[bytes], Floats32], Iterable[bytes]]
) -> None:
    """Write the line and, below it, what is `written` for terms and vectors.

    Spaces in terms become underscores; the names of the dimensions go beside the file.
    """
    terms = _terms.encoded(_terms.without_spaces(vectors.terms))
    with (
        _dimension_names.beside(path, vectors.dimension_names),
        replacing(path) as temporary,
        temporary.open("wb") as out,
    ):
        out.write(b"%d %d\n" % vectors.matrix.shape)
        out.writelines(written(terms, vectors.matrix))


def _is_size(field: bytes) -> bool:
    return field.isdigit() and len(field) <= _MOST_DIGITS
