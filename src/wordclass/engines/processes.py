"""Several processes of this machine."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib

from wordclass import catalogue, progress
from wordclass.engines.tasks import (
    Add,
    Report,
    Sum,
    Work,
    cut_into_chunks,
    require_sequence,
    tree_sum,
)
from wordclass.errors import EngineError
from wordclass.options import check_int


class Processes:
    """Engine that processes several shards at the same time, each in its own process.

    Parameters
    ----------
    n_workers : int, optional
        The number of processes. By default one per core.

    Raises
    ------
    InputError
        If `n_workers` is not a positive int.

    Examples
    --------
    >>> import wordclass as wc
    >>> with wc.engine("processes", n_workers=2) as engine:
    ...     engine.n_workers
    2
    """

    def __init__(self, n_workers: int | None = None) -> None:
        if n_workers is not None:
            check_int("n_workers", n_workers, 1)
        self.n_workers = n_workers or joblib.cpu_count()

    def map_and_add(
        self, work: Work[Sum], items: Sequence[Any], add: Add[Sum], report: Report
    ) -> Sum:
        """Return the sum over all items.

        Parameters
        ----------
        work : callable
            Picklable function from pairs of number and item to their sum.
        items : sequence
            The shards.
        add : callable
            Function that adds two sums.
        report : callable
            Function that is called with the number of items of each finished task.

        Returns
        -------
        object
            The sum over all items.

        Raises
        ------
        EngineError
            If a process was killed.
        """
        chunks = cut_into_chunks(len(require_sequence(items)), self.n_workers)
        parallel = joblib.Parallel(self.n_workers, return_as="generator", batch_size=1)
        executor = catalogue.import_extra("joblib.externals.loky.process_executor", "for processes")
        with tempfile.TemporaryDirectory(prefix="wordclass-") as folder:
            # each process reads once what all tasks share, such as the vocabulary
            shared = Path(folder, "work")
            shared.write_bytes(_import_cloudpickle().dumps(work))
            tasks = (
                joblib.delayed(_run_task)(str(shared), [(k, items[k]) for k in chunk])
                for chunk in chunks
            )
            try:
                with progress.on_progress(progress.ignore):  # hide the progress of single files
                    total: Sum = tree_sum(_report_progress(parallel(tasks), chunks, report), add)
            except executor.TerminatedWorkerError as error:
                raise EngineError(
                    "a process was killed, possibly because memory ran out",
                    hint="use fewer n_workers (--jobs) or smaller files",
                ) from error
        return total

    def __enter__(self) -> "Processes":
        """Return the engine itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing: idle processes end by themselves."""


def _report_progress(sums: Any, chunks: list[range], report: Report) -> Iterator[Any]:  # noqa: ANN401
    for chunk_sum, chunk in zip(sums, chunks, strict=True):
        report(len(chunk))
        yield chunk_sum


def _run_task(shared: str, numbered: list[tuple[int, Any]]) -> Any:  # noqa: ANN401 - a sum
    return _load_work(shared)(numbered)


@lru_cache(maxsize=1)
def _load_work(shared: str) -> Callable[[Any], Any]:
    work: Callable[[Any], Any] = _import_cloudpickle().loads(Path(shared).read_bytes())
    return work


def _import_cloudpickle() -> Any:  # noqa: ANN401 - a module
    """Return the module that pickles user-defined functions, too."""
    try:
        import cloudpickle
    except ImportError:  # joblib before version 1.6 contains it
        from joblib.externals import cloudpickle
    return cloudpickle


make = Processes
