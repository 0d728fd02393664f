"""One trial: some settings, and how good a classifier with them was on held-out documents."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordclass.errors import InputError
from wordclass.storage.facts import restored, storable

TARGETS = ("both", "macro_f1", "micro_f1", "accuracy")

Settings = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """What was tried, and what came of it.

    Parameters
    ----------
    settings
        The options that vary between the trials.
    status
        "done", or "failed", where there are no scores and the message says why.
    macro_f1, micro_f1, accuracy
        On the validation documents.
    seconds
        For learning from the other documents and predicting these.
    chosen
        What the classifier chose by itself, where it tells (its `settings_`), as JSON can hold it.
    is_resumed
        It was read from a journal.
    """

    settings: Settings
    status: str
    seconds: float
    macro_f1: float = math.nan
    micro_f1: float = math.nan
    accuracy: float = math.nan
    message: str = ""
    chosen: dict[str, Any] = field(default_factory=dict)
    is_resumed: bool = False

    @property
    def is_done(self) -> bool:
        """Whether there are scores."""
        return self.status == "done"

    @property
    def resolved(self) -> Settings:
        """The settings, with what the classifier chose in the place of what was left to it."""
        chosen = restored("", self.chosen, {})
        return {name: chosen.get(name, value) for name, value in self.settings.items()}

    def score(self, target: str) -> float:
        """Return how good it is by one of the `TARGETS`: the more the better."""
        if not self.is_done:
            return -math.inf
        if target == "both":
            return (self.macro_f1 + self.micro_f1) / 2
        value: float = getattr(self, target)
        return value

    def to_dict(self) -> dict[str, Any]:
        """Return all that is worth keeping, as JSON can hold it."""
        found: dict[str, Any] = {"settings": storable(self.settings), "status": self.status}
        if self.is_done:
            found |= {
                "macro_f1": self.macro_f1,
                "micro_f1": self.micro_f1,
                "accuracy": self.accuracy,
            }
        found["seconds"] = round(self.seconds, 3)
        if self.message:
            found["message"] = self.message
        if self.chosen:
            found["chosen"] = self.chosen
        return found

    @classmethod
    def resumed(cls, settings: Settings, kept: dict[str, Any]) -> "Trial":
        """Return the trial of some settings as `to_dict` wrote it."""
        names = ("status", "seconds", "macro_f1", "micro_f1", "accuracy", "message", "chosen")
        own = {name: kept[name] for name in names if name in kept}
        return cls(settings, **own, is_resumed=True)


def checked_budget(budget: float | None) -> float:
    """Return the seconds there are; None is no end of them."""
    if budget is None:
        return math.inf
    is_number = isinstance(budget, int | float | np.number) and not isinstance(budget, bool)
    if not is_number or not budget >= 0:
        raise InputError(f"budget is {budget!r}; expected seconds, from 0 up, or None")
    return float(budget)


def checked_target(target: str) -> str:
    """Return the full name of a target; `macro` and `micro` will do."""
    full = f"{target}_f1" if target in ("macro", "micro") else target
    if full not in TARGETS:
        raise InputError(f"target is {target!r}; expected one of: {', '.join(TARGETS)}")
    return full
