"""LEAM, a network with words and classes in one space, which the paper discusses as competitor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from wordclass.classifiers.network import NetworkClassifier
from wordclass.network.encoders.leam import check_window
from wordclass.options import Kind, Option

GRID: Mapping[str, Sequence[object]] = MappingProxyType(
    {"window": (55, 11, 21), "dropout": (0.5, 0.2)}
)


def _accepts_window(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    check_window(value)  # raises an error
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class LeamClassifier(NetworkClassifier):
    """Network that weights the words of a text by their similarity to the labels.

    Wang et al. (2018) trained the word vectors too, and had no word-class vectors: use
    `trainable=True` and `wce=False` for their method.

    See Also
    --------
    AttentionClassifier : Weights the states of an LSTM instead.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["red apple", "green apple", "blue sky", "dark sky"] * 5
    >>> model = wc.LeamClassifier(window=3, max_length=5, max_epochs=20, min_docs=1, lr=0.3)
    >>> model = model.fit(texts, ["food", "food", "air", "air"] * 5)
    >>> model.predict(["an apple", "the sky"]).tolist()
    ['food', 'air']
    """

    options: ClassVar[Mapping[str, Option]] = {
        **NetworkClassifier.options,
        "window": Option(
            "Number of neighboring words, with itself, that decide about the weight of a word.",
            Kind("odd int", "an odd number from 1 up", _accepts_window),
        ),
    }

    window: int = 55

    name: ClassVar[str] = "leam"
    _SIZE_OPTION: ClassVar[str] = "batch_size"
    _DEFAULT_DROPOUT: ClassVar[float] = 0.5

    def _encoder_options(self, n_classes: int) -> dict[str, Any]:
        return {"window": self.window, "n_classes": n_classes}

    def _count_numbers(self, size: int, n_dims: int, n_classes: int) -> tuple[int, int]:
        n_weights = (2 * n_dims + 2) * n_classes + self.window
        return n_weights, size * self.max_length * (3 * n_dims + 4 * n_classes)


make = LeamClassifier
