"""Model selection with a time budget: compare settings on held-out documents, fit the best."""

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

_N_STORED_TRIALS = 5  # the best trials, stored in the manifest of a model
_MAX_FAILED_TRIALS = 20  # if none of so many trials succeeds, the search stops


@dataclass(frozen=True, eq=False)
class Tuned:
    """The result of a search.

    Parameters
    ----------
    model : classifier
        The classifier with the best settings, fitted on all documents.
    best : dict
        The best settings, including those that the classifier chose by itself in the best trial.
    trials : list of Trial
        All trials in the order of the search, including failed ones.
    target : str
        The measure that was maximized.
    ended : str
        The reason why the search ended.
    n_train, n_validation : int
        Number of documents that the trials learned from, and that they were scored on.
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
        """The trials with scores, from the best to the worst, with ties in their original order."""
        scored = [trial for trial in self.trials if trial.is_done]
        return sorted(scored, key=lambda trial: -trial.score(self.target))

    def to_dict(self) -> dict[str, Any]:
        """Return the summary of the search that is stored with the model, ready for JSON."""
        return {
            "settings": to_json_options(self.best),
            "target": self.target,
            "n_trials": len(self.trials),
            "n_failed": sum(not trial.is_done for trial in self.trials),
            "n_train": self.n_train,
            "n_validation": self.n_validation,
            "ended": self.ended,
            "best": self.ranked[0].to_dict(),
            "next_best": [trial.to_dict() for trial in self.ranked[1:_N_STORED_TRIALS]],
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
    """Search the best settings of a classifier and fit it with them on all documents.

    Parameters
    ----------
    texts : iterable of str
        The documents.
    labels : iterable or matrix
        Their labels, as for the method `fit` of a classifier.
    classifier : str, default="linear"
        Name of the classifier in the catalogue.
    grid : dict, optional
        The values to try for each setting, with the most important settings first. By default the
        `GRID` of the classifier without the settings in `options`.
    start : dict, optional
        Settings of the first trial that differ from the defaults of the classifier.
    options : dict, optional
        Settings that are the same in all trials.
    vectors : WordVectors, optional
        Pretrained vectors, for classifiers that use them.
    budget : float, optional
        Time limit in seconds, which includes the trials in the journal. A trial is not started if
        it is unlikely to end in time for the final fit on all documents, judging by the most
        similar trials. The first trial always runs. By default the whole grid is tried.
    target : str, default="both"
        The measure to maximize: "macro_f1", "micro_f1", "accuracy", or "both", the mean of the
        first two. A classifier that itself has an option `target` gets the same value.
    validation : float, default=0.2
        The share of the documents of each class that the trials are scored on. No trial learns
        from them.
    class_names : iterable of str or int, optional
        As for the method `fit` of a classifier.
    journal : path, optional
        A file to which each trial is appended when it ends. Trials that it already contains, with
        the same documents and settings, are not repeated.
    tell : callable, optional
        Called with each trial.
    seed : int, default=0
        Seed of the validation split, of the order of the trials, and of the classifier.
    n_jobs : int, optional
        Number of threads of the classifier. By default the classifier decides.
    clock : callable, default=time.monotonic
        Returns the current time in seconds.

    Returns
    -------
    Tuned
        The fitted model, the best settings and all trials.

    Raises
    ------
    InputError
        If there is no grid, or all trials failed.
    """
    documents = Documents(*read_labelled_texts(texts, labels, class_names))
    check_class_count(documents.labels.codeframe)
    checked_target = check_target(target)
    if budget is not None and budget != math.inf:
        check_number("budget", budget, hint=" (seconds), or None")
    requested = dict(options or {})
    if vectors is not None:
        requested["vectors"] = vectors
    shared: dict[str, Any] = {"seed": seed, "target": checked_target}
    if n_jobs is not None:
        shared["n_jobs"] = n_jobs
    fixed = check_options(classifier, requested, shared)
    values, first = _grid(classifier, grid, {**fixed, **(start or {})}, options or {})
    search = Search(values, first, checked_target, seed)
    trials = _Trials(classifier, fixed, *split(documents, validation, seed), clock)
    opened_journal = Journal.open(None if journal is None else Path(journal))
    max_seconds = math.inf if budget is None else budget
    ended = _run(search, trials, opened_journal, max_seconds, tell)
    best = search.best
    if not best.is_done:
        raise InputError(
            f"not one of {len(search.trials)} trials came to an end; the first: {best.message}"
        )
    progress.report("fitting the best settings", 0, None)
    model = make_classifier(classifier, **fixed | best.resolved)
    model.fit(documents.texts, documents.labels)
    progress.report("fitting the best settings", 1, 1)
    return Tuned(
        model=model,
        best=best.resolved,
        trials=search.trials,
        target=checked_target,
        ended=ended,
        n_train=len(trials.train.texts),
        n_validation=len(trials.validation.texts),
    )


def _grid(
    classifier: str,
    grid: Mapping[str, Sequence[Any]] | None,
    first: Mapping[str, Any],
    options: Mapping[str, Any],
) -> tuple[dict[str, list[Any]], Settings]:
    """Return the values to search, by default the grid of the classifier, and the start."""
    values = grid
    if values is None:
        default_grid = getattr(catalogue.entry("classifiers", classifier), "GRID", {})
        values = {name: choices for name, choices in default_grid.items() if name not in options}
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
    converted = {
        name: [_as(hints[name].annotation, value) for value in choices]
        for name, choices in values.items()
    }
    return converted, start


def _as(hint: object, value: object) -> object:
    """Convert an int to float if the option is a float, so that 20 and 20.0 are one setting.

    If an option may be an int or a float, 1 and 1.0 are different values.
    """
    plain = value.item() if isinstance(value, np.generic) else value
    kinds = {hint, *get_args(hint)}
    is_float = float in kinds and int not in kinds and type(plain) is int
    return float(plain) if is_float and abs(plain) < 2**53 else plain  # type: ignore[arg-type]


def split(documents: Documents, share: float, seed: int) -> tuple[Documents, Documents]:
    """Split documents into training documents and about this share of each class for validation."""
    rows = share_split(documents.texts, documents.labels.Y, share, seed)
    return documents.part(rows.train), documents.part(rows.held_out)


# --- trials ---------------------------------------------------------------------------------------


def _run(
    search: Search,
    trials: "_Trials",
    journal: "Journal",
    budget: float,
    tell: Callable[[Trial], None] | None,
) -> str:
    """Run trials until the search or the budget ends, and return the reason why it ended."""
    for settings in search.proposals():
        key = trials.key(settings)
        if key in journal.trials:
            trial = Trial.resumed(settings, journal.trials[key])
        elif reason := _reason_to_stop(search, settings, budget, trials.growth):
            return reason
        else:
            progress.report("tuning", len(search.trials), None)
            trial = trials.run(settings)
            journal.add(key, {"classifier": trials.name, **trial.to_dict()})
        search.trials.append(trial)
        if tell is not None:
            tell(trial)
    return "everything in the grid was tried"


def _reason_to_stop(search: Search, settings: Settings, budget: float, growth: float) -> str | None:
    """Return the reason not to try these settings, or None if there is time for them."""
    if not search.trials:
        return None
    if len(search.trials) >= _MAX_FAILED_TRIALS and not search.best.is_done:
        return f"not one of the first {_MAX_FAILED_TRIALS} trials came to an end"
    left = budget - sum(trial.seconds for trial in search.trials)
    needed = expected_seconds(settings, search.trials)
    last_fit = search.best.seconds * growth
    if left <= 0:
        return f"the budget of {budget:.0f} s is spent"
    if needed + last_fit > left:
        return (
            f"{left:.0f} s of the budget are left: too few for one more trial (about "
            f"{needed:.0f} s) and the last fit (about {last_fit:.0f} s)"
        )
    return None


def expected_seconds(settings: Settings, trials: Sequence[Trial]) -> float:
    """Return the longest time of the most similar trials, the ones that differ in fewest values."""

    def n_differing(trial: Trial) -> int:
        return sum(repr(settings[name]) != repr(value) for name, value in trial.settings.items())

    times = [(-n_differing(trial), trial.seconds) for trial in trials if trial.is_done]
    return max(times, default=(0, 0.0))[1]


@dataclass(frozen=True, eq=False)
class _Trials:
    """Run trials of a classifier with fixed options on the same split of the documents."""

    name: str
    fixed: dict[str, Any]
    train: Documents
    validation: Documents
    clock: Callable[[], float]

    @property
    def growth(self) -> float:
        """Expected time of learning from all documents, relative to a trial."""
        return 1 + len(self.validation.texts) / len(self.train.texts)

    def run(self, settings: Settings) -> Trial:
        """Run a trial, which fails if the settings are invalid or need too much memory."""
        begin = self.clock()
        try:
            classifier = make_classifier(self.name, **self._options(settings))
            classifier.fit(self.train.texts, self.train.labels)
            predicted = classifier.predict(self.validation.texts)
        except (InputError, MemoryError, RuntimeError) as error:
            # torch raises RuntimeError if memory is exhausted
            is_bug = isinstance(error, RuntimeError) and "memory" not in str(error)
            if is_bug or isinstance(error, StorageError):
                raise
            message = f"{type(error).__name__}: {error}"
            return Trial(settings, self.clock() - begin, message=message)
        truth = self.validation.labels
        scores = evaluate(truth, predicted, truth.codeframe.classes)
        return Trial(
            settings,
            seconds=self.clock() - begin,
            macro_f1=scores.macro_f1,
            micro_f1=scores.micro_f1,
            accuracy=scores.accuracy,
            chosen=to_json_options(getattr(classifier, "settings_", {})),
        )

    def _options(self, settings: Settings) -> dict[str, Any]:
        """Return all options of the classifier in a trial."""
        options = {**self.fixed, **settings}
        if "probabilities" in self._defaults:
            options["probabilities"] = False  # they take time and change no prediction
        return options

    def key(self, settings: Settings) -> str:
        """Return a digest of everything that the scores of a trial depend on."""
        options = to_json_options({**self._defaults, **self._options(settings)})
        return digest(self._context, json.dumps(options, sort_keys=True))

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        defaults: dict[str, Any] = make_classifier(self.name).get_params(deep=False)
        return defaults

    @cached_property
    def _context(self) -> str:
        """The version, the classifier, and checksums of documents and vectors."""
        vectors = self.fixed.get("vectors")
        tasks = check_other_tasks(self.fixed.get("other"))
        digests = [digest_of(self.train), digest_of(self.validation)]
        if isinstance(vectors, WordVectors):
            digests.append(digest("\n".join(vectors.terms), vectors.matrix))
        for name, embeddings in tasks.items():
            digests.append(digest(name, "\n".join(embeddings.terms_), embeddings.vectors_))
        return " ".join([metadata.version("wordclass"), self.name, *digests])


def digest_of(documents: Documents) -> str:
    """Return a checksum of texts and labels in their order."""
    codeframe = documents.labels.codeframe
    Y = documents.labels.Y
    return digest(
        fingerprint_texts(documents.texts),
        repr((codeframe, Y.shape)),
        Y.indptr.astype(np.int64),
        Y.indices.astype(np.int64),
    )


# --- trials on disk ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Journal:
    """A file of trials with one line of JSON per trial.

    Parameters
    ----------
    path : Path or None
        The file. If None, trials are not saved.
    trials : dict, default={}
        The trials that the file contained, by a key that identifies data and settings. Trials of
        other data remain in the file and are ignored.
    """

    path: Path | None
    trials: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path | None) -> "Journal":
        """Read a journal if the file exists, and truncate an incomplete last line."""
        if path is None or not files.path_exists(path):
            return cls(path)
        content = files.read_content(path)
        complete_lines = content[: content.rfind(b"\n") + 1]
        trials = [
            _parse_trial(path, number, line)
            for number, line in enumerate(complete_lines.splitlines(), start=1)
        ]
        if len(complete_lines) < len(content):
            with files.as_storage_error(path, "written"):
                os.truncate(path, len(complete_lines))
        return cls(path, {trial["key"]: trial for trial in trials})

    def add(self, key: str, trial: Mapping[str, Any]) -> None:
        """Append a trial and flush it to disk."""
        if self.path is None:
            return
        line = json.dumps({"key": key, **trial}) + "\n"
        with files.as_storage_error(self.path, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(line.encode())
                file.flush()
                os.fsync(file.fileno())


def _parse_trial(path: Path, number: int, line: bytes) -> dict[str, Any]:
    with suppress(*files.CONTENT_ERRORS):
        stored: dict[str, Any] = parse_json(line)
        is_failed = stored["status"] == "failed"
        trial = Trial.resumed({**stored["settings"]}, stored)
        if trial.is_done != is_failed and isinstance(trial.message, str) and stored["key"]:
            measures = () if is_failed else ("macro_f1", "micro_f1", "accuracy")
            for name in ("seconds", *measures):
                check_number(name, getattr(trial, name))
            hash((stored["key"], *trial.resolved))  # a TypeError if they are not hashable
            return stored
    raise FormatError(path, number, "no trial; choose another file for the trials")
