"""The recurrent network with attention of the paper."""

from dataclasses import dataclass
from typing import ClassVar

from wordclass.classifiers._recurrent import RECURRENT_GRID, RecurrentClassifier

GRID = RECURRENT_GRID


@dataclass(kw_only=True, eq=False, repr=False)
class AttentionClassifier(RecurrentClassifier):
    """Recurrent network: the states of an LSTM, weighted by attention, then a linear layer.

    The weight of a state depends on its agreement with the last state.

    See Also
    --------
    LstmClassifier : Uses the last state of the LSTM alone.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["red apple", "green apple", "blue sky", "dark sky"] * 5
    >>> model = wc.AttentionClassifier(hidden=8, max_length=5, max_epochs=20, min_docs=1, lr=0.05)
    >>> model = model.fit(texts, ["food", "food", "air", "air"] * 5)
    >>> model.predict(["an apple", "the sky"]).tolist()
    ['food', 'air']
    """

    name: ClassVar[str] = "attention"


make = AttentionClassifier
