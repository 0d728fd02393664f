"""Word-class embeddings as `WordClassEmbeddings.save` writes them, read as plain vectors."""

from pathlib import Path

import numpy as np

from wordclass.storage import understanding
from wordclass.storage.parts import Parts
from wordclass.word_vectors import WordVectors

ENDINGS = (".wce",)


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read terms and vectors; the dimensions have names unless they were projected.

    There is no `write`: vectors alone do not hold the sums that embeddings are made of.
    """
    parts = Parts.read(path, "wce")
    with understanding(path, "not complete"):
        all_terms, matrix, projected = parts.take(
            terms="str terms", class_vectors="float32 terms columns",
            vectors="float32? terms dimensions",
        ).values()  # fmt: skip
        structural = [f"has {all_terms[j]}" for j in parts.facts["structural"]]
        names = (*parts.facts["classes"], *structural) if projected is None else None
    matrix = matrix if projected is None else projected
    kept = [j for j, term in enumerate(all_terms) if terms is None or term in terms]
    wanted = np.asarray(kept, dtype=np.intp)
    return WordVectors.of([all_terms[j] for j in kept], matrix[wanted], names)
