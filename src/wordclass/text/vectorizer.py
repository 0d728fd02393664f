"""Texts to the weighted document-by-term matrix X, as a scikit-learn transformer."""

import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from wordclass import catalogue
from wordclass.arrays import Floats32, Ints, Sparse, to_sparse
from wordclass.corpus.labels import check_class_count, read_labelled_texts
from wordclass.embedding.counts import WordClassCounts
from wordclass.errors import InputError
from wordclass.options import FLAG, N_JOBS, Kind, Option, list_texts
from wordclass.text import counting
from wordclass.text.analyzer import (
    CHARACTERS,
    TOKEN_PATTERN,
    Analyze,
    Analyzer,
    check_ngrams,
    check_stop_words,
    choose_analyzer,
    lacks_spaces,
)
from wordclass.text.counting import Counted, CountedTerms, Weight
from wordclass.text.spool import SpooledTexts
from wordclass.text.vocabulary import Vocabulary, bound_in_docs
from wordclass.text.weightings import tfidf


class ScriptWarning(UserWarning):
    """Texts are in a script that the way of cutting them into terms does not serve."""


@runtime_checkable
class SupervisedWeight(Protocol):
    """A weighting that learns from labels."""

    def fit(self, occurrences: Sparse, Y: Sparse) -> Any:  # noqa: ANN401 - see DocumentVectorizer
        """Learn from occurrences (n, v) and labels Y (n, m); return what makes weights."""


class TextEstimator:
    """What scikit-learn is told of every estimator here; goes before its own mixins."""

    def _needs_labels(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's own type
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = True
        tags.target_tags.required = self._needs_labels()
        return tags


def shared_options(estimator: BaseEstimator, kind: type[BaseEstimator]) -> dict[str, Any]:
    """Return those options of an estimator that another kind of estimator has too."""
    known = kind().get_params(deep=False)
    return {name: each for name, each in estimator.get_params(deep=False).items() if name in known}


def _accepts_weighting(value: object) -> bool:
    if isinstance(value, str):
        catalogue.entry("weightings", value)  # raises an error that lists the names
    return isinstance(value, str | SupervisedWeight) or callable(value)


def _accepts_min_docs(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    bound_in_docs(value, 1, "min_docs")  # raises an error
    return True


def _accepts_ngrams(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    check_ngrams(value)  # raises an error
    return True


def _accepts_stop_words(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    check_stop_words(value)  # raises an error
    return True


def parse_ngrams(text: str) -> tuple[int, int]:
    """Return the sizes of n-grams that a user wrote as text, such as "2", "1,2" or "1-2".

    Examples
    --------
    >>> parse_ngrams("1-2")
    (1, 2)
    """
    sizes = text.strip("[]() ").replace("-", ",").split(",")
    if len(sizes) > 2 or not all(size.strip().isdecimal() for size in sizes):
        raise InputError(f"ngrams are {text!r}", expected="one or two numbers, such as 1,2")
    return int(sizes[0]), int(sizes[-1])


NGRAMS = Kind("(int, int)", "(shortest, longest), such as (1, 2)", _accepts_ngrams, parse_ngrams)

# the options of `DocumentVectorizer` that all estimators with a vectorizer have too
TEXT_OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        "weighting": Option(
            "How terms are weighted: the name of a weighting, a function of occurrences (n, v) and "
            "vocabulary that returns X, or an object whose method `fit(occurrences, Y)` learns "
            "from labels and returns such a function.",
            Kind(
                'str, callable or object with "fit"',
                "the name of a weighting, a function, or an object with the method fit",
                _accepts_weighting,
            ),
        ),
        "min_docs": Option(
            "Keep terms that occur in at least this number of training documents (int), or this "
            "share of them (float).",
            Kind("int from 1 or float", "a number of documents or a share", _accepts_min_docs),
        ),
        "ngrams": Option(
            "Shortest and longest run of words that makes a term, or of characters if the analyzer "
            'is "characters".',
            NGRAMS,
        ),
        "mask_numbers": Option("Replace each number in a text by one and the same word.", FLAG),
        "analyzer": Option(
            "How texts are cut into terms. None: words. "
            '"characters": n-grams of the characters of each word, with a space before and after '
            "it, for which `ngrams=(2, 5)` is usual. A function from a text to its terms replaces "
            "all other options of words.",
            Kind(
                'callable or "characters"',
                "'characters', a function from a text to its terms",
                lambda value: callable(value) or (isinstance(value, str) and value == CHARACTERS),
            ),
            also=(None,),
        ),
        "stop_words": Option(
            'Words to leave out: "english" for a built-in list, or a collection of words.',
            Kind(
                "str or collection of str", "'english', a collection of words", _accepts_stop_words
            ),
            also=(None,),
        ),
        "n_jobs": Option(
            "Number of threads; None is one, -1 is all cores. The result does not depend on it.",
            N_JOBS,
            also=(None,),
        ),
    }
)


@dataclass(kw_only=True, eq=False, repr=False)
class DocumentVectorizer(TextEstimator, TransformerMixin, BaseEstimator):
    """Turns texts into rows of term weights, as scikit-learn's TfidfVectorizer does.

    No drop-in: `min_docs` is its `min_df`, `ngrams` its `ngram_range` and `max_terms` its
    `max_features`. With `min_docs=1, mask_numbers=False` the weights are those of
    `TfidfVectorizer(sublinear_tf=True)`, and with `analyzer="characters"` those of its "char_wb".

    Parameters
    ----------
    weighting : str, callable or object with `fit`, default="tfidf"
        "tfidf", "bm25", "binary", "count", or a function of (occurrences, vocabulary). Or an object
        whose method `fit(occurrences, Y)` learns from labels, which `fit` needs then, and returns
        such a function, or an object with such a method `weight`.
    min_docs : int or float, default=5
        Keep terms that occur in at least so many training documents (int), or in such a share of
        them (float).
    max_df : int or float, default=1.0
        The same, in at most so many.
    max_terms : int, optional
        Keep only so many terms, those with most occurrences.
    ngrams : (int, int), default=(1, 1)
        Shortest and longest run of words, or of characters, that makes a term.
    mask_numbers : bool, default=True
        Replace each number by the one word `numbermask`; not among characters.
    analyzer : "characters" or callable, optional
        What terms are made of: "characters" of words, one space before and behind each word
        included, as scikit-learn's "char_wb"; `ngrams=(2, 5)` are usual. Or a function from a text
        to its terms, in place of all options on words. None: whole words.
    stop_words : str or collection of str, optional
        "english", or a collection of words to leave out; for whole words only.
    lowercase : bool, default=True
    token_pattern : str, default=TOKEN_PATTERN
    strip_accents : str, optional
        As in scikit-learn.
    dtype : dtype, default=float64
        Of the weights.
    n_jobs : int, optional
        Number of threads; None is one, -1 all cores. The result does not depend on it. (Where words
        are not counted by native code, as with a function as `analyzer`, these are processes.)

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The kept terms with their document frequencies: a mapping from term to column.
    """

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

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Learn from texts which terms to keep, and their document frequencies.

        The labels `y`, in any form that classifiers take, are for a weighting that learns from
        them.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Iterable[str], y: object = None) -> Sparse:
        """Learn the terms of texts and return their weights (n, v), reading the texts once."""
        if self.is_supervised:
            return self._fit_supervised(X, y)
        if isinstance(X, SpooledTexts):  # which are not in memory, and X need not be either
            return X.vectorized(self)
        return self.fit_transform_counted(self.count(list_texts(X)))

    def fit_sums(self, texts: list[str], Y: Sparse, needs: Collection[str]) -> WordClassCounts:
        """Learn the terms and return sums over X and Y (n, m), without X where that can be."""
        counted = self.count(texts)
        places = self.choose_terms(counted)
        return counted.sums(places, self.vocabulary_, self._weight(), Y, needs)

    def fit_blocks(self, blocks: Iterable[Iterable[str]]) -> Self:
        """Learn the terms of texts that come block by block; only their counts are held."""
        self.check_unsupervised()
        counter = counting.term_counter(self.checked().build_analyzer(), self.n_jobs)
        for texts in blocks:
            counter.add(list_texts(texts))
        self.choose_terms(counter.finish())
        return self

    def count(self, texts: list[str]) -> Counted:
        """Count all terms of texts, unweighted, whatever their frequency."""
        analyze = self.checked().build_analyzer()
        if isinstance(analyze, Analyzer) and lacks_spaces(texts):
            warnings.warn(
                "most texts are in a script without spaces between words: whole sentences become "
                "one term each; use analyzer='characters' (the classifier 'linear' adds characters "
                "by itself)",
                ScriptWarning,
                stacklevel=3,
            )
        return counting.count(texts, analyze, self.n_jobs)

    def fit_transform_counted(self, counted: Counted) -> Sparse:
        """Learn which of the counted terms to keep, and return X (n, v)."""
        places = self.choose_terms(counted)
        return self._typed(counted.weigh(places, self.vocabulary_, self._weight()))

    def choose_terms(self, counted: Counted | CountedTerms) -> Ints:
        """Learn which of the counted terms to keep; return their places in what was counted."""
        bounds = self.min_docs, self.max_df, self.max_terms
        self.vocabulary_, places = Vocabulary.of(counted, *bounds)
        return places

    def _fit_supervised(self, X: Iterable[str], y: object) -> Sparse:
        """Learn terms and their weights from labelled texts; return X (n, v)."""
        if y is None:
            raise InputError(
                f"weighting={self.weighting!r} learns from labels, and there are none; expected "
                "fit(texts, labels)"
            )
        if isinstance(X, SpooledTexts):
            self.check_unsupervised()
        texts, encoded = read_labelled_texts(X, y, None)
        check_class_count(encoded.codeframe)
        counted = self.count(texts)
        occurrences = counted.occurrences_of(self.choose_terms(counted))
        # a copy: the words and the characters of a classifier share one object
        fitted = clone(self.weighting, safe=False).fit(occurrences, encoded.Y)
        self.weight_: Weight = fitted if callable(fitted) else fitted.weight
        return self._weigh(occurrences)

    @property
    def is_supervised(self) -> bool:
        """Whether the weighting learns from labels."""
        return isinstance(self.weighting, SupervisedWeight)

    def check_unsupervised(self) -> None:
        """Refuse a weighting that learns from labels, for use without texts and labels at once."""
        if self.is_supervised:
            raise InputError(
                f"weighting={self.weighting!r} learns from labels, which is not possible here; "
                "use fit(texts, labels) of DocumentVectorizer, svm or linear, or 'tfidf'"
            )

    def _needs_labels(self) -> bool:
        return self.is_supervised

    def with_vocabulary(self, vocabulary: Vocabulary) -> "DocumentVectorizer":
        """Return a vectorizer with the same options, fitted by a vocabulary learned before.

        The options are checked, as if the vocabulary had been learned with them.
        """
        self.check_unsupervised()
        fitted: DocumentVectorizer = clone(self.checked())
        fitted.vocabulary_ = vocabulary
        return fitted

    def transform(self, X: Iterable[str]) -> Sparse:
        """Return the weights (n, v) of texts; words outside the vocabulary do not count."""
        if not hasattr(self, "vocabulary_"):  # asked so because scikit-learn takes longer to ask
            check_is_fitted(self)
        occurrences = counting.count_known(
            list_texts(X), self.build_analyzer(), self.vocabulary_, self.n_jobs
        )
        return self._weigh(occurrences)

    def weighted_sums(
        self, texts: list[str], weights: Floats32, intercept: Floats32
    ) -> Floats32 | None:
        """Return `transform(texts) @ weights + intercept` (n, m) without the matrix in between.

        None where the native engine does not do it. A row depends on its text alone, to the bit.
        """
        if self._weight() is not tfidf.weight:
            return None
        return counting.weighted_sums(
            texts, self.build_analyzer(), self.vocabulary_, weights, intercept, self.n_jobs
        )

    def inverse_transform(self, X: Sparse) -> list[NDArray[np.str_]]:
        """Return the terms of each row that have a weight."""
        check_is_fitted(self)
        terms = self.get_feature_names_out()
        rows = sparse.csr_matrix(X)
        return [terms[rows[k].indices] for k in range(rows.shape[0])]

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the terms, in the order of the columns."""
        check_is_fitted(self)
        return np.array(self.vocabulary_.terms, dtype=object)

    def checked(self) -> Self:
        """Return itself, or refuse options that cannot be used."""
        self.build_analyzer()
        self._weight()
        for name in ("min_docs", "max_df"):
            bound_in_docs(getattr(self, name), 1, name)
        return self

    def build_analyzer(self) -> Analyze:
        """Return the function from a text to its terms: the user's own, or one of ours."""
        return choose_analyzer(
            self.analyzer,
            ngrams=self.ngrams,
            stop_words=self.stop_words,
            mask_numbers=self.mask_numbers,
            lowercase=self.lowercase,
            token_pattern=self.token_pattern,
            strip_accents=self.strip_accents,
        )

    def _weight(self) -> Weight:
        """Return the weighting that was asked for; one of the user's is checked."""
        weighting = self.weighting
        if isinstance(weighting, str) and weighting == "tfidf":  # nearly always
            return tfidf.weight
        if isinstance(weighting, SupervisedWeight):
            # a vectorizer without terms has nothing to weigh, and learned nothing
            weighting = getattr(self, "weight_", tfidf.weight)
        if not callable(weighting):
            weight: Weight = catalogue.entry("weightings", weighting).weight
            return weight
        return lambda occurrences, vocabulary: _checked(
            weighting(occurrences, vocabulary), occurrences
        )

    def _weigh(self, occurrences: Sparse) -> Sparse:
        return self._typed(self._weight()(occurrences, self.vocabulary_))

    def _typed(self, X: Sparse) -> Sparse:
        return X if X.dtype == self.dtype else X.astype(np.dtype(self.dtype))


def _checked(X: object, occurrences: Sparse) -> Sparse:
    """Check what a weighting of the user's returned."""
    if not sparse.issparse(X) and not isinstance(X, np.ndarray):
        raise InputError(f"the weighting returned a {type(X).__name__}; expected a sparse matrix")
    weights = to_sparse(X)
    if weights.shape != occurrences.shape:
        raise InputError(f"the weighting returned {weights.shape}; expected {occurrences.shape}")
    if not np.isfinite(weights.data).all():
        raise InputError("the weighting returned weights that are NaN or infinite")
    weights.sort_indices()
    return weights
