"""LEAM: words and classes in one space, the competitor that the paper discusses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from wordclass.classifiers.network import NetworkClassifier
from wordclass.network.encoders.leam import check_window

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
    window : int, default=55
        How many words, an odd number, decide together how much the one in the middle counts.

    All other parameters, and the attributes, are those of every network: see
    `wordclass.classifiers.network.NetworkClassifier`.
    """

    window: int = 55

    name: ClassVar[str] = "leam"
    _SIZE: ClassVar[str] = "batch_size"
    _DROPOUT: ClassVar[float] = 0.5

    def _check_options(self) -> None:
        super()._check_options()
        check_window(self.window)

    def _encoder_options(self, n_classes: int) -> dict[str, Any]:
        return {"window": self.window, "n_classes": n_classes}

    def _numbers(self, size: int, n_dims: int, n_classes: int) -> tuple[int, int]:
        n_weights = (2 * n_dims + 2) * n_classes + self.window
        return n_weights, size * self.max_length * (3 * n_dims + 4 * n_classes)


make = LeamClassifier
