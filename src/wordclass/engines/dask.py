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
from wordclass.engines.tasks import Add, Sum, Tell, Work, listed, runs, tree_levels
from wordclass.errors import EngineError, InputError, WordClassError
from wordclass.options import check_int

_PATIENCE = 20  # seconds for a scheduler to answer
_RETRIES = 3  # of a task that fails for reasons of its worker
_LOOPBACK = "127.0.0.1"


class Dask:
    """Works on the parts of a corpus, or on the partitions of a bag or dataframe, by Dask.

    Parameters
    ----------
    client : distributed.Client, optional
        A cluster that is there already.
    scheduler : str, optional
        The address of one, such as "tcp://10.0.0.1:8786". By default a cluster is started here; its
        scheduler, workers and dashboard listen on the loopback interface only.
    n_workers : int, optional
        How many processes the cluster that is started here has; by default one per core.

    Raises
    ------
    EngineError
        The scheduler does not answer; or a worker has no wordclass, or another version.
    """

    def __init__(
        self,
        client: Any = None,  # noqa: ANN401 - distributed.Client
        scheduler: str | None = None,
        n_workers: int | None = None,
    ) -> None:
        distributed = catalogue.import_extra("distributed", "for the engine 'dask'", "dask")
        if client is not None and scheduler is not None:
            raise InputError("give a client or the address of a scheduler, not both")
        self._opened: list[Any] = []
        self._client = client
        if client is None and scheduler is not None:
            self._client = _connected(distributed, scheduler)
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
        """How many parts are worked on at the same time."""
        return max(1, int(sum(self._client.ncores().values())))

    def _check_workers(self) -> None:
        """Refuse workers that cannot do the work, or do it differently."""
        try:
            self._client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError as error:
            raise EngineError(f"the scheduler {self._address} has no workers") from error
        found = self._client.run(metadata.version, "wordclass", on_error="return")
        own = metadata.version("wordclass")
        for worker, version in sorted(found.items()):
            if isinstance(version, BaseException):
                raise EngineError(f"the worker {worker} has no wordclass: install version {own}")
            if version != own:
                raise EngineError(f"the worker {worker} has wordclass {version}, but here is {own}")

    @property
    def _address(self) -> str:
        return str(self._client.scheduler.address)

    def map_and_add(
        self,
        work: Work[Sum],
        items: Any,  # noqa: ANN401 - a sequence, a bag or a dataframe
        add: Add[Sum],
        tell: Tell,
    ) -> Sum:
        """Return the sum over all items; sums are added by the workers."""
        delayed: Any = catalogue.import_extra("dask", "for the engine 'dask'").delayed
        client = self._client
        shared = self._sent(work)
        if hasattr(items, "to_delayed"):
            partitions = [*items.to_delayed()]
            tasks = [delayed(_work_on)(shared, k, [each]) for k, each in enumerate(partitions)]
            sizes = [1] * len(tasks)
        else:
            numbers = runs(len(listed(items)), self.n_workers)
            sizes = [*map(len, numbers)]
            tasks = [delayed(_work_on)(shared, run[0], [items[k] for k in run]) for run in numbers]
        leaves = client.compute(tasks, retries=_RETRIES)
        total = tree_levels(leaves, _adding(client, add))
        size_of = {leaf.key: size for leaf, size in zip(leaves, sizes, strict=True)}
        del leaves, tasks  # what was added up is forgotten by the workers
        try:
            made: Sum = self._waited_for(total, size_of, tell)
        except BaseException:  # also Ctrl-C: nobody wants the rest
            client.cancel([total])
            raise
        finally:
            shared.release()
            total.release()
        return made

    def _sent(self, work: Work[Sum]) -> Any:  # noqa: ANN401 - a future
        """Send the work to the cluster, once.

        It is the result of a task, so that each worker holds one copy, with what it makes of it
        (the native form of a vocabulary), and a copy that is lost with its worker is made again;
        what `scatter` sends is lost.
        """
        pickled = catalogue.import_extra("cloudpickle", "for the engine 'dask'", "dask").dumps(work)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._client.submit(pickle.loads, pickled, pure=False, retries=_RETRIES)

    def _waited_for(self, total: Any, size_of: dict[str, int], tell: Tell) -> Any:  # noqa: ANN401
        """Wait for a sum, and tell of the tasks that are done on the way."""
        wait: Any = catalogue.import_extra("distributed", "for the engine 'dask'", "dask").wait
        try:
            while True:
                try:
                    wait(total, timeout=0.5)
                except TimeoutError:
                    tell(self._n_done(size_of))
                    continue
                return total.result()
        except WordClassError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())
            raise EngineError(f"Dask: {type(error).__name__}: {reason:.300}") from error

    def _n_done(self, size_of: dict[str, int]) -> int:
        """Return how many items are in tasks that were not done before, and are now."""
        held: dict[str, str] = {}
        with suppress(Exception):  # a scheduler without wordclass cannot tell
            held = self._client.run_on_scheduler(_states, keys=[*size_of])
        done = [key for key, state in held.items() if state in ("memory", "released", "forgotten")]
        return sum(size_of.pop(key) for key in done)

    def __enter__(self) -> "Dask":
        return self

    def __exit__(self, *error: object) -> None:
        """Close what was opened here; a client of the user's stays open."""
        while self._opened:
            self._opened.pop().close()


def _states(dask_scheduler: Any, keys: list[str]) -> dict[str, str]:  # noqa: ANN401
    """Tell the states of tasks; runs on the scheduler."""
    return {key: getattr(dask_scheduler.tasks.get(key), "state", "forgotten") for key in keys}


def _connected(distributed: Any, address: str) -> Any:  # noqa: ANN401 - a module, a Client
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    try:
        if place.scheme == "tcp":
            # a scheduler speaks first; for one that says nothing, a client waits without end
            with socket.create_connection((place.hostname, place.port or 8786), _PATIENCE) as probe:
                probe.settimeout(_PATIENCE)
                if not probe.recv(1):
                    raise ConnectionError("closed at once")
        return distributed.Client(address, timeout=_PATIENCE)
    except (OSError, TimeoutError, ValueError) as error:
        told = f"the scheduler {address} does not answer within {_PATIENCE} seconds"
        raise EngineError(f"{told}; is the address right, and is it running?") from error


def _adding(client: Any, add: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:  # noqa: ANN401
    return lambda left, right: client.submit(add, left, right, pure=False, retries=_RETRIES)


def _work_on(work: Work[Sum], first: int, items: list[Any]) -> Sum:
    return work(enumerate(items, start=first))


make = Dask
