"""No training at all: a text belongs to the class its words speak for."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Floats, Floats32
from wordclass.classifiers._text_classifier import LinearScorer, TextClassifier
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.vectors import Correlate
from wordclass.errors import InputError
from wordclass.labels import EncodedLabels
from wordclass.storage.parts import Parts
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import shared_options
from wordclass.thresholds import Calibration, best_thresholds

# what `tune` chooses from; what matters most comes first
GRID: Mapping[str, Sequence[Any]] = MappingProxyType(
    {
        "shrinkage": (2.0, 5.0, 10.0, 20.0, 50.0),
        "ngrams": ((1, 1), (1, 2), (1, 3)),
        "min_docs": (1, 2, 3, 5),
        "correlation": ("dot", "relevance_frequency", "ppmi"),
    }
)


@dataclass(kw_only=True, eq=False, repr=False)
class NearestClassifier(TextClassifier):
    """Scores a text with X·S, the sum of its words' weighted word-class vectors.

    A single-label text gets the class with the highest score, of equal ones the first (so the
    first class, where a text has no known word at all). A multilabel text gets the classes whose
    score is above a threshold. Thresholds and probabilities are set from cross-fitted scores of
    the training texts.

    Parameters
    ----------
    probabilities : bool, default=True
        Whether to learn probabilities, for which the training texts are scored once.
    correlation : str or callable, default="dot"
    weighting : str or callable, default="tfidf"
    shrinkage : float, default=0.0
    min_docs : int or float, default=5
    ngrams : (int, int), default=(1, 1)
    mask_numbers : bool, default=True
    analyzer : callable, optional
    stop_words : str or collection of str, optional
    folds : int, default=10
    seed : int, default=0
    n_jobs : int, optional
        As in `WordClassEmbeddings`.

    Attributes
    ----------
    embeddings_ : WordClassEmbeddings
        The word-class embeddings that do the work.
    """

    correlation: str | Correlate = "dot"
    weighting: str | Weight = "tfidf"
    shrinkage: float = 0.0
    min_docs: int | float = 5
    ngrams: tuple[int, int] = (1, 1)
    mask_numbers: bool = True
    analyzer: Analyze | None = None
    stop_words: str | Collection[str] | None = None
    folds: int = 10
    seed: int = 0
    probabilities: bool = True
    n_jobs: int | None = None

    name = "nearest"

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        if sample_weight is not None:
            raise InputError("the classifier 'nearest' has no use for sample_weight; leave it out")
        embeddings = self._embeddings()
        is_multilabel, Y = labels.codeframe.is_multilabel, labels.Y
        self.thresholds_ = self.calibration_ = None
        if is_multilabel or self.probabilities:
            scores = embeddings.fit_transform(texts, labels)
            if is_multilabel:
                self.thresholds_ = best_thresholds(scores, Y)
            if self.probabilities:
                self.calibration_ = Calibration.fit(
                    scores, Y, is_single_label=not is_multilabel, shares=True
                )
        else:
            embeddings.fit(texts, labels)
        self.embeddings_ = embeddings

    def _embeddings(self) -> WordClassEmbeddings:
        return WordClassEmbeddings(max_dims=None, **shared_options(self, WordClassEmbeddings))

    def class_scores(self, X: Iterable[str]) -> Floats32:
        """Return the score (n, m) of each class, also where there are two."""
        check_is_fitted(self)
        return self.embeddings_.transform(X)

    @property
    def _scorer(self) -> LinearScorer:
        S = self.embeddings_.vectors_  # (v, m)
        return LinearScorer(self.embeddings_.vectorizer_, S, np.zeros(S.shape[1], np.float32))

    def _to_parts(self) -> Parts:
        return self.embeddings_.to_parts()

    def _from_parts(self, parts: Parts) -> None:
        self.embeddings_ = self._embeddings().from_parts(self.codeframe_, parts)


make = NearestClassifier
