"""The choice of settings: those of `linear` inside `fit`, and those of any classifier by `tune`."""

import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats, Ints
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import class_order, fingerprint_texts, stratified_folds
from wordclass.decision.measures import Target
from wordclass.storage.metadata import restore_options, to_json_options
from wordclass.storage.migrations import migrate_settings

Settings = dict[str, Any]

N_FOLDS = 10  # of the documents of `linear`
_MAX_RANDOM_TRIALS = 100_000
_MAX_SEARCH_DOCS = 20_000  # of more documents, the settings of `linear` are chosen on a sample
_SAMPLE_DOCS = 10_000
_MAX_SEARCH_CLASSES = 1_000  # of more classes of a multilabel task, too
# settings of `linear` that are varied one after the other
_WORD_SETTINGS = (
    "ngrams",
    "vector_weight",
    "other_weight",
    "encoder_weight",
    "block_weight",
    "shrinkage",
)
_WIDER_C = {0.1: 0.03, 1.0: 3.0, 3.0: 10.0}  # tried if the best C is the smallest or largest
# characters are chosen if they lose no more than this: they can handle misspelled words
_CHARACTER_TOLERANCE = 0.002


# --- documents ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts with labels and weights.

    Parameters
    ----------
    texts : list of str
        The text of each document.
    labels : EncodedLabels
        The labels (n, m).
    weights : array of shape (n,), optional
        The weight of each document. By default all are equal.
    sources : array of shape (n,), optional
        A number per document; documents with equal numbers are one text, which counts once in the
        vocabulary. By default every document is a text of its own.
    n_labelled : int, optional
        The number of documents whose labels are given; they come first. The labels of the others
        are estimates. By default all are given.
    """

    texts: list[str]
    labels: EncodedLabels
    weights: Floats | None = None
    sources: Ints | None = None
    n_labelled: int | None = None

    def part(self, rows: Ints) -> "Documents":
        """Return some of the documents, with the same codeframe."""
        weights = None if self.weights is None else self.weights[rows]
        labels = EncodedLabels(self.labels.codeframe, self.labels.Y[rows])
        sources = None if self.sources is None else self.sources[rows]
        return Documents([self.texts[k] for k in rows], labels, weights, sources)

    def distinct(self) -> tuple["Documents", Ints | None]:
        """Return one document per text, and the place of each document's text among them.

        The places are None if every document is a text of its own.
        """
        if self.sources is None:
            return self, None
        _, first, places = np.unique(self.sources, return_index=True, return_inverse=True)
        return replace(self.part(first), sources=None), places

    def of_classes(self, one_of: int) -> "Documents":
        """Return all documents with every n-th class, counted from the largest to the smallest."""
        Y = self.labels.Y
        from_largest = class_order(fingerprint_texts(self.texts), Y)[::-1]
        columns = np.sort(from_largest[one_of // 2 :: one_of])
        is_dropped = ~np.isin(np.arange(Y.shape[1]), columns)
        codeframe = self.labels.codeframe.without(is_dropped)
        return replace(self, labels=EncodedLabels(codeframe, Y[:, columns]))


# --- the settings of `linear` ---------------------------------------------------------------


@dataclass(frozen=True)
class LinearSettings:
    """The settings of `linear`, one value each, as described in `LinearClassifier`."""

    ngrams: tuple[int, int]
    vector_weight: float
    other_weight: float
    encoder_weight: float
    block_weight: float
    shrinkage: float
    characters: tuple[int, int] | None
    C: float
    loss: str

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> "LinearSettings":
        """Return settings from values by name, ignoring other names."""
        return cls(**{name: settings[name] for name in cls.__dataclass_fields__})

    def to_dict(self) -> Settings:
        """Return the settings by name, as users and saved files have them."""
        return {**vars(self)}


def restore_settings(stored: Mapping[str, Any]) -> Settings:
    """Return the settings of a model or trial stored by any version, with all current names."""
    settings = migrate_settings(stored)
    settings.setdefault("encoder_weight", 0.0)
    settings.setdefault("other_weight", 0.0)
    settings.setdefault("characters", None)
    settings.setdefault("loss", "squared_hinge")
    for name in ("ngrams", "characters"):
        settings[name] = None if settings[name] is None else tuple(settings[name])
    return settings


@dataclass(frozen=True)
class LinearChoices:
    """The values of each setting that the search of `linear` tries.

    One setting after the other is varied, in this order, beginning with the first value of each;
    all values of C are tried with each of the others.
    """

    ngrams: tuple[tuple[int, int], ...] = ((1, 1), (1, 2))
    vector_weight: tuple[float, ...] = (0.5, 0.0)
    other_weight: tuple[float, ...] = (0.5, 0.0)
    encoder_weight: tuple[float, ...] = (2.0, 0.5, 0.0)
    block_weight: tuple[float, ...] = (0.1, 0.03, 0.0)
    shrinkage: tuple[float, ...] = (5.0, 1.0, 20.0)
    characters: tuple[tuple[int, int] | None, ...] = (None, (2, 5))
    C: tuple[float, ...] = (0.1, 0.3, 1.0)
    loss: tuple[str, ...] = ("squared_hinge",)

    @property
    def first(self) -> LinearSettings:
        """The settings with which a search begins."""
        first_values = {name: values[0] for name, values in vars(self).items()}
        return LinearSettings(**{**first_values, "C": self.C[-1]})

    @property
    def is_fixed(self) -> bool:
        """Whether every setting has a single value."""
        return all(len(values) == 1 for values in vars(self).values())


class LinearTrial(NamedTuple):
    """Settings of `linear` and their scores on held-out documents."""

    settings: LinearSettings
    macro_f1: float
    micro_f1: float
    quality: float  # the target of the search

    def to_dict(self) -> Settings:
        """Return settings and scores by name, as users and saved files have them."""
        return {**vars(self.settings), "macro_f1": self.macro_f1, "micro_f1": self.micro_f1}


class Candidate(Protocol):
    """The documents as settings with the same terms see them."""

    n_terms: int

    def trials(
        self, settings: LinearSettings, penalties: Sequence[float], target: Target
    ) -> list[LinearTrial]:
        """Score settings with several values of C on held-out documents."""


class Candidates(Protocol):
    """The features of documents for any settings, which a search scores."""

    def features(self, settings: LinearSettings) -> Candidate:
        """Return the documents with the terms of these settings."""

    def keep(self, settings: LinearSettings) -> None:
        """Free the memory of the features of other settings."""


@dataclass(eq=False)
class SettingsSearch:
    """Choose the settings of `linear` by their scores on held-out documents.

    Parameters
    ----------
    candidates : Candidates
        Scores settings.
    choices : LinearChoices
        The values to try.
    target : str
        The measure to maximize: see `Scores.of`.
    max_terms : int
        Settings with more terms than this are not tried, except the first.
    trials : list of LinearTrial, default=[]
        The trials so far.
    """

    candidates: Candidates
    choices: LinearChoices
    target: Target
    max_terms: int
    trials: list[LinearTrial] = field(default_factory=list)

    @property
    def best(self) -> LinearTrial:
        """The first of the trials with the highest quality."""
        return max(self.trials, key=lambda trial: trial.quality)

    def run(self) -> LinearSettings:
        """Try the choices, and return the best settings.

        First words: one setting after the other. Then values of C beyond the end that is best. Then
        characters beside the best words, which are chosen if they are about as good.
        """
        n_steps = len(self.choices.characters)
        n_steps += sum(len(getattr(self.choices, name)) - 1 for name in _WORD_SETTINGS)
        for step, settings in enumerate(self._propose_words()):
            progress.report("choosing settings", step, n_steps)
            features = self.candidates.features(settings)
            if not self.trials or features.n_terms <= self.max_terms:
                self.trials += features.trials(settings, self.choices.C, self.target)
                self.candidates.keep(self.best.settings)
        for settings in self._propose_wider_penalties():
            features = self.candidates.features(settings)
            self.trials += features.trials(settings, [settings.C], self.target)
        best = chosen = self.best
        for settings, penalties in self._propose_characters():
            features = self.candidates.features(settings)
            if features.n_terms > self.max_terms:
                continue
            trials = features.trials(settings, penalties, self.target)
            self.trials += trials
            winner = max(trials, key=lambda trial: trial.quality)
            tolerance = _CHARACTER_TOLERANCE if chosen is best else 0.0
            if winner.quality >= chosen.quality - tolerance:
                chosen = winner
        self.candidates.keep(chosen.settings)
        progress.report("choosing settings", n_steps, n_steps)
        return chosen.settings

    def _propose_words(self) -> Iterator[LinearSettings]:
        """Yield the first settings, then variations of the best settings so far in one value."""
        first = self.choices.first
        yield first
        for name in _WORD_SETTINGS:
            for value in getattr(self.choices, name):
                best = self.best.settings
                settings = replace(best, **{name: value})
                # without word-class scores, shrinkage changes nothing
                is_redundant = not settings.block_weight and settings.shrinkage != first.shrinkage
                if settings != best and not is_redundant:
                    yield settings

    def _propose_wider_penalties(self) -> Iterator[LinearSettings]:
        """Yield the best settings with a C beyond the values tried, as long as that is best."""
        while len(self.choices.C) > 1:
            best = self.best.settings
            C = _WIDER_C.get(best.C)
            if C is None or any(trial.settings.C == C for trial in self.trials):
                return
            yield replace(best, C=C)

    def _propose_characters(self) -> Iterator[tuple[LinearSettings, Sequence[float]]]:
        """Yield the best settings with characters, and the values of C to try with them.

        Pairs of words help beside characters, even if they do not alone. Word-class scores may
        not, so they are left out too; if they hardly help without characters, only that is tried.
        """
        best = self.best
        plain = [trial for trial in self.trials if not trial.settings.block_weight]
        is_level = any(trial.quality >= best.quality - _CHARACTER_TOLERANCE for trial in plain)
        block_weights = {self.choices.block_weight[-1]}
        if not is_level:
            block_weights.add(best.settings.block_weight)
        for characters in self.choices.characters[1:]:
            for block_weight in sorted(block_weights):
                # without word-class scores, another C may be best
                other_C = () if block_weight else self.choices.C
                settings = replace(
                    best.settings,
                    ngrams=self.choices.ngrams[-1],
                    characters=characters,
                    block_weight=block_weight,
                )
                yield settings, sorted({best.settings.C, *other_C})


def sample_documents(
    documents: Documents, folds: Ints, seed: int, *, may_drop_classes: bool
) -> tuple[Documents, Ints]:
    """Return the documents on which settings are chosen, and their folds.

    Of more than 20,000 documents, 10,000 are drawn evenly from the classes; of more than 1,000
    classes of a multilabel task, if they may be dropped, an even choice from large to small.
    """
    n_docs, n_classes = documents.labels.Y.shape
    is_multilabel = documents.labels.codeframe.is_multilabel
    if n_classes > _MAX_SEARCH_CLASSES and is_multilabel and may_drop_classes:
        documents = documents.of_classes(-(-n_classes // _MAX_SEARCH_CLASSES))
    if n_docs <= _MAX_SEARCH_DOCS:
        return documents, folds
    n_samples = -(-n_docs // _SAMPLE_DOCS)
    sample_folds = stratified_folds(documents.texts, documents.labels.Y, n_samples * N_FOLDS, seed)
    rows = np.flatnonzero(sample_folds < N_FOLDS)
    return documents.part(rows), sample_folds[rows]


# --- the trials of `tune` -------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """Settings of a classifier and their scores on held-out documents.

    Parameters
    ----------
    settings : dict
        The options that vary between the trials.
    seconds : float, default=0.0
        Time for learning and predicting.
    macro_f1, micro_f1, accuracy : float, default=nan
        Scores on the held-out documents.
    message : str, default=""
        The reason why the trial failed, without scores. Empty if it did not.
    chosen : dict, default={}
        The settings that the classifier chose by itself, its attribute `settings_`, ready for JSON.
    is_resumed : bool, default=False
        Whether the trial was read from a journal.
    """

    settings: Settings
    seconds: float = 0.0
    macro_f1: float = math.nan
    micro_f1: float = math.nan
    accuracy: float = math.nan
    message: str = ""
    chosen: dict[str, Any] = field(default_factory=dict)
    is_resumed: bool = False

    @property
    def status(self) -> str:
        """Either "done", or "failed" if there is a message instead of scores."""
        return "failed" if self.message else "done"

    @property
    def is_done(self) -> bool:
        """Whether there are scores."""
        return not self.message

    @property
    def resolved(self) -> Settings:
        """The settings, including the ones that the classifier chose by itself."""
        if not self.chosen:
            return self.settings
        chosen = restore_options("", self.chosen, {})
        return {name: chosen.get(name, value) for name, value in self.settings.items()}

    def score(self, target: str) -> float:
        """Return a score: "macro_f1", "micro_f1", "both" (their mean) or "accuracy"."""
        if not self.is_done:
            return -math.inf
        if target == "both":
            return (self.macro_f1 + self.micro_f1) / 2
        return float(getattr(self, target))

    def to_dict(self) -> dict[str, Any]:
        """Return settings, status, scores and time, ready for JSON."""
        names = ("macro_f1", "micro_f1", "accuracy") if self.is_done else ("message",)
        stored: dict[str, Any] = {
            "settings": to_json_options(self.settings),
            "status": self.status,
            **{name: getattr(self, name) for name in names},
            "seconds": round(self.seconds, 3),
        }
        if self.chosen:
            stored["chosen"] = self.chosen
        return stored

    @classmethod
    def resumed(cls, settings: Settings, stored: Mapping[str, Any]) -> "Trial":
        """Return the trial of some settings as `to_dict` wrote it."""
        names = ("seconds", "macro_f1", "micro_f1", "accuracy", "message", "chosen")
        values = {name: stored[name] for name in names if name in stored}
        return cls(settings, **values, is_resumed=True)


# --- what to try next -----------------------------------------------------------------------


@dataclass
class Search:
    """A search that proposes promising settings first, given the trials so far.

    Parameters
    ----------
    values : dict
        The values of each setting, with the most important settings first.
    start : dict
        The first settings, which need not be among the values.
    target : str
        The score to maximize: see `Trial.score`.
    seed : int, optional
        Seed of the random proposals after all neighbors of the best settings were tried. By
        default the search ends after one pass over the settings.
    trials : list of Trial, default=[]
        The trials so far, appended by the caller.
    """

    values: Mapping[str, Sequence[Any]]
    start: Settings
    target: str
    seed: int | None = None
    trials: list[Trial] = field(default_factory=list)

    @property
    def best(self) -> Trial:
        """The first of the trials with the highest score."""
        return max(self.trials, key=lambda trial: trial.score(self.target))

    def proposals(self) -> Iterator[Settings]:
        """Yield settings to try, each of them once.

        The start comes first. Then come settings that differ in one value from the best so far,
        one setting after the other. With a seed, combinations in random order follow; whenever
        one of them is the best so far, its neighbors come next. The order depends only on the seed
        and the trials, so a search can be repeated exactly.
        """
        proposed = {_identity(self.start)}
        yield self.start
        turn = 0
        random_settings = ((0, settings) for settings in self._at_random())
        while True:
            # settings that the classifier chose by itself are not proposed again
            center = {name: self.best.resolved[name] for name in self.values}
            proposed.add(_identity(center))
            candidate = _first_new(self._around(center, turn), proposed)
            candidate = candidate or _first_new(random_settings, proposed)
            if candidate is None:
                return
            turn, settings = candidate
            proposed.add(_identity(settings))
            yield settings

    def _around(self, center: Settings, turn: int) -> Iterator[tuple[int, Settings]]:
        """Yield settings that differ from the center in one value, with the number of that setting.

        The values of setting number `turn` come first, then those of the next, so that every
        setting is varied even if the best settings change often.
        """
        names = list(self.values)
        again = range(turn) if self.seed is not None else ()
        for number in (*range(turn, len(names)), *again):
            for value in self.values[names[number]]:
                yield number, {**center, names[number]: value}

    def _at_random(self) -> Iterator[Settings]:
        """Yield all combinations of values in an order that depends only on the seed."""
        if self.seed is None:
            return
        n_all = math.prod(map(len, self.values.values()))
        for number in random.Random(self.seed).sample(range(n_all), min(n_all, _MAX_RANDOM_TRIALS)):
            settings = {}
            quotient = number
            for name, choices in self.values.items():
                quotient, index = divmod(quotient, len(choices))
                settings[name] = choices[index]
            yield settings


def _first_new(
    candidates: Iterator[tuple[int, Settings]], proposed: set[str]
) -> tuple[int, Settings] | None:
    return next(
        (candidate for candidate in candidates if _identity(candidate[1]) not in proposed), None
    )


def _identity(settings: Settings) -> str:
    """Return a string that identifies the settings and distinguishes 1 from 1.0."""
    return json.dumps(settings, sort_keys=True, default=_plain)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else repr(value)
