"""Word-class embeddings as `WordClassEmbeddings.save` writes them, read as plain vectors."""

from pathlib import Path

from wordclass import tensor_file
from wordclass.vector_formats import _file
from wordclass.word_vectors import WordVectors

ENDINGS = (".wce",)
IS_QUICK = True


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read terms and vectors; the dimensions have names unless they were projected.

    There is no `write`: vectors alone do not hold the sums that embeddings are made of.
    """
    header, arrays = tensor_file.read(path, "wce")
    all_terms = tensor_file.unpack_strings(arrays["terms"], arrays["term_ends"])
    kept = _file.first_rows(all_terms, terms)
    if "vectors" in arrays:
        matrix, names = arrays["vectors"], None
    else:
        structural = [f"has {all_terms[j]}" for j in header["structural"]]
        matrix, names = arrays["class_vectors"], (*header["classes"], *structural)
    return WordVectors.of(kept, matrix[list(kept.values())], names)
