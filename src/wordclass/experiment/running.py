"""The runner: does the runs of a plan that are not done yet, alone or beside others."""

import multiprocessing
import os
import platform
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from wordclass import naming
from wordclass.arrays import Sparse
from wordclass.checks import is_auto
from wordclass.classifiers import checked_options
from wordclass.classifiers import classifier as make_classifier
from wordclass.corpus import Dataset, Label, LabelledCorpus
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.errors import InputError, MissingDataError, WordClassError
from wordclass.experiment import sources
from wordclass.experiment.measuring import MEASURE
from wordclass.experiment.plans import NETWORKS, VARIANTS, Plan, presets
from wordclass.experiment.runs import Results, Run, RunResult
from wordclass.labels import Codeframe, encode
from wordclass.measures import Scores, score
from wordclass.storage.facts import shown, storable

_PACKAGES = ("wordclass", "numpy", "scipy", "scikit-learn", "torch", "fasttext-community")
_MOST_WATCHED = 10_000  # texts whose F1 is measured while a network is trained
_MOST_RANDOM = 300  # random dimensions beside pretrained ones, as word-class ones are at most
_PATIENCE = 2.0  # seconds between two looks at what others do
_USUAL_TEXTS = 11_314  # of newsgroups20, on which times were measured
_USUAL_LENGTH = 200  # words that a text has there
_OF_EMBEDDINGS = ("correlation", "shrinkage", "structural_problems", "weighting")
_USUAL_SIZE = {"channels": 128, "hidden": 256}

_NOTHING: Mapping[str, Any] = {  # what a run that measures something else has not
    **{"scores": {}, "classes": {}, "settings": {}, "extra": {}, "history": None},
    "best_epoch": None,
}

Tell = Callable[[str], None]


# --- one run ------------------------------------------------------------------------------------


@dataclass
class _Clock:
    """The seconds of each step, and those of the processor."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start, begun = time.perf_counter(), _cpu_seconds()
        yield
        self.seconds[name] = time.perf_counter() - start
        self.seconds[f"{name}_cpu"] = _cpu_seconds() - begun


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
    clock = _Clock()
    _forget_peak()
    with clock.step("total"), threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with clock.step("read"):
            dataset = sources.load(run.dataset)
        vectors = None
        if run.vectors is not None:
            with clock.step("vectors"):
                vectors = sources.load_vectors(run.vectors, run.dataset)
        fingerprint, key = sources.fingerprint(dataset), run.key
        if run.learner in MEASURE:
            extra, arrays = MEASURE[run.learner](dataset, vectors, run)
            found: dict[str, Any] = {"extra": extra}
            if arrays:
                results.keep(key, **arrays)
        else:
            given = {} if vectors is None else {"vectors": vectors}
            trained = _Trained(run, dataset, clock, _chosen(run, results) | given, results.folder)
            found = trained.facts()
            results.keep_decisions(key, trained.predicted, trained.truth, fingerprint)
    return RunResult(
        **{**_NOTHING, **found},
        **{name: getattr(run, name) for name in ("dataset", "learner", "variant", "seed")},
        protocol=run.protocol, options=dict(run.options), plan=plan, key=key,
        needs=[each.identity for each in run.needs],
        vectors=None if vectors is None else {
            "name": run.vectors, "dims": vectors.n_dims,
            "digest": sources.vectors_digest(run.vectors or ""),
        },
        data={
            "fingerprint": fingerprint, "n_train": len(dataset.train), "n_test": len(dataset.test),
            "n_classes": len(dataset.classes), "multilabel": dataset.is_multilabel,
        },
        times=clock.seconds,
        memory=_peak_memory(),
        versions=_versions(),
        machine={"cpu": _processor(), "cores": os.cpu_count(), "system": platform.platform()},
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


def _chosen(run: Run, results: Results) -> dict[str, Any]:
    """Return the options of a run; where a search was asked for, with those of its best trial."""
    if not run.needs:
        return dict(run.options)
    known = {result.identity: result for result in results.runs()}
    trials = [known[each.identity] for each in run.needs]
    if any("validation_macro_f1" not in trial.scores for trial in trials):
        raise InputError(f"{run}: a search needs validation scores; protocol 'paper' has some")
    best = max(trials, key=lambda trial: trial.scores["validation_macro_f1"])
    return dict(best.options)


@dataclass
class _Trained:
    """A classifier that was trained and tested as a run has it."""

    run: Run
    dataset: Dataset
    clock: _Clock
    options: dict[str, Any]
    folder: Path

    def __post_init__(self) -> None:
        run, train, test = self.run, self.dataset.train, self.dataset.test
        self.n_classes = len(encode(train.labels).codeframe.classes)
        self.settings: dict[str, Any] = {}
        model = make_classifier(run.learner, **self._all_options())
        if run.needs:
            self.settings = {name: self.options[name] for name in self.options if name != "vectors"}
        if _chooses(model):
            with self.clock.step("select"):
                self.settings = _choice_of(model.fit(train.texts, train.labels))
            model.set_params(**self.settings)
        with self.clock.step("fit"):
            self._seen = _cpu_seconds()
            model.fit(train.texts, train.labels)
            left = _cpu_seconds() - self._seen
        if run.learner in NETWORKS:  # also what was spent before it was stopped; not the watching
            spent = sum(epoch["cpu_seconds"] for epoch in model.history_)
            self.clock.seconds["fit_cpu"] = spent + left
        with self.clock.step("predict"):
            labels = model.predict(test.texts)
        self.model = model
        self.classes: list[Label] = model.classes_.tolist()
        self.predicted, _ = _decisions(labels, self.classes)
        self.truth, self.n_dropped = _decisions(test.labels, self.classes)

    def _all_options(self) -> dict[str, Any]:
        """Return the options of the classifier: variant, presets, plan, and what every run has."""
        run = self.run
        options = {**VARIANTS[run.learner][run.variant], **self.options, "seed": run.seed}
        options = _with_embeddings(run.learner, options)
        if options.get("random_dims") == "classes":
            options["random_dims"] = min(self.n_classes, _MOST_RANDOM)
        if run.learner in (*NETWORKS, "fasttext"):
            options["protocol"] = run.protocol
        if run.learner in NETWORKS:
            options["checkpoint"] = _checkpoint(self.folder, run)
            options["on_epoch"] = self._watch
        return {name: tuple(each) if isinstance(each, list) and name in ("ngrams", "windows")
                else each for name, each in options.items()}  # fmt: skip

    def _watch(self, epoch: Any) -> dict[str, float]:  # noqa: ANN401 - needs torch
        """Measure an epoch's time; and the F1 of texts, after the first epochs and every fifth."""
        found = {"cpu_seconds": _cpu_seconds() - self._seen}
        if epoch.epoch <= 3 or epoch.epoch % 5 == 0:
            for name, corpus in (("train", self.dataset.train), ("test", self.dataset.test)):
                texts, labels = _sample(corpus)
                scores = _scores(labels, epoch.predict(texts), self.dataset)
                found |= {f"{name}_macro_f1": scores.macro_f1, f"{name}_micro_f1": scores.micro_f1}
        self._seen = _cpu_seconds()
        return found

    def facts(self) -> dict[str, Any]:
        """Return what a result tells of it."""
        model = self.model
        is_multilabel = self.dataset.is_multilabel
        codeframe = Codeframe(tuple(self.classes), "multilabel" if is_multilabel else "single")
        found = score(self.truth, self.predicted, codeframe, self.n_dropped)
        history = getattr(model, "history_", None)
        return {
            "scores": {
                "macro_f1": found.macro_f1, "micro_f1": found.micro_f1, "accuracy": found.accuracy,
                "macro_f1_with_positives": float(found.f1[found.n_true > 0].mean()),
                "n_dropped": self.n_dropped, **_validation(model),
            },
            "classes": {
                "names": self.classes, "tp": found.true_positives.tolist(),
                "fp": (found.n_predicted - found.true_positives).tolist(),
                "fn": (found.n_true - found.true_positives).tolist(),
            },
            "history": None if history is None else [_renamed(epoch) for epoch in history],
            "best_epoch": getattr(model, "best_epoch_", None),
            "settings": {name: shown(each) for name, each in storable(self.settings).items()},
        }  # fmt: skip


def _with_embeddings(learner: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return options in which those of the word-class embeddings are where the learner has them."""
    own = {name: options[name] for name in _OF_EMBEDDINGS if name in options}
    if not own or learner not in ("svm", "fasttext", *NETWORKS):
        return options
    rest = {name: each for name, each in options.items() if name not in own}
    words = {name: rest[name] for name in ("min_docs", "seed") if name in rest}
    return rest | {"wce": WordClassEmbeddings(**words, **own)}


def _chooses(model: Any) -> bool:  # noqa: ANN401
    """Tell whether a classifier has a search of its own, which is timed apart."""
    options = model.get_params(deep=False)
    return any(is_auto(options.get(name)) for name in ("C", "ngrams", "shrinkage", "block_weight"))


def _choice_of(model: Any) -> dict[str, Any]:  # noqa: ANN401
    if hasattr(model, "settings_"):
        return dict(model.settings_)
    C = model.C_.tolist()
    return {"C": C[0] if len(set(C)) == 1 else C}


def _validation(model: Any) -> dict[str, float]:  # noqa: ANN401
    """Return the scores of validation texts: of the best epoch, or of the fitted fastText."""
    found = getattr(model, "validation_", None)
    if getattr(model, "best_epoch_", 0) and model.history_[model.best_epoch_ - 1]["macro_f1"]:
        best = model.history_[model.best_epoch_ - 1]
        return {f"validation_{name}": best[name] for name in ("macro_f1", "micro_f1")}
    if found is None:
        return {}
    return {"validation_macro_f1": found.macro_f1, "validation_micro_f1": found.micro_f1}


def _renamed(epoch: Mapping[str, Any]) -> dict[str, Any]:
    is_validation = ("macro_f1", "micro_f1")
    return {f"validation_{k}" if k in is_validation else k: each for k, each in epoch.items()}


def _decisions(labels: Iterable[Any], classes: Sequence[Label]) -> tuple[Sparse, int]:
    """Return labels over a codeframe (n, m), and how many were dropped as they are not in it."""
    known, n_dropped = set(classes), 0
    listed = []
    for own in labels:
        several = [own] if isinstance(own, str | int | np.generic) else [*own]
        kept = [label for label in several if label in known]
        n_dropped += len(several) - len(kept)
        listed.append(kept)
    return encode(listed, classes).Y, n_dropped


def _scores(labels: Iterable[Any], predicted: Iterable[Any], dataset: Dataset) -> Scores:
    classes = encode(dataset.train.labels).codeframe
    (Y, _), (made, _) = (_decisions(each, classes.classes) for each in (labels, predicted))
    return score(Y, made, classes)


def _sample(corpus: LabelledCorpus) -> tuple[list[str], list[Any]]:
    step = -(-len(corpus) // _MOST_WATCHED)
    return corpus.texts[::step], list(corpus.labels[::step])


def _checkpoint(folder: Path, run: Run) -> Path:
    return folder / "checkpoints" / run.key


# --- what a process uses ------------------------------------------------------------------------


def _cpu_seconds() -> float:
    return sum(os.times()[:4])  # also of processes that it started, such as fastText's


def _forget_peak() -> None:
    """Let the system measure the peak of memory anew, where it can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_memory() -> int:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024
    with suppress(ImportError):  # not on Windows
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return 0


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def _processor() -> str:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line for line in lines if line.startswith("model name")).partition(": ")[2]
    return platform.processor()


# --- many runs ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outlook:
    """What is to be done of a plan in a folder of results.

    Parameters
    ----------
    runs : list of Run
        All of them, but those whose data are not here.
    done : list of Run
        Those that are finished.
    missing : dict
        Why the others cannot be done here: the reason, and how many.
    seconds : float
        How long the rest takes, one run after the other.
    """

    runs: list[Run]
    done: list[Run]
    missing: dict[str, int]
    seconds: float

    @classmethod
    def of(
        cls, plan: Plan, results: Results, only: Mapping[str, Sequence[str]] | None = None
    ) -> "Outlook":
        """Look at a plan; nothing is done."""
        finished = results.runs()
        keys = {result.key for result in finished}
        runs, done, missing = [], [], dict[str, int]()
        for run in plan.runs(only):
            try:
                key = run.key
            except MissingDataError as error:
                missing[str(error)] = missing.get(str(error), 0) + 1
                continue
            runs.append(run)
            if key in keys:
                done.append(run)
        finished_runs = set(map(id, done))
        left = [run for run in runs if id(run) not in finished_runs]
        return cls(runs, done, missing, sum(expected_seconds(run, finished) for run in left))


def expected_seconds(run: Run, finished: Sequence[RunResult]) -> float:
    """Estimate the time of a run: from finished ones like it, else from a table of measured times.

    Like it are those that share most of learner (always), data set, variant and options.
    """

    def likeness(result: RunResult) -> int:
        same = [getattr(result, k) == getattr(run, k) for k in ("dataset", "options", "variant")]
        return sum(weight * is_same for weight, is_same in zip((4, 2, 1), same, strict=True))

    alike = [(likeness(each), each) for each in finished if each.learner == run.learner]
    closest = max((rank for rank, _ in alike), default=0)
    if closest >= 4:
        spent = [result.times["total"] for rank, result in alike if rank == closest]
        return sum(spent) / len(spent)
    known, options = presets()["seconds"], run.options
    seconds = float(known.get(f"{run.learner} {run.variant}", known[run.learner]))
    if run.learner in NETWORKS:
        name = presets()["size_of"].get(run.learner)
        size = options.get(name, _USUAL_SIZE[name]) / _USUAL_SIZE[name] if name else 1.0
        size *= min(1.0, options.get("max_length", _USUAL_LENGTH) / _USUAL_LENGTH)
        seconds *= size * min(options.get("max_epochs", known["epochs"]), known["epochs"])
    return seconds * _n_texts(run.dataset) / _USUAL_TEXTS


def _n_texts(dataset: str) -> float:
    """Return how many training texts a data set is known to have, or a usual number."""
    base, _, chosen = dataset.partition(":")
    is_known = base in naming.names("datasets")
    sizes = naming.entry("datasets", base).SOURCE.sizes if is_known else None
    if sizes is None:
        return _USUAL_TEXTS
    return float(sizes.n_train * (len(chosen.split("+")) / sizes.n_classes if chosen else 1.0))


def work(
    folder: Path, runs: Sequence[Run], plan: str, *, n_jobs: int = 1, tell: Tell = lambda _: None
) -> list[str]:
    """Do all runs that are not done; return what went wrong, one line per run.

    Each run is done once, however many processes work in the same folder: whoever claims it does
    it. A run that fails leaves nothing behind, and the others are done all the same.

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
    """
    _check_options(runs)
    if n_jobs == 1:
        return _work(folder, runs, plan, tell)
    spawn = multiprocessing.get_context("spawn")
    lines: Any = spawn.SimpleQueue()
    workers = [
        spawn.Process(target=_work_apart, args=(folder, runs, plan, lines), daemon=True)
        for _ in range(n_jobs)
    ]
    failures: list[str] = []
    for worker in workers:
        worker.start()
    try:
        while any(worker.is_alive() for worker in workers) or not lines.empty():
            if lines.empty():
                time.sleep(0.05)
                continue
            is_failure, line = lines.get()
            if is_failure:
                failures.append(line)
            else:
                tell(line)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    ended = [worker.exitcode for worker in workers if worker.exitcode]
    return list(dict.fromkeys(failures)) + [
        f"a process ended with status {status}; run the same command again to go on"
        for status in ended
    ]


def _check_options(runs: Sequence[Run]) -> None:
    """Refuse options that a classifier does not have, before any work is done."""
    for learner in {run.learner for run in runs if run.learner not in MEASURE}:
        names = {name for run in runs if run.learner == learner for name in run.options}
        checked_options(learner, dict.fromkeys(names - {*_OF_EMBEDDINGS}), {})


def _work_apart(folder: Path, runs: Sequence[Run], plan: str, lines: Any) -> None:  # noqa: ANN401
    """Do runs in a process of its own, which ends when the one that started it does."""
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    with suppress(KeyboardInterrupt):
        for failure in _work(folder, runs, plan, lambda line: lines.put((False, line))):
            lines.put((True, failure))


def _work(folder: Path, runs: Sequence[Run], plan: str, tell: Tell) -> list[str]:
    results, left, failures = Results(folder), list(runs), list[str]()
    failed: set[str] = set()
    while left:
        waiting = []
        for run in left:
            outcome = _attempt(run, results, plan, tell, failed)
            if outcome == "later":
                waiting.append(run)
            elif outcome:
                failed.add(run.identity)
                failures.append(outcome)
                tell(f"failed: {outcome}")
        if len(waiting) == len(left):  # others are at work on what is left
            time.sleep(_PATIENCE)
        left = waiting
    return failures


def _attempt(run: Run, results: Results, plan: str, tell: Tell, failed: set[str]) -> str:
    """Do a run if nobody else does it; return "" where it is done, "later", or what is wrong."""
    key = run.key
    with results.claimed(key) as is_ours:
        done = {result.key: result for result in results.runs()}
        if key in done:
            return ""
        if any(each.identity in failed for each in run.needs):
            return f"{run}: a run of its search failed"
        if not is_ours or any(each.key not in done for each in run.needs):
            return "later"
        try:
            result = do(run, results, plan)
            results.add(result)
        except (WordClassError, MemoryError) as error:
            return f"{run}: {error or type(error).__name__}"
        except Exception:
            return f"{run}: {traceback.format_exc(limit=-1).strip().splitlines()[-1]}"
        if run.learner in NETWORKS:
            from wordclass.network import checkpoint

            checkpoint.remove(_checkpoint(results.folder, run))
        tell(_line(run, result))
    return ""


def _line(run: Run, result: RunResult) -> str:
    scores = result.scores
    shown = f": {scores['macro_f1']:.3f} / {scores['micro_f1']:.3f}" if scores else ""
    return f"{run}{shown}, {result.times['total']:.0f} s"
