"""The workers of a Dask cluster."""

import pickle
import socket
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from typing import Any
from urllib.parse import urlsplit

from wordclass import catalogue
from wordclass.engines.tasks import (
    Add,
    Report,
    Sum,
    Work,
    cut_into_chunks,
    require_sequence,
    tree_sum_by_levels,
)
from wordclass.errors import EngineError, InputError, WordClassError
from wordclass.options import check_int

_CONNECT_SECONDS = 20
_REPORT_SECONDS = 0.5
_MAX_RETRIES = 3  # of a task whose worker failed
_DEFAULT_PORT = 8786
_LOOPBACK = "127.0.0.1"


class Dask:
    """Engine that processes the shards of a corpus, or the partitions of a table, by Dask.

    Parameters
    ----------
    client : distributed.Client, optional
        The client of a running cluster.
    scheduler : str, optional
        The address of the scheduler of a running cluster, such as "tcp://10.0.0.1:8786". By
        default, a cluster is started on this machine; its scheduler, workers and dashboard listen
        on the loopback interface only.
    n_workers : int, optional
        The number of processes of a cluster that is started on this machine. By default one per
        core.

    Raises
    ------
    InputError
        If both a client and an address are given, or `n_workers` is not a positive int.
    EngineError
        If the scheduler does not answer, or a worker has no wordclass or another version of it.
    MissingExtraError
        If Dask is not installed.
    """

    def __init__(
        self,
        client: Any = None,  # noqa: ANN401 - distributed.Client
        scheduler: str | None = None,
        n_workers: int | None = None,
    ) -> None:
        distributed = catalogue.import_extra("distributed", "for the engine 'dask'", "dask")
        if client is not None and scheduler is not None:
            raise InputError(
                "client and scheduler are both given", hint="give a client or an address, not both"
            )
        self._opened: list[Any] = []
        self._client = client
        if client is None and scheduler is not None:
            self._client = _connect(distributed, scheduler)
        elif client is None:
            if n_workers is not None:
                check_int("n_workers", n_workers, 1)
            cluster = distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                host=_LOOPBACK,
                dashboard_address=f"{_LOOPBACK}:0",
            )
            self._opened.append(cluster)
            self._client = distributed.Client(cluster)
        if client is None:
            self._opened.append(self._client)
        try:
            self._check_workers()
        except BaseException:
            self.__exit__()
            raise

    @property
    def n_workers(self) -> int:
        """The number of shards that are processed at the same time."""
        return max(1, int(sum(self._client.ncores().values())))

    def _check_workers(self) -> None:
        """Raise EngineError if a worker is missing or has another version of wordclass."""
        try:
            self._client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError as error:
            raise EngineError(
                f"the scheduler {self._address} has no workers", hint="start workers and try again"
            ) from error
        versions = self._client.run(metadata.version, "wordclass", on_error="return")
        local_version = metadata.version("wordclass")
        for worker, version in sorted(versions.items()):
            hint = f"install version {local_version} there"
            if isinstance(version, BaseException):
                raise EngineError(f"the worker {worker} has no wordclass", hint=hint)
            if version != local_version:
                problem = f"the worker {worker} has wordclass {version}"
                raise EngineError(problem, expected=f"{local_version}, as here", hint=hint)

    @property
    def _address(self) -> str:
        return str(self._client.scheduler.address)

    def map_and_add(
        self,
        work: Work[Sum],
        items: Any,  # noqa: ANN401 - a sequence, a bag or a dataframe
        add: Add[Sum],
        report: Report,
    ) -> Sum:
        """Return the sum over all items.

        Parameters
        ----------
        work : callable
            Picklable function from pairs of number and item to their sum.
        items : sequence, bag or dataframe
            The shards, or a table of Dask, whose partitions are the shards.
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
        delayed: Any = catalogue.import_extra("dask", "for the engine 'dask'").delayed
        client = self._client
        shared = self._send(work)
        if hasattr(items, "to_delayed"):
            partitions = [*items.to_delayed()]
            tasks = [
                delayed(_run_task)(shared, number, [partition])
                for number, partition in enumerate(partitions)
            ]
            sizes = [1] * len(tasks)
        else:
            chunks = cut_into_chunks(len(require_sequence(items)), self.n_workers)
            sizes = [*map(len, chunks)]
            tasks = [
                delayed(_run_task)(shared, chunk[0], [items[k] for k in chunk]) for chunk in chunks
            ]
        leaves = client.compute(tasks, retries=_MAX_RETRIES)
        total = tree_sum_by_levels(leaves, _submit_additions(client, add))
        size_of = {leaf.key: size for leaf, size in zip(leaves, sizes, strict=True)}
        del leaves, tasks  # so that workers release sums that were added
        try:
            result: Sum = self._wait_for(total, size_of, report)
        except BaseException:  # including Ctrl-C
            client.cancel([total])
            raise
        finally:
            shared.release()
            total.release()
        return result

    def _send(self, work: Work[Sum]) -> Any:  # noqa: ANN401 - a future
        """Send the work to the cluster, once.

        The work is the result of a task, so that each worker holds one copy together with what is
        derived from it (the native form of a vocabulary), and a copy that is lost with its worker
        is computed again. What `scatter` sends would be lost.
        """
        pickled = catalogue.import_extra("cloudpickle", "for the engine 'dask'", "dask").dumps(work)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._client.submit(pickle.loads, pickled, pure=False, retries=_MAX_RETRIES)

    def _wait_for(self, total: Any, size_of: dict[str, int], report: Report) -> Any:  # noqa: ANN401
        """Return the result of a future and report finished tasks while waiting."""
        wait: Any = catalogue.import_extra("distributed", "for the engine 'dask'", "dask").wait
        try:
            while True:
                try:
                    wait(total, timeout=_REPORT_SECONDS)
                except TimeoutError:
                    report(self._pop_finished(size_of))
                    continue
                return total.result()
        except WordClassError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())
            raise EngineError(f"Dask: {type(error).__name__}: {reason:.300}") from error

    def _pop_finished(self, size_of: dict[str, int]) -> int:
        """Remove the tasks that have finished from `size_of` and return their number of items."""
        states: dict[str, str] = {}
        with suppress(Exception):  # a scheduler without wordclass cannot run the function
            states = self._client.run_on_scheduler(_task_states, keys=[*size_of])
        finished_states = ("memory", "released", "forgotten")
        finished = [key for key, state in states.items() if state in finished_states]
        return sum(size_of.pop(key) for key in finished)

    def __enter__(self) -> "Dask":
        """Return the engine itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the cluster if it was started here, but not a client that was passed in."""
        while self._opened:
            self._opened.pop().close()


def _task_states(dask_scheduler: Any, keys: list[str]) -> dict[str, str]:  # noqa: ANN401
    """Return the states of tasks on the scheduler, where this function runs."""
    return {key: getattr(dask_scheduler.tasks.get(key), "state", "forgotten") for key in keys}


def _connect(distributed: Any, address: str) -> Any:  # noqa: ANN401 - a module, a Client
    url = urlsplit(address if "://" in address else f"tcp://{address}")
    try:
        if url.scheme == "tcp":
            # a scheduler speaks first; a client would wait forever for a silent server
            host = (url.hostname, url.port or _DEFAULT_PORT)
            with socket.create_connection(host, _CONNECT_SECONDS) as probe:
                probe.settimeout(_CONNECT_SECONDS)
                if not probe.recv(1):
                    raise ConnectionError("the connection was closed immediately")
        return distributed.Client(address, timeout=_CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        raise EngineError(
            f"the scheduler {address} does not answer within {_CONNECT_SECONDS} seconds",
            hint="check the address and that the scheduler is running",
        ) from error


def _submit_additions(client: Any, add: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:  # noqa: ANN401
    return lambda first, second: client.submit(add, first, second, pure=False, retries=_MAX_RETRIES)


def _run_task(work: Work[Sum], first: int, items: list[Any]) -> Sum:
    return work(enumerate(items, start=first))


make = Dask
