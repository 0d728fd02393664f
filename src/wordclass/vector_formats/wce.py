"""Word-class embeddings as `WordClassEmbeddings.save` writes them, read as plain vectors."""

from pathlib import Path

from wordclass.storage import understanding
from wordclass.storage.parts import Parts
from wordclass.vector_formats import _file
from wordclass.word_vectors import WordVectors

ENDINGS = (".wce",)
IS_QUICK = True


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read terms and vectors; the dimensions have names unless they were projected.

    There is no `write`: vectors alone do not hold the sums that embeddings are made of.
    """
    parts = Parts.read(path, "wce")
    with understanding(path, "not complete"):
        all_terms, matrix, projected = parts.take(
            terms="str terms",
            class_vectors="float32 terms columns",
            vectors="float32? terms dimensions",
        ).values()
        structural = [f"has {all_terms[j]}" for j in parts.facts["structural"]]
        names = (*parts.facts["classes"], *structural) if projected is None else None
    kept = _file.first_rows(all_terms, terms)
    chosen = matrix if projected is None else projected
    return _file.to_vectors(path, kept, chosen[list(kept.values())], names)
