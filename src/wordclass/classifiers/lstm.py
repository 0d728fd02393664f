"""A recurrent network: the state in which it ends."""

from dataclasses import dataclass
from typing import ClassVar

from wordclass.classifiers._recurrent import RECURRENT_GRID, RecurrentClassifier

GRID = RECURRENT_GRID


@dataclass(kw_only=True, eq=False, repr=False)
class LstmClassifier(RecurrentClassifier):
    """The last state of an LSTM, then a linear layer.

    Parameters
    ----------
    hidden : int, default=256
        The size of the state.

    All other parameters, and the attributes, are those of every network: see
    `wordclass.classifiers.network.NetworkClassifier`.
    """

    name: ClassVar[str] = "lstm"


make = LstmClassifier
