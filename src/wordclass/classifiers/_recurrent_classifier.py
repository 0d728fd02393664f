"""What the networks with an LSTM share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from wordclass.classifiers._network_classifier import NetworkClassifier
from wordclass.network.memory import Need

# what the paper's validation chose from
GRID: Mapping[str, Sequence[object]] = MappingProxyType(
    {
        "hidden": (256, 512, 1024, 2048),
        "supervised_dropout": (0.5, 0.2),
        "random_dims": (0, 50, 200),
    }
)


@dataclass(kw_only=True, eq=False, repr=False)
class RecurrentClassifier(NetworkClassifier):
    """A network around an LSTM with states of some size."""

    hidden: int = 256

    def _encoder_options(self, n_classes: int) -> dict[str, Any]:
        return {"hidden": self.hidden}

    def _need(self, n_dims: int, n_classes: int) -> Need:
        def numbers(hidden: int) -> tuple[int, int]:
            n_weights = 4 * hidden * (n_dims + hidden + 2) + (hidden + 1) * n_classes
            # four gates, the state and the cell, kept for the gradient; and the vectors
            return n_weights, self._n_places * (8 * hidden + 2 * n_dims)

        return Need("hidden", self.hidden, numbers)
