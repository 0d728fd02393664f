"""Which settings are tried, and when: what is likely to be good comes soon, nothing comes twice."""

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wordclass.errors import InputError
from wordclass.storage.facts import storable
from wordclass.tuning.trial import Settings, Trial

_MOST_AT_RANDOM = 100_000  # nobody waits for more


@dataclass(frozen=True)
class Grid:
    """The values to choose from, and those to start with, which need not be among them.

    Parameters
    ----------
    values
        For each setting, what it may be. The settings that matter most come first.
    start
        A value for each setting.
    """

    values: dict[str, tuple[Any, ...]]
    start: Settings

    @classmethod
    def of(cls, values: Mapping[str, Sequence[Any]], start: Settings) -> "Grid":
        """Check what was given; a whole number is made the float that the start is."""
        for name, choices in values.items():
            if isinstance(choices, str) or not isinstance(choices, Sequence) or not choices:
                raise InputError(f"grid[{name!r}] is {choices!r}; expected a list of values")
        return cls(
            {
                name: tuple(_like(start[name], value) for value in choices)
                for name, choices in values.items()
            },
            start,
        )

    def around(self, settings: Settings, turn: int) -> Iterator[tuple[int, Settings]]:
        """Give the settings that differ in one value, from this one on in turn, with whose it is.

        After all values of one setting come those of the next, so that each gets its turn however
        often the best moves.
        """
        names = list(self.values)
        for number in (*range(turn, len(names)), *range(turn)):
            for value in self.values[names[number]]:
                yield number, {**settings, names[number]: value}

    def at_random(self, seed: int) -> Iterator[Settings]:
        """Give all combinations of values, in an order that depends on the seed alone."""
        sizes = [len(choices) for choices in self.values.values()]
        n_all = math.prod(sizes)
        for number in random.Random(seed).sample(range(n_all), min(n_all, _MOST_AT_RANDOM)):
            settings, rest = {}, number
            for name, choices in self.values.items():
                rest, place = divmod(rest, len(choices))
                settings[name] = choices[place]
            yield settings


def proposals(grid: Grid, seed: int, best: Callable[[], Settings]) -> Iterator[Settings]:
    """Give settings to try, until there are none left, never the same twice.

    First the start; then all that differ in one value from the best so far, which moves as better
    ones are found; then any, in random order, until one of them is the best so far, and so on. What
    comes depends on the seed and on what `best` returned, so a search can be repeated exactly. The
    best itself need not have been proposed, and is not.
    """
    seen = {identity(grid.start)}
    yield grid.start
    turn, others = 0, ((0, each) for each in grid.at_random(seed))
    while True:
        center = best()
        seen.add(identity(center))
        found = _first_new(grid.around(center, turn), seen) or _first_new(others, seen)
        if found is None:
            return
        turn, proposed = found
        seen.add(identity(proposed))
        yield proposed


def expected_seconds(settings: Settings, trials: Sequence[Trial]) -> float:
    """Estimate the time of a trial: the longest of those done that differ in the fewest values."""
    done = [trial for trial in trials if trial.is_done]
    differences = [_n_differing(settings, trial.settings) for trial in done]
    nearest = min(differences, default=0)
    pairs = zip(done, differences, strict=True)
    return max((trial.seconds for trial, n in pairs if n == nearest), default=0.0)


def identity(settings: Mapping[str, object]) -> str:
    """Return a text that is the same for equal settings."""
    return json.dumps(storable(settings), sort_keys=True)


def _like(start: object, value: object) -> object:
    """Return 20 as 20.0 where the start is a float, so that the same is not tried twice.

    Not the other way round: to some settings, 1 and 1.0 are different things.
    """
    return float(value) if isinstance(start, float) and type(value) is int else value


def _first_new(
    candidates: Iterator[tuple[int, Settings]], seen: set[str]
) -> tuple[int, Settings] | None:
    return next((each for each in candidates if identity(each[1]) not in seen), None)


def _n_differing(settings: Settings, other: Settings) -> int:
    return sum(identity({name: settings[name]}) != identity({name: other[name]}) for name in other)
