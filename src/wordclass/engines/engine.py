"""Open an engine by name and run passes over a corpus with it."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import add
from typing import Any

from wordclass import catalogue, progress
from wordclass.engines.tasks import Engine, Sum, Work, count_shards
from wordclass.errors import InputError


def engine(name: str, **options: Any) -> Engine:  # noqa: ANN401 - each engine has its own
    """Return an engine by name.

    Parameters
    ----------
    name : str
        "in_sequence": one part after the other, in this process. "processes": on all cores.
        "dask", "spark": on a cluster, or on one that is started here.
    **options
        `n_workers` ("processes", and clusters that are started here), `client` or `scheduler`
        ("dask"), `session` or `master` ("spark").
    """
    make = catalogue.entry("engines", name).make
    known = sorted(inspect.signature(make).parameters)
    if unknown := sorted(options.keys() - {*known}):
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"the engine {name!r} has no option {unknown[0]!r}; {has}")
    made: Engine = make(**options)
    return made


@contextmanager
def open_engine(given: str | Engine, **options: Any) -> Iterator[Engine]:  # noqa: ANN401
    """Give an engine; one that was named is closed afterwards."""
    if isinstance(given, str):
        with engine(given, **options) as made:
            yield made
        return
    if not hasattr(given, "map_and_add"):
        known = ", ".join(catalogue.names("engines"))
        raise InputError(f"engine is {given!r}; expected one of {known}, or what wc.engine returns")
    yield given


class Job:
    """Passes over a corpus, with one account of progress for all of them.

    Parameters
    ----------
    engine : Engine
    items : sequence or table
        The parts.
    what : str
        What is being done.
    n_passes : int
    """

    def __init__(self, engine: Engine, items: Any, what: str, n_passes: int) -> None:  # noqa: ANN401
        self._engine, self._items, self._what, self._n_passes = engine, items, what, n_passes
        self._n_items = count_shards(items)
        self._n_done = 0
        self._listener = progress.current_listener()

    def run(self, work: Work[Sum], step: str, plus: Callable[[Sum, Sum], Sum] = add) -> Sum:
        """Make one pass, and return the sum over all parts."""
        total, before = self._n_items * self._n_passes, self._n_done

        def tell(n_more: int) -> None:
            self._n_done += n_more
            shown = min(self._n_done, before + self._n_items)
            self._listener(f"{self._what}: {step}", shown, total)

        tell(0)
        made = self._engine.map_and_add(work, self._items, plus, tell)
        self._n_done = before + self._n_items
        tell(0)
        return made
