"""GloVe's text format: one line `term v1 ... vq` per term, without a header.

Terms may contain spaces (GloVe 840B has ". . ." and "at name@domain.com"), so the last q fields are
the numbers. If a term occurs twice, its first vector is used.
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

_N_SAMPLED_LINES = 200  # from which the number of dimensions is detected


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of some terms, or of all terms by default.

    Raises
    ------
    FormatError
        A line has too few fields, a field that is not a finite number, or a term that is not UTF-8.
    """
    with open_for_reading(path) as stream:
        sample = list(islice(_file.iterate_lines(stream), _N_SAMPLED_LINES))
        n_dims = _count_dims(sample)
        if n_dims == 0:
            raise FormatError(
                path, 1, "the line has no numbers", expected="a term and numbers after spaces"
            )
        blocks = chain([b"".join(sample)], _text.read_blocks(stream))
        return _text.read(path, blocks, n_dims, terms)


def write(path: Path, vectors: WordVectors) -> None:
    """Write vectors. Terms with spaces are written unchanged.

    Raises
    ------
    InputError
        The number of dimensions could not be detected when the file is read, because there are no
        vectors or most of the first terms end in a number, such as "route 66".
    """
    lines = _text.format_lines(_file.encode_terms(vectors.terms), vectors.matrix)
    sample = list(islice(lines, _N_SAMPLED_LINES))
    if _count_dims(sample) != vectors.n_dims:
        raise InputError(
            f"{path}: glove_text has no header, and these terms do not show where the "
            f"{vectors.n_dims} numbers start",
            hint="use the format word2vec_text or npz",
        )
    _file.write(path, vectors, chain(sample, lines))


def _count_dims(lines: Sequence[bytes]) -> int:
    """Return the number of numbers at the end of most lines, and the larger one of a tie.

    The minimum would not do: a line that is cut short would set it, and go unnoticed.
    """
    counts = Counter(_count_numbers(line) for line in lines)
    return max(counts, key=lambda n_dims: (counts[n_dims], n_dims), default=0)


def _count_numbers(line: bytes) -> int:
    # the first field always belongs to the term
    numbers = _text.parse_numbers(line.rstrip(_text.LINE_ENDS).split(b" ")[1:])
    return next((k for k, number in enumerate(numbers[::-1]) if number is None), len(numbers))
