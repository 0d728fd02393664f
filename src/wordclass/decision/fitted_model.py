"""A fitted model: a scorer, and the decisions and probabilities that follow from its scores.

This is all that prediction needs. The classifiers are adapters of it to the scikit-learn API.
"""

from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from wordclass.arrays import Flags, Floats, Floats32, Ints
from wordclass.corpus.labels import Codeframe
from wordclass.decision.explanation import Explanation
from wordclass.decision.predictions import Predictions
from wordclass.decision.prior_shift import PriorShift
from wordclass.decision.scorers import MAX_BLOCK_SCORES, Scorer, blocks
from wordclass.decision.thresholds import Calibration, decide
from wordclass.errors import InputError
from wordclass.options import check_scores, list_texts
from wordclass.text.analyzer import Analyze

_SCORE_TOLERANCE = 1e-6  # relative to a score
_PROBABILITY_TOLERANCE = 1e-3  # relative to a probability
# bytes per score, as measured
_BYTES_TO_PREDICT = 8
_BYTES_OF_PROBABILITIES = 32
# pulls of shares toward those of training. For several labels it was chosen on held-out texts of
# Reuters, Ohsumed and GoEmotions. For single labels it only ensures that texts without information
# change nothing.
_PULL_OF_SHARES = 0.1
_PULL_OF_SHARES_SINGLE = 0.0003


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A scorer with its classes, thresholds and calibrations.

    Parameters
    ----------
    name : str
        The name of the classifier, for messages.
    codeframe : Codeframe
        The classes.
    scorer : Scorer
        Scores texts.
    thresholds : array of shape (m,) or None
        A text has the classes whose scores are above these. None in a single-label task, where it
        has the class with the highest score.
    calibration : Calibration or None
        Turns scores into probabilities. Without it the scorer may do so.
    share_calibration : Calibration or None
        Turns scores into probabilities for the estimation of shares. Without it `calibration` does.
    shares : array of shape (m,) or None
        The share of the training texts that each class has, if it is known.
    has_probabilities : bool, default=True
        False if the classifier was fitted with `probabilities=False`.
    """

    name: str
    codeframe: Codeframe
    scorer: Scorer
    thresholds: Floats | None
    calibration: Calibration | None
    share_calibration: Calibration | None
    shares: Floats | None
    has_probabilities: bool = True

    # --- scores -------------------------------------------------------------------------------

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""
        return self._check_finite(self.scorer.scores(self._check_memory(texts, _BYTES_TO_PREDICT)))

    def top(self, texts: Iterable[str], k: int) -> tuple[Ints, Floats32]:
        """Return the columns (n, k) and scores (n, k) of the best classes."""
        columns, scores = self.scorer.top(texts, k)
        return columns, self._check_finite(scores)

    def _check_finite(self, scores: Floats32) -> Floats32:
        """Return the scores, or raise an InputError if one of them overflowed."""
        is_finite = np.isfinite(scores).all()
        if is_finite or (self.scorer.has_log_scores and (scores < np.inf).all()):
            return scores
        problem = f"the scores of this {self.name!r} model are not finite"
        raise InputError(problem, hint="the weights are too large or damaged: train it again")

    def _check_memory(self, texts: Iterable[str], bytes_per_score: int) -> Iterable[str]:
        """Return the texts, or raise an InputError if their scores would not fit into memory."""
        listed = texts if isinstance(texts, Sized) else list_texts(texts)
        hint = "predict fewer texts at a time, or use top_classes"
        check_scores(len(listed), len(self.codeframe.classes), bytes_per_score, hint)
        return listed

    # --- labels -------------------------------------------------------------------------------

    def predict(self, texts: Iterable[str]) -> Any:  # noqa: ANN401 - see Codeframe.to_labels
        """Return the labels of texts in the form that was given to `fit`."""
        listed = texts if isinstance(texts, Sized) else list_texts(texts)
        if len(listed) * len(self.codeframe.classes) <= MAX_BLOCK_SCORES:
            return self.codeframe.to_labels(self.decide(self.scores(listed)))
        labels = [predictions.labels for predictions in self.prediction_blocks(listed)]
        return [*chain(*labels)] if isinstance(labels[0], list) else np.concatenate(labels)

    def prediction_blocks(self, texts: Iterable[str]) -> Iterator[Predictions]:
        """Yield the predictions of texts in blocks that fit into memory easily."""
        listed = list_texts(texts)
        for rows in blocks(len(listed), len(self.codeframe.classes)):
            yield self.predictions_of(self.scores(listed[rows]))

    def predictions_of(
        self, scores: Floats | Floats32, shift: PriorShift | None = None
    ) -> Predictions:
        """Return the predictions that follow from scores (n, m), if there was a prior shift."""
        allowed = None if self.thresholds is None else np.isfinite(self.thresholds)
        if shift is None:
            decisions = self.decide(scores)
            return Predictions(self.codeframe, scores, decisions, self.probabilities, allowed)
        probabilities, decisions = self.adjust(scores, shift)
        return Predictions(self.codeframe, scores, decisions, lambda _: probabilities, allowed)

    def decide(self, scores: Floats | Floats32) -> Flags:
        """Turn scores (n, m) into decisions (n, m).

        A text without a known term has no evidence for any class. In a multilabel task it gets
        only classes that more than half of the training texts have, whatever their thresholds.
        """
        if self.thresholds is None:
            return decide(scores, None)
        return self._require_evidence(decide(scores, self.thresholds), scores)

    def _require_evidence(self, decisions: Flags, scores: Floats | Floats32) -> Flags:
        """Return decisions that assign only frequent classes to texts without a known term."""
        scores_of_empty = self.scorer.scores_of_empty_text
        if scores_of_empty is None or self.shares is None or not len(scores):
            return decisions
        # the first class rules out nearly all texts
        rows = np.flatnonzero(_are_close(scores[:, 0], scores_of_empty[0]))
        rows = rows[_are_close(scores[rows], scores_of_empty).all(axis=1)]
        decisions[rows] &= self.shares > 0.5
        return decisions

    # --- probabilities ------------------------------------------------------------------------

    def predict_proba(self, texts: Iterable[str]) -> Floats:
        """Return the probability (n, m) of each class."""
        listed = self._check_memory(texts, _BYTES_OF_PROBABILITIES)
        return self.probabilities(self.scores(listed))

    def probabilities(self, scores: Floats | Floats32) -> Floats:
        """Turn scores (n, m) into probabilities (n, m)."""
        if self.calibration is not None:
            return self.calibration.probabilities(scores)
        probabilities = self.scorer.probabilities(scores) if self.has_probabilities else None
        if probabilities is None:
            problem = f"the classifier {self.name!r} was fitted without probabilities"
            raise InputError(problem, hint="fit it with probabilities=True")
        return np.asarray(probabilities)

    @property
    def is_calibrated(self) -> bool:
        """Whether probabilities were fitted to held-out documents.

        The probabilities of a tree are always fitted, node by node.
        """
        if self.calibration is not None:
            return True
        return self.has_probabilities and self.scorer.has_log_scores

    # --- prior shift --------------------------------------------------------------------------

    def estimate_shift(self, scores: Floats | Floats32) -> PriorShift:
        """Estimate the shares of classes among texts with these scores (n, m)."""
        calibration = self.share_calibration
        if calibration is None:
            probabilities = self.probabilities(scores)
        else:
            probabilities = calibration.probabilities(scores)
        if not self.is_calibrated:
            raise InputError(
                f"the probabilities of {self.name!r} are not calibrated, as shares need them",
                hint="use 'linear', 'svm', 'nearest' or a network without protocol='paper'",
            )
        if self.shares is None:
            problem = "the model was saved by a version that kept no shares of classes"
            raise InputError(problem, hint="train it again")
        is_single_label = not self.codeframe.is_multilabel
        # the probability of a class without training texts means nothing
        probabilities = probabilities * (self.shares > 0)
        pull = _PULL_OF_SHARES
        if is_single_label:
            pull = _PULL_OF_SHARES_SINGLE
            total = probabilities.sum(axis=1, keepdims=True)
            probabilities /= np.maximum(total, np.finfo(np.float64).tiny)
        return PriorShift.of(probabilities, self.shares, is_single_label=is_single_label, pull=pull)

    def adjust(self, scores: Floats | Floats32, shift: PriorShift) -> tuple[Floats, Flags]:
        """Turn scores (n, m) into probabilities and decisions under the shares of a shift.

        A threshold is the same probability as without a shift. If a probability equals it, as does
        that of a class without evidence, the score decides.
        """
        is_single_label = not self.codeframe.is_multilabel
        if not isinstance(shift, PriorShift) or shift.is_single_label != is_single_label:
            expected = "the result of prior_shift of this model"
            raise InputError(f"shift is {shift!r:.60}", expected=expected)
        probabilities = shift.adjust(self.probabilities(scores))
        if self.thresholds is None:
            return probabilities, decide(probabilities, None)
        has_threshold = np.isfinite(self.thresholds)
        finite_thresholds = np.where(has_threshold, self.thresholds, 0.0)
        limits = self.probabilities(finite_thresholds[None])[0]
        limits = np.where(has_threshold, limits, np.inf)
        is_level = np.isclose(probabilities, limits, rtol=_PROBABILITY_TOLERANCE, atol=0.0)
        decisions = np.where(is_level, self.decide(scores), decide(probabilities, limits))
        return probabilities, self._require_evidence(decisions, scores)

    # --- explanations -------------------------------------------------------------------------

    def explain(self, text: str, make_analyzer: Callable[[], Analyze]) -> Explanation:
        """Return the contribution of each term of a text to the score of each class.

        Parameters
        ----------
        text : str
            The text.
        make_analyzer : callable
            Returns an analyzer, for a scorer that has none.
        """
        scores = self.scores([text])
        (decisions,) = self.decide(scores)
        predicted = tuple(self.codeframe.classes[j] for j in np.flatnonzero(decisions))
        contributions = self.scorer.contributions(text)
        self._check_finite(contributions.intercept)
        analyze = self.scorer.analyze
        return Explanation(
            text=text,
            codeframe=self.codeframe,
            predicted=predicted,
            added=replace(
                contributions,
                columns=lambda columns: self._check_finite(contributions.columns(columns)),
            ),
            scores=scores[0],
            analyze=make_analyzer() if analyze is None else analyze,
            path_to=self.scorer.path_to(text, self.codeframe.classes),
        )


def _are_close(scores: Floats | Floats32, expected: Floats | Floats32) -> Flags:
    return np.asarray(np.abs(scores - expected) <= _SCORE_TOLERANCE * np.abs(expected))
