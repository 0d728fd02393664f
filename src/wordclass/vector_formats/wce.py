"""Word-class embeddings as `WordClassEmbeddings.save` writes them, read as plain vectors."""

from pathlib import Path

import numpy as np

from wordclass import tensor_file
from wordclass.word_vectors import WordVectors

ENDINGS = (".wce",)


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read terms and vectors; the dimensions have names unless they were projected.

    There is no `write`: vectors alone do not hold the sums that embeddings are made of.
    """
    header, arrays = tensor_file.read(path, "wce")
    all_terms = tensor_file.unpack_strings(arrays["terms"], arrays["term_ends"])
    kept = [j for j, term in enumerate(all_terms) if terms is None or term in terms]
    is_projected = "vectors" in arrays
    matrix = arrays["vectors" if is_projected else "class_vectors"]
    structural = [f"has {all_terms[j]}" for j in header["structural"]]
    names = None if is_projected else (*header["classes"], *structural)
    wanted = np.asarray(kept, dtype=np.intp)
    return WordVectors.of([all_terms[j] for j in kept], matrix[wanted], names)
