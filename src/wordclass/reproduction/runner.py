"""Execute the unfinished runs of a plan, alone or together with other processes."""

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from threadpoolctl import threadpool_limits

from wordclass.classifiers.factory import check_options
from wordclass.corpus.documents import LabelledCorpus
from wordclass.errors import InputError, StorageError, WordClassError
from wordclass.reproduction import sources
from wordclass.reproduction.learners import train
from wordclass.reproduction.measurements import MEASURE
from wordclass.reproduction.plan import EMBEDDING_OPTIONS, PEER, UNLABELLED
from wordclass.reproduction.rivals.plan_options import RIVAL_OPTIONS
from wordclass.reproduction.runs import Results, Run, RunResult
from wordclass.reproduction.usage import Usage

_POLL_SECONDS = 2.0  # between two checks of the runs that other processes have claimed

# the outcome of an attempt, and a line for the log, which may be empty
Outcome = tuple[Literal["done", "later", "failed", "stopped"], str]
Attempt = Callable[[Run], Outcome]


def run_all(
    folder: Path,
    runs: Sequence[Run],
    plan: str,
    *,
    n_jobs: int = 1,
    log: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Execute all unfinished runs and return one line per failure.

    Each run is executed once, however many processes share the folder: a process claims a run
    before it starts. A failed run leaves nothing behind and does not stop the others, unless the
    results cannot be written.

    Parameters
    ----------
    folder : Path
        The folder of the results.
    runs : list of Run
        The runs.
    plan : str
        The name of the plan, for the results.
    n_jobs : int, default=1
        Number of processes, each with one thread.
    log : callable, optional
        Receives one line of text per finished or failed run.

    Raises
    ------
    InputError
        A classifier does not have an option of a run.
    StorageError
        The folder cannot be written.
    WordClassError
        A process was killed.
    """
    _check_options(runs)
    results = Results(folder)
    unfinished = list(runs)
    failures = dict[str, str]()
    results.prepare()
    with _workers(min(n_jobs, len(runs))) as attempt_all:
        while unfinished:
            waiting = []
            for run, (state, line) in attempt_all(partial(_attempt, folder, plan), unfinished):
                has_failed_need = any(needed.identity in failures for needed in run.needs)
                if state == "later" and not has_failed_need:
                    waiting.append(run)
                elif state == "done" and line:
                    log(line)
                elif state != "done":
                    failures[run.identity] = line or f"{run}: a run of its search failed"
                    log(f"failed: {failures[run.identity]}")
                if state == "stopped":
                    return list(failures.values())
            if len(waiting) == len(unfinished):  # other processes are working on all of them
                time.sleep(_POLL_SECONDS)
            unfinished = waiting
    results.tidy()
    return list(failures.values())


def _check_options(runs: Sequence[Run]) -> None:
    for learner in {run.learner for run in runs} - {*MEASURE, PEER}:
        names = {name for run in runs if run.learner == learner for name in run.options}
        checked_elsewhere = {*EMBEDDING_OPTIONS.get(learner, ()), *RIVAL_OPTIONS}
        check_options(learner, dict.fromkeys(names - checked_elsewhere), {})


@contextmanager
def _workers(n_jobs: int) -> Iterator[Callable[[Attempt, Sequence[Run]], Iterator[Any]]]:
    """Yield a function that attempts runs in `n_jobs` processes and yields their outcomes."""
    if n_jobs <= 1:
        yield lambda attempt, runs: ((run, attempt(run)) for run in runs)
        return
    spawn = multiprocessing.get_context("spawn")
    worker_end, our_end = spawn.Pipe(duplex=False)
    pool = ProcessPoolExecutor(n_jobs, spawn, initializer=_exit_with_parent, initargs=(worker_end,))

    def attempt_all(attempt: Attempt, runs: Sequence[Run]) -> Iterator[tuple[Run, Outcome]]:
        futures = {pool.submit(attempt, run): run for run in runs}
        for future in as_completed(futures):
            yield futures[future], future.result()

    try:
        yield attempt_all
    except BrokenProcessPool as error:
        raise WordClassError(
            "a worker process was killed, perhaps because memory ran out",
            hint="run the same command again to resume",
        ) from error
    finally:
        our_end.close()  # every worker exits, even in the middle of a run
        pool.shutdown(cancel_futures=True)


def _exit_with_parent(pipe: Connection) -> None:
    """Make this worker exit when the parent process ends or closes the pipe."""

    def wait() -> None:
        with suppress(EOFError, OSError):
            pipe.recv()
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    threading.Thread(target=wait, daemon=True).start()


def _attempt(folder: Path, plan: str, run: Run) -> Outcome:
    """Execute a run unless it is finished, claimed by another process, or waits for its needs."""
    results = Results(folder)
    try:
        with results.claimed(run.key) as is_ours:
            finished = {result.key for result in results.runs()}
            if run.key in finished:
                return "done", ""
            if not is_ours or any(needed.key not in finished for needed in run.needs):
                return "later", ""
            result = execute(run, results, plan)
            results.add(result)
    except StorageError as error:  # for example a full disk: other runs would fail as well
        return "stopped", f"{run}: {error}"
    except WordClassError as error:
        return "failed", f"{run}: {error}"
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        return "failed", f"{run}: {type(error).__name__}{': ' * bool(first_line)}{first_line}"
    scores = result.scores
    f1 = f": {scores['macro_f1']:.3f} / {scores['micro_f1']:.3f}" if scores else ""
    return "done", f"{run}{f1}, {result.times['total']:.0f} s"


def execute(run: Run, results: Results, plan: str = "") -> RunResult:
    """Execute one run, store its predictions, and return its result without storing it.

    Parameters
    ----------
    run : Run
        The run.
    results : Results
        The folder for predictions and checkpoints, with the results of the runs that it needs.
    plan : str, default=""
        The name of the plan, for the result.
    """
    usage = Usage()
    key = run.key
    extra_options = dict[str, Any]()
    with usage.step("total"), threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with usage.step("read"):
            complete = sources.load(run.dataset)
            dataset = sources.draw_documents(complete, run.dataset, run.seed)
        if run.vectors is not None or run.other:
            with usage.step("vectors"):
                extra_options = _load_vectors(run, dataset.train)
        vectors = extra_options.get("vectors")
        # the same for all draws, because they share the test documents
        fingerprint = sources.fingerprint(complete)
        if run.learner in MEASURE:
            extra, arrays = MEASURE[run.learner](dataset, vectors, run)
            measured: dict[str, Any] = {"extra": extra}
            if arrays:
                results.save_arrays(key, **arrays)
        else:
            options = _choose_options(run, results)
            checkpoint = results.checkpoint(key)
            unlabelled = None
            if run.variant == UNLABELLED:
                unlabelled = sources.undrawn_texts(complete, dataset)
            measured, predicted, truth = train(
                run=run,
                options=options,
                dataset=dataset,
                vectors=extra_options,
                usage=usage,
                checkpoint=checkpoint,
                unlabelled=unlabelled,
            )
            results.save_decisions(key, predicted, truth, fingerprint)
    run_fields = {**vars(run), "options": dict(run.options)}
    run_fields["needs"] = [needed.identity for needed in run.needs]
    if vectors is not None:
        digest = sources.vectors_digest(str(run.vectors))
        run_fields["vectors"] = {"name": run.vectors, "dims": vectors.n_dims, "digest": digest}
    data = {
        "fingerprint": fingerprint,
        "n_train": len(dataset.train),
        "n_test": len(dataset.test),
        "n_classes": len(dataset.classes),
        "multilabel": dataset.is_multilabel,
    }
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    return RunResult(
        **run_fields, **measured, **usage.summary(), key=key, plan=plan, data=data,
        finished=finished,
    )  # fmt: skip


def _load_vectors(run: Run, train: LabelledCorpus) -> dict[str, Any]:
    """Load the options that a plan only names: pretrained vectors and other tasks."""
    options: dict[str, Any] = {}
    if run.vectors is not None:
        options["vectors"] = sources.load_vectors(run.vectors, run.dataset, train)
    if run.other:
        options["other"] = sources.fit_other_tasks(run.other, run.dataset)
    return options


def _choose_options(run: Run, results: Results) -> dict[str, Any]:
    """Return the options of a run, which a search takes from its best trial."""
    if not run.needs:
        return dict(run.options)
    by_identity = {result.identity: result for result in results.runs()}
    trials = [by_identity[needed.identity] for needed in run.needs]
    if any("validation_macro_f1" not in trial.scores for trial in trials):
        raise InputError("a search needs validation scores; protocol 'paper' has some")
    return max(trials, key=lambda trial: trial.scores["validation_macro_f1"]).options
