"""The executors of a Spark cluster."""

import os
import pickle
import socket
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib import metadata
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from wordclass import catalogue
from wordclass.engines.tasks import Add, Sum, Tell, Work, listed, runs, tree_sum
from wordclass.errors import EngineError, InputError, WordClassError
from wordclass.options import check_int

_PATIENCE = 20  # seconds for a master to answer
_BRANCHES = 8  # sums that are added by one task: three levels of the tree of two branches each
_SCHEMA = "number long, sum binary, problem binary"
_NO_ANSWER = (
    "the master {master} does not answer within {seconds} seconds; is the address right, and is it "
    "running?"
)
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.maxResultSize": "0",
    "spark.sql.shuffle.partitions": "16",
}
_LOOK = 0.5  # seconds between two looks at how far it is


class Spark:
    """Works on the parts of a corpus, or on the partitions of a DataFrame, by Spark.

    Results are rows of a DataFrame, made by `mapInArrow` and added in a tree; only the last one is
    collected.

    Parameters
    ----------
    session : pyspark.sql.SparkSession, optional
        One that is there already.
    master : str, optional
        The address of a cluster, such as "spark://10.0.0.1:7077". By default Spark runs here and
        listens on the loopback interface only, unless the environment variable SPARK_LOCAL_IP names
        another address.
    n_workers : int, optional
        How many tasks at a time where Spark runs here; by default one per core.

    Raises
    ------
    EngineError
        The master does not answer; there is no Java; or an executor has no wordclass, or another
        version.
    """

    def __init__(
        self,
        session: Any = None,  # noqa: ANN401 - pyspark.sql.SparkSession
        master: str | None = None,
        n_workers: int | None = None,
    ) -> None:
        sql = catalogue.import_extra("pyspark.sql", "for the engine 'spark'", "spark")
        if session is not None and master is not None:
            raise InputError("give a session or the address of a master, not both")
        self._is_ours = session is None
        self._session = session
        if session is None:
            if n_workers is not None:
                check_int("n_workers", n_workers, 1)
            # four attempts of a task, as a cluster has them
            self._session = _started(sql, master or f"local[{n_workers or '*'},4]")

    @property
    def n_workers(self) -> int:
        """How many parts are worked on at the same time."""
        return max(1, int(self._session.sparkContext.defaultParallelism))

    def map_and_add(
        self,
        work: Work[Sum],
        items: Any,  # noqa: ANN401 - a sequence, or a DataFrame
        add: Add[Sum],
        tell: Tell,
    ) -> Sum:
        """Return the sum over all items; sums are added by the executors."""
        with _quietly():
            return self._map_and_add(work, items, add, tell)

    def _map_and_add(self, work: Work[Sum], items: Any, add: Add[Sum], tell: Tell) -> Sum:  # noqa: ANN401
        functions = catalogue.import_extra(
            "pyspark.sql.functions", "for the engine 'spark'", "spark"
        )
        context, own = self._session.sparkContext, metadata.version("wordclass")
        dumps = catalogue.import_extra(
            "pyspark.cloudpickle", "for the engine 'spark'", "spark"
        ).dumps
        shared = context.broadcast(
            _Shared(dumps((work, None if hasattr(items, "mapInArrow") else items)))
        )
        if hasattr(items, "mapInArrow"):
            n_sums = items.rdd.getNumPartitions()
            sums = items.mapInArrow(_on_partitions(shared, own), _SCHEMA)
            sizes = [1] * n_sums
        else:
            numbers = runs(len(listed(items)), self.n_workers)
            sizes, n_sums = [*map(len, numbers)], len(numbers)
            table = self._session.range(0, n_sums, 1, n_sums)  # one row per task
            sums = table.mapInArrow(_on_runs(shared, own, numbers), _SCHEMA)
        while n_sums > 1:
            node = functions.floor(functions.col("number") / _BRANCHES)
            sums = sums.groupBy(node.alias("node")).applyInArrow(_adding(add), _SCHEMA)
            n_sums = -(-n_sums // _BRANCHES)
        with _telling(context, sizes, tell), _told_in_one_line():
            rows = sums.collect()
        shared.unpersist()
        if not rows:
            raise InputError("the table is empty: there are no texts")
        (row,) = rows
        if row.problem is not None:
            raise pickle.loads(row.problem)
        made: Sum = pickle.loads(row.sum)
        return made

    def __enter__(self) -> "Spark":
        return self

    def __exit__(self, *error: object) -> None:
        """Stop Spark where it was started here; a session of the user's goes on."""
        if self._is_ours:
            self._session.stop()


def _started(sql: Any, master: str) -> Any:  # noqa: ANN401 - a module, a SparkSession
    """Start a session, or say why there is none: Spark itself would wait for a minute."""
    address = urlsplit(master)
    if address.scheme == "spark":
        try:
            socket.create_connection((address.hostname, address.port or 7077), _PATIENCE).close()
        except (OSError, ValueError) as error:
            raise EngineError(_NO_ANSWER.format(master=master, seconds=_PATIENCE)) from error
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master(master).appName("wordclass")
    for name, value in (_SETTINGS | _addresses(master)).items():
        builder = builder.config(name, value)
    try:
        with _quietly():
            return _soon(builder.getOrCreate, _PATIENCE if address.port else None)
    except TimeoutError as error:
        raise EngineError(_NO_ANSWER.format(master=master, seconds=_PATIENCE)) from error
    except Exception as error:  # whatever Java says, or that there is none
        reason = " ".join(str(error).split())
        told = f"Spark cannot be started at {master}: {reason:.200}"
        raise EngineError(f"{told}; it needs Java 17 or later (Debian: default-jre)") from error


def _addresses(master: str) -> dict[str, str]:
    """Return the settings for where the driver listens.

    The executors of a cluster must reach the driver, so Spark chooses its address there.
    """
    if not master.startswith("local"):
        return {}
    address = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    return {"spark.driver.host": address, "spark.driver.bindAddress": address}


def _soon(work: Callable[[], Any], seconds: float | None) -> Any:  # noqa: ANN401
    """Return what a function returns, or give it up: Spark waits a minute for a silent master."""
    done: Queue[tuple[Any, Exception | None]] = Queue()

    def run() -> None:
        try:
            done.put((work(), None))
        except Exception as error:
            done.put((None, error))

    Thread(target=run, daemon=True).start()
    try:
        made, problem = done.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if problem is not None:
        raise problem
    return made


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep Spark's opinion on new versions of pandas, which is not used here, to itself."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        yield


# --- what runs on the executors -------------------------------------------------------------------


class _Shared:
    """What all tasks share, such as the vocabulary: each process unpickles it once."""

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled

    @cached_property
    def loaded(self) -> Any:  # noqa: ANN401 - the work, and the items
        return pickle.loads(self._pickled)


def _on_runs(shared: Any, version: str, numbers: list[range]) -> Any:  # noqa: ANN401 - a function
    """Return the function that works on runs of items, given by their numbers."""

    def work_on(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                work, items = shared.value.loaded
                run = numbers[number]
                yield _row(number, version, lambda: work([(k, items[k]) for k in run]))  # noqa: B023

    return work_on


def _on_partitions(shared: Any, version: str) -> Any:  # noqa: ANN401 - a function
    """Return the function that works on the rows of one partition."""

    def work_on(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        number = context.partitionId()
        yield _row(number, version, lambda: shared.value.loaded[0]([(number, batches)]))

    return work_on


def _adding(add: Add[Any]) -> Any:  # noqa: ANN401 - a function
    """Return the function that adds the sums of neighbors; the first problem is handed on."""

    def added(table: Any) -> Any:  # noqa: ANN401 - a table of Arrow
        rows = sorted(table.to_pylist(), key=lambda row: row["number"])
        number = rows[0]["number"] // _BRANCHES
        problem = next((row["problem"] for row in rows if row["problem"] is not None), None)
        if problem is not None:
            return _table(number, None, problem)
        total = tree_sum((pickle.loads(row["sum"]) for row in rows), add)
        return _table(number, pickle.dumps(total, 5), None)

    return added


def _row(number: int, version: str, work: Any) -> Any:  # noqa: ANN401 - a function, a batch
    """Return what one task found, or the problem of the user's that it met."""
    try:
        found = metadata.version("wordclass")
        if found != version:
            raise EngineError(f"an executor has wordclass {found}, but here is {version}")
        return _table(number, pickle.dumps(work(), 5), None).to_batches()[0]
    except WordClassError as error:  # would be the same if it was tried again
        return _table(number, None, pickle.dumps(error)).to_batches()[0]


def _table(number: int, total: bytes | None, problem: bytes | None) -> Any:  # noqa: ANN401
    pa: Any = catalogue.import_extra("pyarrow", "for the engine 'spark'", "spark")
    types = [("number", pa.int64()), ("sum", pa.binary()), ("problem", pa.binary())]
    return pa.table([[number], [total], [problem]], schema=pa.schema(types))


# --- what the driver sees -------------------------------------------------------------------------


@contextmanager
def _telling(context: Any, sizes: list[int], tell: Tell) -> Iterator[None]:  # noqa: ANN401
    """Tell of tasks that are done while a job runs; the first stage has one for each size."""
    group, is_over = f"wordclass-{uuid4().hex}", Event()
    context.setJobGroup(group, "wordclass")

    def look() -> None:
        n_told, tracker = 0, context.statusTracker()
        while not is_over.wait(_LOOK):
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
            done = max(
                (s.numCompletedTasks for s in stages if s and s.numTasks == len(sizes)), default=0
            )
            tell(sum(sizes[n_told:done]))
            n_told = max(n_told, done)

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)


@contextmanager
def _told_in_one_line() -> Iterator[None]:
    """Turn what Spark raises, which has the traces of two languages in it, into one line."""
    try:
        yield
    except WordClassError:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        if any("No module named 'wordclass" in line for line in lines):
            own = metadata.version("wordclass")
            told = f"an executor has no wordclass: install version {own} for its Python"
            raise EngineError(told) from error
        told = next(
            (line for line in reversed(lines) if "Error" in line or "Exception" in line), ""
        )
        raise EngineError(f"Spark: {told or type(error).__name__:.300}") from error


make = Spark
