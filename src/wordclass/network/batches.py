"""Which texts make a batch, and what a network is given of them."""

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.text.sequences import Sequences, Side

_BATCHES_A_POOL = 20  # texts of similar length are looked for among so many batches
_PREPARED = 2  # batches that wait for the training thread
_END: Any = object()

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class FoldVectors:
    """What the word-class rows of a text's fold differ by from those of all texts.

    Parameters
    ----------
    differences : array of shape (folds, v, r)
        For the terms of the vocabulary, which are the first rows of E.
    folds : array of shape (n,)
        The fold of each text.
    """

    differences: Floats32
    folds: Ints

    def of(self, texts: Sequences, rows: Ints) -> Floats32:
        """Return a row for each token of some texts (tokens, r), text after text."""
        _, n_terms, n_dims = self.differences.shape
        folds = np.repeat(self.folds[rows], texts.lengths)
        is_term = texts.ids < n_terms
        found = np.zeros((len(texts.ids), n_dims), np.float32)
        found[is_term] = self.differences[folds[is_term], texts.ids[is_term]]
        return found


@dataclass(frozen=True, eq=False)
class Batch:
    """What a network reads, and what it should say."""

    ids: Tensor  # (b, l)
    lengths: Tensor  # (b,)
    shift: Tensor | None  # (tokens, r): what is added to the word-class rows, text after text
    truth: Tensor  # (b,) the class, or (b, m) 0/1
    weights: Tensor | None  # (b,)

    def to(self, device: torch.device) -> "Batch":
        """Return the same batch elsewhere."""
        return Batch(*(each if each is None else each.to(device) for each in vars(self).values()))


@dataclass(frozen=True, eq=False)
class LabelledSequences:
    """Texts to learn from.

    Parameters
    ----------
    texts
        Their tokens, as rows of E.
    Y
        0/1 (n, m).
    is_multilabel
        Whether a text may have several classes, or none.
    padding
        The row of the padding.
    pad
        On which side it goes.
    weights
        (n,) how much each text counts; None: all the same.
    fold_vectors
        Vectors of the word-class block by fold; None: those of E.
    """

    texts: Sequences
    Y: Sparse
    is_multilabel: bool
    padding: int
    pad: Side = "right"
    weights: Floats | None = None
    fold_vectors: FoldVectors | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, rows: Ints, fold_vectors: FoldVectors | None = None) -> "LabelledSequences":
        """Return some of the texts, in the order given, maybe with vectors of their own."""
        return replace(
            self,
            texts=self.texts.part(rows),
            Y=self.Y[rows],
            weights=None if self.weights is None else self.weights[rows],
            fold_vectors=fold_vectors,
        )

    def batch(self, rows: Ints) -> Batch:
        """Put some texts together."""
        texts = self.texts.part(rows)
        padded = texts.padded(self.padding, self.pad)
        shift = None
        if self.fold_vectors is not None:
            shift = torch.from_numpy(self.fold_vectors.of(texts, rows))
        ids, lengths = torch.from_numpy(padded.ids), torch.from_numpy(padded.lengths)
        return Batch(ids, lengths, shift, *self.truth(rows))

    def truth(self, rows: Ints) -> tuple[Tensor, Tensor | None]:
        """Return what a network should say of some texts, and how much each of them counts."""
        Y, weights = self.Y[rows], None
        if self.weights is not None:
            weights = torch.from_numpy(self.weights[rows].astype(np.float32))
        if self.is_multilabel:
            return torch.from_numpy(Y.toarray().astype(np.float32)), weights
        return torch.from_numpy(Y.indices.astype(np.int64)), weights


def shuffled(lengths: Ints, size: int, seed: int, epoch: int) -> list[Ints]:
    """Return the texts of each batch of an epoch; every epoch has an order of its own.

    The texts of a batch have similar lengths (n,): of every twenty batches' worth of texts, drawn
    at random, the longest make a batch, and so on. Then batches are shuffled.
    """
    random = np.random.default_rng([int(seed) % 2**64, epoch])
    order = random.permutation(len(lengths))
    batches: list[Ints] = []
    for start in range(0, len(order), size * _BATCHES_A_POOL):
        pool = order[start : start + size * _BATCHES_A_POOL]
        batches += in_order(pool[np.argsort(-lengths[pool], kind="stable")], size)
    return [batches[k] for k in random.permutation(len(batches))]


def in_order(rows: Ints, size: int) -> list[Ints]:
    """Cut rows into batches, the last one maybe smaller."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def prepared(items: Iterable[Item]) -> Generator[Item, None, None]:
    """Iterate in another thread, a few items ahead, so that nobody waits for them.

    An error of the items comes through when it is their turn. Closed early, it ends the thread.
    """
    source = iter(items)
    with ThreadPoolExecutor(1, "batches") as worker:
        ahead = deque(worker.submit(next, source, _END) for _ in range(_PREPARED))
        while (item := ahead.popleft().result()) is not _END:
            ahead.append(worker.submit(next, source, _END))
            yield item
