"""The runner: does the runs of a plan that are not done yet, alone or beside others."""

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
from wordclass.reproduction.plan import EMBEDDING_OPTIONS, PEER
from wordclass.reproduction.rivals.plan_options import RIVAL_OPTIONS
from wordclass.reproduction.runs import Results, Run, RunResult
from wordclass.reproduction.usage import Usage

_PATIENCE = 2.0  # seconds between two looks at what others do

# what became of a run, and a line about it, which is empty where there is nothing to tell
Outcome = tuple[Literal["done", "later", "failed", "stopped"], str]
Attempt = Callable[[Run], Outcome]


def run_all(
    folder: Path,
    runs: Sequence[Run],
    plan: str,
    *,
    n_jobs: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """Do all runs that are not done; return what went wrong, one line per run.

    Each run is done once, however many processes work in the same folder: whoever claims it does
    it. A run that fails leaves nothing behind, and the others are done all the same, unless the
    results cannot be written.

    Parameters
    ----------
    folder : Path
        Of the results.
    runs : list of Run
    plan : str
        Its name.
    n_jobs : int, default=1
        How many processes work on them, each with one thread.
    tell : callable, optional
        Is told of each run that is finished, or failed, in a line of text.

    Raises
    ------
    InputError
        A classifier has no such option as a run gives it.
    StorageError
        The folder cannot be written.
    WordClassError
        One of the processes was killed.
    """
    _check_options(runs)
    results, left, failures = Results(folder), list(runs), dict[str, str]()
    results.prepare()
    with _crew(min(n_jobs, len(runs))) as outcomes:
        while left:
            waiting = []
            for run, (state, line) in outcomes(partial(_attempt, folder, plan), left):
                if state == "later" and not any(each.identity in failures for each in run.needs):
                    waiting.append(run)
                elif state == "done" and line:
                    tell(line)
                elif state != "done":
                    failures[run.identity] = line or f"{run}: a run of its search failed"
                    tell(f"failed: {failures[run.identity]}")
                if state == "stopped":
                    return list(failures.values())
            if len(waiting) == len(left):  # others are at work on what is left
                time.sleep(_PATIENCE)
            left = waiting
    results.tidy()
    return list(failures.values())


def _check_options(runs: Sequence[Run]) -> None:
    for learner in {run.learner for run in runs} - {*MEASURE, PEER}:
        names = {name for run in runs if run.learner == learner for name in run.options}
        checked_elsewhere = {*EMBEDDING_OPTIONS.get(learner, ()), *RIVAL_OPTIONS}
        check_options(learner, dict.fromkeys(names - checked_elsewhere), {})


@contextmanager
def _crew(n_jobs: int) -> Iterator[Callable[[Attempt, Sequence[Run]], Iterator[Any]]]:
    """Give a function that attempts runs, so many at once, and gives each with its outcome."""
    if n_jobs <= 1:
        yield lambda attempt, runs: ((run, attempt(run)) for run in runs)
        return
    spawn = multiprocessing.get_context("spawn")
    theirs, ours = spawn.Pipe(duplex=False)
    pool = ProcessPoolExecutor(n_jobs, spawn, initializer=_end_with, initargs=(theirs,))

    def outcomes(attempt: Attempt, runs: Sequence[Run]) -> Iterator[tuple[Run, Outcome]]:
        futures = {pool.submit(attempt, run): run for run in runs}
        for future in as_completed(futures):
            yield futures[future], future.result()

    try:
        yield outcomes
    except BrokenProcessPool as error:
        told = "a process was killed, maybe for want of memory"
        raise WordClassError(f"{told}; run the same command again to go on") from error
    finally:
        ours.close()  # which ends them, whatever they do
        pool.shutdown(cancel_futures=True)


def _end_with(line: Connection) -> None:
    """See to it that this process ends when whoever started it ends, or closes the line."""

    def wait() -> None:
        with suppress(EOFError, OSError):
            line.recv()
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started it
    threading.Thread(target=wait, daemon=True).start()


def _attempt(folder: Path, plan: str, run: Run) -> Outcome:
    """Do a run, unless it is done, somebody else does it, or others have to be done before."""
    results = Results(folder)
    try:
        with results.claimed(run.key) as is_ours:
            done = {result.key for result in results.runs()}
            if run.key in done:
                return "done", ""
            if not is_ours or any(each.key not in done for each in run.needs):
                return "later", ""
            result = do(run, results, plan)
            results.add(result)
    except StorageError as error:  # such as a full disk
        return "stopped", f"{run}: {error}"
    except WordClassError as error:
        return "failed", f"{run}: {error}"
    except Exception as error:
        first_line = str(error).partition("\n")[0]
        return "failed", f"{run}: {type(error).__name__}{': ' * bool(first_line)}{first_line}"
    scores = result.scores
    shown = f": {scores['macro_f1']:.3f} / {scores['micro_f1']:.3f}" if scores else ""
    return "done", f"{run}{shown}, {result.times['total']:.0f} s"


def do(run: Run, results: Results, plan: str = "") -> RunResult:
    """Do one run, keep its predictions, and return its result, which is not kept yet.

    Parameters
    ----------
    run : Run
    results : Results
        Where predictions and checkpoints go, and where the runs are that it needs.
    plan : str, default=""
        The name that the result gets.
    """
    usage, key, given = Usage(), run.key, dict[str, Any]()
    with usage.step("total"), threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with usage.step("read"):
            whole = sources.load(run.dataset)
            dataset = sources.drawn(whole, run.dataset, run.seed)
        if run.vectors is not None or run.other:
            with usage.step("vectors"):
                given = _vectors_of(run, dataset.train)
        vectors = given.get("vectors")
        fingerprint = sources.fingerprint(whole)  # one for all draws: they share the test texts
        if run.learner in MEASURE:
            extra, arrays = MEASURE[run.learner](dataset, vectors, run)
            found: dict[str, Any] = {"extra": extra}
            if arrays:
                results.keep(key, **arrays)
        else:
            options, checkpoint = _chosen(run, results), results.checkpoint(key)
            found, predicted, truth = train(run, options, dataset, given, usage, checkpoint)
            results.keep_decisions(key, predicted, truth, fingerprint)
    own = {**vars(run), "options": dict(run.options)}
    own["needs"] = [each.identity for each in run.needs]
    if vectors is not None:
        file = sources.vectors_digest(str(run.vectors))
        own["vectors"] = {"name": run.vectors, "dims": vectors.n_dims, "digest": file}
    data = {
        "fingerprint": fingerprint,
        "n_train": len(dataset.train),
        "n_test": len(dataset.test),
        "n_classes": len(dataset.classes),
        "multilabel": dataset.is_multilabel,
    }
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    return RunResult(
        **own, **found, **usage.facts(), key=key, plan=plan, data=data, finished=finished
    )


def _vectors_of(run: Run, train: LabelledCorpus) -> dict[str, Any]:
    """Return options that a plan only names: pretrained vectors, and those of other tasks."""
    made: dict[str, Any] = {}
    if run.vectors is not None:
        made["vectors"] = sources.load_vectors(run.vectors, run.dataset, train)
    if run.other:
        made["other"] = sources.other_tasks(run.other, run.dataset)
    return made


def _chosen(run: Run, results: Results) -> dict[str, Any]:
    """Return the options of a run; where a search was asked for, those of its best trial."""
    if not run.needs:
        return dict(run.options)
    known = {result.identity: result for result in results.runs()}
    trials = [known[each.identity] for each in run.needs]
    if any("validation_macro_f1" not in trial.scores for trial in trials):
        raise InputError("a search needs validation scores; protocol 'paper' has some")
    return max(trials, key=lambda trial: trial.scores["validation_macro_f1"]).options
