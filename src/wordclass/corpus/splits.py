"""Splits of documents into training and held-out rows, and cross-fitting.

A split is given by the fold number (n,) of each document or as a `Split` of rows. Most follow from
a hash of the text, so they depend neither on the order of the documents, nor on the names of the
classes, nor on the machine, and equal texts are always on the same side.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordclass import progress
from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.errors import InputError
from wordclass.options import check_int, check_number
from wordclass.storage.state import digest

_N_VALIDATION_FOLDS = 5
_MAX_VALIDATION_TEXTS = 20_000
_MIN_TEXTS_TO_VALIDATE = 10
_MAX_SHARE_FOLDS = 20  # the share of held-out documents is a multiple of 1/20 or of a larger fold


# --- hashes of texts --------------------------------------------------------------------------


def fingerprint_texts(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each text, the same on every machine."""
    return np.fromiter((hash_text(text) for text in texts), np.uint64)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Hashes of the texts that a model was trained on.

    Parameters
    ----------
    fingerprints : array of shape (n_docs,)
        A 64-bit hash of each text, sorted.
    shares : array of shape (m,), optional
        The share of each class among the texts. None for models of version 0.1.0.
    """

    fingerprints: NDArray[np.uint64]
    shares: Floats | None = None

    @classmethod
    def of(cls, texts: Iterable[str], shares: Floats | None = None) -> "TrainingData":
        """Hash the training texts."""
        return cls(np.sort(fingerprint_texts(texts)), shares)

    @property
    def n_docs(self) -> int:
        """Number of texts."""
        return len(self.fingerprints)

    @property
    def fingerprint(self) -> str:
        """A checksum of all texts that does not depend on their order."""
        return digest(self.fingerprints.astype("<u8").tobytes())

    def n_shared(self, texts: Iterable[str]) -> int:
        """Count the texts that are among the training texts, except blank ones."""
        hashes = fingerprint_texts(text for text in texts if text.strip())
        return int(np.isin(hashes, self.fingerprints).sum())


def seed_key(seed: int) -> bytes:
    """Return a seed as the key of `hash_text`."""
    try:
        return int(seed).to_bytes(16, "little", signed=True)  # NumPy's integers have no to_bytes
    except OverflowError:
        raise InputError(f"seed is {seed}", expected="one between -2**127 and 2**127") from None


def hash_text(text: str, key: bytes = b"") -> int:
    """Return a 64-bit hash of a text, which may contain lone surrogates."""
    encoded = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(encoded, digest_size=8, key=key).digest(), "little")


# --- fold numbers -----------------------------------------------------------------------------


def fold_numbers(texts: Iterable[str], n_folds: int, seed: int) -> Ints:
    """Return the fold of each text, a hash of seed and text that does not depend on order."""
    key = seed_key(seed)
    return np.fromiter((hash_text(text, key) % n_folds for text in texts), np.int64)


def stratified_folds(texts: Sequence[str], Y: Sparse, n_folds: int, seed: int) -> Ints:
    """Return a fold (n,) for each document, with every class spread evenly over the folds.

    The documents are dealt class after class. A document with several classes is dealt with the
    smallest of them. Equal texts go to the same fold, except blank ones, so that no document is
    tested on its own copy. Classes, and the documents of a class, are ordered by hashes of seed and
    text, so the folds depend neither on the order of the documents nor on the names of the classes.

    Parameters
    ----------
    texts : sequence of str
        The documents.
    Y : sparse matrix of shape (n, m)
        Labels.
    n_folds : int
        Number of folds.
    seed : int
        Another seed gives other folds.
    """
    key = seed_key(seed)
    hashes = np.fromiter((hash_text(text, key) for text in texts), np.uint64, len(texts))
    # blank texts leak no labels and may be many, so each is dealt separately
    is_blank = np.fromiter((not text.strip() for text in texts), np.bool_, len(texts))
    by_size = class_order(hashes, Y)
    ranks = _rank_of_smallest_class(by_size, Y)
    # copies of a text may have different labels: the smallest class of all copies decides
    distinct, copies = np.unique(hashes, return_inverse=True)
    smallest = np.full(len(distinct), Y.shape[1])
    np.minimum.at(smallest, copies, ranks)
    ranks = np.where(is_blank, ranks, smallest[copies])
    # ordered by size, all classes of two documents would start at folds of the same parity
    turns = np.append(np.argsort(np.argsort(_class_keys(hashes, Y)[by_size])), Y.shape[1])
    order = np.lexsort((*_label_keys(hashes, Y), hashes, turns[ranks]))
    is_other_text = np.diff(hashes[order], prepend=0) != 0
    is_other_text[:1] = True
    is_dealt = is_other_text | is_blank[order]
    folds = np.empty(len(texts), np.int64)
    folds[order] = (np.cumsum(is_dealt) - 1) % n_folds
    return folds


def scikit_learn_folds(classes: Ints, n_folds: int) -> Ints:
    """Return the fold (n,) of each document as scikit-learn's `StratifiedKFold` deals them.

    This function does not warn about classes with fewer documents than folds, as a warning cannot
    be silenced in threads. The folds depend on the order of the documents.

    Parameters
    ----------
    classes : array of shape (n,)
        The class of each document.
    n_folds : int
        At most the number of documents of the largest class.
    """
    _, first_rows, class_numbers = np.unique(classes, return_index=True, return_inverse=True)
    by_appearance = np.argsort(np.argsort(first_rows))[class_numbers]
    # documents sorted by class are dealt in turn, then those of a class are sorted by fold
    folds = np.empty(len(classes), np.int64)
    folds[np.argsort(by_appearance, kind="stable")] = np.arange(len(classes)) % n_folds
    for k in range(len(first_rows)):
        folds[class_numbers == k] = np.sort(folds[class_numbers == k])
    return folds


# --- training and held-out rows ---------------------------------------------------------------


class Split(NamedTuple):
    """Rows of training documents and rows of held-out documents."""

    train: Ints
    held_out: Ints

    @classmethod
    def of(cls, is_held_out: Flags) -> "Split":
        """Make a split from one flag per document."""
        return cls(np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out))


def fold_splits(folds: Ints) -> list[Split]:
    """Return one split per fold, whose rows are held out while all others train.

    Folds without documents give no split.

    Documents with a negative fold number are in no split.
    """
    splits = []
    for fold in np.unique(folds[folds >= 0]):
        train = np.flatnonzero((folds != fold) & (folds >= 0))
        splits.append(Split(train, np.flatnonzero(folds == fold)))
    return splits


def paper_split(n_texts: int, seed: int) -> Split:
    """Return the training and validation rows of the paper's protocol.

    They depend on the number of texts and the seed only, so that all classifiers share them.
    """
    order = np.random.default_rng(int(seed) % 2**64).permutation(n_texts)
    n_folds = _n_validation_folds(n_texts)
    n_validated = n_texts // n_folds if n_folds else 0
    return Split(order[n_validated:], order[:n_validated])


def validation_split(texts: Sequence[str], Y: Sparse, seed: int) -> Split:
    """Hold out as many documents as the paper does, with the same share of every class.

    Nothing is held out if there are fewer than 10 texts, or if all of them are copies of one.
    """
    is_held_out: Flags = np.zeros(len(texts), np.bool_)
    if n_folds := _n_validation_folds(len(texts)):
        is_held_out = stratified_folds(texts, Y, n_folds, seed) == 0
    if is_held_out.all():
        is_held_out = np.zeros(len(texts), np.bool_)
    return Split.of(is_held_out)


def share_split(texts: Sequence[str], Y: Sparse, share: float, seed: int) -> Split:
    """Hold out approximately this share of every class.

    The share is rounded to a multiple of 1/20 or of a larger fold, and is at least 1/20. Equal
    texts are on the same side. A class without a training document gets all of its documents back.

    Raises
    ------
    InputError
        The share is not between 0 and 1, or there are too few documents to hold any out.
    """
    check_number("validation", share, above=0.0, below=1.0)
    lowest = Fraction(1, _MAX_SHARE_FOLDS)
    fraction = Fraction(share).limit_denominator(_MAX_SHARE_FOLDS)
    fraction = min(max(fraction, lowest), 1 - lowest)
    n_held_out = fraction.numerator
    n_folds = fraction.denominator
    folds = stratified_folds(texts, Y, n_folds, seed)
    held_out_folds = [k * n_folds // n_held_out for k in range(n_held_out)]  # spread over a class
    is_held_out = np.isin(folds, held_out_folds)
    n_training_docs = np.asarray(Y[np.flatnonzero(~is_held_out)].sum(axis=0)).ravel()
    is_lost = (n_training_docs == 0).astype(float)  # (m,)
    needed = {texts[row] for row in np.flatnonzero((Y @ is_lost > 0) & is_held_out).tolist()}
    is_held_out &= [text not in needed for text in texts]
    if not is_held_out.any():
        raise InputError(
            f"{len(texts)} documents are too few for validation",
            hint="use more documents, or a larger share",
        )
    return Split.of(is_held_out)


def _n_validation_folds(n_texts: int) -> int:
    """Return the number of folds for validation, or 0 if there are too few texts.

    As in the paper a fifth of the texts is held out, but at most 20,000.
    """
    if n_texts < _MIN_TEXTS_TO_VALIDATE:
        return 0
    return max(_N_VALIDATION_FOLDS, -(-n_texts // _MAX_VALIDATION_TEXTS))


@dataclass(frozen=True)
class Holdout:
    """The rule that sets documents aside to evaluate a model.

    Parameters
    ----------
    share : float
        Approximate share of the documents that are held out, above 0 and below 1.
    seed : int, default=0
        Another seed holds out other documents.
    """

    share: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("holdout", self.share, above=0.0, below=1.0)
        check_int("seed", self.seed)
        seed_key(self.seed)  # refuses a number that is too large

    def contains(self, texts: Iterable[str]) -> Flags:
        """Return for each text whether it is held out."""
        return self.hash_texts(texts) < self.share * 2.0**64

    def hash_texts(self, texts: Iterable[str]) -> Floats:
        """Return the number (n,) that decides about each text, which is below 2**64."""
        key = f"holdout {self.seed}".encode()
        return np.fromiter((hash_text(text, key) for text in texts), np.float64)

    def choose(self, texts: Sequence[str], Y: Sparse) -> "ChosenHoldout":
        """Choose the documents to hold out, with the same share of every class.

        Within a class the texts with the lowest hashes are held out, so a corpus that grows keeps
        most of its held-out documents. A class with few documents stays on both sides if it has at
        least two. Equal texts are on the same side.

        Parameters
        ----------
        texts : sequence of str
            All documents.
        Y : sparse matrix of shape (n, m)
            Labels.
        """
        fingerprints = fingerprint_texts(texts)
        return self.choose_fingerprints(fingerprints, self.hash_texts(texts), Y)

    def choose_fingerprints(
        self, fingerprints: NDArray[np.uint64], hashes: Floats, Y: Sparse
    ) -> "ChosenHoldout":
        """Choose the documents to hold out by their fingerprints (n,) and hashes (n,)."""
        ranks = _rank_of_smallest_class(class_order(fingerprints, Y), Y)
        distinct, first_rows, copies = np.unique(
            fingerprints, return_index=True, return_inverse=True
        )
        groups = np.full(len(distinct), Y.shape[1])
        np.minimum.at(groups, copies, ranks)
        order = np.lexsort((hashes[first_rows], groups))
        is_held_out = np.zeros(len(distinct), np.bool_)
        for group in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            n_expected = self.share * len(group)
            n_held_out = round(n_expected)
            if n_expected < 0.5:  # too few for a fixed number
                n_held_out = int((hashes[first_rows[group]] < self.share * 2.0**64).sum())
            elif n_held_out == 0:
                n_held_out = 1
            is_held_out[group[: min(n_held_out, len(group) - 1)]] = True
        return ChosenHoldout(self.share, self.seed, distinct[is_held_out])


@dataclass(frozen=True, eq=False)
class ChosenHoldout(Holdout):
    """Documents that were set aside, recognized by hashes of their texts.

    Parameters
    ----------
    fingerprints : array
        Sorted hashes of texts.
    are_training : bool, default=False
        Whether these are the hashes of the training texts. All other texts are then held out.
    """

    fingerprints: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    are_training: bool = False

    def contains(self, texts: Iterable[str]) -> Flags:
        """Return for each text whether it is held out."""
        is_known: Flags = np.isin(fingerprint_texts(texts), self.fingerprints)
        return ~is_known if self.are_training else is_known


# --- cross-fitting ----------------------------------------------------------------------------


class HeldOutScores(NamedTuple):
    """Rows of documents (k,) and scores (..., k, m) by models trained without them."""

    rows: Ints
    scores: Floats32


def cross_fit(
    splits: Sequence[Split],
    fit_and_score: Callable[[Split], Floats | Floats32],
    *,
    n_docs: int | None = None,
    step: str | None = None,
) -> HeldOutScores:
    """Score the held-out rows of every split with a model of its training rows.

    Every learner that needs scores without knowledge of a document's own labels uses this.

    Parameters
    ----------
    splits : sequence of Split
        The splits. Their held-out rows do not overlap.
    fit_and_score : callable
        Function that learns from the training rows of a split and returns scores (..., k, m) of its
        k held-out rows.
    n_docs : int, optional
        Return the scores of all documents in their order, with zeros for rows that no split holds
        out. By default, only held-out rows are returned, split after split.
    step : str, optional
        Report progress under this name.

    Examples
    --------
    >>> Y = np.array([[1.0], [0.0], [5.0]])
    >>> splits = fold_splits(np.array([0, 1, 1]))
    >>> def mean_of_others(split):
    ...     return np.full((len(split.held_out), 1), Y[split.train].mean())
    >>> cross_fit(splits, mean_of_others, n_docs=3).scores.ravel().tolist()
    [2.5, 1.0, 1.0]
    """
    no_rows = np.zeros(0, np.int64)
    rows = np.concatenate([no_rows, *(split.held_out for split in splits)])
    positions = np.arange(len(rows)) if n_docs is None else rows
    if n_docs is not None:
        rows = np.arange(n_docs)
    all_scores: Floats32 = np.zeros((len(rows), 0), np.float32)
    start = 0
    for split in splits if step is None else progress.track(splits, step):
        scores = fit_and_score(split)
        if not start:
            shape = (*scores.shape[:-2], len(rows), scores.shape[-1])
            all_scores = np.zeros(shape, np.float32)
        stop = start + len(split.held_out)
        all_scores[..., positions[start:stop], :] = scores
        start = stop
    return HeldOutScores(rows, all_scores)


# --- orders and keys that do not depend on names ----------------------------------------------


def document_order(
    fingerprints: NDArray[np.uint64], Y: Sparse, weights: Floats | None = None
) -> Ints:
    """Return the rows of documents in an order that follows from the documents alone.

    A learner that uses this order gives the same result for any order of the input and any names
    of the classes.

    Parameters
    ----------
    fingerprints : array of shape (n,)
        The hash of each text.
    Y : sparse matrix of shape (n, m)
        Labels.
    weights : array of shape (n,), optional
        Weights of the documents, which order copies of a text with the same labels.
    """
    by_label = _label_keys(fingerprints, Y)
    keys = by_label if weights is None else (by_label[0], weights, by_label[1])
    order: Ints = np.lexsort((*keys, fingerprints))
    return order


def reorder_texts(texts: Sequence[str], order: Ints) -> Sequence[str]:
    """Return texts in another order. Texts on disk have a method for this and stay there."""
    if hasattr(texts, "reordered"):
        on_disk: Sequence[str] = texts.reordered(order)
        return on_disk
    return [texts[k] for k in order.tolist()]


def class_order(hashes: NDArray[np.uint64], Y: Sparse) -> Ints:
    """Return the columns of Y (n, m) from the smallest class to the largest.

    Classes of equal size are ordered by the hashes (n,) of their texts, not by their names.
    """
    n_members = np.asarray(Y.sum(axis=0)).ravel()
    order: Ints = np.lexsort((_class_keys(hashes, Y), n_members))
    return order


def _rank_of_smallest_class(by_size: Ints, Y: Sparse) -> Ints:
    """Return the rank (n,) by size of each document's smallest class, or m without labels."""
    n_docs, n_classes = Y.shape
    rank_of_class = np.argsort(by_size)
    ranks = np.full(n_docs, n_classes)
    rows, columns = Y.nonzero()
    np.minimum.at(ranks, rows, rank_of_class[columns])
    return ranks


def _label_keys(
    hashes: NDArray[np.uint64], Y: Sparse
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return two numbers (n,) per document that differ for documents with different labels.

    The second is the first key of `np.lexsort` and does not depend on the names of the classes. It
    is equal for classes with the same texts, which only the first number distinguishes.
    """
    columns = np.arange(1, Y.shape[1] + 1, dtype=np.uint64)
    return _sum_over_labels(_mix_bits(columns), Y), _sum_over_labels(_class_keys(hashes, Y), Y)


def _class_keys(hashes: NDArray[np.uint64], Y: Sparse) -> NDArray[np.uint64]:
    """Return a hash (m,) of the texts of each class that does not depend on their order."""
    return _mix_bits(_sum_over_labels(_mix_bits(hashes), Y.T.tocsr()))


def _sum_over_labels(numbers: NDArray[np.uint64], Y: Sparse) -> NDArray[np.uint64]:
    """Return for each row of Y (n, m) the sum of the numbers (m,) of its labels, modulo 2**64."""
    sums = np.zeros(Y.shape[0], np.uint64)
    rows, columns = Y.nonzero()
    np.add.at(sums, rows, numbers[columns])
    return sums


def _mix_bits(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashes of 64-bit numbers (SplitMix64), so that sums of them do not collide."""
    bits = numbers + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits ^= bits >> np.uint64(31)
    return bits
