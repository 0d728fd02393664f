"""Hashes of texts, and the splits of documents that follow from them.

What is decided by a hash of the text depends neither on the order of the documents nor on the
machine, and equal texts are always on the same side.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from wordclass.arrays import Flags, Floats, Ints, Sparse
from wordclass.checks import check_number
from wordclass.errors import InputError
from wordclass.storage.parts import digest

_PARTS = 5
_MOST_VALIDATED = 20_000
_FEWEST_TEXTS = 10


def fingerprint_texts(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each text, the same on every machine."""
    return np.fromiter((hash_text(text) for text in texts), np.uint64)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Which texts a model was trained on, without the texts.

    Parameters
    ----------
    fingerprints : array of shape (n_docs,)
        A 64-bit hash of each text, sorted.
    shares : array of shape (m,), optional
        The share of the texts that each class has; None for models of version 0.1.0.
    """

    fingerprints: NDArray[np.uint64]
    shares: Floats | None = None

    @classmethod
    def of(cls, texts: Iterable[str], shares: Floats | None = None) -> "TrainingData":
        """Take the fingerprints of texts."""
        return cls(np.sort(fingerprint_texts(texts)), shares)

    @property
    def n_docs(self) -> int:
        """Number of texts."""
        return len(self.fingerprints)

    @property
    def fingerprint(self) -> str:
        """One checksum of all texts, whatever their order."""
        return digest(self.fingerprints.astype("<u8").tobytes())

    def n_shared(self, texts: Iterable[str]) -> int:
        """Count the given texts that are among the training texts; blank ones do not count."""
        hashes = fingerprint_texts(text for text in texts if text.strip())
        return int(np.isin(hashes, self.fingerprints).sum())


def seed_key(seed: int) -> bytes:
    """Return a seed as the key of `hash_text`."""
    try:
        return int(seed).to_bytes(16, "little", signed=True)  # NumPy's integers have no to_bytes
    except OverflowError:
        raise InputError(f"seed is {seed}; expected one between -2**127 and 2**127") from None


def hash_text(text: str, key: bytes = b"") -> int:
    """Return a 64-bit hash of a text; lone surrogates, legal in a str, are no problem."""
    encoded = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(encoded, digest_size=8, key=key).digest(), "little")


def fold_numbers(texts: Iterable[str], n_folds: int, seed: int) -> Ints:
    """Return the fold of each text: a hash of seed and text, so that order does not matter."""
    key = seed_key(seed)
    return np.fromiter((hash_text(text, key) % n_folds for text in texts), np.int64)


def validation_parts(n_texts: int) -> int:
    """Return of how many equal parts of training texts one validates; 0: none can be spared.

    A fifth as in the paper, of at most 20,000 texts.
    """
    return max(_PARTS, -(-n_texts // _MOST_VALIDATED)) if n_texts >= _FEWEST_TEXTS else 0


def paper_split(n_texts: int, seed: int) -> tuple[Ints, Ints]:
    """Return the texts that train and those that validate in the paper's protocol.

    They depend on nothing but number and seed, so that all classifiers share them.
    """
    order = np.random.default_rng(int(seed) % 2**64).permutation(n_texts)
    n_parts = validation_parts(n_texts)
    n_validated = n_texts // n_parts if n_parts else 0
    return order[n_validated:], order[:n_validated]


@dataclass(frozen=True)
class Holdout:
    """Which documents are kept aside to measure a model.

    Parameters
    ----------
    share : float
        Of all documents, about; more than 0 and less than 1.
    seed : int, default=0
        Another seed keeps other documents aside.
    """

    share: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("holdout", self.share, above=0.0, below=1.0)

    def contains(self, texts: Iterable[str]) -> Flags:
        """Tell for each text whether it is kept aside."""
        limit = self.share * 2.0**64
        key = f"holdout {self.seed}".encode()
        return np.fromiter((hash_text(text, key) < limit for text in texts), np.bool_)


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
    n_docs, n_classes = Y.shape
    by_size = np.argsort(np.asarray(Y.sum(axis=0)).ravel(), kind="stable")
    rank = np.argsort(by_size)
    lowest = np.full(n_docs, n_classes)
    rows, columns = Y.nonzero()
    np.minimum.at(lowest, rows, rank[columns])
    rarest: Ints = np.append(by_size, n_classes)[lowest].astype(np.int64)
    return rarest
