"""The word-class embeddings of a classifier that takes `wce`: its own, those given, or none."""

from typing import Any

from sklearn.base import clone

from wordclass.embedding.estimator import WordClassEmbeddings


def own_embeddings(
    wce: bool | WordClassEmbeddings, options: dict[str, Any]
) -> WordClassEmbeddings | None:
    """Return embeddings to fit: a clone of those given; for True, ones with these options."""
    if isinstance(wce, WordClassEmbeddings):
        embeddings: WordClassEmbeddings = clone(wce)
        return embeddings
    return WordClassEmbeddings(**options) if wce else None
