"""The convolutional network of the paper."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from wordclass.classifiers.network import NetworkClassifier
from wordclass.network.encoders.cnn import check_windows
from wordclass.options import Kind, Option, integer

# what the paper's validation chose from. If all vectors are random, it also chose from 50, 200 and
# 300 dimensions.
GRID: Mapping[str, Sequence[object]] = MappingProxyType(
    {"channels": (128, 64, 256, 512), "supervised_dropout": (0.5, 0.2)}
)


def _accepts_windows(value: object) -> bool:
    check_windows(value)  # raises an error
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class CnnClassifier(NetworkClassifier):
    """Convolutional network: the strongest response of each filter to a text, then a linear layer.

    See Also
    --------
    LstmClassifier : A recurrent network, which reads the words in order.
    LinearClassifier : The default, which needs no PyTorch and is far faster.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["red apple", "green apple", "blue sky", "dark sky"] * 5
    >>> model = wc.CnnClassifier(channels=8, max_length=5, max_epochs=20, min_docs=1, lr=0.01)
    >>> model = model.fit(texts, ["food", "food", "air", "air"] * 5)
    >>> model.predict(["an apple", "the sky"]).tolist()
    ['food', 'air']
    """

    options: ClassVar[Mapping[str, Option]] = {
        **NetworkClassifier.options,
        "channels": Option("Number of filters of each width.", integer(1)),
        "windows": Option(
            "Widths of the filters, in words.",
            Kind("tuple of int", "several widths, such as (3, 5, 7)", _accepts_windows),
        ),
    }

    channels: int = 128
    windows: tuple[int, ...] = (3, 5, 7)

    name: ClassVar[str] = "cnn"
    _SIZE_OPTION: ClassVar[str] = "channels"
    _DEFAULT_DROPOUT: ClassVar[float] = 0.5
    _AVERAGES_WEIGHTS: ClassVar[bool] = True

    def _encoder_options(self, n_classes: int) -> dict[str, Any]:
        return {"channels": self.channels, "windows": tuple(self.windows)}

    def _count_numbers(self, size: int, n_dims: int, n_classes: int) -> tuple[int, int]:
        n_filters = size * len(self.windows)
        n_columns = size * sum(self.windows)
        n_weights = n_dims * n_columns + (n_filters + 1) * n_classes
        # the responses of the distinct words, which are a third of the tokens of a batch
        return n_weights, self.batch_size * self.max_length * n_columns // 3


make = CnnClassifier
