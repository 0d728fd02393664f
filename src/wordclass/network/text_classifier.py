"""A network that classifies texts: vectors of tokens, one vector a text, scores of classes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from wordclass.encoders._initialization import Seed, check_sizes, generator_of, linear
from wordclass.encoders._masks import Lengths, as_tensor, is_token
from wordclass.errors import InputError
from wordclass.network import word_by_word

if TYPE_CHECKING:
    from wordclass.encoders.cnn import CnnEncoder
    from wordclass.network.embedding_layer import EmbeddingLayer


class TextClassifier(nn.Module):
    """An embedding layer, an encoder, dropout and a linear layer.

    Parameters
    ----------
    layer
        From ids (b, l) to vectors (b, l, d): an `EmbeddingLayer`, or any module that does this.
    encoder
        From vectors and lengths to (b, output_dim): an entry of `encoders`, or any module with
        this interface.
    n_classes
        How many scores a text gets.
    dropout
        The rate of ordinary dropout on the vector of a text, in training. The paper's runs had .5
        after the CNN, and none after the LSTM and the attention.
    seed
        Of the first weights of the linear layer: an int, or a generator to draw from.

    Examples
    --------
    >>> from wordclass import EmbeddingMatrix, WordVectors
    >>> from wordclass.encoders import encoder
    >>> from wordclass.network.embedding_layer import EmbeddingLayer
    >>> E = EmbeddingMatrix.of(WordVectors.of(["moon", "tax"], [[1, 2], [3, 4]]))
    >>> network = TextClassifier(EmbeddingLayer(E), encoder("mean", E.n_dims), n_classes=3)
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
        check_sizes(n_classes=n_classes)
        if not 0 <= dropout < 1:
            raise InputError(f"dropout is {dropout!r}; expected a number from 0 to below 1")
        output_dim = getattr(encoder, "output_dim", None)
        if not isinstance(output_dim, int):
            raise InputError(f"a {type(encoder).__name__} is no encoder: it has no output_dim")
        self.layer = layer
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.head = linear(output_dim, n_classes, generator_of(seed))

    def forward(
        self,
        ids: Tensor | NDArray[np.int64],
        lengths: Lengths,
        shift: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Return logits (b, n_classes) for the ids (b, l) and lengths (b,) of an `IdBatch`.

        Parameters
        ----------
        shift
            {block: (tokens, width)}: what is added to the rows of a block, for each token of the
            batch, text after text. So a text can be read with vectors of its own.
        """
        logits: Tensor = self.head(self.dropout(self._encoded(ids, lengths, shift)))
        return logits

    def _encoded(
        self,
        ids: Tensor | NDArray[np.int64],
        lengths: Lengths,
        shift: Mapping[str, Tensor] | None,
    ) -> Tensor:
        lengths = as_tensor(lengths, self.head.weight.device)
        if word_by_word.serves(self.layer, self.encoder):
            layer, encoder = cast("EmbeddingLayer", self.layer), cast("CnnEncoder", self.encoder)
            return word_by_word.encode(layer, encoder, ids, lengths, shift)
        if shift is None:
            vectors = self.layer(ids)
        else:
            is_text = is_token(lengths, ids.shape[1])
            is_left = not getattr(self.encoder, "masked", True)
            vectors = self.layer(
                ids, word_by_word.padded(shift, is_text.flip(1) if is_left else is_text)
            )
        encoded: Tensor = self.encoder(vectors, lengths)
        return encoded

    def regularizer(self, is_multilabel: bool = False) -> Tensor:
        """Return what the encoder adds to the loss: 0 for all but those that say so (LEAM)."""
        own = getattr(self.encoder, "regularizer", None)
        if own is None:
            return self.head.weight.new_zeros(())
        added: Tensor = own(self.head, is_multilabel)
        return added
