"""A network that classifies texts: token vectors, one vector per text, scores of classes."""

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
from wordclass.network.modules import Lengths, Seed, initialize, make_generator, token_mask
from wordclass.options import check_int, check_number
from wordclass.storage.state import ModelState, layout_of
from wordclass.text.sequences import Sequences, Side

_LAYER_PREFIX = "layer."
_SAVED_PREFIX = "network."  # of names in a saved model
_MAX_BATCH_POSITIONS = 32_768  # tokens and padding of a batch for scoring, chosen for CPUs
_MAX_BATCH_TEXTS = 512
_PAPER_BATCH_TEXTS = 250  # per batch when the paper's runs computed scores


class TextNetwork(nn.Module):
    """Network of an embedding layer, an encoder, dropout and a linear layer.

    Its public name is `wordclass.torch.TextClassifier`.

    Parameters
    ----------
    layer : nn.Module
        An `EmbeddingLayer`, or another module from ids (b, l) to vectors (b, l, d).
    encoder : nn.Module
        An encoder made by `wordclass.torch.encoder`, or another module from vectors (b, l, d) and
        lengths (b,) to (b, output_dim), with the attribute `output_dim`.
    n_classes : int
        The number of scores per text.
    dropout : float, default=0.5
        The rate of ordinary dropout on the vector of a text, in training. The paper's runs had .5
        after the CNN, and none after the LSTM and the attention.
    seed : int or torch.Generator, default=0
        The source of the first weights of the linear layer.

    Raises
    ------
    InputError
        If the encoder has no `output_dim` or an option has an invalid value.

    See Also
    --------
    EmbeddingLayer : The layer that looks up token vectors.
    encoder : Make an encoder by its name.

    Examples
    --------
    >>> import wordclass as wc
    >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]]))
    >>> layer = wc.torch.EmbeddingLayer(E)
    >>> encoder = wc.torch.encoder("mean", layer.embedding_dim)
    >>> network = wc.torch.TextClassifier(layer, encoder, n_classes=3)
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
            raise InputError(
                f"the encoder is a {type(encoder).__name__} without an int output_dim",
                expected="an encoder as wordclass.torch.encoder makes it",
            )
        self.layer = layer
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        head = nn.Linear(output_dim, n_classes, device="meta")
        self.head = initialize(head, make_generator(seed), output_dim**-0.5)

    def forward(self, ids: Ids, lengths: Lengths, shift: Shift | None = None) -> Tensor:
        """Return the logits of the texts of a batch.

        Parameters
        ----------
        ids : Tensor or array of shape (b, l)
            The ids of the tokens, padded.
        lengths : Tensor or array of shape (b,)
            The number of tokens of each text.
        shift : dict of str to Tensor, optional
            Vectors to add to the rows of some blocks, one row per token of the batch, text after
            text, without padding: {block: Tensor of shape (tokens, width of the block)}. With it,
            each text can have vectors of its own.

        Returns
        -------
        Tensor of shape (b, n_classes)
            The logits.

        Raises
        ------
        InputError
            If an id is not a row of E, or if `shift` does not fit.

        Examples
        --------
        >>> import wordclass as wc
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> encoder = wc.torch.encoder("mean", E.n_dims)
        >>> network = wc.torch.TextClassifier(wc.torch.EmbeddingLayer(E), encoder, n_classes=3)
        >>> network([[0, 0], [0, E.padding]], [2, 1]).shape
        torch.Size([2, 3])
        """
        lengths = torch.as_tensor(lengths, device=self.head.weight.device)
        if word_by_word.can_encode(self.layer, self.encoder):
            modules = (self.layer, self.encoder)  # can_encode has checked their classes
            encoded = word_by_word.encode(*modules, ids, lengths, shift)  # type: ignore[arg-type]
        elif not shift:
            encoded = self.encoder(self.layer(ids), lengths)
        else:
            is_token = token_mask(lengths, ids.shape[1])
            has_left_padding = not getattr(self.encoder, "masked", True)
            padded_shift = word_by_word.pad_shift(
                shift, is_token.flip(1) if has_left_padding else is_token
            )
            encoded = self.encoder(self.layer(ids, padded_shift), lengths)
        logits: Tensor = self.head(self.dropout(encoded))
        return logits

    def regularizer(self, is_multilabel: bool = False) -> Tensor:
        """Return the term that the encoder adds to the loss.

        Parameters
        ----------
        is_multilabel : bool, default=False
            Whether a text may have several classes, or none.

        Returns
        -------
        Tensor
            One number, which is 0 unless the encoder defines a regularizer, as LEAM does.

        Examples
        --------
        >>> import wordclass as wc
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> encoder = wc.torch.encoder("mean", E.n_dims)
        >>> network = wc.torch.TextClassifier(wc.torch.EmbeddingLayer(E), encoder, n_classes=3)
        >>> network.regularizer()
        tensor(0.)
        """
        regularize = getattr(self.encoder, "regularizer", None)
        zero = self.head.weight.new_zeros(())
        term: Tensor = zero if regularize is None else regularize(self.head, is_multilabel)
        return term

    def scores(
        self,
        texts: Sequences,
        *,
        padding: int,
        pad: Side = "right",
        context: Sequence[NDArray[Any]] | None = None,
    ) -> Floats32:
        """Return the logits of texts in evaluation mode, without gradients.

        Texts of similar length are read together, which does not change the scores. Padding on the
        left is read as text, as in the paper's runs. Then texts are read in their order, in batches
        of 250.

        Parameters
        ----------
        texts : Sequences
            The texts as ids of tokens, from `EmbeddingMatrix.sequences`.
        padding : int
            The id of the padding, `EmbeddingMatrix.padding`.
        pad : "right" or "left", default="right"
            The side of the padding.
        context : sequence of arrays of shape (t, d), optional
            The vectors of each text's tokens in context, if the layer has a block for them.

        Returns
        -------
        float32 array of shape (n, n_classes)
            The logits.

        Examples
        --------
        >>> import wordclass as wc
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> encoder = wc.torch.encoder("mean", E.n_dims)
        >>> network = wc.torch.TextClassifier(wc.torch.EmbeddingLayer(E), encoder, n_classes=3)
        >>> network.scores(E.sequences(["Moon", ""], 500), padding=E.padding).shape
        (2, 3)
        """
        scores = np.zeros((len(texts), self.head.out_features), np.float32)
        was_training = self.training
        device = self.head.weight.device
        self.eval()
        try:
            with torch.inference_mode():
                for rows in progress.track(_batches(texts.lengths, pad), "scoring texts"):
                    batch = texts.part(rows).padded(padding, pad)
                    ids = torch.from_numpy(batch.ids).to(device)
                    lengths = torch.from_numpy(batch.lengths).to(device)
                    shift = context_shift(context, rows)
                    shift = {block: vectors.to(device) for block, vectors in shift.items()}
                    scores[rows] = self(ids, lengths, shift).float().cpu().numpy()
        finally:
            self.train(was_training)
        return scores

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all weights except the vectors, which are stored separately.

        Returns
        -------
        dict of str to array
            The weights by their names in a saved model.

        Examples
        --------
        >>> import wordclass as wc
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> encoder = wc.torch.encoder("mean", E.n_dims)
        >>> network = wc.torch.TextClassifier(wc.torch.EmbeddingLayer(E), encoder, n_classes=3)
        >>> sorted(network.to_arrays())
        ['network.head.bias', 'network.head.weight']
        """
        return {
            _SAVED_PREFIX + name: weight.cpu().numpy()
            for name, weight in self.state_dict().items()
            if not name.startswith(_LAYER_PREFIX)
        }

    def load_arrays(self, state: ModelState) -> None:
        """Overwrite all weights except the vectors.

        Parameters
        ----------
        state : ModelState
            A state with the arrays that `to_arrays` returned. Its other arrays are ignored.

        Raises
        ------
        ValueError
            If the arrays belong to another network or are not finite.

        Examples
        --------
        >>> import wordclass as wc
        >>> from wordclass.storage.state import ModelState
        >>> E = wc.EmbeddingMatrix.of(wc.WordVectors.of(["moon"], [[1, 2]]))
        >>> encoder = wc.torch.encoder("mean", E.n_dims)
        >>> network = wc.torch.TextClassifier(wc.torch.EmbeddingLayer(E), encoder, n_classes=3)
        >>> network.load_arrays(ModelState.of({}, **network.to_arrays()))
        """
        layouts = {name: layout_of(array) for name, array in self.to_arrays().items()}
        arrays = state.take(**layouts)
        weights = {
            name.removeprefix(_SAVED_PREFIX): torch.from_numpy(array)
            for name, array in arrays.items()
        }
        self.load_state_dict(weights, strict=False)  # only the vectors are missing


def context_shift(context: Sequence[NDArray[Any]] | None, rows: Ints) -> dict[str, Tensor]:
    """Return the vectors of some texts' tokens in context, in the format of a layer's shift."""
    if context is None:
        return {}
    return {CONTEXT: torch.from_numpy(np.concatenate([context[row] for row in rows]))}


def _batches(lengths: Ints, pad: Side) -> list[Ints]:
    """Return the rows of each batch for scoring."""
    if pad == "left":
        return split_into_batches(np.arange(len(lengths)), _PAPER_BATCH_TEXTS)
    order = np.argsort(-lengths, kind="stable")
    batches = []
    start = 0
    while start < len(order):
        longest = max(1, int(lengths[order[start]]))
        stop = start + int(np.clip(_MAX_BATCH_POSITIONS // longest, 1, _MAX_BATCH_TEXTS))
        batches.append(order[start:stop])
        start = stop
    return batches


def split_into_batches(rows: Ints, size: int) -> list[Ints]:
    """Return consecutive batches of rows. The last one may be smaller."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]
