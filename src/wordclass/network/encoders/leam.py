"""LEAM: the words of a text, weighted by how close they and their neighbors are to a label."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from wordclass.errors import InputError
from wordclass.network.modules import (
    Lengths,
    Seed,
    drawn,
    make_generator,
    masked_softmax,
    zero_padding,
)
from wordclass.options import check_int


class LeamEncoder(nn.Module):
    """The label-embedding attentive model of Wang et al. (2018), from its description.

    Words and labels live in one space. G holds the cosine of each word with each label; the
    compatibility of a place with a label is ReLU of a weighted sum of the G of the window around
    it, plus a bias of the label; its greatest value over the labels is the place's logit. A
    softmax over the places of the text makes weights, and the output is the weighted sum of the
    word vectors. An empty text gives zeros.

    It fits the catalogue but for two things. It needs to know how many classes there are
    (`n_classes`), and its loss has a second term, `regularizer(head)`, which whoever trains it
    adds: the labels' own vectors are to be classified as themselves by the layer above.

    Parameters
    ----------
    input_dim
        Of the vectors, and of the output: `output_dim`.
    n_classes
        How many labels there are.
    window
        The number of places, odd, that a place's compatibility looks at: 2r + 1.
    masked
        False: padding takes part too.
    seed
        Of the first weights: an int, or a generator to draw from.

    Attributes
    ----------
    label_vectors : parameter of shape (n_classes, input_dim)
        May be overwritten, such as by the vectors of the labels' names.

    Notes
    -----
    The weights of the window are shared by all labels, as in the article; its authors' code has a
    weight for each pair of labels instead.
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
        self.window = drawn(empty, generator, bias_width)
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
        # outside the text G is 0, as the cosine of a zero vector
        G = _unit(vectors) @ _unit(self.label_vectors).T  # (b, l, m)
        n_texts, n_places, n_classes = G.shape
        rows = G.transpose(1, 2).reshape(n_texts * n_classes, 1, n_places)
        sums = self.window(rows).view(n_texts, n_classes, n_places)
        logits = (sums + self.label_bias[:, None]).relu().amax(dim=1)  # (b, l)
        weights = masked_softmax(logits, lengths, self.masked)
        return torch.bmm(weights[:, None], vectors)[:, 0]

    def regularizer(self, head: nn.Module, is_multilabel: bool = False) -> Tensor:
        """Return how badly the layer above classifies the labels' vectors: a mean cross-entropy.

        Parameters
        ----------
        head
            From (n, output_dim) to logits (n, n_classes).
        is_multilabel
            One yes or no per class, as in the loss of multilabel documents.
        """
        logits: Tensor = head(self.label_vectors)
        own = torch.arange(len(logits), device=logits.device)
        if is_multilabel:
            truth = functional.one_hot(own, len(logits)).to(logits.dtype)
            return functional.binary_cross_entropy_with_logits(logits, truth)
        return functional.cross_entropy(logits, own)


def check_window(window: int) -> None:
    """Refuse what is no odd number."""
    check_int("window", window, 1)
    if window % 2 == 0:
        raise InputError(f"window is {window}; expected an odd number: as many on either side")


def _unit(vectors: Tensor) -> Tensor:
    """Scale to length 1; zero vectors stay, with a gradient that is finite."""
    length: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / length.masked_fill(length == 0, 1)


make = LeamEncoder
