"""Model selection with a time budget: try settings, let held-out documents decide, fit the best."""

import inspect
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import numpy as np

from wordclass import catalogue, progress
from wordclass.classifiers.factory import check_options
from wordclass.classifiers.factory import classifier as make_classifier
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import check_class_count, read_labelled_texts
from wordclass.corpus.splits import fingerprint_texts, share_split
from wordclass.decision.measures import check_target, evaluate
from wordclass.embedding.estimator import Labels
from wordclass.embedding.matrix import check_other_tasks
from wordclass.errors import FormatError, InputError, StorageError
from wordclass.linear.search import Documents, Search, Settings
from wordclass.linear.search import Trial as Trial
from wordclass.options import check_number
from wordclass.storage import files
from wordclass.storage.metadata import to_json_options
from wordclass.storage.state import digest, parse_json
from wordclass.vectors.word_vectors import WordVectors

_N_REMEMBERED = 5  # of the trials, the best go into the manifest of a model
_MOST_FAILED = 20  # trials, and not one that came to an end: more would not help


@dataclass(frozen=True, eq=False)
class Tuned:
    """What came out of a search.

    Parameters
    ----------
    model
        With the best settings, fitted on all documents.
    best
        These settings; where the classifier chose some by itself in the best trial, what it chose.
    trials
        Every trial, in the order of the search, failed ones too.
    target
        What was the best.
    ended
        Why the search ended, in words.
    n_train, n_validation
        How many documents the trials learned from, and how many decided.
    """

    model: Any
    best: Settings
    trials: list[Trial]
    target: str
    ended: str
    n_train: int
    n_validation: int

    @property
    def ranked(self) -> list[Trial]:
        """The trials with scores, the best first, of equal ones the first."""
        done = [trial for trial in self.trials if trial.is_done]
        return sorted(done, key=lambda trial: -trial.score(self.target))

    def to_dict(self) -> dict[str, Any]:
        """Return what is kept with the model, as JSON can hold it."""
        return {
            "settings": to_json_options(self.best),
            "target": self.target,
            "n_trials": len(self.trials),
            "n_failed": sum(not trial.is_done for trial in self.trials),
            "n_train": self.n_train,
            "n_validation": self.n_validation,
            "ended": self.ended,
            "best": self.ranked[0].to_dict(),
            "next_best": [trial.to_dict() for trial in self.ranked[1:_N_REMEMBERED]],
        }


def tune(
    texts: Iterable[str],
    labels: Labels,
    classifier: str = "linear",
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    start: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    vectors: WordVectors | None = None,
    budget: float | None = None,
    target: str = "both",
    validation: float = 0.2,
    class_names: Iterable[Label] | None = None,
    journal: str | PathLike[str] | None = None,
    tell: Callable[[Trial], None] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Tuned:
    """Try settings of a classifier, and fit the best ones on all documents.

    Parameters
    ----------
    texts : iterable of str
    labels : iterable or matrix
    class_names : iterable of str or int, optional
        As for the method `fit` of a classifier.
    classifier : str, default="linear"
        Its name in the catalogue.
    grid : dict, optional
        For each setting the values to try, the settings that matter most first. By default the
        `GRID` of the classifier, without what is among the options.
    start : dict, optional
        The values of the first trial, where they are not to be the defaults of the classifier.
    options : dict, optional
        Settings that stay as they are.
    vectors : WordVectors, optional
        Pretrained vectors, for a classifier that has use for them.
    budget : float, optional
        In seconds; the trials of the journal count. A trial that would not be over in time, to
        judge by those like it, and with what fitting the best on all documents will take, is not
        begun; but one trial is always made. By default the whole grid is tried.
    target : str, default="both"
        What is best: "macro_f1", "micro_f1", "accuracy", or "both", the mean of the first two. A
        classifier that chooses settings of its own by a `target` is given the same one.
    validation : float, default=0.2
        The share of each class's documents that decides. No trial learns from these.
    journal : path, optional
        A file to which each trial is added when it is over. Trials on the same documents with the
        same settings that are in it already are not made again.
    tell : callable, optional
        Is told of each trial.
    seed : int, default=0
        Of the validation documents, the order of the trials, and the classifier.
    n_jobs : int, optional
        Number of threads of the classifier; None: its own default.
    clock : callable, default=time.monotonic
        Tells the seconds.

    Raises
    ------
    InputError
        The classifier has no grid and none is given; not one trial came to an end.
    """
    documents = Documents(*read_labelled_texts(texts, labels, class_names))
    check_class_count(documents.labels.codeframe)
    wanted = check_target(target)
    if budget is not None and budget != math.inf:
        check_number("budget", budget, hint=" (seconds), or None")
    own = {**(options or {})} | ({} if vectors is None else {"vectors": vectors})
    shared: dict[str, Any] = {"seed": seed, "target": wanted}
    shared |= {} if n_jobs is None else {"n_jobs": n_jobs}
    fixed = check_options(classifier, own, shared)
    values, first = _grid(classifier, grid, {**fixed, **(start or {})}, options or {})
    search = Search(values, first, wanted, seed)
    trials = _Trials(classifier, fixed, *split(documents, validation, seed), clock)
    kept = Journal.open(None if journal is None else Path(journal))
    ended = _run(search, trials, kept, math.inf if budget is None else budget, tell)
    best = search.best
    if not best.is_done:
        raise InputError(
            f"not one of {len(search.trials)} trials came to an end; the first: {best.message}"
        )
    progress.report("fitting the best settings", 0, None)
    model = make_classifier(classifier, **fixed | best.resolved)
    model.fit(documents.texts, documents.labels)
    progress.report("fitting the best settings", 1, 1)
    n_docs = len(trials.train.texts), len(trials.validation.texts)
    return Tuned(model, best.resolved, search.trials, wanted, ended, *n_docs)


def _grid(
    classifier: str,
    given: Mapping[str, Sequence[Any]] | None,
    first: Mapping[str, Any],
    options: Mapping[str, Any],
) -> tuple[dict[str, list[Any]], Settings]:
    """Return the values to search, those of the classifier where none were given, and the start."""
    values = given
    if values is None:
        own = getattr(catalogue.entry("classifiers", classifier), "GRID", {})
        values = {name: choices for name, choices in own.items() if name not in options}
    if not values:
        raise InputError(f"the classifier {classifier!r} has no grid to search; give one")
    if both := sorted(set(values) & set(options)):
        raise InputError(f"{both[0]!r} is both fixed and in the grid; choose one of the two")
    check_options(classifier, {**values, **first}, {})
    for name, choices in values.items():
        if isinstance(choices, str) or not isinstance(choices, Sequence) or not choices:
            raise InputError(f"grid[{name!r}] is {choices!r}; expected a list of values")
    known = make_classifier(classifier).get_params(deep=False) | {**first}
    hints = inspect.signature(catalogue.entry("classifiers", classifier).make).parameters
    start = {name: _as(hints[name].annotation, known[name]) for name in values}
    tried = {name: [_as(hints[name].annotation, each) for each in values[name]] for name in values}
    return tried, start


def _as(hint: object, value: object) -> object:
    """Return 20 as 20.0 where the option is a float, so that the same is not tried twice.

    Where an option may be an int or a float, 1 and 1.0 are different things.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    kinds = {hint, *get_args(hint)}
    is_float = float in kinds and int not in kinds and type(plain) is int
    return float(plain) if is_float and abs(plain) < 2**53 else plain  # type: ignore[arg-type]


def split(documents: Documents, share: float, seed: int) -> tuple[Documents, Documents]:
    """Return documents to learn from, and about this share of every class to validate with."""
    rows = share_split(documents.texts, documents.labels.Y, share, seed)
    return documents.part(rows.train), documents.part(rows.held_out)


# --- trials, one after the other --------------------------------------------------------------


def _run(
    search: Search,
    trials: "_Trials",
    journal: "Journal",
    budget: float,
    tell: Callable[[Trial], None] | None,
) -> str:
    """Make trials, and return why there are no more."""
    for settings in search.proposals():
        key = trials.key(settings)
        if key in journal.trials:
            trial = Trial.resumed(settings, journal.trials[key])
        elif reason := _reason_to_stop(search, settings, budget, trials.growth):
            return reason
        else:
            progress.report("tuning", len(search.trials), None)
            trial = trials.made(settings)
            journal.add(key, {"classifier": trials.name, **trial.to_dict()})
        search.trials.append(trial)
        if tell is not None:
            tell(trial)
    return "everything in the grid was tried"


def _reason_to_stop(search: Search, settings: Settings, budget: float, growth: float) -> str | None:
    """Say why not to try these settings; None: there is time for them and for the last fit."""
    if not search.trials:
        return None
    if len(search.trials) >= _MOST_FAILED and not search.best.is_done:
        return f"not one of the first {_MOST_FAILED} trials came to an end"
    left = budget - sum(trial.seconds for trial in search.trials)
    needed, last_fit = expected_seconds(settings, search.trials), search.best.seconds * growth
    if left <= 0:
        return f"the budget of {budget:.0f} s is spent"
    if needed + last_fit > left:
        return (
            f"{left:.0f} s of the budget are left: too few for one more trial (about "
            f"{needed:.0f} s) and the last fit (about {last_fit:.0f} s)"
        )
    return None


def expected_seconds(settings: Settings, trials: Sequence[Trial]) -> float:
    """Estimate the time of a trial: the longest of those done that differ in the fewest values."""

    def n_differing(trial: Trial) -> int:
        return sum(repr(settings[name]) != repr(each) for name, each in trial.settings.items())

    done = [(-n_differing(trial), trial.seconds) for trial in trials if trial.is_done]
    return max(done, default=(0, 0.0))[1]


@dataclass(frozen=True, eq=False)
class _Trials:
    """Makes the trials of a classifier: options that stay, and documents to learn and to judge."""

    name: str
    fixed: dict[str, Any]
    train: Documents
    validation: Documents
    clock: Callable[[], float]

    @property
    def growth(self) -> float:
        """How much longer learning from all documents takes."""
        return 1 + len(self.validation.texts) / len(self.train.texts)

    def made(self, settings: Settings) -> Trial:
        """Make a trial; what these settings make impossible, or too large, is its result."""
        begin = self.clock()
        try:
            classifier = make_classifier(self.name, **self._options(settings))
            classifier.fit(self.train.texts, self.train.labels)
            predicted = classifier.predict(self.validation.texts)
        except (InputError, MemoryError, RuntimeError) as error:
            # torch has no memory error of its own
            is_ours = isinstance(error, RuntimeError) and "memory" not in str(error)
            if is_ours or isinstance(error, StorageError):
                raise  # a mistake of ours, or a full disk
            message = f"{type(error).__name__}: {error}"
            return Trial(settings, self.clock() - begin, message=message)
        truth = self.validation.labels
        scores = evaluate(truth, predicted, truth.codeframe.classes)
        measured = scores.macro_f1, scores.micro_f1, scores.accuracy
        chosen = to_json_options(getattr(classifier, "settings_", {}))
        return Trial(settings, self.clock() - begin, *measured, chosen=chosen)

    def _options(self, settings: Settings) -> dict[str, Any]:
        """Return all options of a trial; probabilities change no prediction, and take time."""
        options = {**self.fixed, **settings}
        return options | ({"probabilities": False} if "probabilities" in self._defaults else {})

    def key(self, settings: Settings) -> str:
        """Return what stands for all that the scores of a trial depend on."""
        options = to_json_options({**self._defaults, **self._options(settings)})
        return digest(self._context, json.dumps(options, sort_keys=True))

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        defaults: dict[str, Any] = make_classifier(self.name).get_params(deep=False)
        return defaults

    @cached_property
    def _context(self) -> str:
        """The version, the classifier, and a checksum of documents and vectors."""
        vectors, tasks = self.fixed.get("vectors"), check_other_tasks(self.fixed.get("other"))
        known = [digest_of(self.train), digest_of(self.validation)]
        if isinstance(vectors, WordVectors):
            known.append(digest("\n".join(vectors.terms), vectors.matrix))
        for name, each in tasks.items():
            known.append(digest(name, "\n".join(each.terms_), each.vectors_))
        return " ".join([metadata.version("wordclass"), self.name, *known])


def digest_of(documents: Documents) -> str:
    """Return a checksum of texts and labels in their order."""
    codeframe, Y = documents.labels.codeframe, documents.labels.Y
    ends = [each.astype(np.int64) for each in (Y.indptr, Y.indices)]
    return digest(fingerprint_texts(documents.texts), repr((codeframe, Y.shape)), *ends)


# --- trials on disk ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Journal:
    """A file that trials are added to, one line of JSON each, and what it held before.

    Parameters
    ----------
    path
        The file; None: nothing is kept.
    trials
        The trials of the file by their key, which stands for data and settings: what has another
        key, of other data maybe, stays in the file and is of no concern.
    """

    path: Path | None
    trials: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path | None) -> "Journal":
        """Read a journal, if it is there; a last line that was never finished is taken off."""
        if path is None or not files.path_exists(path):
            return cls(path)
        content = files.read_content(path)
        whole = content[: content.rfind(b"\n") + 1]
        trials = [_trial_in(path, k, line) for k, line in enumerate(whole.splitlines(), start=1)]
        if len(whole) < len(content):
            with files.as_storage_error(path, "written"):
                os.truncate(path, len(whole))
        return cls(path, {trial["key"]: trial for trial in trials})

    def add(self, key: str, trial: Mapping[str, Any]) -> None:
        """Add a trial; it is on disk when this returns."""
        if self.path is None:
            return
        line = json.dumps({"key": key, **trial}) + "\n"
        with files.as_storage_error(self.path, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:  # whole, or cut at its end and an error
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())


def _trial_in(path: Path, number: int, line: bytes) -> dict[str, Any]:
    with suppress(*files.CONTENT_ERRORS):
        found: dict[str, Any] = parse_json(line)
        is_failed = found["status"] == "failed"
        trial = Trial.resumed({**found["settings"]}, found)
        if trial.is_done != is_failed and isinstance(trial.message, str) and found["key"]:
            measured = () if is_failed else ("macro_f1", "micro_f1", "accuracy")
            for name in ("seconds", *measured):
                check_number(name, getattr(trial, name))
            hash((found["key"], *trial.resolved))
            return found
    raise FormatError(path, number, "no trial; choose another file for the trials")
