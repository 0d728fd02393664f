"""word2vec's text format, also fastText's .vec: a header `n q`, then lines `term v1 ... vq`.

Of a term that occurs twice the first vector counts.
"""

from itertools import chain
from pathlib import Path

from wordclass.storage.files import open_for_reading
from wordclass.vectors.formats import _file, _text
from wordclass.vectors.word_vectors import WordVectors

ENDINGS = (".vec",)


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read the vectors of these terms, or of all.

    Raises
    ------
    FormatError
        There are not as many lines as the header says; or a line has too few fields, a field that
        is no finite number, or a term that is not UTF-8.
    """
    with open_for_reading(path) as stream:
        n_terms, n_dims = _file.read_sizes(path, stream)
        return _text.read(path, _text.blocks_of(stream), n_dims, terms, n_terms)


def write(path: Path, vectors: WordVectors) -> None:
    """Write the vectors; spaces in terms become underscores."""
    terms = _file.encoded(_file.without_spaces(vectors.terms))
    header = b"%d %d\n" % vectors.matrix.shape
    _file.write(path, vectors, chain([header], _text.written(terms, vectors.matrix)))
