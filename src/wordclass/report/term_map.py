"""The map of terms: which terms are on it, where they lie, and how far that follows the classes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from wordclass import progress
from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse, unit
from wordclass.corpus import LabelledCorpus
from wordclass.correlations import gss, information_gain
from wordclass.counts import WordClassCounts
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError
from wordclass.labels import encode
from wordclass.word_vectors import WordVectors

N_NEIGHBORS = 10
_N_PER_CLASS = 40
_PERPLEXITY = 18.0  # the paper's
_N_STEPS = 700  # of t-SNE; 300 more, as in the paper, move nothing that one could see
_USUAL_VECTORS = "glove.6B.100d.npz"
_N_DIMS = 100  # of vectors learned here


@dataclass(frozen=True, eq=False)
class Panel:
    """One layout of the terms.

    `places` is (n_terms, 2), within the unit square, y upwards; `neighbor_share` tells how much
    class structure the vectors have, from 0 to 1.
    """

    title: str
    caption: str
    places: Floats
    neighbor_share: float


@dataclass(frozen=True, eq=False)
class TermMap:
    """Terms, the class each was chosen for, and where they lie in several panels."""

    terms: list[str]
    classes: list[str]
    class_of: Ints  # (n_terms,) an index into classes
    panels: list[Panel]


def make_map(
    corpus: LabelledCorpus, embeddings: WordClassEmbeddings, vectors: Path | None, seed: int
) -> TermMap:
    """Choose the most telling terms of each class, and lay them out in three spaces.

    All panels show the same terms: those that have a vector made without the classes, too.

    Parameters
    ----------
    corpus, embeddings
        Labelled texts, and what was learned from them.
    vectors : Path or None
        Pretrained vectors. None: those in `WORDCLASS_DATA`, or else ones learned from the texts
        without their labels.
    seed : int
        Of everything random.
    """
    X = embeddings.vectorizer_.transform(corpus.texts)
    Y = encode(corpus.labels, embeddings.classes_).Y
    path = find_vectors(vectors)
    if path is None:
        matrix, source = learned_vectors(X, seed)
        known = np.ones(len(matrix), np.bool_)
    else:
        matrix, known = pretrained_vectors(path, embeddings.terms_)
        source = f"Pretrained vectors ({path.name})"
    rows, class_of = round_robin(gains(X, Y), _N_PER_CLASS, known)
    without, by_class, both = word_spaces(matrix[rows], embeddings.class_vectors_[rows])
    spaces = [
        ("Without the classes", source, without),
        ("Word-class embeddings", "One dimension per class", by_class),
        ("Both, side by side", "Both vectors of a term, at equal length", both),
    ]
    return TermMap(
        terms=[embeddings.terms_[row] for row in rows.tolist()],
        classes=[str(name) for name in embeddings.classes_],
        class_of=class_of,
        panels=[
            Panel(title, caption, places(space, seed), neighbor_share(space, class_of))
            for title, caption, space in progress.over(spaces, "laying out the map")
        ],
    )


def gains(X: Sparse, Y: Sparse) -> Floats:
    """Return the information gain (v, m) of terms that speak for a class, else 0.

    A term also tells something about the classes it keeps away from, but is not theirs.
    """
    counts = WordClassCounts.of(X, Y, information_gain.NEEDS | gss.NEEDS)
    return np.where(gss.correlate(counts) > 0, information_gain.correlate(counts), 0.0)


def round_robin(scores: Floats, n_per_class: int, allowed: Flags) -> tuple[Ints, Ints]:
    """Let the classes choose terms in turn, each the best that is still there.

    Parameters
    ----------
    scores : array of shape (v, m)
        A class never chooses a term whose score is 0 or less.
    n_per_class : int
        How many terms a class chooses; fewer where no more are left.
    allowed : array of shape (v,)
        Which terms can be chosen at all.

    Returns
    -------
    rows, columns
        The chosen terms, and the class that chose each, in the order of choosing.

    Examples
    --------
    >>> scores = np.array([[3.0, 2.0], [1.0, 0.0], [2.0, 1.0]])
    >>> round_robin(scores, 1, np.array([True, True, True]))
    (array([0, 2]), array([0, 1]))
    """
    is_free = allowed.copy()
    # the terms of each class, best first, of equal ones the earlier row
    wishes = [iter(order.tolist()) for order in np.argsort(-scores, axis=0, kind="stable").T]
    chosen: list[tuple[int, int]] = []
    for column in list(range(scores.shape[1])) * n_per_class:
        row = next((row for row in wishes[column] if is_free[row]), None)
        if row is not None and scores[row, column] > 0:
            is_free[row] = False
            chosen.append((row, column))
    pairs: Ints = np.array(chosen, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def find_vectors(given: Path | None) -> Path | None:
    """Return the file of pretrained vectors: the given one, or else the one in `WORDCLASS_DATA`."""
    folder = os.environ.get("WORDCLASS_DATA")
    if given is not None or not folder:
        return given
    usual = Path(folder) / _USUAL_VECTORS
    return usual if usual.is_file() else None


def pretrained_vectors(path: Path, terms: Sequence[str]) -> tuple[Floats, Flags]:
    """Read the vectors (v, q) of terms, and which terms have one; the others are rows of zeros."""
    vectors = WordVectors.load(path, terms)
    rows = vectors.rows(terms)
    known = rows >= 0
    if not known.any():
        raise InputError(f"{path} has no vector for any of the {len(terms):,} terms")
    matrix = np.zeros((len(terms), vectors.n_dims))
    matrix[known] = vectors.matrix[rows[known]]
    return matrix, known


def learned_vectors(X: Sparse, seed: int) -> tuple[Floats, str]:
    """Learn vectors (v, q) of terms from documents X (n, v) alone, and say how, in words.

    Terms that occur in the same documents get similar vectors; no label is looked at.
    """
    n_dims = max(min(_N_DIMS, *(size - 1 for size in X.shape)), 1)
    with threadpool_limits(limits=1):  # so that the number of cores changes no digit
        factors = TruncatedSVD(n_dims, random_state=seed).fit(X)
    matrix: Floats = factors.components_.T * factors.singular_values_
    return matrix, f"Latent semantic analysis of the same texts, {n_dims} dimensions"


def word_spaces(blind: Floats, class_vectors: Floats32) -> tuple[Floats, Floats, Floats]:
    """Return the vectors of some terms in each space: without the classes, by them, both.

    All rows have length 1, so that distance follows the angle; side by side, the two blocks count
    the same.
    """
    without, by_class = unit(blind), unit(class_vectors.astype(np.float64))
    return without, by_class, unit(np.hstack([without, by_class]))


def places(vectors: Floats, seed: int) -> Floats:
    """Return where t-SNE puts vectors, in the unit square; the same for the same seed.

    On one thread: the sums of several depend on which ends first, and t-SNE makes a different
    picture of a difference in the last digit.
    """
    n_terms = len(vectors)
    if n_terms < 3:  # too few for neighbors
        return np.linspace(0.25, 0.75, n_terms)[:, None].repeat(2, axis=1)
    perplexity = min(_PERPLEXITY, (n_terms - 1) / 3)
    if vectors.shape[1] == 1:  # the start of t-SNE needs two
        vectors = np.hstack([vectors, np.zeros_like(vectors)])
    method = TSNE(2, perplexity=perplexity, init="pca", max_iter=_N_STEPS, random_state=seed)
    with threadpool_limits(limits=1):
        raw = method.fit_transform(vectors).astype(np.float64)
    low, high = raw.min(axis=0), raw.max(axis=0)
    # each axis by itself: between clusters, t-SNE's distances mean nothing
    scaled: Floats = (raw - low) / np.maximum(high - low, 1e-12)
    return scaled


def neighbor_share(vectors: Floats, class_of: Ints, n_neighbors: int = N_NEIGHBORS) -> float:
    """Return the share of a term's nearest neighbors that have its class, on average.

    Neighbors are those with the largest cosine, in the whole space, not on the plane.

    Examples
    --------
    >>> neighbor_share(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]), np.array([0, 0, 1]), 1)
    0.6666666666666666
    """
    units = unit(vectors)
    n_neighbors = min(n_neighbors, len(units) - 1)
    if n_neighbors < 1:
        return 0.0
    # rounded, so that equal cosines stay equal whatever the order of the sums
    cosines = np.round(units @ units.T, 9)
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :n_neighbors]
    return float((class_of[nearest] == class_of[:, None]).mean())
