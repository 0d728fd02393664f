"""Several processes of this machine."""

import tempfile
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib

from wordclass import catalogue, progress
from wordclass.engines.tasks import Add, Sum, Tell, Work, listed, runs, tree_sum
from wordclass.errors import EngineError
from wordclass.options import check_int


class Processes:
    """Works on several parts at a time, each in a process of its own.

    Parameters
    ----------
    n_workers : int, optional
        How many processes; by default as many as there are cores.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        if n_workers is not None:
            check_int("n_workers", n_workers, 1)
        self.n_workers = n_workers or joblib.cpu_count()

    def map_and_add(self, work: Work[Sum], items: Sequence[Any], add: Add[Sum], tell: Tell) -> Sum:
        """Return the sum over all items."""
        numbers = runs(len(listed(items)), self.n_workers)
        parallel = joblib.Parallel(self.n_workers, return_as="generator", batch_size=1)
        killed = catalogue.import_extra("joblib.externals.loky.process_executor", "for processes")
        with tempfile.TemporaryDirectory(prefix="wordclass-") as folder:
            # what all tasks share, such as the vocabulary, is read once by each process
            shared = Path(folder, "work")
            shared.write_bytes(_cloudpickle().dumps(work))
            tasks = (
                joblib.delayed(_work_on)(str(shared), [(k, items[k]) for k in run])
                for run in numbers
            )
            try:
                with progress.on_progress(progress.ignore):  # of single files
                    made: Sum = tree_sum(_told(parallel(tasks), numbers, tell), add)
            except killed.TerminatedWorkerError as error:
                told = (
                    "a process was killed, maybe because memory ran out; fewer n_workers (--jobs)"
                )
                raise EngineError(f"{told} or smaller parts need less") from error
        return made

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *error: object) -> None:
        """Let the processes be: they end by themselves when there is nothing to do."""


def _told(sums: Any, numbers: list[range], tell: Tell) -> Any:  # noqa: ANN401 - of sums
    for each, run in zip(sums, numbers, strict=True):
        tell(len(run))
        yield each


def _work_on(shared: str, numbered: list[tuple[int, Any]]) -> Any:  # noqa: ANN401 - a sum
    return _read(shared)(numbered)


@lru_cache(maxsize=1)
def _read(shared: str) -> Callable[[Any], Any]:
    work: Callable[[Any], Any] = _cloudpickle().loads(Path(shared).read_bytes())
    return work


def _cloudpickle() -> Any:  # noqa: ANN401 - a module
    """Return what joblib pickles with, also functions that the user defined somewhere."""
    try:
        import cloudpickle
    except ImportError:  # before joblib 1.6 it had its own
        from joblib.externals import cloudpickle
    return cloudpickle


make = Processes
