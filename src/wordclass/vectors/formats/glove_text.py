"""GloVe's text format: one line `term v1 ... vq` per term, without a header.

Terms may contain spaces (GloVe 840B has ". . ." and "at name@domain.com"): the last q fields are
the numbers. Of a term that occurs twice the first vector counts.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

from wordclass.errors import FormatError, InputError
from wordclass.storage.files import open_for_reading
from wordclass.vectors.formats import _file, _text
from wordclass.vectors.word_vectors import WordVectors

ENDINGS = (".txt",)

_N_SAMPLED = 200  # lines that decide what q is


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of these terms, or of all.

    Raises
    ------
    FormatError
        A line has too few fields, a field that is no finite number, or a term that is not UTF-8.
    """
    with open_for_reading(path) as stream:
        sampled = list(islice(_file.lines_of(stream), _N_SAMPLED))
        n_dims = _count_dims(sampled)
        if n_dims == 0:
            raise FormatError(path, 1, "expected a term and its numbers, separated by spaces")
        blocks = chain([b"".join(sampled)], _text.blocks_of(stream))
        return _text.read(path, blocks, n_dims, terms)


def write(path: Path, vectors: WordVectors) -> None:
    """Write the vectors; terms with spaces are written as they are.

    Raises
    ------
    InputError
        There are no vectors, or most of the first terms end in a number of their own ("route
        66"): without a header nobody could tell the number of dimensions.
    """
    lines = _text.written(_file.encoded(vectors.terms), vectors.matrix)
    sampled = list(islice(lines, _N_SAMPLED))
    if _count_dims(sampled) != vectors.n_dims:
        raise InputError(
            f"{path}: glove_text has no header, and these terms do not show where the "
            f"{vectors.n_dims} numbers start; the formats word2vec_text and npz do"
        )
    _file.write(path, vectors, chain(sampled, lines))


def _count_dims(lines: Sequence[bytes]) -> int:
    """Return how many numbers most lines end in; of equally many, the larger number.

    Not the smallest: a line that is cut short or damaged would count, and not be noticed.
    """
    counts = Counter(_count_numbers(line) for line in lines)
    return max(counts, key=lambda n_dims: (counts[n_dims], n_dims), default=0)


def _count_numbers(line: bytes) -> int:
    # the first field is always of the term
    numbers = _text.to_numbers(line.rstrip(_text.LINE_ENDS).split(b" ")[1:])
    return next((k for k, number in enumerate(numbers[::-1]) if number is None), len(numbers))
