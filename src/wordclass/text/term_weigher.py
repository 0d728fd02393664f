"""From texts to the weighted document-by-term matrix X, by resolved options.

`DocumentVectorizer` is the adapter to the scikit-learn API. It checks the options first.
"""

import warnings
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import clone

from wordclass.arrays import Floats32, Ints, Sparse
from wordclass.corpus.labels import EncodedLabels
from wordclass.embedding.counts import WordClassCounts
from wordclass.errors import InputError
from wordclass.text import counting
from wordclass.text.analyzer import Analyze, Analyzer, choose_analyzer, lacks_spaces
from wordclass.text.counting import Counted, CountedTerms, Weight
from wordclass.text.spool import SpooledTexts
from wordclass.text.vocabulary import Vocabulary
from wordclass.text.weighting import CheckedWeight, SupervisedWeight, make_weight
from wordclass.text.weightings import tfidf


class ScriptWarning(UserWarning):
    """The analyzer is not suitable for the script of most texts."""


@dataclass(frozen=True, eq=False)
class TermWeigher:
    """Turns texts into rows of term weights.

    Fitting returns a new object, which has a vocabulary.

    Parameters
    ----------
    analyze : callable
        Function from a text to its terms.
    weight : callable
        Function from occurrences (n, v) and a vocabulary to weights (n, v).
    supervised : object or None
        A weighting that learns from labels. Fitting replaces `weight` by its result.
    min_docs, max_df : int or float
        Bounds for the number of documents (int) or share of documents (float) with a term.
    max_terms : int or None
        Maximum number of terms.
    dtype : dtype
        Type of the weights.
    n_jobs : int or None
        Number of threads.
    vocabulary : Vocabulary, optional
        The terms. By default there are none.

    Examples
    --------
    >>> unfitted = TermWeigher.of(weighting="count", min_docs=1)
    >>> weigher, X = unfitted.fit_transform(["full moon", "moon moon"])
    >>> X.toarray().tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    >>> weigher.transform(["moon star"]).toarray().tolist()
    [[0.0, 1.0]]
    """

    analyze: Analyze
    weight: Weight
    supervised: SupervisedWeight | None
    min_docs: int | float
    max_df: int | float
    max_terms: int | None
    dtype: DTypeLike
    n_jobs: int | None
    vocabulary: Vocabulary = field(default_factory=lambda: Vocabulary.empty(0))

    @classmethod
    def of(
        cls,
        *,
        weighting: str | Weight | SupervisedWeight = "tfidf",
        min_docs: int | float = 5,
        max_df: int | float = 1.0,
        max_terms: int | None = None,
        dtype: DTypeLike = np.float64,
        n_jobs: int | None = None,
        analyzer: Analyze | str | None = None,
        ngrams: tuple[int, int] = (1, 1),
        stop_words: str | Collection[str] | None = None,
        mask_numbers: bool = True,
        **other_options: Any,  # noqa: ANN401 - see choose_analyzer
    ) -> "TermWeigher":
        """Return an unfitted weigher by options of `DocumentVectorizer`, which must be valid."""
        return cls(
            analyze=choose_analyzer(
                analyzer,
                ngrams=ngrams,
                stop_words=stop_words,
                mask_numbers=mask_numbers,
                **other_options,
            ),
            # the default needs no lookup
            weight=tfidf.weight if weighting == "tfidf" else make_weight(weighting),
            supervised=weighting if isinstance(weighting, SupervisedWeight) else None,
            min_docs=min_docs,
            max_df=max_df,
            max_terms=max_terms,
            dtype=dtype,
            n_jobs=n_jobs,
        )

    @property
    def terms(self) -> list[str]:
        """The terms in the order of the columns."""
        return self.vocabulary.terms

    # --- fitting ------------------------------------------------------------------------------

    def fit_transform(
        self, texts: list[str], labels: EncodedLabels | None = None
    ) -> tuple["TermWeigher", Sparse]:
        """Return a fitted weigher, and the weights (n, v) of the terms of these texts.

        The labels are for a weighting that learns from them.
        """
        if self.supervised is not None:
            return self._fit_supervised(texts, labels)
        if isinstance(texts, SpooledTexts):  # neither the texts nor X need to fit into memory
            return texts.vectorize(self)
        return self.fit_transform_counted(self.count(texts))

    def fit_transform_counted(self, counted: Counted) -> tuple["TermWeigher", Sparse]:
        """Return a fitted weigher, and the weights (n, v) of the terms of counted texts."""
        fitted, positions = self.fit_counted(counted)
        X = counted.weigh(positions, fitted.vocabulary, self.weight)
        return fitted, X if X.dtype == self.dtype else X.astype(np.dtype(self.dtype))

    def fit_sums(
        self, texts: list[str], Y: Sparse, needs: Collection[str]
    ) -> tuple["TermWeigher", WordClassCounts]:
        """Return a fitted weigher, and sums over X and Y (n, m), without making X if possible.

        `needs` has the names of the sums of shape (v, m) that are needed.
        """
        counted = self.count(texts)
        fitted, positions = self.fit_counted(counted)
        return fitted, counted.sums(positions, fitted.vocabulary, self.weight, Y, needs)

    def fit_counted(self, counted: Counted | CountedTerms) -> tuple["TermWeigher", Ints]:
        """Return a weigher with the terms that occur in enough documents, and their positions."""
        vocabulary, positions = Vocabulary.of(
            counted, min_docs=self.min_docs, max_df=self.max_df, max_terms=self.max_terms
        )
        return replace(self, vocabulary=vocabulary), positions

    def count(self, texts: list[str]) -> Counted:
        """Count all terms of texts, including rare ones."""
        if isinstance(self.analyze, Analyzer) and lacks_spaces(texts):
            warnings.warn(
                "most texts are in a script without spaces between words, so that whole sentences "
                "become one term; use analyzer='characters' (the classifier 'linear' adds "
                "characters automatically)",
                ScriptWarning,
                stacklevel=4,
            )
        return counting.count(texts, self.analyze, self.n_jobs)

    def _fit_supervised(
        self, texts: list[str], labels: EncodedLabels | None
    ) -> tuple["TermWeigher", Sparse]:
        if labels is None:
            raise InputError(
                f"weighting={self.supervised!r} learns from labels, and there are none",
                expected="fit(texts, labels)",
            )
        if isinstance(texts, SpooledTexts):
            self.check_unsupervised()
        counted = self.count(texts)
        fitted, positions = self.fit_counted(counted)
        occurrences = counted.occurrences_of(positions)
        # copied, because the weighers of words and of characters share one object
        weighting = clone(self.supervised, safe=False).fit(occurrences, labels.Y)
        weight = CheckedWeight(weighting if callable(weighting) else weighting.weight)
        fitted = replace(fitted, weight=weight)
        return fitted, fitted._weigh(occurrences)

    def check_unsupervised(self) -> None:
        """Raise an InputError if the weighting learns from labels."""
        if self.supervised is not None:
            raise InputError(
                f"weighting={self.supervised!r} learns from labels, which is not possible here",
                hint="use fit(texts, labels) of DocumentVectorizer, svm or linear, or 'tfidf'",
            )

    def with_vocabulary(self, vocabulary: Vocabulary) -> "TermWeigher":
        """Return a weigher that is fitted by a given vocabulary."""
        self.check_unsupervised()
        return replace(self, vocabulary=vocabulary)

    # --- use ----------------------------------------------------------------------------------

    def transform(self, texts: list[str]) -> Sparse:
        """Return the weights (n, v) of the terms of texts. Unknown terms are ignored."""
        occurrences = counting.count_known(texts, self.analyze, self.vocabulary, self.n_jobs)
        return self._weigh(occurrences)

    def weighted_sums(
        self, texts: list[str], weights: Floats32, intercept: Floats32
    ) -> Floats32 | None:
        """Return `transform(texts) @ weights + intercept` (n, m) without the sparse matrix.

        The result is None if the native engine does not support the options. The sums of a text do
        not depend on the other texts.
        """
        if self.weight is not tfidf.weight:
            return None
        return counting.weighted_sums(
            texts, self.analyze, self.vocabulary, weights, intercept, self.n_jobs
        )

    def _weigh(self, occurrences: Sparse) -> Sparse:
        X = self.weight(occurrences, self.vocabulary)
        return X if X.dtype == self.dtype else X.astype(np.dtype(self.dtype))
