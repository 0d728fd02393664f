"""A recurrent network whose states are weighted by how much each agrees with the last one."""

from dataclasses import dataclass
from typing import ClassVar

from wordclass.classifiers._recurrent import RECURRENT_GRID, RecurrentClassifier

GRID = RECURRENT_GRID


@dataclass(kw_only=True, eq=False, repr=False)
class AttentionClassifier(RecurrentClassifier):
    """The states of an LSTM, weighted by attention, then a linear layer.

    Parameters
    ----------
    hidden : int, default=256
        The size of a state.

    All other parameters, and the attributes, are those of every network: see
    `wordclass.classifiers.network.NetworkClassifier`.
    """

    name: ClassVar[str] = "attention"


make = AttentionClassifier
