"""LEAM: words and classes in one space, the competitor that the paper discusses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from wordclass.classifiers._network_classifier import NetworkClassifier
from wordclass.network.memory import Need

GRID: Mapping[str, Sequence[object]] = MappingProxyType(
    {"window": (55, 11, 21), "dropout": (0.5, 0.2)}
)


@dataclass(kw_only=True, eq=False, repr=False)
class LeamClassifier(NetworkClassifier):
    """The words of a text, weighted by how close they and their neighbors are to a label.

    Wang et al. (2018) trained the word vectors too: `trainable=True`; by default it reads
    word-class vectors beside the pretrained ones like all networks here: `wce=False` is theirs.

    Parameters
    ----------
    window
        How many words, an odd number, decide together how much the one in the middle counts.

    All other parameters, and the attributes, are those of every network: see
    `wordclass.classifiers._network_classifier.NetworkClassifier`.
    """

    window: int = 55

    name: ClassVar[str] = "leam"
    _DROPOUT: ClassVar[float] = 0.5

    def _encoder_options(self, n_classes: int) -> dict[str, Any]:
        return {"window": self.window, "n_classes": n_classes}

    def _need(self, n_dims: int, n_classes: int) -> Need:
        def numbers(batch_size: int) -> tuple[int, int]:
            n_weights = (2 * n_dims + 2) * n_classes + self.window
            return n_weights, batch_size * self.max_length * (3 * n_dims + 4 * n_classes)

        return Need("batch_size", self.batch_size, numbers)


make = LeamClassifier
