"""Terms on a plane: which are near each other, and how far that follows the classes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from wordclass import progress
from wordclass.arrays import Floats, Ints, unit

PERPLEXITY = 18.0  # the paper's
N_NEIGHBORS = 10
_N_STEPS = 700  # of t-SNE; 300 more, as in the paper, move nothing that one could see


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


def lay_out(
    spaces: Sequence[Floats], titles: Sequence[tuple[str, str]], class_of: Ints, seed: int
) -> list[Panel]:
    """Make a panel of each space of vectors (n_terms, dims), with its title and caption."""
    step = "laying out the map"
    panels = []
    progress.report(step, 0, len(spaces))
    for done, (vectors, (title, caption)) in enumerate(zip(spaces, titles, strict=True), start=1):
        share = neighbor_share(vectors, class_of)
        panels.append(Panel(title, caption, places(vectors, seed), share))
        progress.report(step, done, len(spaces))
    return panels


def places(vectors: Floats, seed: int) -> Floats:
    """Return where t-SNE puts vectors, in the unit square; the same for the same seed.

    On one thread: the sums of several depend on which ends first, and t-SNE makes a different
    picture of a difference in the last digit.
    """
    n_terms = len(vectors)
    if n_terms < 3:  # too few for neighbors
        return np.linspace(0.25, 0.75, n_terms)[:, None].repeat(2, axis=1)
    perplexity = min(PERPLEXITY, (n_terms - 1) / 3)
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
