"""Vectorizer from texts to the weighted document-by-term matrix X, with the scikit-learn API."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Floats32, Ints, Sparse
from wordclass.corpus.labels import check_class_count, read_labelled_texts
from wordclass.embedding.counts import WordClassCounts
from wordclass.options import WithOptions, list_texts
from wordclass.text import counting
from wordclass.text.analyzer import TOKEN_PATTERN, Analyze
from wordclass.text.counting import Counted, CountedTerms, Weight
from wordclass.text.spool import SpooledTexts
from wordclass.text.term_weigher import ScriptWarning as ScriptWarning
from wordclass.text.term_weigher import TermWeigher
from wordclass.text.text_estimator import TextEstimator as TextEstimator
from wordclass.text.vectorizer_options import NGRAMS as NGRAMS
from wordclass.text.vectorizer_options import TEXT_OPTIONS as TEXT_OPTIONS
from wordclass.text.vectorizer_options import VECTORIZER_OPTIONS
from wordclass.text.vectorizer_options import parse_ngrams as parse_ngrams
from wordclass.text.vocabulary import Vocabulary
from wordclass.text.weighting import SupervisedWeight as SupervisedWeight


def shared_options(estimator: BaseEstimator, kind: type[Any]) -> dict[str, Any]:
    """Return the values of the options that an estimator has in common with another kind."""
    names = {field.name for field in fields(kind)}
    values = estimator.get_params(deep=False)
    return {name: value for name, value in values.items() if name in names}


@dataclass(kw_only=True, eq=False, repr=False)
class DocumentVectorizer(WithOptions, TextEstimator, TransformerMixin, BaseEstimator):
    """Transformer from texts to rows of term weights, similar to scikit-learn's TfidfVectorizer.

    With `min_docs=1, mask_numbers=False` the weights equal those of
    `TfidfVectorizer(sublinear_tf=True)`, and with `analyzer="characters"` those of its "char_wb".
    Some options have other names: `min_docs` is scikit-learn's `min_df`, `ngrams` is `ngram_range`
    and `max_terms` is `max_features`.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The terms with their document frequencies: a mapping from term to column.
    weight_ : callable
        The fitted weighting. It exists only if the weighting learns from labels.

    See Also
    --------
    WordClassEmbeddings : Transformer from texts to features with one dimension per class.

    Notes
    -----
    Threads are used by native code. With options that it does not support, such as a function as
    `analyzer`, `n_jobs` is the number of processes.

    Examples
    --------
    >>> import wordclass as wc
    >>> vectorizer = wc.DocumentVectorizer(weighting="count", min_docs=1)
    >>> X = vectorizer.fit_transform(["full moon", "moon, moon and sun"])
    >>> X.toarray()
    array([[0., 1., 1., 0.],
           [1., 0., 2., 1.]])
    >>> vectorizer.get_feature_names_out().tolist()
    ['and', 'full', 'moon', 'sun']
    """

    options = VECTORIZER_OPTIONS

    weighting: str | Weight | SupervisedWeight = "tfidf"
    min_docs: int | float = 5
    ngrams: tuple[int, int] = (1, 1)
    mask_numbers: bool = True
    analyzer: Analyze | str | None = None
    stop_words: str | Collection[str] | None = None
    max_df: int | float = 1.0
    max_terms: int | None = None
    lowercase: bool = True
    token_pattern: str = TOKEN_PATTERN
    strip_accents: str | None = None
    dtype: DTypeLike = np.float64
    n_jobs: int | None = None

    # --- fitting ----------------------------------------------------------------------------

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Learn from texts which terms to keep, and their document frequencies.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : iterable or matrix, optional
            The labels, in any form that classifiers accept. They are used only by a weighting that
            learns from labels.

        Returns
        -------
        DocumentVectorizer
            The fitted vectorizer itself.

        Raises
        ------
        InputError
            An option or a text is invalid, or no term is left.

        Examples
        --------
        >>> vectorizer = DocumentVectorizer(min_docs=2).fit(["full moon", "new moon"])
        >>> vectorizer.get_feature_names_out().tolist()
        ['moon']
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Iterable[str], y: object = None) -> Sparse:
        """Learn the terms of texts and return the weights of the terms. The texts are read once.

        Parameters
        ----------
        X : iterable of str
            The texts.
        y : iterable or matrix, optional
            The labels. They are used only by a weighting that learns from labels.

        Returns
        -------
        sparse matrix of shape (n, v)
            Weight of each term in each text, with sorted rows.

        Examples
        --------
        >>> DocumentVectorizer(min_docs=1).fit_transform(["moon", "moon"]).toarray()
        array([[1.],
               [1.]])
        """
        weigher = self.checked()._weigher
        labels = None
        if weigher.supervised is not None and y is not None:
            texts, labels = read_labelled_texts(X, y, None)
            check_class_count(labels.codeframe)
        else:
            texts = X if isinstance(X, SpooledTexts) else list_texts(X)  # type: ignore[assignment]
        fitted, weights = weigher.fit_transform(texts, labels)
        self._set_weigher(fitted)
        return weights

    def fit_sums(self, texts: list[str], Y: Sparse, needs: Collection[str]) -> WordClassCounts:
        """Learn the terms of texts and return sums over X and Y, without making X if possible.

        Parameters
        ----------
        texts : list of str
            The texts.
        Y : sparse matrix of shape (n, m)
            Their labels.
        needs : collection of str
            Names of the sums of shape (v, m) that are needed, see `WordClassCounts`.

        Returns
        -------
        WordClassCounts
            The sums over all texts.

        Examples
        --------
        >>> Y = sparse.csr_matrix([[1.0, 0.0], [0.0, 1.0]])
        >>> vectorizer = DocumentVectorizer(weighting="count", min_docs=1)
        >>> counts = vectorizer.fit_sums(["moon moon", "sun"], Y, {"joint_weight"})
        >>> counts.joint_weight
        array([[2., 0.],
               [0., 1.]])
        """
        fitted, counts = self.checked()._weigher.fit_sums(texts, Y, needs)
        self._set_weigher(fitted)
        return counts

    def fit_blocks(self, blocks: Iterable[Iterable[str]]) -> Self:
        """Learn the terms of texts that come in blocks. Only their counts are kept in memory.

        Parameters
        ----------
        blocks : iterable of iterables of str
            The texts, block by block.

        Returns
        -------
        DocumentVectorizer
            The fitted vectorizer itself.

        Raises
        ------
        InputError
            An option or a text is invalid, no term is left, or the weighting learns from labels.

        Examples
        --------
        >>> vectorizer = DocumentVectorizer(min_docs=2).fit_blocks([["full moon"], ["new moon"]])
        >>> vectorizer.get_feature_names_out().tolist()
        ['moon']
        """
        self.check_unsupervised()
        counter = counting.term_counter(self.checked().build_analyzer(), self.n_jobs)
        for texts in blocks:
            counter.add(list_texts(texts))
        self.choose_terms(counter.finish())
        return self

    def count(self, texts: list[str]) -> Counted:
        """Count all terms of texts, including rare ones.

        Parameters
        ----------
        texts : list of str
            The texts.

        Returns
        -------
        CountedTexts or NativeCountedTexts
            The counted texts, for `choose_terms` and `fit_transform_counted`.

        Raises
        ------
        InputError
            An option or a text is invalid.

        Warns
        -----
        ScriptWarning
            Most texts are in a script without spaces between words.

        Examples
        --------
        >>> counted = DocumentVectorizer().count(["full moon", "new moon"])
        >>> counted.n_docs, len(counted.doc_freq)
        (2, 3)
        """
        return self.checked()._weigher.count(texts)

    def fit_transform_counted(self, counted: Counted) -> Sparse:
        """Learn the terms of counted texts and return the weights of the terms.

        Parameters
        ----------
        counted : CountedTexts or NativeCountedTexts
            Result of `count`.

        Returns
        -------
        sparse matrix of shape (n, v)
            Weight of each term in each text.

        Examples
        --------
        >>> vectorizer = DocumentVectorizer(min_docs=2)
        >>> counted = vectorizer.count(["full moon", "new moon"])
        >>> vectorizer.fit_transform_counted(counted).shape
        (2, 1)
        """
        fitted, weights = self.checked()._weigher.fit_transform_counted(counted)
        self._set_weigher(fitted)
        return weights

    def choose_terms(self, counted: Counted | CountedTerms) -> Ints:
        """Set the vocabulary to the counted terms that occur in enough documents.

        Parameters
        ----------
        counted : CountedTexts, NativeCountedTexts, TermCounts or NativeTermCounter
            Counted texts, or counted terms of texts that come in blocks.

        Returns
        -------
        int64 array of shape (v,)
            Positions of the terms in `counted`.

        Examples
        --------
        >>> vectorizer = DocumentVectorizer(min_docs=2)
        >>> positions = vectorizer.choose_terms(vectorizer.count(["full moon", "new moon"]))
        >>> len(positions), vectorizer.vocabulary_.terms
        (1, ['moon'])
        """
        fitted, positions = self.checked()._weigher.fit_counted(counted)
        self._set_weigher(fitted)
        return positions

    @property
    def is_supervised(self) -> bool:
        """Whether the weighting learns from labels.

        Returns
        -------
        bool
            True if `fit` needs labels.

        Examples
        --------
        >>> DocumentVectorizer().is_supervised
        False
        """
        return isinstance(self.weighting, SupervisedWeight)

    def check_unsupervised(self) -> None:
        """Raise an error if the weighting learns from labels.

        Raises
        ------
        InputError
            The weighting learns from labels, and there are no texts in memory to fit it.

        Examples
        --------
        >>> DocumentVectorizer(weighting="bm25").check_unsupervised()
        """
        self.checked()._weigher.check_unsupervised()

    def _needs_labels(self) -> bool:
        return self.is_supervised

    def with_vocabulary(self, vocabulary: Vocabulary) -> "DocumentVectorizer":
        """Return a fitted vectorizer with the same options and a given vocabulary.

        Parameters
        ----------
        vocabulary : Vocabulary
            The vocabulary.

        Returns
        -------
        DocumentVectorizer
            A new vectorizer.

        Raises
        ------
        InputError
            An option is invalid, or the weighting learns from labels.

        Examples
        --------
        >>> vectorizer = DocumentVectorizer(min_docs=1).fit(["full moon"])
        >>> binary = DocumentVectorizer(weighting="binary").with_vocabulary(vectorizer.vocabulary_)
        >>> binary.transform(["moon"]).toarray()
        array([[0., 1.]])
        """
        vectorizer: DocumentVectorizer = clone(self)
        return vectorizer.set_vocabulary(vocabulary)

    def set_vocabulary(self, vocabulary: Vocabulary) -> Self:
        """Fit the vectorizer by a given vocabulary.

        Parameters
        ----------
        vocabulary : Vocabulary
            The vocabulary.

        Returns
        -------
        DocumentVectorizer
            The fitted vectorizer itself.

        Raises
        ------
        InputError
            An option is invalid, or the weighting learns from labels.

        Examples
        --------
        >>> vocabulary = DocumentVectorizer(min_docs=1).fit(["full moon"]).vocabulary_
        >>> DocumentVectorizer().set_vocabulary(vocabulary).transform(["moon"]).toarray()
        array([[0., 1.]])
        """
        self._set_weigher(self.checked()._weigher.with_vocabulary(vocabulary))
        return self

    # --- using ------------------------------------------------------------------------------

    def transform(self, X: Iterable[str]) -> Sparse:
        """Return the weights of the terms of texts. Terms outside the vocabulary are ignored.

        Parameters
        ----------
        X : iterable of str
            The texts.

        Returns
        -------
        sparse matrix of shape (n, v)
            Weight of each term in each text, with sorted rows.

        Raises
        ------
        InputError
            A text is not a str.

        Examples
        --------
        >>> vectorizer = DocumentVectorizer(weighting="count", min_docs=1).fit(["full moon"])
        >>> vectorizer.transform(["moon moon star"]).toarray()
        array([[0., 2.]])
        """
        return self.weigher.transform(list_texts(X))

    def weighted_sums(
        self, texts: list[str], weights: Floats32, intercept: Floats32
    ) -> Floats32 | None:
        """Return `transform(texts) @ weights + intercept` without making the sparse matrix.

        Parameters
        ----------
        texts : list of str
            The texts.
        weights : float32 array of shape (v, m)
            Weights of the terms.
        intercept : float32 array of shape (m,)
            Constants that are added.

        Returns
        -------
        float32 array of shape (n, m), or None
            The sums. Those of a text do not depend on the other texts. None if the native engine
            does not support the options.

        Examples
        --------
        >>> vectorizer = DocumentVectorizer(weighting="count", min_docs=1).fit(["full moon"])
        >>> vectorizer.weighted_sums(["moon"], np.ones((2, 1)), np.zeros(1)) is None
        True
        """
        return self.weigher.weighted_sums(texts, weights, intercept)

    def inverse_transform(self, X: Sparse) -> list[NDArray[np.str_]]:
        """Return the terms of each row that have a weight.

        Parameters
        ----------
        X : sparse matrix of shape (n, v)
            Weights, as `transform` returns them.

        Returns
        -------
        list of arrays of str
            The terms of each row.

        Examples
        --------
        >>> vectorizer = DocumentVectorizer(min_docs=1).fit(["full moon"])
        >>> vectorizer.inverse_transform(vectorizer.transform(["moon"]))[0].tolist()
        ['moon']
        """
        check_is_fitted(self)
        terms = self.get_feature_names_out()
        rows = sparse.csr_matrix(X)
        return [terms[rows[k].indices] for k in range(rows.shape[0])]

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the terms in the order of the columns.

        Parameters
        ----------
        input_features : object, optional
            Not used. It exists for compatibility with scikit-learn.

        Returns
        -------
        array of str
            The terms.

        Examples
        --------
        >>> DocumentVectorizer(min_docs=1).fit(["full moon"]).get_feature_names_out().tolist()
        ['full', 'moon']
        """
        check_is_fitted(self)
        return np.array(self.vocabulary_.terms, dtype=object)

    # --- resolved options -------------------------------------------------------------------

    def checked(self) -> Self:
        """Check the options and resolve them to an analyzer and a weighting.

        The methods that fit the vectorizer do this first.

        Returns
        -------
        DocumentVectorizer
            The vectorizer itself.

        Raises
        ------
        InputError
            An option is invalid.

        Examples
        --------
        >>> DocumentVectorizer(ngrams=(2, 1)).checked()
        Traceback (most recent call last):
            ...
        wordclass.errors.InputError: ngrams is (2, 1); expected (shortest, longest) from 1 to ...
        """
        self.check_options()
        options = self.get_params(deep=False)
        self._weigher = TermWeigher.of(**options)
        return self

    @property
    def weigher(self) -> TermWeigher:
        """The fitted weigher, which does the work without the scikit-learn API.

        Examples
        --------
        >>> weigher = DocumentVectorizer(min_docs=1).fit(["full moon"]).weigher
        >>> weigher.transform(["moon"]).shape
        (1, 2)
        """
        if not hasattr(self, "vocabulary_"):  # faster than scikit-learn's own check
            check_is_fitted(self)
        if self._weigher.n_jobs != self.n_jobs:  # set after fitting
            self._weigher = replace(self._weigher, n_jobs=self.n_jobs)
        return self._weigher

    def _set_weigher(self, fitted: TermWeigher) -> None:
        self._weigher = fitted
        self.vocabulary_ = fitted.vocabulary
        if fitted.supervised is not None:
            self.weight_: Any = getattr(fitted.weight, "function", fitted.weight)

    def build_analyzer(self) -> Analyze:
        """Return the function from a text to its terms.

        Returns
        -------
        callable
            A user-defined function, or a built-in analyzer with the options of the vectorizer.

        Examples
        --------
        >>> analyze = DocumentVectorizer(ngrams=(1, 2)).build_analyzer()
        >>> analyze("The moon")
        ['the', 'moon', 'the moon']
        """
        if not hasattr(self, "_weigher"):
            self.checked()
        return self._weigher.analyze
