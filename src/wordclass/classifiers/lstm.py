"""The recurrent network of the paper."""

from dataclasses import dataclass
from typing import ClassVar

from wordclass.classifiers._recurrent import RECURRENT_GRID, RecurrentClassifier

GRID = RECURRENT_GRID


@dataclass(kw_only=True, eq=False, repr=False)
class LstmClassifier(RecurrentClassifier):
    """Recurrent network: the last state of an LSTM, then a linear layer.

    See Also
    --------
    AttentionClassifier : Uses all states of the LSTM instead of the last one.
    CnnClassifier : A convolutional network, which is faster.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["red apple", "green apple", "blue sky", "dark sky"] * 5
    >>> model = wc.LstmClassifier(hidden=8, max_length=5, max_epochs=20, min_docs=1, lr=0.05)
    >>> model = model.fit(texts, ["food", "food", "air", "air"] * 5)
    >>> model.predict(["an apple", "the sky"]).tolist()
    ['food', 'air']
    """

    name: ClassVar[str] = "lstm"


make = LstmClassifier
