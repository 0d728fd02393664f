"""No training at all: a text belongs to the class its words speak for."""

from collections.abc import Collection, Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Flags, Floats32
from wordclass.corpus import Label
from wordclass.embedding.estimator import Labels, WordClassEmbeddings
from wordclass.embedding.recipe import Correlate
from wordclass.labels import encode
from wordclass.measures import evaluate
from wordclass.text.analyzer import Analyze
from wordclass.text.vectorizer import Weight
from wordclass.thresholds import best_thresholds


class NearestClassifier(ClassifierMixin, BaseEstimator):
    """Scores a text with X·S, the sum of its words' weighted word-class vectors.

    A single-label text gets the class with the highest score, of equal ones the first (so the
    first class, where a text has no known word at all). A multilabel text gets the classes whose
    score is above a threshold; the thresholds are set from cross-fitted scores of the training
    texts.

    Parameters
    ----------
    All are those of `WordClassEmbeddings`.

    Attributes
    ----------
    classes_
        The classes, sorted.
    embeddings_
        The word-class embeddings that do the work.
    thresholds_
        (m,) one a class; None in a single-label task.
    """

    def __init__(
        self,
        *,
        correlation: str | Correlate = "dot",
        weighting: str | Weight = "tfidf",
        shrinkage: float = 0.0,
        min_docs: int | float = 5,
        ngrams: tuple[int, int] = (1, 1),
        mask_numbers: bool = True,
        analyzer: Analyze | None = None,
        stop_words: str | Collection[str] | None = None,
        folds: int = 10,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.correlation = correlation
        self.weighting = weighting
        self.shrinkage = shrinkage
        self.min_docs = min_docs
        self.ngrams = ngrams
        self.mask_numbers = mask_numbers
        self.analyzer = analyzer
        self.stop_words = stop_words
        self.folds = folds
        self.seed = seed
        self.n_jobs = n_jobs

    def fit(
        self, texts: Iterable[str], labels: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Self:
        """Learn the embeddings; for multilabel tasks, the thresholds too."""
        embeddings = WordClassEmbeddings(max_dims=None, **self.get_params())
        encoded = encode(labels, class_names)
        thresholds = None
        if encoded.codeframe.is_multilabel:
            scores = embeddings.fit_transform(texts, labels, class_names=class_names)
            thresholds = best_thresholds(scores, encoded.Y)
        else:
            embeddings.fit(texts, labels, class_names=class_names)
        self.embeddings_ = embeddings
        self.thresholds_ = thresholds
        self.classes_ = np.array(embeddings.classes_)
        return self

    def decision_function(self, texts: Iterable[str]) -> Floats32:
        """Return the score (n, m) of each class; also for two classes, unlike scikit-learn."""
        check_is_fitted(self)
        return self.embeddings_.transform(texts)

    def predict(self, texts: Iterable[str]) -> Any:  # noqa: ANN401 - see Codeframe.to_labels
        """Return labels in the form in which they were given to `fit`."""
        scores = self.decision_function(texts)
        codeframe = self.embeddings_.learned_.codeframe
        if self.thresholds_ is not None:
            return codeframe.to_labels(scores > self.thresholds_)
        decisions: Flags = np.zeros(scores.shape, np.bool_)
        decisions[np.arange(len(scores)), scores.argmax(axis=1)] = True
        return codeframe.to_labels(decisions)

    def score(self, X: Iterable[str], y: Any, sample_weight: None = None) -> float:  # noqa: ANN401
        """Return the share of texts whose labels are exactly right."""
        return evaluate(y, self.predict(X), self.classes_.tolist()).accuracy

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's own type
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags


make = NearestClassifier
