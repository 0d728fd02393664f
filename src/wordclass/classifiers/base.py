"""What all classifiers of texts share: fit, predict, explain, save, and the scikit-learn API.

A kind of classifier defines `_learn`, which sets `scorer_`, and `_from_parts`, which restores it.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.classifiers._saving import SavedClassifier
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import Codeframe, EncodedLabels, check_class_count, read_labelled_texts
from wordclass.corpus.shards import ShardedCorpus
from wordclass.corpus.splits import (
    Holdout,
    TrainingData,
    document_order,
    fingerprint_texts,
    reorder_texts,
)
from wordclass.decision.explanation import Explanation
from wordclass.decision.measures import has_exact_labels
from wordclass.decision.predictions import Predictions
from wordclass.decision.prior_shift import PriorShift
from wordclass.decision.scorers import MAX_BLOCK_SCORES, Scorer, blocks
from wordclass.decision.thresholds import Calibration, decide, without_absent_classes
from wordclass.embedding.estimator import Labels, WordClassEmbeddings
from wordclass.engines.engine import open_engine
from wordclass.engines.tasks import Engine
from wordclass.errors import InputError
from wordclass.options import check_int, check_scores, list_texts
from wordclass.storage import files
from wordclass.text.analyzer import Analyze
from wordclass.text.spool import spool_corpus
from wordclass.text.vectorizer import DocumentVectorizer, TextEstimator, shared_options

_ROUNDING = 1e-6  # relative to a score
# bytes per score, as measured, of predictions, and of learning probabilities or thresholds
_BYTES_TO_PREDICT = 8
_BYTES_OF_PROBABILITIES = 32
_BYTES_TO_CALIBRATE = 72
_BYTES_OF_THRESHOLDS = 16
_LEVEL = 1e-3  # relative to a probability
_PULL_OF_PROBABILITIES = 1.0  # of the offsets of single labels: a variance of 1 is expected
_PULL_OF_OFFSETS = 6.0  # of prior shift: the best on held-out texts of Banking77 and 20 Newsgroups
# of shares: chosen on held-out texts of Reuters, Ohsumed and GoEmotions for several labels; where a
# text has one label, only that texts which tell nothing change nothing
_PULL_OF_SHARES, _PULL_OF_SINGLE = 0.1, 0.0003


class TextClassifier(SavedClassifier, TextEstimator, ClassifierMixin, BaseEstimator):
    """A classifier that takes texts.

    Attributes
    ----------
    classes_ : array of shape (m,)
        The classes, sorted.
    codeframe_ : Codeframe
        The same, with the form in which the labels came.
    thresholds_ : array of shape (m,), or None
        The score above which a class is given to a text; None in a single-label task, where
        the class with the highest score is given.
    calibration_ : Calibration, or None
        What turns scores into probabilities.
    share_calibration_ : Calibration, or None
        The same for `prior_shift`, where shares of classes matter more than that the class with the
        highest score is the most probable one; None: `calibration_` does both.
    scores_ : dict
        What was saved of its quality with the model that this one was loaded from; else empty.
    """

    _scores_of_empty: Floats32 | None = None  # once they are asked for

    def fit(
        self,
        X: Iterable[str],
        y: Labels,
        *,
        class_names: Iterable[Label] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from labelled texts.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : iterable or matrix
            The labels: one str or int per text; or a list, set or tuple of them, which may be
            empty; or a 0/1 matrix.
        class_names : iterable of str or int, optional
            The columns of a matrix; for other labels, the whole codeframe.
        sample_weight : array of shape (n,), optional
            How much each text counts; None: all the same.

        A fit that fails, or is interrupted, leaves the classifier as it was.
        """
        listed, encoded = read_labelled_texts(X, y, class_names)
        return self._fit(listed, encoded, checked_sample_weight(sample_weight, len(listed)))

    def fit_parts(
        self,
        corpus: Any,  # noqa: ANN401 - see `WordClassEmbeddings.fit_parts`
        *,
        engine: str | Engine = "in_sequence",
        folder: str | PathLike[str] | None = None,
        aside: Holdout | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Self:
        """Learn from a corpus in parts, which need not fit into memory.

        An engine reads the parts, counts their terms and makes X; this process learns from X, which
        is mapped from files. That is so for `linear` and `svm` with their own terms; where a
        classifier needs the texts themselves, it reads them from the files, or into memory. The
        model is that of `fit`.

        Parameters
        ----------
        corpus, engine, **options
            As in `WordClassEmbeddings.fit_parts`.
        folder : str or path, optional
            Where texts and X are kept while learning, in a hidden folder of their own, which is
            removed afterwards. The workers must reach it, too. By default the system's own place
            for temporary files.
        aside : Holdout, optional
            Documents that are kept aside, and so left out.

        After it, `seen_` tells of the records: `n_docs`, and `n_skipped`, those that could not be
        read.
        """
        given = corpus if isinstance(corpus, ShardedCorpus) else ShardedCorpus.of(corpus)
        with (
            open_engine(engine, **options) as running,
            files.scratch_folder(Path(folder or gettempdir())) as place,
        ):
            texts, encoded, seen = spool_corpus(given, running, place, aside)
            if not len(texts):
                raise InputError("all documents were kept aside: there is nothing to learn from")
            self._fit(texts, encoded, None)
        self.seen_ = seen
        return self

    def _fit(
        self, texts: Sequence[str], labels: EncodedLabels, sample_weight: Floats | None
    ) -> Self:
        check_class_count(labels.codeframe)
        fingerprints = fingerprint_texts(texts)
        if not self._keeps_order:
            order = document_order(fingerprints, labels.Y, sample_weight)
            texts = reorder_texts(texts, order)
            labels = EncodedLabels(labels.codeframe, labels.Y[order])
            sample_weight = None if sample_weight is None else sample_weight[order]
        before = {**vars(self)}
        try:
            self._scores_of_empty = None
            self._learn(texts, labels, sample_weight)  # type: ignore[arg-type]
            self._set_codeframe(labels.codeframe)
            counted = np.ones(labels.Y.shape[0]) if sample_weight is None else sample_weight
            shares = np.asarray(counted @ labels.Y) / counted.sum()
            if self.thresholds_ is not None:
                self.thresholds_ = without_absent_classes(self.thresholds_, shares)
            self.training_ = TrainingData(np.sort(fingerprints), shares)
            self.scores_ = {}
        except BaseException:  # also Ctrl-C: thresholds of one fit, weights of another
            self.__dict__ = before
            raise
        return self

    def _set_codeframe(self, codeframe: Codeframe) -> None:
        self.codeframe_ = codeframe
        self.classes_ = np.array(codeframe.classes)

    @property
    def _keeps_order(self) -> bool:
        """Whether documents are learned from in the order in which they came.

        Else they are sorted, so that this order changes nothing. In the paper's protocol it decides
        which of them validate.
        """
        return getattr(self, "protocol", None) == "paper"

    @abstractmethod
    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        """Learn from checked input: set the fitted attributes, thresholds and calibration too."""

    def _calibrate(
        self,
        scores: Floats32,
        Y: Sparse,
        weights: Floats | None = None,
        *,
        is_single_label: bool,
        keeps_highest: bool = True,
    ) -> None:
        """Fit the calibration to honest scores (n, m) of documents with labels (n, m).

        Parameters
        ----------
        weights : array of shape (n,), optional
            How much each document counts.
        keeps_highest : bool, default=True
            Where a text has one label, the most probable class is the one with the highest score.
            False where scores do not tell how frequent the classes are.
        """
        fit = partial(Calibration.fit, scores, Y, is_single_label=is_single_label, weights=weights)
        self.share_calibration_ = None
        if not is_single_label:
            self.calibration_ = fit()
            self.share_calibration_ = self.calibration_.with_shares(scores, Y, weights)
        elif keeps_highest:
            calibration = fit(shares=True, pull=_PULL_OF_PROBABILITIES)
            self.calibration_ = replace(calibration, keeps_highest=True)
            self.share_calibration_ = fit(shares=True, pull=_PULL_OF_OFFSETS)
        else:
            self.calibration_ = fit(shares=True)

    def _check_training_scores(self, labels: EncodedLabels, n_docs: int, n_bytes: int = 0) -> None:
        """Refuse to learn thresholds or probabilities from scores that would not fit into memory.

        Parameters
        ----------
        labels : EncodedLabels
            The labels of all documents.
        n_docs : int
            The number of documents whose scores are held at once.
        n_bytes : int, default=0
            What one score needs before thresholds and probabilities are learned.
        """
        n_classes = len(labels.codeframe.classes)
        is_multilabel = labels.codeframe.is_multilabel
        n_bytes = max(n_bytes, _BYTES_OF_THRESHOLDS if is_multilabel else _BYTES_TO_CALIBRATE)
        remedy = "take fewer documents or classes, or 'linear' with classes='tree'"
        if not is_multilabel and getattr(self, "probabilities", False):
            remedy = f"use probabilities=False, {remedy}"
        check_scores(n_docs, n_classes, n_bytes, remedy)

    def __sklearn_clone__(self) -> Self:
        # scikit-learn clones what is in a dict, too; but embeddings of other tasks stay fitted
        made: Self = super().__sklearn_clone__()
        return made.set_params(other=self.other) if hasattr(self, "other") else made

    def class_scores(self, X: Iterable[str]) -> Floats32:
        """Return the score (n, m) of each class, also if there are two classes."""
        if not hasattr(self, "codeframe_"):  # much quicker to see than by scikit-learn
            check_is_fitted(self)
        return self._check_scores(self.scorer_.scores(self._check_predicted(X, _BYTES_TO_PREDICT)))

    def _check_scores(self, scores: Floats32) -> Floats32:
        """Return the scores, or raise InputError if the weights are so large that one overflows."""
        is_finite = np.isfinite(scores).all()
        if is_finite or (self.scorer_.has_log_scores and (scores < np.inf).all()):
            return scores
        raise InputError(
            f"the scores of this {self.name!r} model are not finite: the weights are too "
            "large, or damaged; train it again"
        )

    def _check_predicted(self, X: Iterable[str], n_bytes: int) -> Iterable[str]:
        """Return the texts, or refuse them if their scores would not fit into memory."""
        texts = X if isinstance(X, Sized) else list_texts(X)
        remedy = "predict fewer texts at a time, or use top_classes"
        check_scores(len(texts), len(self.codeframe_.classes), n_bytes, remedy)
        return texts

    def decision_function(self, X: Iterable[str]) -> Floats32:
        """Return the score (n, m) of each class; for single labels and two classes (n,).

        These are half the difference of the scores of `classes_[1]` and `classes_[0]`: above 0
        where `predict` gives `classes_[1]`.
        """
        scores = self.class_scores(X)
        if self.codeframe_.is_multilabel or scores.shape[1] > 2:
            return scores
        return (scores[:, 1] - scores[:, 0]) / np.float32(2)

    def predict(self, X: Iterable[str]) -> Any:  # noqa: ANN401 - see Codeframe.to_labels
        """Return labels in the form in which they were given to `fit`."""
        if not hasattr(self, "codeframe_"):
            check_is_fitted(self)
        texts = X if isinstance(X, Sized) else list_texts(X)
        if len(texts) * len(self.codeframe_.classes) <= MAX_BLOCK_SCORES:
            return self.codeframe_.to_labels(self.decide(self.class_scores(texts)))
        labels = [block.labels for block in self.prediction_blocks(texts)]
        return [*chain(*labels)] if isinstance(labels[0], list) else np.concatenate(labels)

    def predictions(self, X: Iterable[str]) -> Predictions:
        """Return labels, scores and probabilities of texts as one object.

        See Also
        --------
        prediction_blocks : The same for more texts than their scores fit into memory.
        """
        return self.predictions_of(self.class_scores(X))

    def prediction_blocks(self, X: Iterable[str]) -> Iterator[Predictions]:
        """Give the predictions of texts, as many texts at a time as fit into memory easily."""
        check_is_fitted(self)
        texts = list_texts(X)
        for rows in blocks(len(texts), len(self.codeframe_.classes)):
            yield self.predictions(texts[rows])

    def predictions_of(
        self, scores: Floats | Floats32, shift: PriorShift | None = None
    ) -> Predictions:
        """Return the predictions that follow from scores (n, m).

        Parameters
        ----------
        scores : array of shape (n, m)
            What `class_scores` returned.
        shift : PriorShift, optional
            Adjust probabilities and labels to these shares of classes.
        """
        allowed = None if self.thresholds_ is None else np.isfinite(self.thresholds_)
        if shift is None:
            return Predictions(
                self.codeframe_, scores, self.decide(scores), self.calibrated, allowed
            )
        probabilities, decisions = self.adjusted(scores, shift)
        return Predictions(self.codeframe_, scores, decisions, lambda _: probabilities, allowed)

    def predict_proba(self, X: Iterable[str]) -> Floats:
        """Return how probable each class is (n, m).

        In a single-label task the probabilities of a text sum to 1; in a multilabel one each class
        has its own.
        """
        check_is_fitted(self)
        texts = self._check_predicted(X, _BYTES_OF_PROBABILITIES)
        return self.calibrated(self.class_scores(texts))

    def top_classes(self, X: Iterable[str], k: int = 5) -> tuple[Ints, Floats32]:
        """Return the columns (n, k) and scores (n, k) of the best classes.

        Fewer if there are fewer classes. Texts are scored in blocks, so that the scores of all
        classes are never held at once.
        """
        check_is_fitted(self)
        check_int("k", k, 1)
        columns, scores = self.scorer_.top(X, k)
        return columns, self._check_scores(scores)

    def decide(self, scores: Floats | Floats32) -> Flags:
        """Turn scores (n, m) into decisions: the highest one, or all above their threshold.

        A text without a known term says nothing of any class. In a multilabel task it gets only
        classes that more than half of the training texts have, whatever their thresholds.
        """
        if self.thresholds_ is None:
            return decide(scores, None)
        return self._only_with_evidence(decide(scores, self.thresholds_), scores)

    def _only_with_evidence(self, decisions: Flags, scores: Floats | Floats32) -> Flags:
        """Return decisions, but for texts without a known term only on frequent classes."""
        empty = self._empty_scores()
        if empty is None or self.training_.shares is None or not len(scores):
            return decisions
        # the first class rules out nearly all texts
        rows = np.flatnonzero(_are_level(scores[:, 0], empty[0]))
        rows = rows[_are_level(scores[rows], empty).all(axis=1)]
        decisions[rows] &= self.training_.shares > 0.5
        return decisions

    def _empty_scores(self) -> Floats32 | None:
        """Return the scores (m,) of a text without a known term, or None if every text is read."""
        scorer: Scorer | None = getattr(self, "scorer_", None)  # None while a network is trained
        if scorer is None or scorer.reads_every_text:
            return None
        if self._scores_of_empty is None:
            self._scores_of_empty = scorer.scores([""])[0]
        return self._scores_of_empty

    def calibrated(self, scores: Floats | Floats32) -> Floats:
        """Turn scores (n, m) into probabilities."""
        if self.calibration_ is not None:
            return self.calibration_.probabilities(scores)
        is_wanted = getattr(self, "probabilities", True)
        probabilities = self.scorer_.probabilities(scores) if is_wanted else None
        if probabilities is None:
            problem = f"the classifier {self.name!r} was fitted without probabilities"
            raise InputError(f"{problem}; fit it with probabilities=True")
        return np.asarray(probabilities)

    def prior_shift(self, X: Iterable[str]) -> PriorShift:
        """Estimate the share of each class among texts without labels, 50 or more of them.

        Where these are not the shares of training, `predict_adjusted` and `PriorShift.adjust` take
        that into account.
        """
        return self.shift_of(self.class_scores(X))

    def shift_of(self, scores: Floats | Floats32) -> PriorShift:
        """Do the same by the scores (n, m) of texts."""
        trained, calibration = self.training_.shares, self.share_calibration_
        given = (
            self.calibrated(scores) if calibration is None else calibration.probabilities(scores)
        )
        if not self.is_calibrated:
            told = f"the probabilities of {self.name!r} are not calibrated, as shares need them"
            others = "'linear', 'svm', 'nearest' and, but for protocol='paper', networks"
            raise InputError(f"{told}; those of {others} are")
        if trained is None:
            told = "the model was saved by a version that kept no shares of classes"
            raise InputError(f"{told}; train it again")
        is_single_label = not self.codeframe_.is_multilabel
        pull = _PULL_OF_SINGLE if is_single_label else _PULL_OF_SHARES
        given = given * (trained > 0)  # of a class without a text, a probability tells nothing
        if is_single_label:
            given /= np.maximum(given.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return PriorShift.of(given, trained, is_single_label=is_single_label, pull=pull)

    @property
    def is_calibrated(self) -> bool:
        """Whether probabilities were fitted to held-out documents; those of a tree are, by node."""
        is_wanted = getattr(self, "probabilities", True)
        return self.calibration_ is not None or (is_wanted and self.scorer_.has_log_scores)

    def predict_adjusted(self, X: Iterable[str], shift: PriorShift | None = None) -> Any:  # noqa: ANN401
        """Return labels as `predict` does, adjusted to shares of classes other than in training.

        Parameters
        ----------
        X : iterable of str
            The texts.
        shift : PriorShift, optional
            By default what `prior_shift` estimates from these texts.
        """
        scores = self.class_scores(X)
        shift = self.shift_of(scores) if shift is None else shift
        return self.codeframe_.to_labels(self.adjusted(scores, shift)[1])

    def adjusted(self, scores: Floats | Floats32, shift: PriorShift) -> tuple[Floats, Flags]:
        """Turn scores (n, m) into probabilities and decisions under the shares of a shift.

        A threshold is the same probability as without a shift; where a probability is level with
        it, as those of a class that nothing tells of are, the score decides.
        """
        is_single_label = not self.codeframe_.is_multilabel
        if not isinstance(shift, PriorShift) or shift.is_single_label != is_single_label:
            told = f"shift is {shift!r:.60}"
            raise InputError(f"{told}; expected what prior_shift of this model returned")
        made = shift.adjust(self.calibrated(scores))
        if self.thresholds_ is None:
            return made, decide(made, None)
        is_given = np.isfinite(self.thresholds_)
        finite = np.where(is_given, self.thresholds_, 0.0)
        limits = np.where(is_given, self.calibrated(finite[None])[0], np.inf)
        is_level = np.isclose(made, limits, rtol=_LEVEL, atol=0.0)
        decisions = np.where(is_level, self.decide(scores), decide(made, limits))
        return made, self._only_with_evidence(decisions, scores)

    def score(self, X: Iterable[str], y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of texts whose labels are exactly right, each with its weight."""
        is_right = has_exact_labels(y, self.predict(X), self.classes_.tolist())
        weights = checked_sample_weight(sample_weight, len(is_right))
        return float(np.average(is_right, weights=weights))

    def explain(self, text: str, n: int | None = 10) -> dict[Label, list[tuple[str, float]]]:
        """Return, for each label of a text, the terms that made it and what each added.

        The labels are the predicted ones; in a multilabel task where there are none, the class
        with the highest score. The terms that moved the score most come first, whether up or down;
        `n=None` gives all of them, and with the intercept they sum to the score.
        """
        explanation = self.explanation(text)
        return {label: explanation.top(label, n) for label in explanation.labels}

    def explanation(self, text: str) -> Explanation:
        """Return what each term of a text adds to the score of each class; see `explain`."""
        check_is_fitted(self)
        scores = self.class_scores([text])
        (decisions,) = self.decide(scores)
        predicted = tuple(self.codeframe_.classes[j] for j in np.flatnonzero(decisions))
        contributions = self.scorer_.contributions(text)
        self._check_scores(contributions.intercept)
        return Explanation(
            text=text,
            codeframe=self.codeframe_,
            predicted=predicted,
            added=replace(
                contributions,
                columns=lambda columns: self._check_scores(contributions.columns(columns)),
            ),
            scores=scores[0],
            analyze=self._analyzer(),
            path_to=self.scorer_.path_to(text, self.codeframe_.classes),
        )

    def _analyzer(self) -> Analyze:
        """Return the analyzer of the scorer, or one with the options of the classifier."""
        scorer: Scorer | None = getattr(self, "scorer_", None)
        analyze = None if scorer is None else scorer.analyze
        return self._new_analyzer() if analyze is None else analyze

    def _new_analyzer(self) -> Analyze:
        return DocumentVectorizer(**shared_options(self, DocumentVectorizer)).build_analyzer()


def _are_level(scores: Floats | Floats32, expected: Floats | Floats32) -> Flags:
    return np.asarray(np.abs(scores - expected) <= _ROUNDING * np.abs(expected))


def own_embeddings(classifier: Any) -> WordClassEmbeddings | None:  # noqa: ANN401 - one with `wce`
    """Return embeddings to fit: a clone of those given as `wce`, or ones with its options.

    These are the classifier's, but for those that `wce` has itself; where it is False, there are no
    embeddings.
    """
    wce: bool | WordClassEmbeddings | Mapping[str, Any] = classifier.wce
    if isinstance(wce, WordClassEmbeddings):
        embeddings: WordClassEmbeddings = clone(wce)
        return embeddings
    if not isinstance(wce, bool | Mapping):
        raise InputError(
            f"wce is {wce!r}; expected True, False, WordClassEmbeddings or a dict of its options"
        )
    own = {} if isinstance(wce, bool) else {**wce}
    if strange := sorted(own.keys() - WordClassEmbeddings().get_params().keys()):
        raise InputError(f"WordClassEmbeddings has no option {strange[0]!r}")
    options = shared_options(classifier, WordClassEmbeddings)
    return None if wce is False else WordClassEmbeddings(**options | own)


def checked_sample_weight(given: ArrayLike | None, n_docs: int) -> Floats | None:
    """Return the weights of the texts as an array (n,), or refuse them."""
    if given is None:
        return None
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight holds something that is no number: {error}") from None
    if weights.shape != (n_docs,):
        raise InputError(f"sample_weight has shape {weights.shape}; expected ({n_docs},)")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError("sample_weight must be finite, not negative, and not all zero")
    return weights
