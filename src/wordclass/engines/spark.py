"""The executors of a Spark cluster."""

import os
import pickle
import socket
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from importlib import metadata
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from wordclass import catalogue
from wordclass.engines.tasks import (
    Add,
    Report,
    Sum,
    Work,
    cut_into_chunks,
    require_sequence,
    tree_sum,
)
from wordclass.errors import EngineError, InputError, WordClassError
from wordclass.options import check_int

_CONNECT_SECONDS = 20
_REPORT_SECONDS = 0.5
_DEFAULT_PORT = 7077
_MAX_TASK_ATTEMPTS = 4  # as on a cluster
_BRANCHES = 8  # sums that one task adds: three levels of a binary tree
_SCHEMA = "number long, sum binary, problem binary"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.maxResultSize": "0",
    "spark.sql.shuffle.partitions": "16",
}


class Spark:
    """Engine that processes the shards of a corpus, or the partitions of a table, by Spark.

    Results are rows of a DataFrame, which `mapInArrow` computes and which are added in a tree. Only
    the last sum is collected.

    Parameters
    ----------
    session : pyspark.sql.SparkSession, optional
        A running session.
    master : str, optional
        The address of a cluster, such as "spark://10.0.0.1:7077". By default, Spark runs on this
        machine and listens on the loopback interface only, unless the environment variable
        SPARK_LOCAL_IP contains another address.
    n_workers : int, optional
        The number of tasks at a time if Spark runs on this machine. By default one per core.

    Raises
    ------
    InputError
        If both a session and an address are given, or `n_workers` is not a positive int.
    EngineError
        If the master does not answer, Java is missing, or an executor has no wordclass or another
        version of it.
    MissingExtraError
        If Spark is not installed.
    """

    def __init__(
        self,
        session: Any = None,  # noqa: ANN401 - pyspark.sql.SparkSession
        master: str | None = None,
        n_workers: int | None = None,
    ) -> None:
        sql = catalogue.import_extra("pyspark.sql", "for the engine 'spark'", "spark")
        if session is not None and master is not None:
            raise InputError(
                "session and master are both given", hint="give a session or an address, not both"
            )
        self._owns_session = session is None
        self._session = session
        if session is None:
            if n_workers is not None:
                check_int("n_workers", n_workers, 1)
            local_master = f"local[{n_workers or '*'},{_MAX_TASK_ATTEMPTS}]"
            self._session = _start_session(sql, master or local_master)

    @property
    def n_workers(self) -> int:
        """The number of shards that are processed at the same time."""
        return max(1, int(self._session.sparkContext.defaultParallelism))

    def map_and_add(
        self,
        work: Work[Sum],
        items: Any,  # noqa: ANN401 - a sequence, or a DataFrame
        add: Add[Sum],
        report: Report,
    ) -> Sum:
        """Return the sum over all items.

        Parameters
        ----------
        work : callable
            Picklable function from pairs of number and item to their sum.
        items : sequence or DataFrame
            The shards, or a table of Spark, whose partitions are the shards.
        add : callable
            Function that adds two sums.
        report : callable
            Function that is called with the number of items of finished tasks.

        Returns
        -------
        object
            The sum over all items.

        Raises
        ------
        EngineError
            If the cluster fails.
        """
        with _ignore_pandas_warning():
            return self._map_and_add(work, items, add, report)

    def _map_and_add(
        self,
        work: Work[Sum],
        items: Any,  # noqa: ANN401
        add: Add[Sum],
        report: Report,
    ) -> Sum:
        reason = "for the engine 'spark'"
        functions = catalogue.import_extra("pyspark.sql.functions", reason, "spark")
        cloudpickle = catalogue.import_extra("pyspark.cloudpickle", reason, "spark")
        context = self._session.sparkContext
        local_version = metadata.version("wordclass")
        is_table = hasattr(items, "mapInArrow")
        pickled = cloudpickle.dumps((work, None if is_table else items))
        shared = context.broadcast(_SharedWork(pickled))
        if is_table:
            n_sums = items.rdd.getNumPartitions()
            sums = items.mapInArrow(_partition_task(shared, local_version), _SCHEMA)
            sizes = [1] * n_sums
        else:
            chunks = cut_into_chunks(len(require_sequence(items)), self.n_workers)
            sizes = [*map(len, chunks)]
            n_sums = len(chunks)
            table = self._session.range(0, n_sums, 1, n_sums)  # one row per task
            sums = table.mapInArrow(_chunk_task(shared, local_version, chunks), _SCHEMA)
        while n_sums > 1:
            node = functions.floor(functions.col("number") / _BRANCHES)
            sums = sums.groupBy(node.alias("node")).applyInArrow(_addition_task(add), _SCHEMA)
            n_sums = -(-n_sums // _BRANCHES)
        with _report_tasks(context, sizes, report), _errors_in_one_line():
            rows = sums.collect()
        shared.unpersist()
        if not rows:
            raise InputError("the table is empty", expected="at least one text")
        (row,) = rows
        if row.problem is not None:
            raise pickle.loads(row.problem)
        total: Sum = pickle.loads(row.sum)
        return total

    def __enter__(self) -> "Spark":
        """Return the engine itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Stop Spark if it was started here, but not a session that was passed in."""
        if self._owns_session:
            self._session.stop()


def _start_session(sql: Any, master: str) -> Any:  # noqa: ANN401 - a module, a SparkSession
    """Start a session, or raise EngineError early, because Spark itself would wait a minute."""
    address = urlsplit(master)
    if address.scheme == "spark":
        host = (address.hostname, address.port or _DEFAULT_PORT)
        try:
            socket.create_connection(host, _CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:
            raise _no_answer(master) from error
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master(master).appName("wordclass")
    for name, value in (_SETTINGS | _driver_addresses(master)).items():
        builder = builder.config(name, value)
    try:
        with _ignore_pandas_warning():
            return _call_with_timeout(
                builder.getOrCreate, _CONNECT_SECONDS if address.port else None
            )
    except TimeoutError as error:
        raise _no_answer(master) from error
    except Exception as error:  # whatever Java raises, or that it is missing
        reason = " ".join(str(error).split())
        raise EngineError(
            f"Spark cannot be started at {master}: {reason:.200}",
            hint="install Java 17 or later (Debian: default-jre)",
        ) from error


def _no_answer(master: str) -> EngineError:
    return EngineError(
        f"the master {master} does not answer within {_CONNECT_SECONDS} seconds",
        hint="check the address and that the master is running",
    )


def _driver_addresses(master: str) -> dict[str, str]:
    """Return the settings for where the driver listens.

    The executors of a cluster must reach the driver, so Spark chooses its address there.
    """
    if not master.startswith("local"):
        return {}
    address = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    return {"spark.driver.host": address, "spark.driver.bindAddress": address}


def _call_with_timeout(function: Callable[[], Any], seconds: float | None) -> Any:  # noqa: ANN401
    """Return the result of a function, or raise TimeoutError if it takes longer."""
    results: Queue[tuple[Any, Exception | None]] = Queue()

    def run() -> None:
        try:
            results.put((function(), None))
        except Exception as error:
            results.put((None, error))

    Thread(target=run, daemon=True).start()
    try:
        result, problem = results.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if problem is not None:
        raise problem
    return result


@contextmanager
def _ignore_pandas_warning() -> Iterator[None]:
    """Ignore Spark's warning about new versions of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
        yield


# --- code that runs on the executors --------------------------------------------------------------


class _SharedWork:
    """Pickled work that all tasks share, which each process unpickles once."""

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled

    @cached_property
    def work_and_items(self) -> Any:  # noqa: ANN401
        return pickle.loads(self._pickled)


def _chunk_task(shared: Any, version: str, chunks: list[range]) -> Any:  # noqa: ANN401 - a function
    """Return a function that processes chunks of items, which the rows of a table number."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                work, items = shared.value.work_and_items
                numbered = [(k, items[k]) for k in chunks[number]]
                yield _result_batch(number, version, partial(work, numbered))

    return run


def _partition_task(shared: Any, version: str) -> Any:  # noqa: ANN401 - a function
    """Return a function that processes the rows of one partition."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        number = context.partitionId()

        def process() -> Any:  # noqa: ANN401 - a sum
            work, _ = shared.value.work_and_items
            return work([(number, batches)])

        yield _result_batch(number, version, process)

    return run


def _addition_task(add: Add[Any]) -> Any:  # noqa: ANN401 - a function
    """Return a function that adds the sums of neighbors, or passes on their first problem."""

    def run(table: Any) -> Any:  # noqa: ANN401 - a table of Arrow
        rows = sorted(table.to_pylist(), key=lambda row: row["number"])
        number = rows[0]["number"] // _BRANCHES
        problem = next((row["problem"] for row in rows if row["problem"] is not None), None)
        if problem is not None:
            return _result_table(number, None, problem)
        total = tree_sum((pickle.loads(row["sum"]) for row in rows), add)
        return _result_table(number, pickle.dumps(total, 5), None)

    return run


def _result_batch(number: int, version: str, process: Callable[[], Any]) -> Any:  # noqa: ANN401
    """Return the sum that a task computes, or the user error that it meets."""
    try:
        local_version = metadata.version("wordclass")
        if local_version != version:
            raise EngineError(
                f"an executor has wordclass {local_version}",
                expected=f"{version}, as on the driver",
                hint=f"install version {version} there",
            )
        return _result_table(number, pickle.dumps(process(), 5), None).to_batches()[0]
    except WordClassError as error:  # trying again would give the same error
        return _result_table(number, None, pickle.dumps(error)).to_batches()[0]


def _result_table(number: int, total: bytes | None, problem: bytes | None) -> Any:  # noqa: ANN401
    pa: Any = catalogue.import_extra("pyarrow", "for the engine 'spark'", "spark")
    types = [("number", pa.int64()), ("sum", pa.binary()), ("problem", pa.binary())]
    return pa.table([[number], [total], [problem]], schema=pa.schema(types))


# --- code that runs on the driver -----------------------------------------------------------------


@contextmanager
def _report_tasks(context: Any, sizes: list[int], report: Report) -> Iterator[None]:  # noqa: ANN401
    """Report the finished tasks of a job, whose first stage has one task per size."""
    group = f"wordclass-{uuid4().hex}"
    is_over = Event()
    context.setJobGroup(group, "wordclass")

    def watch() -> None:
        n_reported = 0
        tracker = context.statusTracker()
        while not is_over.wait(_REPORT_SECONDS):
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
            n_finished = max(
                (
                    stage.numCompletedTasks
                    for stage in stages
                    if stage and stage.numTasks == len(sizes)
                ),
                default=0,
            )
            report(sum(sizes[n_reported:n_finished]))
            n_reported = max(n_reported, n_finished)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()
        context.setLocalProperty("spark.jobGroup.id", None)


@contextmanager
def _errors_in_one_line() -> Iterator[None]:
    """Turn an error of Spark, which contains traces of two languages, into one line."""
    try:
        yield
    except WordClassError:
        raise
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        if any("No module named 'wordclass" in line for line in lines):
            local_version = metadata.version("wordclass")
            raise EngineError(
                "an executor has no wordclass",
                hint=f"install version {local_version} for its Python",
            ) from error
        reason = next(
            (line for line in reversed(lines) if "Error" in line or "Exception" in line), ""
        )
        raise EngineError(f"Spark: {reason or type(error).__name__:.300}") from error


make = Spark
