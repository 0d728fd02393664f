"""Supervised dropout: what was learned from labels is dropped, and the scale kept on average."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from wordclass.errors import InputError

KNOWN_BLOCKS = frozenset({"pretrained", "word_class", "random"})


class SupervisedDropout(nn.Module):
    """Sets random elements of chosen blocks of columns to zero, in training only.

    The paper's D(E) = [U, (1 - p) d(S)] / (1 - p r / (q + r)), where d is ordinary dropout, which
    divides what it keeps by 1 - p. So every element of the word-class block of every token is
    zero with probability p, on its own, and all that is left, of both blocks, is divided by
    1 - p r / (q + r). With several blocks p r becomes the sum of all p_k r_k; with one rate for
    all columns this is ordinary dropout. The numbers come from torch's own generator, as those of
    `nn.Dropout` do.

    Parameters
    ----------
    blocks
        The columns of each block, side by side from 0, such as `EmbeddingMatrix.blocks`.
    rates
        The p of each block, at least 0 and below 1; a block that is not named has 0. A number is
        the p of all blocks. None or 0: nothing is dropped.

    Examples
    --------
    >>> drop = SupervisedDropout({"pretrained": slice(0, 3), "word_class": slice(3, 4)},
    ...                          {"word_class": 0.5})
    >>> drop(torch.ones(1, 4))[0, :3]  # divided by 1 - .5 * 1 / 4
    tensor([1.1429, 1.1429, 1.1429])
    >>> drop.eval()(torch.ones(1, 4))
    tensor([[1., 1., 1., 1.]])
    """

    def __init__(
        self, blocks: Mapping[str, slice], rates: float | Mapping[str, float] | None
    ) -> None:
        super().__init__()
        self.blocks = {name: slice(place.start, place.stop) for name, place in blocks.items()}
        self.rates = _checked(self.blocks, rates)
        self.n_dims = max((place.stop for place in self.blocks.values()), default=0)
        n_dropped = sum(rate * _width(self.blocks[name]) for name, rate in self.rates.items())
        self.kept = 1 - n_dropped / self.n_dims if self.n_dims else 1.0

    def forward(self, vectors: Tensor) -> Tensor:
        """Return vectors (..., q + r) of the same shape; the same object where none is dropped."""
        if not self.training or not self.rates:
            return vectors
        if vectors.shape[-1] != self.n_dims:
            raise InputError(
                f"the vectors have {vectors.shape[-1]} columns; expected {self.n_dims}"
            )
        # the scale is kept on average over all columns, not within a block: in expectation the
        # pretrained columns grow and the word-class columns shrink
        scaled = vectors / self.kept
        for name, rate in self.rates.items():
            place = self.blocks[name]
            block = scaled[..., place]
            scaled[..., place] = block * torch.empty_like(block).bernoulli_(1 - rate)
        return scaled

    def extra_repr(self) -> str:
        """Show the rates."""
        return ", ".join(f"{name} {rate:g}" for name, rate in self.rates.items())


def checked_names(blocks: Mapping[str, slice], given: Mapping[str, object], what: str) -> None:
    """Refuse names of no block. One that a matrix can have but this one lacks is no mistake."""
    if unknown := [name for name in given if name not in blocks and name not in KNOWN_BLOCKS]:
        raise InputError(
            f"{what} names the block {unknown[0]!r}; the blocks are: {', '.join(blocks)}"
        )


def _checked(
    blocks: Mapping[str, slice], rates: float | Mapping[str, float] | None
) -> dict[str, float]:
    """Return the rates above 0 of the blocks there are."""
    if not isinstance(rates, Mapping):
        rates = dict.fromkeys(blocks, 0.0 if rates is None else rates)
    checked_names(blocks, rates, "dropout")
    for name, rate in rates.items():
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate < 1:
            raise InputError(
                f"the dropout of {name!r} is {rate!r}; expected a number from 0 to below 1"
            )
    return {name: float(rates[name]) for name in blocks if rates.get(name)}


def _width(place: slice) -> int:
    return int(place.stop - place.start)
