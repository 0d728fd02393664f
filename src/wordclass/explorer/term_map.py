"""The map of terms: which terms are on it, where they lie, and how far that follows the classes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from threadpoolctl import threadpool_limits

from wordclass import catalogue, progress
from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse, normalize_rows
from wordclass.corpus.documents import LabelledCorpus
from wordclass.corpus.labels import encode_labels
from wordclass.embedding.correlations import gss, information_gain
from wordclass.embedding.counts import WordClassCounts
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError
from wordclass.vectors.word_vectors import WordVectors

N_NEIGHBORS = 10
# the paper's, which are those of the Embedding Projector: the first hundred steps pull together
_PERPLEXITY = 18.0
_TSNE: Mapping[str, Any] = {
    "learning_rate": 10,
    "n_iter": 900,
    "early_exaggeration_iter": 100,
    "early_exaggeration": 4,
    "initialization": "pca",
    "neighbors": "exact",
    "n_jobs": 1,  # the sums of several threads depend on which ends first
}
_MANY = 2000  # terms from which interpolation is faster than a tree
_USUAL_VECTORS = "glove.6B.100d.npz"
_N_DIMS = 100  # of vectors learned here
# how finely a map is kept, so that the paper's (5,000 terms, 120 dimensions) takes below 500 kB
_STEPS, _GRID = 31, np.float32(4096)
_SMALLEST = np.float32(1e-30)  # step, of a dimension without any value


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
    """Terms, the class each was chosen for, and where they lie in several panels.

    `vectors` is (n_terms, q + r): what the last panel shows.
    """

    terms: list[str]
    classes: list[str]
    class_of: Ints  # (n_terms,) an index into classes
    panels: list[Panel]
    vectors: Floats32

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the map as facts that JSON can hold, and arrays that take little room.

        Vectors are rounded: each dimension has 63 steps, as many to each side of zero. Places are
        rounded to a 4,096th of the map's side.
        """
        panels = [{**vars(panel)} for panel in self.panels]
        places = np.array([panel.pop("places") for panel in panels], np.float32)
        steps = np.maximum(np.abs(self.vectors).max(axis=0, initial=0) / _STEPS, _SMALLEST)
        arrays = {
            "terms": np.array(self.terms, np.str_),
            "class_of": self.class_of,
            "places": np.rint(places * _GRID) / _GRID,
            "vectors": np.rint(self.vectors / steps).astype(np.int8),
            "steps": steps,
        }
        return {"classes": self.classes, "panels": panels}, arrays

    @classmethod
    def of_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "TermMap":
        """Return the map that `to_parts` made facts and arrays of."""
        places = arrays["places"].astype(np.float64)
        panels = [Panel(**own, places=at) for own, at in zip(facts["panels"], places, strict=True)]
        vectors = arrays["vectors"] * arrays["steps"]
        return cls(arrays["terms"].tolist(), facts["classes"], arrays["class_of"], panels, vectors)


def make_map(
    corpus: LabelledCorpus,
    embeddings: WordClassEmbeddings,
    vectors: WordVectors | None,
    source: str = "Pretrained vectors",
    *,
    n_per_class: int,
    seed: int = 0,
    as_published: bool = False,
) -> TermMap:
    """Choose the most telling terms of each class, and lay them out in three spaces.

    All panels show the same terms: those that have a vector made without the classes, too.

    Parameters
    ----------
    corpus, embeddings
        Labelled texts, and what was learned from them.
    vectors : WordVectors or None
        Pretrained vectors. None: vectors are learned from the texts without their labels.
    source : str, default="Pretrained vectors"
        What the vectors are, in words.
    n_per_class : int
        How many terms each class chooses.
    seed : int, default=0
        Of everything random.
    as_published : bool, default=False
        As in the paper: a class also chooses terms that speak against it, and vectors stand side
        by side with the lengths they have.
    """
    X = embeddings.vectorizer_.transform(corpus.texts)
    Y = encode_labels(corpus.labels, embeddings.classes_).Y
    if vectors is None:
        matrix, source = learn_vectors(X, seed)
        known = np.ones(len(matrix), np.bool_)
    else:
        matrix, known = rows_of(vectors, embeddings.terms_)
    rows, class_of = round_robin(gains(X, Y, as_published), n_per_class, known)
    blind, by_class = matrix[rows], embeddings.class_vectors_[rows].astype(np.float64)
    if as_published:
        both, how = np.hstack([blind, by_class]), "as they are"
    else:
        both, how = np.hstack([normalize_rows(blind), normalize_rows(by_class)]), "at equal length"
    spaces = [
        ("Without the classes", source, blind),
        ("Word-class embeddings", "One dimension per class", by_class),
        ("Both, side by side", f"Both vectors of a term, {how}", both),
    ]
    return TermMap(
        terms=[embeddings.terms_[row] for row in rows.tolist()],
        classes=[str(name) for name in embeddings.classes_],
        class_of=class_of,
        panels=[
            Panel(title, caption, places(space, seed), neighbor_share(space, class_of))
            for title, caption, space in progress.track(spaces, "laying out the map")
        ],
        vectors=both.astype(np.float32),
    )


def gains(X: Sparse, Y: Sparse, both_ways: bool = False) -> Floats:
    """Return the information gain (v, m) of terms that speak for a class, else 0.

    A term also tells something about the classes it keeps away from, but is not theirs, unless
    both ways count.
    """
    if both_ways:
        return information_gain.correlate(WordClassCounts.of(X, Y, information_gain.NEEDS))
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


def rows_of(vectors: WordVectors, terms: Sequence[str]) -> tuple[Floats, Flags]:
    """Return the vectors (v, q) of terms, and which have one; the others are rows of zeros."""
    rows = vectors.rows(terms)
    known = rows >= 0
    if not known.any():
        raise InputError(f"there is no vector for any of the {len(terms):,} terms")
    matrix = np.zeros((len(terms), vectors.n_dims))
    matrix[known] = vectors.matrix[rows[known]]
    return matrix, known


def learn_vectors(X: Sparse, seed: int) -> tuple[Floats, str]:
    """Learn vectors (v, q) of terms from documents X (n, v) alone, and say how, in words.

    Terms that occur in the same documents get similar vectors; no label is looked at.
    """
    n_dims = max(min(_N_DIMS, *(size - 1 for size in X.shape)), 1)
    with threadpool_limits(limits=1):  # so that the number of cores changes no digit
        factors = TruncatedSVD(n_dims, random_state=seed).fit(X)
    matrix: Floats = factors.components_.T * factors.singular_values_
    return matrix, f"Latent semantic analysis of the same texts, {n_dims} dimensions"


def places(vectors: Floats, seed: int) -> Floats:
    """Return where t-SNE puts vectors by their angles, in the unit square.

    The same for the same seed, on any number of cores: one thread makes them.
    """
    open_tsne = catalogue.import_extra("openTSNE", "to lay out the map of terms", "opentsne")
    n_terms = len(vectors)
    # distances of unit rows follow the angle, and need no division by the length of zeros
    rows = np.pad(
        normalize_rows(vectors), ((0, 0), (0, max(2 - vectors.shape[1], 0)))
    )  # it starts with two
    if n_terms < 2 or not np.ptp(rows, axis=0).any():  # nothing to tell terms apart by
        return np.full((n_terms, 2), 0.5)
    method = open_tsne.TSNE(
        2,
        perplexity=min(_PERPLEXITY, (n_terms - 1) / 3),
        negative_gradient_method="fft" if n_terms > _MANY else "bh",
        random_state=seed,
        **_TSNE,
    )
    with threadpool_limits(limits=1):
        raw = np.asarray(method.fit(rows), np.float64)
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
    units = normalize_rows(vectors)
    n_neighbors = min(n_neighbors, len(units) - 1)
    if n_neighbors < 1:
        return 0.0
    # rounded, so that equal cosines stay equal whatever the order of the sums
    cosines = np.round(units @ units.T, 9)
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :n_neighbors]
    return float((class_of[nearest] == class_of[:, None]).mean())


def shared_neighbors(term_map: TermMap) -> tuple[float, float]:
    """Return how many of a term's nearest terms of the same class other vectors keep, on average.

    The ten nearest terms by the cosine of the vectors without classes are compared with the ten
    nearest by word-class vectors alone, and by both vectors side by side.
    """
    n_word_class = len(term_map.classes)
    vectors = term_map.vectors.astype(np.float64)
    spaces = (
        normalize_rows(vectors[:, :-n_word_class]),
        normalize_rows(vectors[:, -n_word_class:]),
        normalize_rows(vectors),
    )
    shares: list[list[float]] = [[], []]
    for column in set(term_map.class_of.tolist()):
        own = np.flatnonzero(term_map.class_of == column)
        if len(own) > N_NEIGHBORS:
            blind, *others = (_nearest(space[own]) for space in spaces)
            for numbers, nearest in zip(shares, others, strict=True):
                same = (blind[:, :, None] == nearest[:, None, :]).any(axis=2)
                numbers += same.mean(axis=1).tolist()
    return float(np.mean(shares[0])), float(np.mean(shares[1]))


def _nearest(rows: NDArray[Any]) -> Ints:
    """Return the nearest other rows (n, N_NEIGHBORS) of each of some rows of length 1."""
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -np.inf)
    return np.argsort(-cosines, axis=1, kind="stable")[:, :N_NEIGHBORS]
