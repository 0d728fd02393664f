"""A network that classifies texts: vectors of tokens, one vector per text, scores of classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wordclass import progress
from wordclass.arrays import Floats32, Ints
from wordclass.errors import InputError
from wordclass.network import word_by_word
from wordclass.network.embedding_layer import CONTEXT, Ids, Shift
from wordclass.network.modules import Lengths, Seed, drawn, is_token, make_generator
from wordclass.options import check_int, check_number
from wordclass.storage.state import ModelState, layout_of
from wordclass.text.sequences import Sequences, Side

_VECTORS = "layer."
_START = "network."  # of names in a saved model
_TOKENS = 32_768  # places of a batch at most, padding counted: what fits a CPU's memory well
_MOST_TEXTS = 512
_PAPER_BATCH = 250  # texts that the paper's runs read together when testing


class TextNetwork(nn.Module):
    """An embedding layer, an encoder, dropout and a linear layer: `wordclass.torch.TextClassifier`.

    Parameters
    ----------
    layer : nn.Module
        From ids (b, l) to vectors (b, l, d): an `EmbeddingLayer`, or any module that does this.
    encoder : nn.Module
        From vectors and lengths to (b, output_dim): an entry of `encoders`, or any module with
        this interface.
    n_classes : int
        How many scores a text gets.
    dropout : float, default=0.5
        The rate of ordinary dropout on the vector of a text, in training. The paper's runs had .5
        after the CNN, and none after the LSTM and the attention.
    seed : int or torch.Generator, default=0
        Of the first weights of the linear layer.

    Examples
    --------
    >>> from wordclass import EmbeddingMatrix, WordVectors
    >>> from wordclass.network.modules import encoder
    >>> from wordclass.network.embedding_layer import EmbeddingLayer
    >>> E = EmbeddingMatrix.of(WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]]))
    >>> network = TextNetwork(EmbeddingLayer(E), encoder("mean", E.n_dims), n_classes=3)
    >>> batch = E.index(["Tax the moon", ""])
    >>> network(batch.ids, batch.lengths).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        layer: nn.Module,
        encoder: nn.Module,
        n_classes: int,
        *,
        dropout: float = 0.5,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        check_int("n_classes", n_classes, 1)
        check_number("dropout", dropout, below=1)
        output_dim = getattr(encoder, "output_dim", None)
        if not isinstance(output_dim, int):
            raise InputError(f"a {type(encoder).__name__} is no encoder: it has no output_dim")
        self.layer = layer
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        head = nn.Linear(output_dim, n_classes, device="meta")
        self.head = drawn(head, make_generator(seed), output_dim**-0.5)

    def forward(self, ids: Ids, lengths: Lengths, shift: Shift | None = None) -> Tensor:
        """Return logits (b, n_classes) for the ids (b, l) and lengths (b,) of an `IdBatch`.

        Parameters
        ----------
        ids, lengths : Tensor or array
            The batch.
        shift : dict of Tensor, optional
            {block: (tokens, width)}: what is added to the rows of a block, for each token of the
            batch, text after text. So a text can be read with vectors of its own.
        """
        lengths = torch.as_tensor(lengths, device=self.head.weight.device)
        if word_by_word.can_encode(self.layer, self.encoder):
            parts = (self.layer, self.encoder)  # whose classes it has looked at
            encoded = word_by_word.encode(*parts, ids, lengths, shift)  # type: ignore[arg-type]
        elif not shift:
            encoded = self.encoder(self.layer(ids), lengths)
        else:
            is_text = is_token(lengths, ids.shape[1])
            is_left = not getattr(self.encoder, "masked", True)
            placed = word_by_word.padded(shift, is_text.flip(1) if is_left else is_text)
            encoded = self.encoder(self.layer(ids, placed), lengths)
        logits: Tensor = self.head(self.dropout(encoded))
        return logits

    def regularizer(self, is_multilabel: bool = False) -> Tensor:
        """Return what the encoder adds to the loss: 0 for all but those that say so (LEAM)."""
        own = getattr(self.encoder, "regularizer", None)
        nothing = self.head.weight.new_zeros(())
        added: Tensor = nothing if own is None else own(self.head, is_multilabel)
        return added

    def scores(
        self,
        texts: Sequences,
        *,
        padding: int,
        pad: Side = "right",
        context: Sequence[NDArray[Any]] | None = None,
    ) -> Floats32:
        """Return logits (n, m), without training anything.

        Texts of similar length are read together, which leaves no trace in the scores. Padding on
        the left is read as text, as in the paper's runs; so there the texts are read in their
        order, 250 at a time. `context` has the vectors (t, d) of each text's tokens in their
        context, where the layer has a block for them.
        """
        made = np.zeros((len(texts), self.head.out_features), np.float32)
        was_training, device = self.training, self.head.weight.device
        self.eval()
        try:
            with torch.inference_mode():
                for rows in progress.track(_batches(texts.lengths, pad), "scoring texts"):
                    batch = texts.part(rows).padded(padding, pad)
                    ids, lengths = torch.from_numpy(batch.ids), torch.from_numpy(batch.lengths)
                    shift = {k: each.to(device) for k, each in brought(context, rows).items()}
                    logits = self(ids.to(device), lengths.to(device), shift)
                    made[rows] = logits.float().cpu().numpy()
        finally:
            self.train(was_training)
        return made

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all weights but the vectors, which are kept elsewhere, by name."""
        weights = self.state_dict().items()
        return {_START + k: each.cpu().numpy() for k, each in weights if not k.startswith(_VECTORS)}

    def load_arrays(self, parts: ModelState) -> None:
        """Put them back; whatever else was stored is left alone.

        Raises
        ------
        ValueError
            They are those of another network, or not finite.
        """
        found = parts.take(**{name: layout_of(array) for name, array in self.to_arrays().items()})
        weights = {k.removeprefix(_START): torch.from_numpy(each) for k, each in found.items()}
        self.load_state_dict(weights, strict=False)  # nothing but the vectors is missing


def brought(context: Sequence[NDArray[Any]] | None, rows: Ints) -> dict[str, Tensor]:
    """Return the vectors of the tokens of some texts in their context, as a layer wants them."""
    if context is None:
        return {}
    return {CONTEXT: torch.from_numpy(np.concatenate([context[row] for row in rows]))}


def _batches(lengths: Ints, pad: Side) -> list[Ints]:
    if pad == "left":
        return in_order(np.arange(len(lengths)), _PAPER_BATCH)
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        stop = start + int(np.clip(_TOKENS // longest, 1, _MOST_TEXTS))
        batches.append(order[start:stop])
        start = stop
    return batches


def in_order(rows: Ints, size: int) -> list[Ints]:
    """Cut rows into batches, the last one maybe smaller."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]
