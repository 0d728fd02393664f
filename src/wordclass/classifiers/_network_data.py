"""The training texts of networks, and the report of a finished epoch."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordclass.arrays import Ints
from wordclass.corpus.labels import EncodedLabels
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.network.checkpoint import Epoch
from wordclass.network.embedding_layer import EmbeddingLayer
from wordclass.network.training import LabelledSequences
from wordclass.sentence.encoder import SentenceEncoder


@dataclass(frozen=True, eq=False)
class TrainingTexts:
    """The texts that a network is trained on, and the vectors of their words.

    Parameters
    ----------
    full_matrix : EmbeddingMatrix
        All rows that the model will have.
    E : EmbeddingMatrix
        The rows that training needs.
    row_numbers : array of shape (rows of full_matrix,)
        The position of each row of the full matrix in E.
    texts : list of str
        All texts.
    labels : EncodedLabels
        Their labels.
    documents : LabelledSequences
        All texts as rows of E.
    training, validation : LabelledSequences
        The two parts of the documents. The second is None if there are too few texts.
    validation_rows : array of shape (n_validation,)
        The documents of the second part.
    encoder : SentenceEncoder or None
        The encoder of tokens in context, if there is one.
    """

    full_matrix: EmbeddingMatrix
    E: EmbeddingMatrix
    row_numbers: Ints
    texts: list[str]
    labels: EncodedLabels
    documents: LabelledSequences
    training: LabelledSequences
    validation: LabelledSequences | None
    validation_rows: Ints
    encoder: SentenceEncoder | None = None

    def with_trained_rows(self, layer: EmbeddingLayer) -> EmbeddingMatrix:
        """Return the full matrix with the vectors that training changed."""
        trained_blocks = layer.trained_vectors()
        if not trained_blocks:
            return self.full_matrix
        vectors = self.E.matrix.copy()
        for name, block in trained_blocks.items():
            vectors[:, self.E.blocks[name]] = block
        n_fixed = len(self.E.terms) + 2
        used_rows = np.flatnonzero(self.row_numbers >= n_fixed)
        rows = np.concatenate([np.arange(n_fixed), used_rows])
        return self.full_matrix.with_vectors(rows, vectors)


@dataclass(frozen=True, eq=False)
class FinishedEpoch:
    """A finished epoch of a training that continues, for the option `on_epoch` of networks.

    Parameters
    ----------
    epoch : int
        The number of the epoch; the first is 1.
    loss : float
        The mean loss of the training texts during the epoch.
    macro_f1, micro_f1 : float or None
        The scores on the validation texts, or None if there are none.
    predict : callable
        Returns the labels of texts by the network as it is now. In a multilabel task, all classes
        have the same threshold: the best one for the validation texts.
    """

    epoch: int
    loss: float
    macro_f1: float | None
    micro_f1: float | None
    predict: Callable[[Iterable[str]], Any]


def count_context_dims(encoder: SentenceEncoder | None) -> int:
    """Return the number of dimensions of vectors in context."""
    return 0 if encoder is None else int(encoder.n_dims or 0)


def build_fixed_layer(E: EmbeddingMatrix, encoder: SentenceEncoder | None) -> EmbeddingLayer:
    """Return the layer of a network that is not trained any more."""
    return EmbeddingLayer(E, trainable=False, dropout=None, context=count_context_dims(encoder))


def epoch_to_dict(epoch: Epoch) -> dict[str, Any]:
    """Return an epoch as an entry of `history_`."""
    entry: dict[str, Any] = {**vars(epoch)}
    user_numbers: dict[str, float] = entry.pop("noted")
    return user_numbers | entry  # the user's numbers never replace ours
