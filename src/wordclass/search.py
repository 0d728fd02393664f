"""A search for settings: documents held out to judge them, trials, and what to try next.

`linear`, `svm` and `tune` search in this way; what they try, and how they judge it, is their own.
"""

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wordclass.arrays import Floats, Floats32, Ints
from wordclass.labels import EncodedLabels
from wordclass.storage.facts import restored, storable

Settings = dict[str, Any]
Split = tuple[Ints, Ints]  # rows to learn from, rows held out

_MOST_AT_RANDOM = 100_000  # nobody waits for more


# --- documents held out ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts, their labels, and maybe how much each of them counts (n,)."""

    texts: list[str]
    labels: EncodedLabels
    weights: Floats | None = None

    def part(self, rows: Ints) -> "Documents":
        """Return some of them, over the same codeframe."""
        weights = None if self.weights is None else self.weights[rows]
        labels = EncodedLabels(self.labels.codeframe, self.labels.Y[rows])
        return Documents([self.texts[k] for k in rows], labels, weights)

    def of_classes(self, one_of: int) -> "Documents":
        """Return all of them with one of so many classes, from the largest to the smallest."""
        sizes = np.asarray(self.labels.Y.sum(axis=0)).ravel()
        kept = np.sort(np.argsort(-sizes, kind="stable")[one_of // 2 :: one_of])
        is_dropped = ~np.isin(np.arange(len(sizes)), kept)
        codeframe = self.labels.codeframe.without(is_dropped)
        return replace(self, labels=EncodedLabels(codeframe, self.labels.Y[:, kept]))


def held_out_scores(
    validate: Callable[[Ints, Ints], Floats32], splits: Iterable[Split]
) -> tuple[Ints, Floats32]:
    """Return documents (k,), and their scores (candidates, k, m) by what the others tell.

    Parameters
    ----------
    validate
        Learns from some rows with every candidate, and returns the scores (candidates, rows, m) of
        other rows.
    splits
        Rows to learn from, and rows to score.
    """
    parts = [(tested, validate(rows, tested)) for rows, tested in splits]
    return (
        np.concatenate([tested for tested, _ in parts]),
        np.concatenate([scores for _, scores in parts], axis=1),
    )


# --- trials ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """What was tried, and how good it was on documents held out.

    Parameters
    ----------
    settings : dict
        The options that vary between the trials.
    seconds : float, default=0.0
        For learning and predicting.
    macro_f1, micro_f1, accuracy : float, default=nan
        On the documents held out.
    message : str, default=""
        Why the trial failed; there are no scores then.
    chosen : dict, default={}
        What the classifier chose by itself, where it tells (its `settings_`), as JSON can hold it.
    is_resumed : bool, default=False
        It was read from a journal.
    """

    settings: Settings
    seconds: float = 0.0
    macro_f1: float = math.nan
    micro_f1: float = math.nan
    accuracy: float = math.nan
    message: str = ""
    chosen: dict[str, Any] = field(default_factory=dict)
    is_resumed: bool = False

    @property
    def status(self) -> str:
        """Either "done", or "failed": there are no scores then, and the message says why."""
        return "failed" if self.message else "done"

    @property
    def is_done(self) -> bool:
        """Whether there are scores."""
        return not self.message

    @property
    def resolved(self) -> Settings:
        """The settings, with what the classifier chose in the place of what was left to it."""
        if not self.chosen:
            return self.settings
        chosen = restored("", self.chosen, {})
        return {name: chosen.get(name, value) for name, value in self.settings.items()}

    def score(self, target: str) -> float:
        """Return how good it is: "macro_f1", "micro_f1", "both" (their mean) or "accuracy"."""
        if not self.is_done:
            return -math.inf
        if target == "both":
            return (self.macro_f1 + self.micro_f1) / 2
        return float(getattr(self, target))

    def to_dict(self) -> dict[str, Any]:
        """Return all that is worth keeping, as JSON can hold it."""
        names = ("macro_f1", "micro_f1", "accuracy") if self.is_done else ("message",)
        found: dict[str, Any] = {
            "settings": storable(self.settings),
            "status": self.status,
            **{name: getattr(self, name) for name in names},
            "seconds": round(self.seconds, 3),
        }
        return found | ({"chosen": self.chosen} if self.chosen else {})

    @classmethod
    def resumed(cls, settings: Settings, kept: Mapping[str, Any]) -> "Trial":
        """Return the trial of some settings as `to_dict` wrote it."""
        names = ("seconds", "macro_f1", "micro_f1", "accuracy", "message", "chosen")
        return cls(
            settings, **{name: kept[name] for name in names if name in kept}, is_resumed=True
        )


# --- what to try next -----------------------------------------------------------------------


@dataclass
class Search:
    """The trials so far, and what to try next: what is likely to be good comes soon.

    Parameters
    ----------
    values : dict
        For each setting, what it may be. The settings that matter most come first.
    start : dict
        The settings to begin with, which need not be among the values.
    target : str
        What is to be high: see `Trial.score`.
    seed : int, optional
        Of the random order, when all that is near the best was tried. By default the search ends
        after one pass over the settings.
    trials : list of Trial, default=[]
        Whoever searches appends them.
    """

    values: Mapping[str, Sequence[Any]]
    start: Settings
    target: str
    seed: int | None = None
    trials: list[Trial] = field(default_factory=list)

    @property
    def best(self) -> Trial:
        """The first of the trials with the highest score."""
        return max(self.trials, key=lambda trial: trial.score(self.target))

    def proposals(self) -> Iterator[Settings]:
        """Give settings to try, until there are none left, never the same twice.

        First the start; then all that differ in one value from the best so far, which moves as
        better ones are found, one setting after the other; then, with a seed, any in random order,
        until one of them is the best so far, and so on. What comes depends on the seed and on the
        trials, so a search can be repeated exactly.
        """
        seen = {_identity(self.start)}
        yield self.start
        turn, others = 0, ((0, each) for each in self._at_random())
        while True:
            # what a classifier chose by itself need not have been proposed, and is not
            center = {name: self.best.resolved[name] for name in self.values}
            seen.add(_identity(center))
            found = _first_new(self._around(center, turn), seen) or _first_new(others, seen)
            if found is None:
                return
            turn, proposed = found
            seen.add(_identity(proposed))
            yield proposed

    def _around(self, center: Settings, turn: int) -> Iterator[tuple[int, Settings]]:
        """Give the settings that differ in one value, from this one on in turn, with whose it is.

        After all values of one setting come those of the next, so that each gets its turn however
        often the best moves.
        """
        names = list(self.values)
        again = range(turn) if self.seed is not None else ()
        for number in (*range(turn, len(names)), *again):
            for value in self.values[names[number]]:
                yield number, {**center, names[number]: value}

    def _at_random(self) -> Iterator[Settings]:
        """Give all combinations of values, in an order that depends on the seed alone."""
        if self.seed is None:
            return
        n_all = math.prod(map(len, self.values.values()))
        for number in random.Random(self.seed).sample(range(n_all), min(n_all, _MOST_AT_RANDOM)):
            settings, rest = {}, number
            for name, choices in self.values.items():
                rest, place = divmod(rest, len(choices))
                settings[name] = choices[place]
            yield settings


def _first_new(
    candidates: Iterator[tuple[int, Settings]], seen: set[str]
) -> tuple[int, Settings] | None:
    return next((each for each in candidates if _identity(each[1]) not in seen), None)


def _identity(settings: Settings) -> str:
    """Return a text that is the same for equal settings; 1 and 1.0 may mean different things."""
    return json.dumps(settings, sort_keys=True, default=_plain)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else repr(value)
