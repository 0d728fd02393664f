"""What all classifiers of texts share: how labels go in, how they come out, scikit-learn's manners.

A kind of classifier defines `_learn` and `_from_parts`, and has a scorer (`LinearScorer` is the
usual one); or it defines `class_scores`, `_contributions` and `_to_parts` by itself.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from tempfile import gettempdir
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from wordclass import persistence, storage
from wordclass.arrays import Flags, Floats, Floats32, Ints, Sparse
from wordclass.checks import check_int, list_texts
from wordclass.corpus import Label
from wordclass.corpus_parts import CorpusParts
from wordclass.embedding.estimator import Labels, WordClassEmbeddings
from wordclass.engines import opened
from wordclass.engines._runs import Engine
from wordclass.errors import InputError
from wordclass.explanation import ENCODER, Explanation, PathTo, words_of_characters
from wordclass.folds import Holdout, TrainingData
from wordclass.labels import Codeframe, EncodedLabels, check_class_count, labelled
from wordclass.linear_solver.one_vs_rest import sparse_times_dense
from wordclass.measures import exactly_right
from wordclass.prior_shift import PriorShift
from wordclass.sentence_vectors import Encode, SentenceEncoder
from wordclass.storage.facts import storable
from wordclass.storage.parts import Parts
from wordclass.text.analyzer import Analyze
from wordclass.text.spooled import spooled
from wordclass.text.vectorizer import DocumentVectorizer, TextEstimator, shared_options
from wordclass.thresholds import Calibration, decide
from wordclass.vocabulary import Vocabulary

Contributions = tuple[list[str], Floats32, Floats32]  # t terms, what they add (t, m), the rest (m,)

_BLOCK = 8192  # documents scored at once
_CELLS = 1 << 24  # scores of these, where classes are many
_LEVEL = 1e-3  # relative to a probability
_PULL_OF_OFFSETS = 6.0  # of prior shift: the best on held-out texts of Banking77 and 20 Newsgroups
# of shares: chosen on held-out texts of Reuters, Ohsumed and GoEmotions for several labels; where a
# text has one label, only that texts which tell nothing change nothing
_PULL_OF_SHARES, _PULL_OF_SINGLE = 0.1, 0.0003
_FINGERPRINTS, _SHARES = "training.fingerprints", "training.shares"
_LAYOUT = {
    "calibration": "float64? classes 2",
    "share_calibration": "float64? classes 2",
    _FINGERPRINTS: "uint64 texts",
    _SHARES: "float64? classes >=0 <=1",
}
_THRESHOLDS = "infinite:float64 classes"  # infinite where a class is never given
_SCORER_LAYOUT = {"weights": "float32 terms classes", "intercept": "float32 classes"}
_ENCODER_LAYOUT = {"weights": "float32 dimensions classes", "intercept": "float32 classes"}


class Scorer(Protocol):
    """What makes the scores of most classifiers, each a sum over the terms of a text."""

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""

    def contributions(self, text: str) -> Contributions:
        """Return the terms of a text, what each adds to each score (t, m), the rest (m,)."""

    def to_parts(self) -> Parts:
        """Return what is stored of it."""


@dataclass(frozen=True)
class StructuralColumns:
    """Columns for the presence of telling terms: what came of them.

    Parameters
    ----------
    asked : int or "auto"
        How many were asked for.
    used : int
        How many the model reads.
    helped : int, optional
        How many helped: those used, where documents held out decided whether to use them, else 0.
        None: that was not tried.
    macro_f1, micro_f1 : float, optional
        What the best trial with such columns had more on these documents than the best without.
    """

    asked: int | str
    used: int
    helped: int | None = None
    macro_f1: float | None = None
    micro_f1: float | None = None

    def __str__(self) -> str:
        told = f"{self.used} of {self.asked} structural columns used"
        if self.helped is None:
            return (
                f"{told}; whether they help, wordclass tune --grid structural_problems=0,20 tells"
            )
        told = f"{told}, {self.helped} helped"
        if self.macro_f1 is None:
            return told
        f1 = f"macro F1 {self.macro_f1:+.4f}, micro F1 {self.micro_f1:+.4f}"
        return f"{told} ({f1} on documents held out)"


class TextClassifier(TextEstimator, ClassifierMixin, BaseEstimator):
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

    name: ClassVar[str]  # in the catalogue
    version: ClassVar[int] = 1  # of what is stored: higher where older code cannot read it
    packages: ClassVar[tuple[str, ...]] = ()  # that it needs beside the usual ones

    codeframe_: Codeframe
    thresholds_: Floats | None
    calibration_: Calibration | None
    share_calibration_: Calibration | None = None
    scores_: Mapping[str, object]
    scorer_: Any  # a `Scorer`, of the kind that the classifier tells

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
        listed, encoded = labelled(X, y, class_names)
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
        given = corpus if isinstance(corpus, CorpusParts) else CorpusParts.of(corpus)
        with (
            opened(engine, **options) as running,
            storage.scratch_folder(Path(folder or gettempdir())) as place,
        ):
            texts, encoded, seen = spooled(given, running, place, aside)
            if not len(texts):
                raise InputError("all documents were kept aside: there is nothing to learn from")
            self._fit(texts, encoded, None)
        self.seen_ = seen
        return self

    def _fit(
        self, texts: Sequence[str], labels: EncodedLabels, sample_weight: Floats | None
    ) -> Self:
        check_class_count(labels.codeframe)
        before = {**vars(self)}
        try:
            self._learn(texts, labels, sample_weight)  # type: ignore[arg-type]
            self._set_codeframe(labels.codeframe)
            counted = np.ones(labels.Y.shape[0]) if sample_weight is None else sample_weight
            shares = np.asarray(counted @ labels.Y) / counted.sum()
            self.training_, self.scores_ = TrainingData.of(texts, shares), {}
        except BaseException:  # also Ctrl-C: thresholds of one fit, weights of another
            self.__dict__ = before
            raise
        return self

    @abstractmethod
    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        """Learn from checked input: set the fitted attributes, thresholds and calibration too."""

    def _calibrate(
        self, scores: Floats32, Y: Sparse, *, is_single_label: bool, shares: bool = False
    ) -> None:
        """Set what makes probabilities, by honest scores (n, m) of documents with labels (n, m).

        `shares`: where a text has one label, probabilities are to be right about the shares of
        classes even if the class with the highest score is not the most probable one.
        """
        fit = partial(Calibration.fit, scores, Y, is_single_label=is_single_label)
        self.calibration_, self.share_calibration_ = fit(shares=shares), None
        if not is_single_label:
            self.share_calibration_ = self.calibration_.with_shares(scores, Y)
        elif not shares:
            self.share_calibration_ = fit(shares=True, pull=_PULL_OF_OFFSETS)

    def __sklearn_clone__(self) -> Self:
        # scikit-learn clones what is in a dict, too; but embeddings of other tasks stay fitted
        made: Self = super().__sklearn_clone__()
        return made.set_params(other=self.other) if hasattr(self, "other") else made

    @property
    def _scorer(self) -> Scorer:
        scorer: Scorer = self.scorer_
        return scorer

    def class_scores(self, X: Iterable[str]) -> Floats32:
        """Return the score (n, m) of each class, also where there are two."""
        if not hasattr(self, "codeframe_"):  # much quicker to see than by scikit-learn
            check_is_fitted(self)
        return self._scorer.scores(X)

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
        decisions = self.decide(self.class_scores(X))
        return self.codeframe_.to_labels(decisions)

    def predict_proba(self, X: Iterable[str]) -> Floats:
        """Return how probable each class is (n, m).

        In a single-label task the probabilities of a text sum to 1; in a multilabel one each class
        has its own.
        """
        return self.calibrated(self.class_scores(X))

    def scored_classes(self, X: Iterable[str], k: int = 1) -> tuple[Ints, Floats32]:
        """Return columns of classes, and their scores: of all, (1, m) and (n, m).

        Where classes are very many, a classifier may look at some only, at least k: (n, c) and
        (n, c), the best first.
        """
        del k
        scores = self.class_scores(X)
        return np.arange(scores.shape[1])[None], scores

    def top_classes(self, X: Iterable[str], k: int = 5) -> tuple[Ints, Floats32]:
        """Return the classes with the highest scores, best first, as columns (n, k); the scores.

        Fewer where there are fewer classes. Texts are taken some at a time, so that the scores of
        all classes are never held at once.
        """
        check_is_fitted(self)
        check_int("k", k, 1)
        listed, n_classes = list_texts(X), len(self.codeframe_.classes)
        k = min(k, n_classes)
        found, scores = np.empty((len(listed), k), np.int64), np.empty((len(listed), k), np.float32)
        n_together = max(1, min(_BLOCK, _CELLS // n_classes))
        for start in range(0, len(listed), n_together):
            rows = slice(start, start + n_together)
            found[rows], scores[rows] = best_of_rows(*self.scored_classes(listed[rows], k), k)
        return found, scores

    def decide(self, scores: Floats | Floats32) -> Flags:
        """Turn scores (n, m) into decisions: the highest one, or all above their threshold."""
        return decide(scores, self.thresholds_)

    def calibrated(self, scores: Floats | Floats32) -> Floats:
        """Turn scores (n, m) into probabilities."""
        if self.calibration_ is None:
            told = f"the classifier {self.name!r} was fitted without probabilities"
            raise InputError(f"{told}; fit it with probabilities=True")
        return self.calibration_.probabilities(scores)

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
        """Whether probabilities were fitted to documents held out."""
        return self.calibration_ is not None

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
        limits = self.calibrated(self.thresholds_[None])[0]
        is_level = np.isclose(made, limits, rtol=_LEVEL, atol=0.0)
        return made, np.where(is_level, self.decide(scores), decide(made, limits))

    def score(self, X: Iterable[str], y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of texts whose labels are exactly right, each with its weight."""
        is_right = exactly_right(y, self.predict(X), self.classes_.tolist())
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
        contributions = self._contributions(text)
        given = text, self.codeframe_, predicted, *contributions, scores[0], self._analyzer()
        return Explanation(*given, self._path(text))

    def structural_columns(self) -> StructuralColumns | None:
        """Tell of columns for the presence of telling terms; None: there are none."""
        return None

    def _path(self, text: str) -> PathTo | None:
        """Return what tells the path to a class in a tree of classes; None: there is no tree."""
        return None

    def _contributions(self, text: str) -> Contributions:
        """Return what each term of a text adds to each score, and the intercept."""
        return self._scorer.contributions(text)

    def _analyzer(self) -> Analyze:
        """Return what cuts texts into terms, by those options on words that the classifier has."""
        return DocumentVectorizer(**shared_options(self, DocumentVectorizer)).build_analyzer()

    def save(
        self, path: str | PathLike[str], *, scores: Mapping[str, object] | None = None
    ) -> None:
        """Write the model as a folder, which appears when it is complete.

        Parameters
        ----------
        path : str or path
            The folder. A model that is there already is replaced; anything else is not.
        scores : dict, optional
            What is known of the model's quality, to be kept with it; by default `scores_`.
        """
        check_is_fitted(self)
        codeframe, training = self.codeframe_, self.training_
        calibration, of_shares = self.calibration_, self.share_calibration_
        parts = self._to_parts() | Parts.of(
            thresholds=self.thresholds_,
            calibration=None if calibration is None else calibration.parameters,
            share_calibration=None if of_shares is None else of_shares.parameters,
            **{_FINGERPRINTS: training.fingerprints, _SHARES: training.shares},
        )
        about = {
            "classifier": self.name,
            "classifier_version": self.version,
            "settings": storable(self.get_params(deep=False)),
            "labels": codeframe.kind,
            "classes": codeframe.classes,
            "matrix_columns": codeframe.matrix_columns,
            "training": {"n_docs": training.n_docs, "fingerprint": training.fingerprint},
            "scores": dict(self.scores_ if scores is None else scores),
            "fields": getattr(self, "fields_", {}),
        }
        persistence.write(Path(path), about, parts, self.packages)

    @classmethod
    def restore(cls, options: dict[str, Any], codeframe: Codeframe, parts: Parts) -> Self:
        """Return the classifier that was saved; see `wordclass.load`."""
        check_class_count(codeframe)
        classifier = cls(**options)
        classifier._set_codeframe(codeframe)
        parts.sizes["classes"] = len(codeframe.classes)
        classifier._from_parts(parts)
        thresholds = {"thresholds": _THRESHOLDS} if codeframe.is_multilabel else {}
        found = parts.take(**_LAYOUT, **thresholds)
        classifier.thresholds_ = found.get("thresholds")
        classifier.calibration_, classifier.share_calibration_ = (
            None if found[name] is None else Calibration(found[name], not codeframe.is_multilabel)
            for name in ("calibration", "share_calibration")
        )
        classifier.training_ = TrainingData(found[_FINGERPRINTS], found[_SHARES])
        return classifier

    def _to_parts(self) -> Parts:
        """Return what is stored of what was learned."""
        return self._scorer.to_parts()

    @abstractmethod
    def _from_parts(self, parts: Parts) -> None:
        """Set the fitted attributes from what `_to_parts` returned; `codeframe_` is set already."""

    def _set_codeframe(self, codeframe: Codeframe) -> None:
        self.codeframe_ = codeframe
        self.classes_ = np.array(codeframe.classes)


def best_of_rows(found: Ints, scores: Any, k: int) -> tuple[Ints, Any]:  # noqa: ANN401 - floats
    """Return the k entries of each row with the highest scores, best first; of equals, the first.

    Parameters
    ----------
    found : array of shape (n, c) or (1, c)
        What has the scores.
    scores : array of shape (n, c)
    k : int
    """
    found = np.broadcast_to(found, scores.shape)
    if scores.shape[1] > k:
        # of equals those that a complete sort would put first
        least = np.partition(scores, scores.shape[1] - k, axis=1)[:, -k, None]
        is_above, is_level = scores > least, scores == least
        n_level = k - is_above.sum(axis=1, keepdims=True)
        kept = is_above | (is_level & (np.cumsum(is_level, axis=1) <= n_level))
        found, scores = (each[kept].reshape(len(scores), k) for each in (found, scores))
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(scores, order, axis=1)


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


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """X times the weights, plus the intercept: what every linear classifier ends in.

    Pretrained and word-class features of a text are themselves sums over its terms, so whatever
    weights a linear model gives to them, they fold into one weight per term and class. Prediction
    is then one sparse product, and the contribution of a term to a score is exact.

    Parameters
    ----------
    vectorizer
        Fitted: makes X (n, v).
    weights
        (v, m) of each term for each class.
    intercept
        (m,) what a text without a single term scores.
    """

    vectorizer: DocumentVectorizer
    weights: Floats32
    intercept: Floats32

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""
        listed = list_texts(texts)
        sums = self.vectorizer.weighted_sums(listed, self.weights, self.intercept)
        if sums is not None:
            return sums
        scores = np.empty((len(listed), self.weights.shape[1]), np.float32)
        for start in range(0, len(listed), _BLOCK):
            X = self.vectorizer.transform(listed[start : start + _BLOCK])
            scores[start : start + _BLOCK] = sparse_times_dense(
                X, self.weights, self.intercept, self.vectorizer.n_jobs
            )
        return scores

    def contributions(self, text: str) -> Contributions:
        """Return the terms of a text, what each adds to each score (t, m), the intercept (m,)."""
        X = self.vectorizer.transform([text])
        terms = [self.vectorizer.vocabulary_.terms[j] for j in X.indices]
        added: Floats32 = X.data[:, None].astype(np.float32) * self.weights[X.indices]
        return terms, added, self.intercept

    def to_parts(self) -> Parts:
        """Return what is stored of it: everything but the vectorizer's options."""
        return self.vectorizer.vocabulary_.to_parts() | Parts.of_fields(self, _SCORER_LAYOUT)

    @classmethod
    def from_parts(cls, vectorizer: DocumentVectorizer, parts: Parts) -> "LinearScorer":
        """Return the scorer that was stored; the vectorizer brings the options."""
        fitted = vectorizer.with_vocabulary(Vocabulary.from_parts(parts))
        return cls(fitted, **parts.take(**_SCORER_LAYOUT))


@dataclass(frozen=True, eq=False)
class EncoderScorer:
    """The vectors that an encoder makes of texts, times weights (d, m), plus the intercept (m,)."""

    encoder: SentenceEncoder
    weights: Floats32
    intercept: Floats32
    n_jobs: int | None = None

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""
        vectors = self.encoder.vectors(texts, self.n_jobs)
        scores: Floats32 = vectors @ self.weights + self.intercept
        return scores

    def contributions(self, text: str) -> Contributions:
        """Return what the text as a whole adds: a sum over its words there is not."""
        return [ENCODER], self.scores([text]) - self.intercept, self.intercept

    def to_parts(self) -> Parts:
        """Return what is stored of it: the weights, and which encoder it is."""
        return Parts.of(self.encoder.facts()) | Parts.of_fields(self, _ENCODER_LAYOUT)

    @classmethod
    def from_parts(
        cls, given: str | PathLike[str] | Encode | None, n_jobs: int | None, parts: Parts
    ) -> "EncoderScorer":
        """Return the scorer that was stored, with the encoder that it was made with."""
        found = parts.take(**_ENCODER_LAYOUT)
        encoder = SentenceEncoder.found_again(given, parts.facts, "encoder")
        if len(found["weights"]) != encoder.n_dims:
            raise ValueError("the weights of the encoder are not those of its dimensions")
        return cls(encoder, **found, n_jobs=n_jobs)


@dataclass(frozen=True, eq=False)
class JointScorer:
    """Sums the scores of words, of their characters, and of what an encoder reads in a text.

    Parameters
    ----------
    words
        Of the words, with the intercept.
    characters
        Of the n-grams of their characters, if any; without an intercept.
    encoder
        Of the vectors that an encoder makes, if any.
    """

    words: LinearScorer
    characters: LinearScorer | None = None
    encoder: EncoderScorer | None = None

    @classmethod
    def of(
        cls, words: LinearScorer, characters: LinearScorer | None, encoder: EncoderScorer | None
    ) -> "LinearScorer | JointScorer":
        """Return a scorer of all that there is; that of words where there is nothing else."""
        is_alone = characters is None and encoder is None
        return words if is_alone else cls(words, characters, encoder)

    @property
    def vectorizer(self) -> DocumentVectorizer:
        """What makes X of the words."""
        return self.words.vectorizer

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""
        listed = list_texts(texts)
        scores = self.words.scores(listed)
        for part in (self.characters, self.encoder):
            if part is not None:
                scores += part.scores(listed)
        return scores

    def contributions(self, text: str) -> Contributions:
        """Return the terms of a text, what each adds to each score (t, m), the intercept (m,).

        What characters add is added to the words they are in.
        """
        terms, rows, intercept = self.words.contributions(text)
        added = dict(zip(terms, rows, strict=True))
        if self.characters is not None:
            analyze = self.vectorizer.build_analyzer()
            ngrams: Any = self.characters.vectorizer.build_analyzer()
            found, parts, _ = self.characters.contributions(text)
            own = words_of_characters(text, analyze, ngrams, dict(zip(found, parts, strict=True)))
            added |= {word: added.get(word, np.float32(0)) + share for word, share in own.items()}
        if self.encoder is not None:
            (name,), (share,), own_intercept = self.encoder.contributions(text)
            # a term of the text that looks like the name has its share added
            added[name] = added.get(name, np.float32(0)) + share
            intercept = intercept + own_intercept
        table = np.array([*added.values()], np.float32).reshape(len(added), len(intercept))
        return [*added], table, intercept

    def to_parts(self) -> Parts:
        """Return what is stored of it."""
        parts = self.words.to_parts()
        if self.characters is not None:
            parts |= self.characters.to_parts().under("characters")
        return parts if self.encoder is None else parts | self.encoder.to_parts().under("encoder")
