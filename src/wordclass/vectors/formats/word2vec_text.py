"""word2vec's text format, which fastText calls .vec: a header `n q`, then lines `term v1 ... vq`.

If a term occurs twice, its first vector is used.
"""

from itertools import chain
from pathlib import Path

from wordclass.storage.files import open_for_reading
from wordclass.vectors.formats import _file, _text
from wordclass.vectors.word_vectors import WordVectors

ENDINGS = (".vec",)


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of some terms, or of all terms by default.

    Raises
    ------
    FormatError
        The number of lines differs from the header, or a line has too few fields, a field that is
        not a finite number, or a term that is not UTF-8.
    """
    with open_for_reading(path) as stream:
        n_terms, n_dims = _file.read_sizes(path, stream)
        return _text.read(path, _text.read_blocks(stream), n_dims, terms, n_terms)


def write(path: Path, vectors: WordVectors) -> None:
    """Write vectors. Spaces in terms become underscores."""
    terms = _file.encode_terms(_file.replace_spaces(vectors.terms))
    header = b"%d %d\n" % vectors.matrix.shape
    _file.write(path, vectors, chain([header], _text.format_lines(terms, vectors.matrix)))
