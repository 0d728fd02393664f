"""Three ways to give the same terms a vector: without the classes, by the classes, both."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from threadpoolctl import threadpool_limits

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse, unit
from wordclass.errors import InputError
from wordclass.word_vectors import WordVectors

_USUAL_VECTORS = "glove.6B.100d.npz"
_N_DIMS = 100  # of vectors learned here


@dataclass(frozen=True, eq=False)
class ClassBlindVectors:
    """Vectors of terms that were made without knowing any class.

    Parameters
    ----------
    source
        Where they come from, in words.
    matrix
        (v, q) one row a term of the vocabulary.
    known
        (v,) which terms have a vector at all; the rows of the others are zeros.
    """

    source: str
    matrix: Floats
    known: Flags

    @classmethod
    def read(cls, path: Path, terms: Sequence[str]) -> "ClassBlindVectors":
        """Read pretrained vectors of the terms that have one."""
        vectors = WordVectors.load(path, terms)
        rows = vectors.rows(terms)
        known = rows >= 0
        if not known.any():
            raise InputError(f"{path} has no vector for any of the {len(terms):,} terms")
        matrix = np.zeros((len(terms), vectors.n_dims))
        matrix[known] = vectors.matrix[rows[known]]
        return cls(f"Pretrained vectors ({path.name})", matrix, known)

    @classmethod
    def learn(cls, X: Sparse, seed: int) -> "ClassBlindVectors":
        """Learn vectors from documents X (n, v) alone: latent semantic analysis.

        Terms that occur in the same documents get similar vectors; no label is looked at.
        """
        n_dims = max(min(_N_DIMS, *(size - 1 for size in X.shape)), 1)
        with threadpool_limits(limits=1):  # so that the number of cores changes no digit
            factors = TruncatedSVD(n_dims, random_state=seed).fit(X)
        matrix: Floats = factors.components_.T * factors.singular_values_  # (v, q)
        source = f"Latent semantic analysis of the same texts, {n_dims} dimensions"
        return cls(source, matrix, np.ones(X.shape[1], np.bool_))


def find_vectors(given: Path | None) -> Path | None:
    """Return the file of pretrained vectors: the given one, or else the one in `WORDCLASS_DATA`."""
    folder = os.environ.get("WORDCLASS_DATA")
    if given is not None or not folder:
        return given
    usual = Path(folder) / _USUAL_VECTORS
    return usual if usual.is_file() else None


def word_spaces(blind: ClassBlindVectors, class_vectors: Floats32, rows: Ints) -> list[Floats]:
    """Return the vectors of some terms in each space: without the classes, by them, both.

    All rows have length 1, so that distance follows the angle; side by side, the two blocks count
    the same.
    """
    without = unit(blind.matrix[rows])
    by_class = unit(class_vectors[rows].astype(np.float64))
    return [without, by_class, unit(np.hstack([without, by_class]))]
