"""Model selection: trials one after the other while the budget lasts, then the best on all."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any

from wordclass import naming, progress
from wordclass.classifiers import checked_options
from wordclass.classifiers import classifier as make_classifier
from wordclass.corpus import Label, check_lengths, list_texts
from wordclass.embedding.estimator import Labels
from wordclass.errors import InputError, MissingExtraError
from wordclass.labels import check_class_count, encode
from wordclass.measures import evaluate
from wordclass.storage.facts import storable
from wordclass.tuning.journal import Journal
from wordclass.tuning.order import Grid, expected_seconds, identity, proposals
from wordclass.tuning.trial import Settings, Trial, checked_budget, checked_target
from wordclass.tuning.validation import Documents
from wordclass.word_vectors import WordVectors

_N_REMEMBERED = 5  # of the trials, the best go into the manifest of a model


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
            "settings": storable(self.best),
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
    texts, labels, class_names
        As for the method `fit` of a classifier.
    classifier
        Its name in the catalogue.
    grid
        For each setting the values to try, the settings that matter most first. None: the `GRID`
        of the classifier, without what is among the options.
    start
        The values of the first trial, where they are not to be the defaults of the classifier.
    options
        Settings that stay as they are.
    vectors
        Pretrained vectors, for a classifier that has use for them.
    budget
        In seconds; the trials of the journal count. A trial that would not be over in time, to
        judge by those like it, and with what fitting the best on all documents will take, is not
        begun; but one trial is always made. None: until the whole grid was tried.
    target
        What is best: "macro_f1", "micro_f1", "accuracy", or "both", the mean of the first two. A
        classifier that chooses settings of its own by a `target` is given the same one.
    validation
        The share of each class's documents that decides. No trial learns from these.
    journal
        A file to which each trial is added when it is over. Trials on the same documents with the
        same settings that are in it already are not made again.
    tell
        Is told of each trial.
    seed
        Of the validation documents, the order of the trials, and the classifier.
    n_jobs
        For the classifier.
    clock
        Tells the seconds.

    Raises
    ------
    InputError
        The classifier has no grid and none is given; not one trial came to an end.
    """
    documents = Documents(list_texts(texts), encode(labels, class_names))
    check_lengths(documents.texts, documents.labels.Y.shape[0])
    check_class_count(documents.labels.codeframe)
    wanted = checked_target(target)
    n_seconds = checked_budget(budget)
    shared = {"seed": seed, "target": wanted.removesuffix("_f1"), "n_jobs": n_jobs}
    if n_jobs is None:
        del shared["n_jobs"]
    if wanted == "accuracy":
        del shared["target"]
    own = {**(options or {})} if vectors is None else {**(options or {}), "vectors": vectors}
    fixed = checked_options(classifier, own, shared)
    search = _Search(
        classifier,
        fixed,
        _grid(classifier, grid, {**fixed, **(start or {})}, options or {}),
        *documents.split(validation, seed),
        Journal.open(None if journal is None else Path(journal)),
        wanted,
        seed,
        clock,
    )
    ended = search.run(n_seconds, tell or _tell_nobody)
    best = search.best
    if not best.is_done:
        raise InputError(
            f"not one of {len(search.trials)} trials came to an end; the first: {best.message}"
        )
    progress.report("fitting the best settings", 0, None)
    model = make_classifier(classifier, **fixed | best.resolved)
    model.fit(documents.texts, documents.labels)
    progress.report("fitting the best settings", 1, 1)
    n_docs = len(search.train.texts), len(search.validation.texts)
    return Tuned(model, best.resolved, search.trials, wanted, ended, *n_docs)


class _Search:
    """The trials of one call of `tune`."""

    def __init__(
        self,
        name: str,
        fixed: dict[str, Any],
        grid: Grid,
        train: Documents,
        validation: Documents,
        journal: Journal,
        target: str,
        seed: int,
        clock: Callable[[], float],
    ) -> None:
        self.name, self.fixed, self.grid = name, fixed, grid
        self.train, self.validation = train, validation
        self.journal, self.target, self.seed, self.clock = journal, target, seed, clock
        self.trials: list[Trial] = []
        self.defaults = make_classifier(name).get_params(deep=False)

    @property
    def best(self) -> Trial:
        """The first of the trials with the highest score."""
        return max(self.trials, key=lambda trial: trial.score(self.target))

    def run(self, budget: float, tell: Callable[[Trial], None]) -> str:
        """Make trials, and return why there are no more."""
        for settings in proposals(self.grid, self.seed, lambda: self.best.resolved):
            key = self._key(settings)
            if key in self.journal.kept:
                trial = Trial.resumed(settings, self.journal.kept[key])
            else:
                if reason := self._reason_to_stop(settings, budget):
                    return reason
                progress.report("tuning", len(self.trials), None)
                trial = self._made(settings)
                self.journal.add(key, {"classifier": self.name, **trial.to_dict()})
            self.trials.append(trial)
            tell(trial)
        return "everything in the grid was tried"

    def _reason_to_stop(self, settings: Settings, budget: float) -> str | None:
        if not self.trials:
            return None
        left = budget - sum(trial.seconds for trial in self.trials)
        n_docs, n_train = len(self.train.texts) + len(self.validation.texts), len(self.train.texts)
        last_fit = self.best.seconds * n_docs / n_train
        needed = expected_seconds(settings, self.trials)
        if left <= 0:
            return f"the budget of {budget:.0f} s is spent"
        if needed + last_fit > left:
            return (
                f"{left:.0f} s of the budget are left: too few for one more trial (about "
                f"{needed:.0f} s) and the last fit (about {last_fit:.0f} s)"
            )
        return None

    def _made(self, settings: Settings) -> Trial:
        """Make a trial; whatever goes wrong in it is its result."""
        start = self.clock()
        try:
            classifier = make_classifier(self.name, **self._options(settings))
            classifier.fit(self.train.texts, self.train.labels)
            codeframe, Y = self.validation.labels.codeframe, self.validation.labels.Y
            truth = codeframe.to_labels(Y.astype(bool).toarray())
            predicted = classifier.predict(self.validation.texts)
            scores = evaluate(truth, predicted, codeframe.classes)
            chosen = storable(getattr(classifier, "settings_", {}))
        except MissingExtraError:  # of no settings' making
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            return Trial(settings, "failed", self.clock() - start, message=message)
        measures = (scores.macro_f1, scores.micro_f1, scores.accuracy)
        return Trial(settings, "done", self.clock() - start, *measures, chosen=chosen)

    def _options(self, settings: Settings) -> dict[str, Any]:
        """Return all options of a trial; probabilities change no prediction, and take time."""
        options = {**self.fixed, **settings}
        return options | ({"probabilities": False} if "probabilities" in self.defaults else {})

    def _key(self, settings: Settings) -> str:
        """Return what stands for all that the scores of a trial depend on."""
        parts = (self._context, identity({**self.defaults, **self._options(settings)}))
        return blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()

    @cached_property
    def _context(self) -> str:
        vectors = self.fixed.get("vectors")
        checksum = blake2b(digest_size=16)
        if isinstance(vectors, WordVectors):
            checksum.update("\n".join(vectors.terms).encode("utf-8", "surrogatepass"))
            checksum.update(vectors.matrix.tobytes())
        documents = f"{self.train.digest()} {self.validation.digest()}"
        version = metadata.version("wordclass")
        return f"{version} {self.name} {documents} {checksum.hexdigest()}"


def _grid(
    classifier: str,
    given: Mapping[str, Sequence[Any]] | None,
    first: Mapping[str, Any],
    options: Mapping[str, Any],
) -> Grid:
    """Return the grid to search, from the values of the classifier where none were given."""
    values = given
    if values is None:
        own = getattr(naming.entry("classifiers", classifier), "GRID", {})
        values = {name: choices for name, choices in own.items() if name not in options}
    if not values:
        raise InputError(f"the classifier {classifier!r} has no grid to search; give one")
    if both := sorted(set(values) & set(options)):
        raise InputError(f"{both[0]!r} is both fixed and in the grid; choose one of the two")
    checked_options(classifier, {**values, **first}, {})
    known = make_classifier(classifier).get_params(deep=False) | {**first}
    return Grid.of(values, {name: known[name] for name in values})


def _tell_nobody(_trial: Trial) -> None:
    """Tell nobody, where nobody asked."""
