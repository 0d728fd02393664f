"""Features of training documents that do not give away the documents' own labels."""

from collections.abc import Callable, Iterable

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.counts import WordClassCounts
from wordclass.embedding.documents import hash_text, seed_key


def fold_numbers(texts: Iterable[str], n_folds: int, seed: int) -> Ints:
    """Return the fold of each text: a hash of seed and text, so that order does not matter."""
    key = seed_key(seed)
    return np.fromiter((hash_text(text, key) % n_folds for text in texts), np.int64)


def cross_fit(
    X: Sparse,
    Y: Sparse,
    folds: Ints,
    count: Callable[[Sparse, Sparse], WordClassCounts],
    embed: Callable[[WordClassCounts], Floats],
) -> Floats32:
    """Multiply each row of X by the S of the documents outside its fold.

    Parameters
    ----------
    X, Y
        Weights (n, v) and labels (n, m) of the training documents.
    folds
        (n,) the fold of each document.
    count, embed
        From documents to sums, and from sums to S (v, r). The sums outside a fold are the sums of
        all documents less those of the fold, so one pass serves all folds.

    Returns
    -------
    features : float32 array of shape (n, r)
    """
    everything = count(X, Y)
    features: Floats32 | None = None
    for fold in progress.over(np.unique(folds).tolist(), "cross-fitting"):
        inside = np.flatnonzero(folds == fold)
        S = embed(everything - count(X[inside], Y[inside]))
        if features is None:
            features = np.zeros((X.shape[0], S.shape[1]), np.float32)
        features[inside] = X[inside] @ S
    return np.zeros((0, 0), np.float32) if features is None else features


def vectors_without(
    X: Sparse,
    Y: Sparse,
    folds: Ints,
    counts: WordClassCounts,
    count: Callable[[Sparse, Sparse], WordClassCounts],
    embed: Callable[[WordClassCounts], Floats],
) -> Floats32:
    """Return the S (folds, v, r) of the documents outside each fold.

    Parameters
    ----------
    counts
        The sums of the documents in any fold; see `cross_fit` for the rest.
    """
    made = []
    for fold in progress.over(range(int(folds.max(initial=-1)) + 1), "cross-fitting"):
        inside = np.flatnonzero(folds == fold)
        made.append(embed(counts - count(X[inside], Y[inside])).astype(np.float32))
    return np.array(made)
