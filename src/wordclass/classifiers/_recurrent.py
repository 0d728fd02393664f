"""The base of the classifiers around an LSTM."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from wordclass.classifiers.network import NetworkClassifier

# what the paper's validation chose from; where all vectors are random, also 50, 200 or 300
# dimensions of them
RECURRENT_GRID: Mapping[str, Sequence[object]] = MappingProxyType(
    {"hidden": (256, 512, 1024, 2048), "supervised_dropout": (0.5, 0.2)}
)


@dataclass(kw_only=True, eq=False, repr=False)
class RecurrentClassifier(NetworkClassifier):
    """A network around an LSTM with states of some size."""

    hidden: int = 256

    _SIZE: ClassVar[str] = "hidden"

    def _numbers(self, size: int, n_dims: int, n_classes: int) -> tuple[int, int]:
        n_weights = 4 * size * (n_dims + size + 2) + (size + 1) * n_classes
        # four gates, the state and the cell, kept for the gradient; and the vectors
        return n_weights, self.batch_size * self.max_length * (8 * size + 2 * n_dims)
