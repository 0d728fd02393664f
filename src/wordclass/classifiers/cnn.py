"""A convolutional network: filters over three, five and seven words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from wordclass.classifiers.network import NetworkClassifier
from wordclass.network.encoders.cnn import check_windows

# what the paper's validation chose from; where all vectors are random, also 50, 200 or 300
# dimensions of them
GRID: Mapping[str, Sequence[object]] = MappingProxyType(
    {"channels": (128, 64, 256, 512), "supervised_dropout": (0.5, 0.2)}
)


@dataclass(kw_only=True, eq=False, repr=False)
class CnnClassifier(NetworkClassifier):
    """The strongest response of each of many filters to a text, then a linear layer.

    Parameters
    ----------
    channels : int, default=128
        How many filters of each width.
    windows : tuple of int, default=(3, 5, 7)
        The widths of the filters, in words.

    All other parameters, and the attributes, are those of every network: see
    `wordclass.classifiers.network.NetworkClassifier`.
    """

    channels: int = 128
    windows: tuple[int, ...] = (3, 5, 7)

    name: ClassVar[str] = "cnn"
    _SIZE: ClassVar[str] = "channels"
    _DROPOUT: ClassVar[float] = 0.5
    _AVERAGES: ClassVar[bool] = True

    def _check_options(self) -> None:
        super()._check_options()
        check_windows(self.windows)

    def _encoder_options(self, n_classes: int) -> dict[str, Any]:
        return {"channels": self.channels, "windows": tuple(self.windows)}

    def _numbers(self, size: int, n_dims: int, n_classes: int) -> tuple[int, int]:
        n_filters, n_columns = size * len(self.windows), size * sum(self.windows)
        n_weights = n_dims * n_columns + (n_filters + 1) * n_classes
        # the table of the words' responses; of a batch's places a third are distinct words
        return n_weights, self.batch_size * self.max_length * n_columns // 3


make = CnnClassifier
