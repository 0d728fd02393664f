"""Word-class embeddings that `WordClassEmbeddings.save` wrote, read as plain vectors."""

from pathlib import Path

from wordclass.storage import migrations
from wordclass.storage.files import as_format_error
from wordclass.storage.state import ModelState
from wordclass.vectors.formats import _file
from wordclass.vectors.word_vectors import WordVectors

ENDINGS = (".wce",)
IS_QUICK = True


def read(path: Path, terms: frozenset[str] | None = None) -> WordVectors:
    """Read terms and vectors. The dimensions have names unless the vectors are projected.

    There is no `write`, because vectors alone do not contain the sums of word-class embeddings.
    """
    state = ModelState.read(path, "wce")
    with as_format_error(path, "not complete"):
        all_terms, class_vectors, projected = state.take(
            terms="str terms",
            class_vectors="float32 terms columns",
            vectors="float32? terms dimensions",
        ).values()
        extra_columns = migrations.extra_columns(state.metadata, all_terms)
        names = (*state.metadata["classes"], *extra_columns) if projected is None else None
    rows = _file.find_first_rows(all_terms, terms)
    matrix = class_vectors if projected is None else projected
    return _file.to_vectors(path, rows, matrix[list(rows.values())], names)
