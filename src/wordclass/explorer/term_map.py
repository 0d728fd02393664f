"""The map of terms: the choice of terms, their layout, and how well it follows the classes."""

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
# the options of the paper and of the Embedding Projector
_PERPLEXITY = 18.0
_TSNE_OPTIONS: Mapping[str, Any] = {
    "learning_rate": 10,
    "n_iter": 900,
    "early_exaggeration_iter": 100,
    "early_exaggeration": 4,
    "initialization": "pca",
    "neighbors": "exact",
    "n_jobs": 1,  # the sums of several threads depend on their timing
}
_MIN_TERMS_FOR_INTERPOLATION = 2000  # from here on it is faster than a tree
_DEFAULT_VECTORS = "glove.6B.100d.npz"
_N_LATENT_DIMS = 100
# the precision of a stored map: 5,000 terms with 120 dimensions, as in the paper, take 500 kB
_MAX_STEP = 31  # number of steps on each side of zero
_GRID_SIZE = np.float32(4096)  # number of positions per side of the map
_MIN_STEP_SIZE = np.float32(1e-30)  # for a dimension of zeros


@dataclass(frozen=True, eq=False)
class Panel:
    """One layout of the terms.

    Parameters
    ----------
    title, caption : str
        The texts above and below the layout.
    places : array of shape (n_terms, 2)
        The positions in the unit square, with y upwards.
    neighbor_share : float
        The class structure of the vectors, from 0 to 1. See `neighbor_share`.
    """

    title: str
    caption: str
    places: Floats
    neighbor_share: float


@dataclass(frozen=True, eq=False)
class TermMap:
    """Terms with their classes, and their positions in several panels.

    Parameters
    ----------
    terms : list of str
        The terms.
    classes : list of str
        The classes.
    class_of : array of shape (n_terms,)
        The index of the class that chose each term.
    panels : list of Panel
        The layouts.
    vectors : array of shape (n_terms, q + r)
        The vectors that the last panel shows.
    """

    terms: list[str]
    classes: list[str]
    class_of: Ints
    panels: list[Panel]
    vectors: Floats32

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the map as metadata that JSON can hold, and small arrays.

        Vectors are rounded to 63 steps per dimension, positions to 1/4096 of the side of the map.
        """
        panels = [{**vars(panel)} for panel in self.panels]
        places = np.array([panel.pop("places") for panel in panels], np.float32)
        largest = np.abs(self.vectors).max(axis=0, initial=0)
        steps = np.maximum(largest / _MAX_STEP, _MIN_STEP_SIZE)
        arrays = {
            "terms": np.array(self.terms, np.str_),
            "class_of": self.class_of,
            "places": np.rint(places * _GRID_SIZE) / _GRID_SIZE,
            "vectors": np.rint(self.vectors / steps).astype(np.int8),
            "steps": steps,
        }
        return {"classes": self.classes, "panels": panels}, arrays

    @classmethod
    def of_parts(cls, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "TermMap":
        """Restore a map from the metadata and arrays that `to_parts` returned."""
        positions = arrays["places"].astype(np.float64)
        panels = [
            Panel(**panel, places=places)
            for panel, places in zip(metadata["panels"], positions, strict=True)
        ]
        return cls(
            terms=arrays["terms"].tolist(),
            classes=metadata["classes"],
            class_of=arrays["class_of"],
            panels=panels,
            vectors=arrays["vectors"] * arrays["steps"],
        )


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
    """Choose the most discriminative terms of each class, and lay them out in three spaces.

    All panels show the same terms. Only terms with an unsupervised vector are chosen.

    Parameters
    ----------
    corpus : LabelledCorpus
        Labelled texts.
    embeddings : WordClassEmbeddings
        Embeddings that were fitted to these texts.
    vectors : WordVectors or None
        Pretrained vectors. If None, unsupervised vectors are learned from the texts.
    source : str, default="Pretrained vectors"
        A description of the vectors.
    n_per_class : int
        The number of terms per class.
    seed : int, default=0
        The seed of the random numbers.
    as_published : bool, default=False
        Whether to follow the paper: a class also chooses terms that occur rarely in it, and
        vectors are concatenated without normalization.
    """
    X = embeddings.vectorizer_.transform(corpus.texts)
    Y = encode_labels(corpus.labels, embeddings.classes_).Y
    if vectors is None:
        matrix, source = learn_vectors(X, seed)
        has_vector = np.ones(len(matrix), np.bool_)
    else:
        matrix, has_vector = rows_of(vectors, embeddings.terms_)
    rows, class_of = choose_terms(information_gains(X, Y, as_published), n_per_class, has_vector)
    unsupervised = matrix[rows]
    by_class = embeddings.class_vectors_[rows].astype(np.float64)
    if as_published:
        both = np.hstack([unsupervised, by_class])
        lengths = "with their original lengths"
    else:
        both = np.hstack([normalize_rows(unsupervised), normalize_rows(by_class)])
        lengths = "with equal lengths"
    spaces = [
        ("Without the classes", source, unsupervised),
        ("Word-class embeddings", "One dimension per class", by_class),
        ("Both, side by side", f"Both vectors of a term, {lengths}", both),
    ]
    return TermMap(
        terms=[embeddings.terms_[row] for row in rows.tolist()],
        classes=[str(name) for name in embeddings.classes_],
        class_of=class_of,
        panels=[
            Panel(title, caption, lay_out(space, seed), neighbor_share(space, class_of))
            for title, caption, space in progress.track(spaces, "laying out the map")
        ],
        vectors=both.astype(np.float32),
    )


def information_gains(X: Sparse, Y: Sparse, includes_negative: bool = False) -> Floats:
    """Return the information gain (v, m) of terms for the classes in which they are frequent.

    A term also has a gain for classes in which it is rare. This gain is 0 here unless
    `includes_negative`.
    """
    if includes_negative:
        return information_gain.correlate(WordClassCounts.of(X, Y, information_gain.NEEDS))
    counts = WordClassCounts.of(X, Y, information_gain.NEEDS | gss.NEEDS)
    return np.where(gss.correlate(counts) > 0, information_gain.correlate(counts), 0.0)


def choose_terms(scores: Floats, n_per_class: int, is_allowed: Flags) -> tuple[Ints, Ints]:
    """Let the classes choose terms in turn. Each chooses its best term that is still available.

    Parameters
    ----------
    scores : array of shape (v, m)
        The scores of v terms for m classes. A class never chooses a term with a score of 0 or less.
    n_per_class : int
        The maximum number of terms per class.
    is_allowed : array of shape (v,)
        Whether each term may be chosen.

    Returns
    -------
    rows, columns : arrays of int
        The chosen terms, and the classes that chose them, in the order of choosing.

    Examples
    --------
    >>> scores = np.array([[3.0, 2.0], [1.0, 0.0], [2.0, 1.0]])
    >>> choose_terms(scores, 1, np.array([True, True, True]))
    (array([0, 2]), array([0, 1]))
    """
    is_available = is_allowed.copy()
    # the terms of each class by descending score, then by row
    rankings = [iter(order.tolist()) for order in np.argsort(-scores, axis=0, kind="stable").T]
    chosen: list[tuple[int, int]] = []
    for column in list(range(scores.shape[1])) * n_per_class:
        row = next((row for row in rankings[column] if is_available[row]), None)
        if row is not None and scores[row, column] > 0:
            is_available[row] = False
            chosen.append((row, column))
    pairs: Ints = np.array(chosen, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def find_vectors(path: Path | None) -> Path | None:
    """Return a path of pretrained vectors. By default it is a file in `WORDCLASS_DATA`, if any."""
    folder = os.environ.get("WORDCLASS_DATA")
    if path is not None or not folder:
        return path
    default = Path(folder) / _DEFAULT_VECTORS
    return default if default.is_file() else None


def rows_of(vectors: WordVectors, terms: Sequence[str]) -> tuple[Floats, Flags]:
    """Return the vectors (v, q) of terms and whether each term has one. Others are zeros."""
    rows = vectors.rows(terms)
    has_vector = rows >= 0
    if not has_vector.any():
        raise InputError(
            f"the vectors have none of the {len(terms):,} terms",
            hint="use vectors of the same language as the texts",
        )
    matrix = np.zeros((len(terms), vectors.n_dims))
    matrix[has_vector] = vectors.matrix[rows[has_vector]]
    return matrix, has_vector


def learn_vectors(X: Sparse, seed: int) -> tuple[Floats, str]:
    """Learn vectors (v, q) of terms from documents X (n, v) without labels.

    Terms that occur in the same documents get similar vectors.

    Returns
    -------
    matrix, description
        The vectors and a description of the method.
    """
    n_dims = max(min(_N_LATENT_DIMS, *(size - 1 for size in X.shape)), 1)
    with threadpool_limits(limits=1):  # so that the number of cores does not affect the result
        factors = TruncatedSVD(n_dims, random_state=seed).fit(X)
    matrix: Floats = factors.components_.T * factors.singular_values_
    return matrix, f"Latent semantic analysis of the same texts, {n_dims} dimensions"


def lay_out(vectors: Floats, seed: int) -> Floats:
    """Return positions of vectors in the unit square, computed by t-SNE from their angles.

    The result is the same for the same seed on any number of cores, because it uses one thread.
    """
    open_tsne = catalogue.import_extra("openTSNE", "to lay out the map of terms")
    n_terms = len(vectors)
    # distances of unit vectors depend on their angle only, and zeros stay zeros
    units = normalize_rows(vectors)
    n_missing_dims = max(2 - vectors.shape[1], 0)  # t-SNE starts from two dimensions
    rows = np.pad(units, ((0, 0), (0, n_missing_dims)))
    if n_terms < 2 or not np.ptp(rows, axis=0).any():  # all vectors are equal
        return np.full((n_terms, 2), 0.5)
    method = open_tsne.TSNE(
        2,
        perplexity=min(_PERPLEXITY, (n_terms - 1) / 3),
        negative_gradient_method="fft" if n_terms > _MIN_TERMS_FOR_INTERPOLATION else "bh",
        random_state=seed,
        **_TSNE_OPTIONS,
    )
    with threadpool_limits(limits=1):
        raw = np.asarray(method.fit(rows), np.float64)
    low = raw.min(axis=0)
    high = raw.max(axis=0)
    # axes are scaled separately: distances between clusters have no meaning in t-SNE
    scaled: Floats = (raw - low) / np.maximum(high - low, 1e-12)
    return scaled


def neighbor_share(vectors: Floats, class_of: Ints, n_neighbors: int = N_NEIGHBORS) -> float:
    """Return the mean share of a term's nearest neighbors that have the same class.

    The neighbors are those with the largest cosine of the vectors, not those on the map.

    Examples
    --------
    >>> neighbor_share(np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]), np.array([0, 0, 1]), 1)
    0.6666666666666666
    """
    units = normalize_rows(vectors)
    n_neighbors = min(n_neighbors, len(units) - 1)
    if n_neighbors < 1:
        return 0.0
    # rounded, so that ties do not depend on the order of summation
    cosines = np.round(units @ units.T, 9)
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :n_neighbors]
    return float((class_of[nearest] == class_of[:, None]).mean())


def shared_neighbors(term_map: TermMap) -> tuple[float, float]:
    """Return the mean share of nearest terms within a class that two kinds of vectors preserve.

    The ten nearest terms by unsupervised vectors are compared with the ten nearest terms by
    word-class vectors, and with those by both vectors side by side.

    Returns
    -------
    word_class_share, both_share : float
        The shares of common neighbors.
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
        rows = np.flatnonzero(term_map.class_of == column)
        if len(rows) > N_NEIGHBORS:
            expected, *compared = (_nearest_rows(space[rows]) for space in spaces)
            for class_shares, nearest in zip(shares, compared, strict=True):
                is_shared = (expected[:, :, None] == nearest[:, None, :]).any(axis=2)
                class_shares += is_shared.mean(axis=1).tolist()
    return float(np.mean(shares[0])), float(np.mean(shares[1]))


def _nearest_rows(rows: NDArray[Any]) -> Ints:
    """Return the nearest other rows (n, N_NEIGHBORS) of each row of unit length."""
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -np.inf)
    return np.argsort(-cosines, axis=1, kind="stable")[:, :N_NEIGHBORS]
