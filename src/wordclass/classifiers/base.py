"""The base class of all classifiers of texts: fit, score, explain.

A kind of classifier defines `_learn`, which sets `scorer_`, and `_restore_state`.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from tempfile import gettempdir
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Floats, Floats32, Sparse
from wordclass.classifiers._adaptation import AdaptableClassifier
from wordclass.classifiers._unlabelled import Learner, Pool, SelfTraining
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
from wordclass.decision.thresholds import fit_calibrations, without_absent_classes
from wordclass.embedding.estimator import Labels, WordClassEmbeddings
from wordclass.engines.engine import open_engine
from wordclass.engines.tasks import Engine
from wordclass.errors import InputError
from wordclass.linear.search import Documents
from wordclass.options import check_scores, list_texts
from wordclass.storage import files
from wordclass.text.spool import spool_corpus
from wordclass.text.term_weigher import TermWeigher
from wordclass.text.text_estimator import TextEstimator
from wordclass.text.vectorizer import shared_options
from wordclass.text.vectorizer_options import TEXT_OPTIONS

# bytes per score, as measured, while learning probabilities or thresholds
_BYTES_TO_CALIBRATE = 72
_BYTES_OF_THRESHOLDS = 16


class TextClassifier(AdaptableClassifier, TextEstimator, ClassifierMixin, BaseEstimator):
    """Base class of the classifiers of texts.

    Attributes
    ----------
    classes_ : array of shape (m,)
        The classes, sorted.
    codeframe_ : Codeframe
        The classes, with the form of the labels that were given to `fit`.
    scorer_ : Scorer
        The fitted object that turns texts into one score per class.
    thresholds_ : array of shape (m,) or None
        A text has the classes whose scores are above these. None in a single-label task, where it
        has the class with the highest score.
    calibration_ : Calibration or None
        Turns scores into probabilities.
    share_calibration_ : Calibration or None
        Turns scores into probabilities for `prior_shift`. None: `calibration_` does.
    training_ : TrainingData
        Hashes of the training texts, and the share of each class among them.
    scores_ : dict
        The quality that was saved with a loaded model, otherwise empty.
    """

    def fit(
        self,
        X: Iterable[str],
        y: Labels,
        *,
        class_names: Iterable[Label] | None = None,
        sample_weight: ArrayLike | None = None,
        unlabelled: Iterable[str] | None = None,
    ) -> Self:
        """Learn from labelled texts, and from texts without labels if there are any.

        A fit that fails or is interrupted leaves the classifier unchanged.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : iterable or matrix
            The labels: one str or int per text; a list, set or tuple of them per text, which may be
            empty; or a 0/1 matrix.
        class_names : iterable of str or int, optional
            The names of the columns of a matrix. For other labels, all classes, if some of them
            have no texts.
        sample_weight : array of shape (n,), optional
            The weight of each text. By default all are equal.
        unlabelled : iterable of str, optional
            More texts of the same kind, without labels. Held-out labelled texts decide how they are
            used, or that they are not: see `unlabelled_`. Only "linear" and "nearest" accept them.

        Returns
        -------
        Self
            The fitted classifier.

        Raises
        ------
        InputError
            An option, a text or a label is not valid, or there is only one class.

        See Also
        --------
        fit_parts : Learn from a corpus that does not fit into memory.
        wordclass.tune : Choose options on held-out texts.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> model.classes_.tolist()
        ['air', 'food']
        """
        self.check_options()
        texts, labels = read_labelled_texts(X, y, class_names)
        weights = read_sample_weight(sample_weight, len(texts))
        pool = None if unlabelled is None else list_texts(unlabelled)
        return self._fit(texts, labels, weights, pool)

    def fit_parts(
        self,
        corpus: Any,  # noqa: ANN401 - see `WordClassEmbeddings.fit_parts`
        *,
        engine: str | Engine = "in_sequence",
        folder: str | PathLike[str] | None = None,
        aside: Holdout | None = None,
        **options: Any,  # noqa: ANN401
    ) -> Self:
        r"""Learn from a corpus of shards, which need not fit into memory.

        An engine reads the shards, counts their terms and makes X. This process learns from X,
        which is mapped from files. This holds for `linear` and `svm` with their own terms; if a
        classifier needs the texts themselves, it reads them from the files, or into memory. The
        model is the same as that of `fit`. The attribute `seen_` has the numbers of records,
        `n_docs`, and of those that could not be read, `n_skipped`.

        Parameters
        ----------
        corpus : ShardedCorpus, path or list
            The corpus, as in `WordClassEmbeddings.fit_parts`.
        engine : str or Engine, default="in_sequence"
            The engine that processes the shards.
        folder : str or path, optional
            The place of a hidden folder with texts and X, which is removed at the end. The workers
            must reach it. By default the system's folder for temporary files.
        aside : Holdout, optional
            The documents to leave out.
        **options : dict
            Options of the engine.

        Returns
        -------
        Self
            The fitted classifier.

        Raises
        ------
        InputError
            An option or a record is not valid, or all documents are left out.

        See Also
        --------
        fit : Learn from texts in memory.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import wordclass as wc
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "corpus.csv")
        ...     _ = path.write_text("text,label\nred apple,food\nblue sky,air\n")
        ...     model = wc.classifier("nearest", min_docs=1).fit_parts(path)
        >>> model.seen_.n_docs
        2
        """
        self.check_options()
        shards = corpus if isinstance(corpus, ShardedCorpus) else ShardedCorpus.of(corpus)
        with (
            open_engine(engine, **options) as opened_engine,
            files.scratch_folder(Path(folder or gettempdir())) as scratch,
        ):
            texts, labels, summary = spool_corpus(shards, opened_engine, scratch, aside)
            if not len(texts):
                problem = "all documents are kept aside: there is nothing to learn from"
                raise InputError(problem, hint="use a smaller share for the holdout")
            self._fit(texts, labels, None)
        self.seen_ = summary
        return self

    def _fit(
        self,
        texts: Sequence[str],
        labels: EncodedLabels,
        sample_weight: Floats | None,
        unlabelled: list[str] | None = None,
    ) -> Self:
        check_class_count(labels.codeframe)
        fingerprints = fingerprint_texts(texts)
        # in the paper's protocol, the order decides which documents validate; otherwise it must
        # not change the result, so documents are sorted
        if getattr(self, "protocol", None) != "paper":
            order = document_order(fingerprints, labels.Y, sample_weight)
            texts = reorder_texts(texts, order)
            labels = EncodedLabels(labels.codeframe, labels.Y[order])
            sample_weight = None if sample_weight is None else sample_weight[order]
        attributes_before = {**vars(self)}
        try:
            documents = Documents(texts, labels, sample_weight)  # type: ignore[arg-type]
            self._learn_all(documents)
            self.training_ = replace(self.training_, fingerprints=np.sort(fingerprints))
            self.scores_ = {}
            self.original_ = self.unlabelled_ = None
            if unlabelled is not None:
                self._learn_unlabelled(documents, unlabelled)
        except BaseException:  # also Ctrl-C: never mix the attributes of two fits
            self.__dict__ = attributes_before
            raise
        return self

    def _learn_all(self, documents: Documents) -> None:
        """Learn from weighted documents, and set the codeframe and the shares of the classes.

        Parameters
        ----------
        documents : Documents
            Valid documents in an order that does not depend on the user's.
        """
        labels = documents.labels
        self._learn_documents(documents)
        self._set_codeframe(labels.codeframe)
        weights = documents.weights
        if weights is None:
            weights = np.ones(labels.Y.shape[0])
        shares = np.asarray(weights @ labels.Y) / weights.sum()
        if self.thresholds_ is not None:
            self.thresholds_ = without_absent_classes(self.thresholds_, shares)
        self.training_ = TrainingData(np.zeros(0, np.uint64), shares)

    # with so few labelled texts per class, none are held out to choose how to learn from others
    _max_few_shot_docs_per_class: ClassVar[int] = 16

    def _make_teacher(self) -> Self:
        """Return an unfitted copy with the settings that this classifier chose."""
        teacher: Self = clone(self)
        teacher.set_params(**getattr(self, "settings_", {}))
        return teacher

    def _learn_unlabelled(self, documents: Documents, unlabelled: list[str]) -> None:
        """Learn again, from labelled documents and unlabelled texts, if that is better."""
        if not isinstance(self, Learner) or getattr(self, "has_tree_", False):
            problem = f"the classifier {self.name!r} cannot learn from unlabelled texts"
            raise InputError(problem, hint="use 'linear' without a tree of classes, or 'nearest'")
        training = SelfTraining(self, documents, Pool.of(unlabelled, documents.texts))
        choice, student = training.run(self._fitted_model)
        if student is not None:
            self.original_ = copy(self)
            learned = {name: value for name, value in vars(student).items() if name.endswith("_")}
            for name, value in (learned | {"training_": self.training_}).items():
                setattr(self, name, value)
        self.unlabelled_ = choice.to_dict()

    def _set_codeframe(self, codeframe: Codeframe) -> None:
        self.codeframe_ = codeframe
        self.classes_ = np.array(codeframe.classes)

    def _learn_documents(self, documents: Documents) -> None:
        """Set the scorer, the thresholds and the calibrations from valid documents."""
        self._learn(documents.texts, documents.labels, documents.weights)

    @abstractmethod
    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        """Set the scorer, the thresholds and the calibrations from valid input."""

    def _calibrate(
        self,
        scores: Floats32,
        Y: Sparse,
        weights: Floats | None = None,
        *,
        is_single_label: bool,
        keeps_highest: bool = True,
    ) -> None:
        """Set both calibrations by honest scores (n, m). See `fit_calibrations`."""
        self.calibration_, self.share_calibration_ = fit_calibrations(
            scores, Y, weights, is_single_label=is_single_label, keeps_highest=keeps_highest
        )

    def _check_training_scores(
        self, labels: EncodedLabels, n_docs: int, bytes_per_score: int = 0
    ) -> None:
        """Raise an InputError if the scores to learn from would not fit into memory.

        Parameters
        ----------
        labels : EncodedLabels
            The labels of all documents.
        n_docs : int
            The number of documents whose scores are held at once.
        bytes_per_score : int, default=0
            The memory for a score before thresholds and probabilities are learned.
        """
        n_classes = len(labels.codeframe.classes)
        is_multilabel = labels.codeframe.is_multilabel
        bytes_to_learn = _BYTES_OF_THRESHOLDS if is_multilabel else _BYTES_TO_CALIBRATE
        hint = "use fewer documents or classes, or 'linear' with classes='tree'"
        if not is_multilabel and getattr(self, "probabilities", False):
            hint = f"use probabilities=False, {hint.removeprefix('use ')}"
        check_scores(n_docs, n_classes, max(bytes_per_score, bytes_to_learn), hint)

    def __sklearn_clone__(self) -> Self:
        # scikit-learn clones the values of a dict, too; but embeddings of other tasks stay fitted
        copy: Self = super().__sklearn_clone__()
        return copy.set_params(other=self.other) if hasattr(self, "other") else copy

    def score(self, X: Iterable[str], y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy: the share of texts whose labels are exactly right.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : iterable or matrix
            Their true labels, in any form that `fit` accepts.
        sample_weight : array of shape (n,), optional
            The weight of each text. By default all are equal.

        Returns
        -------
        float
            The accuracy, from 0 to 1.

        See Also
        --------
        wordclass.evaluate : Return F1, precision and recall, also per class.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> model.score(["an apple", "the sky"], ["food", "food"])
        0.5
        """
        is_exact = has_exact_labels(y, self.predict(X), self.classes_.tolist())
        weights = read_sample_weight(sample_weight, len(is_exact))
        return float(np.average(is_exact, weights=weights))

    def explain(self, text: str, n: int | None = 10) -> dict[Label, list[tuple[str, float]]]:
        """Return the terms of a text that contributed most to each of its labels.

        Parameters
        ----------
        text : str
            The text.
        n : int or None, default=10
            The number of terms per label. None: all terms, whose contributions sum to the score,
            with the intercept.

        Returns
        -------
        dict
            For each label a list of (term, contribution), sorted by the absolute value. The labels
            are the predicted ones; if a multilabel text has none, the class with the highest score.

        See Also
        --------
        explanation : Return the contributions to the scores of all classes.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> explained = model.explain("an apple in the sky, an apple")
        >>> [term for term, contribution in explained["food"]]
        ['apple', 'sky']
        """
        explanation = self.explanation(text)
        return {label: explanation.top(label, n) for label in explanation.labels}

    def explanation(self, text: str) -> Explanation:
        """Return the contribution of each term of a text to the score of each class.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        Explanation
            Terms, contributions, scores and predicted labels.

        See Also
        --------
        explain : Return the terms that contributed most to each label.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1)
        >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
        >>> explanation = model.explanation("an apple in the sky")
        >>> explanation.terms, explanation.contributions.shape
        (['apple', 'sky'], (2, 2))
        """
        check_is_fitted(self)
        return self._fitted_model.explain(text, lambda: self._new_weigher().analyze)

    def _new_weigher(self, **changes: Any) -> TermWeigher:  # noqa: ANN401
        """Return an unfitted weigher with the options of the classifier and some changes."""
        options = {name: getattr(self, name) for name in TEXT_OPTIONS if name in self.options}
        return TermWeigher.of(**options | changes)


def make_embeddings(classifier: Any) -> WordClassEmbeddings | None:  # noqa: ANN401 - one with `wce`
    """Return unfitted embeddings with the options of a classifier, or None if `wce` is False.

    The option `wce` may be embeddings, which are cloned, or a dict of options that replace those
    that the classifier shares with embeddings.
    """
    wce: bool | WordClassEmbeddings | Mapping[str, Any] = classifier.wce
    if isinstance(wce, WordClassEmbeddings):
        embeddings: WordClassEmbeddings = clone(wce)
        return embeddings
    if not isinstance(wce, bool | Mapping):
        expected = "True, False, WordClassEmbeddings or a dict of its options"
        raise InputError(f"wce is {wce!r}", expected=expected)
    if not isinstance(wce, bool) and (
        unknown := sorted(wce.keys() - WordClassEmbeddings().get_params().keys())
    ):
        raise InputError(f"WordClassEmbeddings has no option {unknown[0]!r}")
    if wce is False:
        return None
    wce_options = {} if wce is True else {**wce}
    return WordClassEmbeddings(**shared_options(classifier, WordClassEmbeddings) | wce_options)


def read_sample_weight(sample_weight: ArrayLike | None, n_docs: int) -> Floats | None:
    """Return the weights of documents as an array (n,), or None if there are none."""
    if sample_weight is None:
        return None
    expected = "numbers that are finite, not negative and not all 0"
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight is not numeric: {error}", expected=expected) from None
    if weights.shape != (n_docs,):
        problem = f"sample_weight has shape {weights.shape}"
        raise InputError(problem, expected=f"({n_docs},), one weight per text")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        problem = "sample_weight has weights that are negative, not finite, or all 0"
        raise InputError(problem, expected=expected)
    return weights
