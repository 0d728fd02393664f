"""How the classifier `linear` chooses its settings: a quick validation inside the training data."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Floats32, Ints
from wordclass.classifiers._linear_features import (
    N_FOLDS,
    LabelledDocuments,
    LinearFeatures,
    LinearSettings,
)
from wordclass.labels import Codeframe
from wordclass.linear_solver.one_vs_rest import ROUGH_TOLERANCE
from wordclass.measures import Scores, Target, score
from wordclass.thresholds import decided

_PAIRS = tuple((fold, fold + 1) for fold in range(0, N_FOLDS, 2))
_MOST_WEIGHTS = 1 << 28  # terms times classes: more n-grams than these would need are not tried

NGRAMS = ((1, 1), (1, 2))
SHRINKAGES = (5.0, 1.0, 20.0)  # the first one is where the search begins
BLOCK_WEIGHTS = (0.1, 0.03, 0.0)
VECTOR_WEIGHTS = (0.5, 0.0)
PENALTIES = (0.1, 0.3, 1.0)
_BEYOND = {0.1: (0.03,), 1.0: (3.0, 10.0)}  # tried where the best one is at an end


@dataclass(frozen=True)
class Choices:
    """The values each setting may take; one value alone is fixed."""

    ngrams: tuple[tuple[int, int], ...]
    shrinkage: tuple[float, ...]
    block_weight: tuple[float, ...]
    vector_weight: tuple[float, ...]
    C: tuple[float, ...]

    @property
    def are_fixed(self) -> bool:
        """Whether there is nothing to choose."""
        return all(len(values) == 1 for values in vars(self).values())

    def first(self) -> LinearSettings:
        """Return the settings where the search begins."""
        return LinearSettings(
            self.ngrams[0], self.shrinkage[0], self.block_weight[0], self.vector_weight[0],
            self.C[-1],
        )  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and how good they were on documents held out."""

    settings: LinearSettings
    macro_f1: float
    micro_f1: float
    quality: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name."""
        scores = {"macro_f1": self.macro_f1, "micro_f1": self.micro_f1}
        return {**self.settings.to_dict(), **scores}


class Search:
    """Varies one setting after the other around the best so far; validation decides.

    N-grams come first, then whether the word-class block helps at all, then its shrinkage and
    weight. Every step tries all values of C, each solution the start of the next.

    Parameters
    ----------
    documents
        To learn from and to validate on: some folds are held out from the rest.
    features_of
        Makes the features for a choice of n-grams.
    """

    def __init__(
        self,
        documents: LabelledDocuments,
        choices: Choices,
        target: Target,
        features_of: Callable[[tuple[int, int]], LinearFeatures],
    ) -> None:
        self._documents = documents
        self._choices = choices
        self._target = target
        self._features_of = features_of
        self._kept: dict[tuple[int, int], LinearFeatures] = {}
        self.trials: list[Trial] = []

    def run(self) -> LinearSettings:
        """Return the best settings."""
        choices = self._choices
        best = self._best_of(
            [replace(choices.first(), ngrams=ngrams) for ngrams in choices.ngrams], []
        )
        for name in ("vector_weight", "block_weight", "shrinkage"):
            if name == "shrinkage" and not best.settings.block_weight:
                continue
            others = [
                value for value in getattr(choices, name) if value != getattr(best.settings, name)
            ]
            best = self._best_of(
                [replace(best.settings, **{name: value}) for value in others], [best]
            )
        return self._beyond(best).settings

    def features(self, ngrams: tuple[int, int]) -> LinearFeatures:
        """Return the features for a choice of n-grams; those tried last are at hand."""
        if ngrams not in self._kept:
            self._kept[ngrams] = self._features_of(ngrams)
        return self._kept[ngrams]

    def _best_of(self, candidates: Sequence[LinearSettings], known: list[Trial]) -> Trial:
        found = list(known)
        for settings in progress.over(candidates, "choosing settings"):
            if not found or self._fits(settings.ngrams):
                found += self._try(settings, self._choices.C)
        best = max(found, key=lambda trial: trial.quality)  # of equal ones the first
        self._kept = {best.settings.ngrams: self.features(best.settings.ngrams)}
        return best

    def _beyond(self, best: Trial) -> Trial:
        """Try values of C beyond the end, where the best one is the last there is."""
        further = _BEYOND.get(best.settings.C, ()) if len(self._choices.C) > 1 else ()
        if not further or best.settings.C not in (min(self._choices.C), max(self._choices.C)):
            return best
        return max([best, *self._try(best.settings, further)], key=lambda trial: trial.quality)

    def _fits(self, ngrams: tuple[int, int]) -> bool:
        n_weights = self.features(ngrams).X.shape[1] * self._documents.Y.shape[1]
        return n_weights <= _MOST_WEIGHTS

    def _try(self, settings: LinearSettings, penalties: Sequence[float]) -> list[Trial]:
        parts = list(
            held_out_scores(
                self.features(settings.ngrams), settings, penalties,
                n_rotations(len(self._documents.texts), 4_000),
            )
        )  # fmt: skip
        tested = np.concatenate([rows for rows, _ in parts])
        scores = np.concatenate([made for _, made in parts], axis=1)  # (values of C, tested, m)
        trials = [
            self._trial(replace(settings, C=C), tested, made)
            for C, made in zip(sorted(penalties), scores, strict=True)
        ]
        self.trials += trials
        return trials

    def _trial(self, settings: LinearSettings, rows: Ints, scores: Floats32) -> Trial:
        found = self._scored(rows, scores)
        return Trial(settings, found.macro_f1, found.micro_f1, found.of(self._target))

    def _scored(self, rows: Ints, scores: Floats32) -> Scores:
        Y = self._documents.Y[rows]
        classes = tuple(range(Y.shape[1]))
        if self._documents.is_multilabel:
            return decided(scores, Y, Codeframe(classes, "multilabel"))
        predicted = sparse.csr_matrix(
            (np.ones(len(rows)), (np.arange(len(rows)), scores.argmax(axis=1))), shape=Y.shape
        )
        return score(Y, predicted, Codeframe(classes, "single"))


def held_out_scores(
    features: LinearFeatures,
    settings: LinearSettings,
    penalties: Sequence[float],
    rotations: int,
    tolerance: float = ROUGH_TOLERANCE,
) -> Iterable[tuple[Ints, Floats32]]:
    """Give documents and their scores (values of C, documents, m) by what the others tell.

    A fifth of the documents at a time, as often as `rotations` says. The values of C rise.
    """
    rising = np.array(sorted(penalties))
    for held_out in progress.over(_PAIRS[:rotations], "validating"):
        problem, _ = features.problem(settings, held_out)
        rows = features.documents.rows(held_out, inside=False)
        tested = features.documents.rows(held_out, inside=True)
        yield tested, problem.validate(rising, rows, tested, tolerance)


def n_rotations(n_docs: int, many: int) -> int:
    """Return how many fifths of the documents to hold out in turn: one where they are many."""
    return int(np.clip(np.ceil(many / max(n_docs, 1)), 1, len(_PAIRS)))
