"""LEAM: word vectors weighted by the similarity of the words around them to the labels."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from wordclass.errors import InputError
from wordclass.network.modules import (
    Lengths,
    Seed,
    initialize,
    make_generator,
    masked_softmax,
    zero_padding,
)
from wordclass.options import check_int


class LeamEncoder(nn.Module):
    """The label-embedding attentive model of Wang et al. (2018), after its description.

    Words and labels share one vector space. G holds the cosine of each word with each label. The
    compatibility of a position with a label is ReLU of a weighted sum of the cosines in the window
    around it, plus a bias per label. The largest compatibility of a position is its logit. A
    softmax over the positions of the text gives weights, and the output is the weighted sum of the
    word vectors. The output for an empty text is zero.

    It differs from the other encoders in two ways. It needs the number of classes, and its loss has
    a second term, `regularizer(head)`, which the training adds: the layer after the encoder should
    classify each label vector as its label.

    Parameters
    ----------
    input_dim : int
        The dimension of the token vectors, which is `output_dim`.
    n_classes : int
        The number of labels.
    window : int, default=55
        The number of positions that the compatibility of a position depends on. It is odd.
    masked : bool, default=True
        If False, padding takes part.
    seed : int or torch.Generator, default=0
        The source of the first weights.

    Attributes
    ----------
    label_vectors : nn.Parameter of shape (n_classes, input_dim)
        The vectors of the labels. They may be overwritten, for example by the vectors of the
        labels' names.

    Notes
    -----
    All labels share the weights of the window, as in the article. The authors' code has a weight
    for each pair of labels instead.
    """

    def __init__(
        self,
        input_dim: int,
        *,
        n_classes: int,
        window: int = 55,
        masked: bool = True,
        seed: Seed = 0,
    ) -> None:
        super().__init__()
        check_int("input_dim", input_dim, 1)
        check_int("n_classes", n_classes, 1)
        check_window(window)
        generator = make_generator(seed)
        self.label_vectors = nn.Parameter(torch.empty(n_classes, input_dim))
        nn.init.xavier_uniform_(self.label_vectors, generator=generator)
        bias_width = window**-0.5
        empty = nn.Conv1d(1, 1, window, padding=window // 2, bias=False, device="meta")
        self.window = initialize(empty, generator, bias_width)
        self.label_bias = nn.Parameter(torch.empty(n_classes))
        nn.init.uniform_(self.label_bias, -bias_width, bias_width, generator=generator)
        self.output_dim = input_dim
        self.masked = masked

    def forward(self, vectors: Tensor, lengths: Lengths) -> Tensor:
        """Return (b, output_dim) for vectors (b, l, input_dim) and lengths (b,)."""
        lengths = torch.as_tensor(lengths, device=vectors.device)
        if not vectors.shape[1]:
            return vectors.sum(dim=1)
        if self.masked:
            vectors = zero_padding(vectors, lengths)
        # outside the text G is 0, because the cosine of a zero vector is 0 here
        G = _normalize(vectors) @ _normalize(self.label_vectors).T  # (b, l, m)
        n_texts, n_positions, n_classes = G.shape
        rows = G.transpose(1, 2).reshape(n_texts * n_classes, 1, n_positions)
        sums = self.window(rows).view(n_texts, n_classes, n_positions)
        logits = (sums + self.label_bias[:, None]).relu().amax(dim=1)  # (b, l)
        weights = masked_softmax(logits, lengths, self.masked)
        return torch.bmm(weights[:, None], vectors)[:, 0]

    def regularizer(self, head: nn.Module, is_multilabel: bool = False) -> Tensor:
        """Return the mean cross-entropy of the labels' vectors, classified as their labels.

        Parameters
        ----------
        head : nn.Module
            The layer from (n, output_dim) to logits (n, n_classes).
        is_multilabel : bool, default=False
            Whether the loss has one yes-or-no decision per class, as for multilabel documents.
        """
        logits: Tensor = head(self.label_vectors)
        classes = torch.arange(len(logits), device=logits.device)
        if is_multilabel:
            targets = functional.one_hot(classes, len(logits)).to(logits.dtype)
            return functional.binary_cross_entropy_with_logits(logits, targets)
        return functional.cross_entropy(logits, classes)


def check_window(window: int) -> None:
    """Raise an InputError unless the window is an odd int from 1."""
    check_int("window", window, 1)
    if window % 2 == 0:
        raise InputError(
            f"window is {window}", expected="an odd number, with as many tokens on either side"
        )


def _normalize(vectors: Tensor) -> Tensor:
    """Scale vectors to length 1. Zero vectors remain, with a finite gradient."""
    length: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / length.masked_fill(length == 0, 1)


make = LeamEncoder
