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
    """Return an engine, which processes the shards of a corpus.

    All engines give the same result, to the last bit. Use the engine in a `with` block, which
    closes what it started.

    Parameters
    ----------
    name : {"in_sequence", "processes", "dask", "spark"}
        "in_sequence" processes one shard after the other in this process. "processes" uses several
        processes of this machine. "dask" and "spark" use a cluster, or start one on this machine.
    **options : object
        Options of the engine: `n_workers` (int; for "processes", and for clusters that are started
        on this machine; by default one per core), `client` or `scheduler` (for "dask"), `session`
        or `master` (for "spark").

    Returns
    -------
    Engine
        The engine, which is also a context manager.

    Raises
    ------
    InputError
        If the name or an option is unknown or invalid.
    EngineError
        If the cluster does not answer, or has another version of wordclass.
    MissingExtraError
        If Dask or Spark is not installed.

    See Also
    --------
    ShardedCorpus : A corpus of several files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import wordclass as wc
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, word in {"a": "moon", "b": "rose"}.items():
    ...     line = f'{{"text": "a {word}", "label": "{name}"}}'
    ...     _ = (folder / f"{name}.jsonl").write_text(line)
    >>> with wc.engine("in_sequence") as engine:
    ...     wc.WordClassEmbeddings(min_docs=1).fit_parts(folder, engine=engine).terms_
    ['moon', 'rose']
    """
    make = catalogue.entry("engines", name).make
    known = sorted(inspect.signature(make).parameters)
    if unknown := sorted(options.keys() - {*known}):
        raise InputError(
            f"the engine {name!r} has no option {unknown[0]!r}",
            expected=", ".join(known) or None,
            hint=None if known else "leave it out, because this engine has no options",
        )
    requested: Engine = make(**options)
    return requested


@contextmanager
def open_engine(name_or_engine: str | Engine, **options: Any) -> Iterator[Engine]:  # noqa: ANN401
    """Open an engine for the `with` block, and close it afterwards if it was given by name."""
    if isinstance(name_or_engine, str):
        with engine(name_or_engine, **options) as opened:
            yield opened
        return
    if not hasattr(name_or_engine, "map_and_add"):
        known = ", ".join(catalogue.names("engines"))
        raise InputError(
            f"engine is {name_or_engine!r}", expected=f"one of {known}, or what wc.engine returns"
        )
    yield name_or_engine


class Job:
    """Several passes over a corpus that share one progress report.

    Parameters
    ----------
    engine : Engine
        The engine that processes the shards.
    items : sequence or table
        The shards.
    description : str
        The name of the job in progress reports.
    n_passes : int
        The number of passes.
    """

    def __init__(self, engine: Engine, items: Any, description: str, n_passes: int) -> None:  # noqa: ANN401
        self._engine = engine
        self._items = items
        self._description = description
        self._n_passes = n_passes
        self._n_items = count_shards(items)
        self._n_done = 0
        self._listener = progress.current_listener()

    def run(self, work: Work[Sum], step: str, plus: Callable[[Sum, Sum], Sum] = add) -> Sum:
        """Run one pass and return the sum over all shards."""
        total = self._n_items * self._n_passes
        n_done_before = self._n_done

        def report(n_items: int) -> None:
            self._n_done += n_items
            n_reported = min(self._n_done, n_done_before + self._n_items)
            self._listener(f"{self._description}: {step}", n_reported, total)

        report(0)
        result = self._engine.map_and_add(work, self._items, plus, report)
        self._n_done = n_done_before + self._n_items
        report(0)
        return result
