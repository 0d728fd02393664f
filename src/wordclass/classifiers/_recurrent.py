"""The base class of networks with an LSTM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from wordclass.classifiers.network import NetworkClassifier
from wordclass.options import Option, integer

# what the paper's validation chose from. If all vectors are random, it also chose from 50, 200 and
# 300 dimensions.
RECURRENT_GRID: Mapping[str, Sequence[object]] = MappingProxyType(
    {"hidden": (256, 512, 1024, 2048), "supervised_dropout": (0.5, 0.2)}
)


@dataclass(kw_only=True, eq=False, repr=False)
class RecurrentClassifier(NetworkClassifier):
    """Base class of networks with an LSTM."""

    options: ClassVar[Mapping[str, Option]] = {
        **NetworkClassifier.options,
        "hidden": Option("Size of the state of the LSTM.", integer(1)),
    }

    hidden: int = 256

    _SIZE_OPTION: ClassVar[str] = "hidden"

    def _count_numbers(self, size: int, n_dims: int, n_classes: int) -> tuple[int, int]:
        n_weights = 4 * size * (n_dims + size + 2) + (size + 1) * n_classes
        # four gates, the state and the cell, kept for the gradient; and the vectors
        return n_weights, self.batch_size * self.max_length * (8 * size + 2 * n_dims)
