"""Word-class embeddings as `WordClassEmbeddings.save` writes them, read as plain vectors."""

from pathlib import Path

from wordclass.storage import migrations
from wordclass.storage.files import as_format_error
from wordclass.storage.state import ModelState
from wordclass.vectors.formats import _file
from wordclass.vectors.word_vectors import WordVectors

ENDINGS = (".wce",)
IS_QUICK = True


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read terms and vectors; the dimensions have names unless they were projected.

    There is no `write`: vectors alone do not hold the sums that embeddings are made of.
    """
    parts = ModelState.read(path, "wce")
    with as_format_error(path, "not complete"):
        all_terms, matrix, projected = parts.take(
            terms="str terms",
            class_vectors="float32 terms columns",
            vectors="float32? terms dimensions",
        ).values()
        extra_columns = migrations.extra_columns(parts.metadata, all_terms)
        names = (*parts.metadata["classes"], *extra_columns) if projected is None else None
    kept = _file.first_rows(all_terms, terms)
    chosen = matrix if projected is None else projected
    return _file.to_vectors(path, kept, chosen[list(kept.values())], names)
