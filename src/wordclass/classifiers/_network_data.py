"""Data types of the training of networks: its texts, and what a finished epoch reports."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordclass.arrays import Ints
from wordclass.corpus.labels import EncodedLabels
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.network.checkpoint import Epoch
from wordclass.network.embedding_layer import (
    EmbeddingLayer,
)
from wordclass.network.training import LabelledSequences
from wordclass.sentence.encoder import SentenceEncoder


@dataclass(frozen=True, eq=False)
class TrainingTexts:
    """All that a network is trained on.

    Parameters
    ----------
    everything : EmbeddingMatrix
        All rows that the model will have.
    E : EmbeddingMatrix
        Those that training needs.
    places : array of shape (rows of everything,)
        Where each row is in E.
    texts, labels : list of str, EncodedLabels
        Of all texts.
    documents : LabelledSequences
        The same, as rows of E.
    training, validation : LabelledSequences
        Its two parts; the second is None where texts are too few.
    validated : array of shape (n_validated,)
        Which texts the second has.
    encoder : SentenceEncoder or None
        What made the vectors of their tokens in context, if there are any.
    """

    everything: EmbeddingMatrix
    E: EmbeddingMatrix
    places: Ints
    texts: list[str]
    labels: EncodedLabels
    documents: LabelledSequences
    training: LabelledSequences
    validation: LabelledSequences | None
    validated: Ints
    encoder: SentenceEncoder | None = None

    def with_trained_rows(self, layer: EmbeddingLayer) -> EmbeddingMatrix:
        """Return all rows, those that training changed with their new vectors."""
        changed = layer.trained_vectors()
        if not changed:
            return self.everything
        vectors = self.E.matrix.copy()
        for name, block in changed.items():
            vectors[:, self.E.blocks[name]] = block
        n_fixed = len(self.E.terms) + 2
        kept = np.flatnonzero(self.places >= n_fixed)
        rows = np.concatenate([np.arange(n_fixed), kept])
        return self.everything.with_vectors(rows, vectors)


@dataclass(frozen=True, eq=False)
class FinishedEpoch:
    """An epoch of a training that goes on, and the network as it is now: see `on_epoch`.

    Parameters
    ----------
    epoch : int
        Its number; the first is 1.
    loss : float
        The mean over the training texts, while they were learned from.
    macro_f1, micro_f1 : float or None
        On the validation texts; None where there are none.
    predict : callable
        Returns the labels of texts, as the method of a fitted classifier does; thresholds of a
        multilabel task are one for all classes, the best for the validation texts.
    """

    epoch: int
    loss: float
    macro_f1: float | None
    micro_f1: float | None
    predict: Callable[[Iterable[str]], Any]


def n_dims_of(encoder: SentenceEncoder | None) -> int:
    """Return how many columns vectors in context have."""
    return 0 if encoder is None else int(encoder.n_dims or 0)


def layer_for_use(E: EmbeddingMatrix, encoder: SentenceEncoder | None) -> EmbeddingLayer:
    """Return the layer of a network that is not trained any more."""
    return EmbeddingLayer(E, trainable=False, dropout=None, context=n_dims_of(encoder))


def epoch_facts(epoch: Epoch) -> dict[str, Any]:
    """Return an epoch as `history_` has it."""
    facts: dict[str, Any] = {**vars(epoch)}
    noted: dict[str, float] = facts.pop("noted")
    return noted | facts  # what was measured here cannot be overwritten
