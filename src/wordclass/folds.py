"""Splits of documents into folds that have the same share of every class."""

from collections.abc import Sequence

import numpy as np

from wordclass.arrays import Ints, Sparse, rows_of
from wordclass.embedding.documents import hash_text, seed_key


def stratified_folds(texts: Sequence[str], Y: Sparse, n_folds: int, seed: int) -> Ints:
    """Return the fold (n,) of each document.

    The documents of every class are dealt out evenly; in a multilabel task a document is dealt
    with the rarest of its classes. Equal texts go to the same fold, blank ones excepted, so that no
    document is tested on its own copy. As the order within a class is that of a hash of seed and
    text, the folds do not depend on the order of the documents.

    Parameters
    ----------
    texts, Y
        The documents, and their labels (n, m).
    """
    key = seed_key(seed)
    # blank texts have nothing to give away, and may be many: each goes its own way
    named = (text if text.strip() else f"blank {k}" for k, text in enumerate(texts))
    hashes = np.fromiter((hash_text(text, key) for text in named), np.uint64, len(texts))
    distinct, group = np.unique(hashes, return_inverse=True)  # sorted by hash
    rarest = np.full(len(distinct), Y.shape[1])
    # copies of one text may have different labels: the lowest class decides
    np.minimum.at(rarest, group, _rarest_class(Y))
    order = np.argsort(rarest, kind="stable")
    fold_of_group = np.empty(len(distinct), np.int64)
    fold_of_group[order] = np.arange(len(distinct)) % n_folds
    folds: Ints = fold_of_group[group]
    return folds


def _rarest_class(Y: Sparse) -> Ints:
    """Return the class of each document with the fewest documents; m where it has none."""
    sizes = np.asarray(Y.sum(axis=0)).ravel()
    rank = np.empty(Y.shape[1], np.int64)
    by_size = np.argsort(sizes, kind="stable")
    rank[by_size] = np.arange(Y.shape[1])
    lowest = np.full(Y.shape[0], Y.shape[1])
    np.minimum.at(lowest, rows_of(Y), rank[Y.indices])
    rarest: Ints = np.append(by_size, Y.shape[1])[lowest].astype(np.int64)
    return rarest
