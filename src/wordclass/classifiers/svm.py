"""Linear support vector machines, as the paper's baselines: tf-idf, or sums of word vectors."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.classifiers._penalty_search import SCORINGS, Chosen, PenaltySearch, Weigh
from wordclass.classifiers._svm_documents import SummedDocuments, TermDocuments
from wordclass.classifiers._text_classifier import TextClassifier
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.errors import InputError
from wordclass.labels import EncodedLabels
from wordclass.linear_scorer import LinearScorer
from wordclass.linear_solver.one_vs_rest import Costs
from wordclass.native import n_threads
from wordclass.probabilities import Calibration
from wordclass.storage.parts import Parts
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.thresholds import best_thresholds
from wordclass.word_vectors import WordVectors

# what `tune` chooses from; what matters most comes first
GRID: Mapping[str, Sequence[Any]] = MappingProxyType(
    {"ngrams": ((1, 1), (1, 2)), "min_docs": (2, 3, 5), "scoring": ("accuracy", "f1")}
)
FEATURES = ("tfidf", "vectors", "vectors+wce", "wce")
VALUES_OF_C = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # the paper's
_WORD_OPTIONS = (
    *("weighting", "min_docs", "ngrams", "mask_numbers", "analyzer", "stop_words", "n_jobs"),
)
Documents = TermDocuments | SummedDocuments
_DEFAULT_C = 1.0  # scikit-learn's, for a class too small to search


class SvmClassifier(TextClassifier):
    """One linear support vector machine a class, with the C that cross-validation chooses.

    The loss is the squared hinge, and the intercept is regularized, as in scikit-learn's
    LinearSVC; in a single-label task of more than two classes, "balanced" weighs the errors on a
    class's own documents only, as there. A single-label text gets the class with the highest
    score, a multilabel one all classes above their threshold.

    Parameters
    ----------
    features
        "tfidf": X, the weighted terms. "vectors": X·U, sums of pretrained vectors. "wce": X·S, of
        word-class vectors. "vectors+wce": X·[U S]. As in the paper, S is learned from all training
        texts, so that the texts held out in the search for C have their labels in their features,
        and probabilities learned on these are too sure; the classifier "linear" does better.
    vectors
        Pretrained vectors; terms they do not know count as zeros.
    wce
        Word-class embeddings with options of your own, which are cloned, or just these options;
        None: the paper's. Embeddings bring their own options on words.
    C
        How much errors weigh against the size of the weights; or "search": chosen from
        `VALUES_OF_C` by five-fold cross-validation, for each class on its own in a multilabel task
        (1 where it has fewer than five texts), else for all classes together.
    scoring
        What the search looks at: "accuracy", as the paper's runs did, or "f1", in a single-label
        task the mean over classes.
    class_weight
        "balanced": errors on small classes weigh more. None: all the same.
    thresholds
        For multilabel tasks. "zero": a class is given where its score is above 0. "tuned": one
        threshold a class, the best for scores of texts that were held out.
    probabilities
        Whether to learn probabilities, from scores of texts that were held out; where C is given,
        that takes five more fits.
    weighting, min_docs, ngrams, mask_numbers, analyzer, stop_words
        Which terms there are, and their weights: see `DocumentVectorizer`.
    seed
        Of the random projector, where the word-class embeddings have one.
    n_jobs
        Number of threads; the result does not depend on it.

    Attributes
    ----------
    C_
        (m,) the C of each class.
    scorer_
        The weights of all terms.
    """

    name = "svm"

    def __init__(
        self,
        *,
        features: str = "tfidf",
        vectors: WordVectors | None = None,
        wce: WordClassEmbeddings | Mapping[str, Any] | None = None,
        C: float | str = "search",
        scoring: str = "accuracy",
        class_weight: str | None = "balanced",
        thresholds: str = "zero",
        probabilities: bool = True,
        weighting: str | Weight = "tfidf",
        min_docs: int | float = 5,
        ngrams: tuple[int, int] = (1, 1),
        mask_numbers: bool = True,
        analyzer: Analyze | None = None,
        stop_words: str | Collection[str] | None = None,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.features = features
        self.vectors = vectors
        self.wce = wce
        self.C = C
        self.scoring = scoring
        self.class_weight = class_weight
        self.thresholds = thresholds
        self.probabilities = probabilities
        self.weighting = weighting
        self.min_docs = min_docs
        self.ngrams = ngrams
        self.mask_numbers = mask_numbers
        self.analyzer = analyzer
        self.stop_words = stop_words
        self.seed = seed
        self.n_jobs = n_jobs

    # --- learning ---------------------------------------------------------------------------

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        self._check_options()
        Y, is_multilabel = labels.Y, labels.codeframe.is_multilabel
        documents = self._documents(texts, labels)
        # two classes that exclude each other are one problem of two sides
        has_two_sides = is_multilabel or Y.shape[1] == 2

        def weigh(part: Sparse, rows: Ints | None = None) -> Costs:
            if self.class_weight == "balanced":
                return Costs.balanced(part, sample_weight, rows, is_multilabel=has_two_sides)
            equal = Costs.equal(*part.shape)
            return equal if sample_weight is None else replace(equal, docs=sample_weight)

        needs_scores = self.probabilities or (is_multilabel and self.thresholds == "tuned")
        chosen = self._chosen(Y, needs_scores, is_multilabel, documents, weigh)
        scorer = documents.scorer(Y, weigh(Y), chosen.C, n_threads(self.n_jobs))
        scores = chosen.scores
        if needs_scores and scores is None:  # too few texts to hold any out
            scores = scorer.scores(texts)
        self._decide_by(scores, Y, is_multilabel)
        self.C_, self.scorer_ = chosen.C, scorer

    def _chosen(
        self, Y: Sparse, needs_scores: bool, is_multilabel: bool, documents: Documents, weigh: Weigh
    ) -> Chosen:
        """Return the C of each class, and scores of texts held out where these are of use."""
        is_searched = self.C == "search"
        values = np.array(VALUES_OF_C if is_searched else [self.C], dtype=np.float64)
        default = _DEFAULT_C if is_searched else values[0]
        if not (is_searched or needs_scores):
            return Chosen(np.full(Y.shape[1], default), None)
        threads = n_threads(self.n_jobs)
        search = PenaltySearch(documents.validate, weigh, values, default, self.scoring, threads)
        return search.for_each(Y) if is_multilabel else search.for_all(Y)

    def _decide_by(self, scores: Floats32 | None, Y: Sparse, is_multilabel: bool) -> None:
        """Set thresholds and probabilities by scores of texts held out."""
        self.thresholds_ = self.calibration_ = None
        if is_multilabel:
            self.thresholds_ = np.zeros(Y.shape[1])
        if scores is not None and is_multilabel and self.thresholds == "tuned":
            self.thresholds_ = best_thresholds(scores, Y)
        if scores is not None and self.probabilities:
            is_single = not is_multilabel
            self.calibration_ = Calibration.fit(scores, Y, is_single_label=is_single)

    def _documents(self, texts: list[str], labels: EncodedLabels) -> Documents:
        if self.features == "tfidf":
            vectorizer = self._vectorizer()
            return TermDocuments(vectorizer, vectorizer.fit_transform(texts))
        U = self.vectors if self.features != "wce" else None
        if self.features == "vectors":
            vectorizer = self._vectorizer()
            X = vectorizer.fit_transform(texts)
            E = EmbeddingMatrix.of(U, vocabulary=vectorizer.vocabulary_.terms, keep_unseen=False)
        else:
            embeddings = self._embeddings().fit(texts, labels)
            vectorizer = embeddings.vectorizer_
            X = vectorizer.transform(texts)
            E = EmbeddingMatrix.of(U, embeddings, keep_unseen=False)
        return SummedDocuments(vectorizer, X, E.matrix[: X.shape[1]].astype(np.float64))

    def _embeddings(self) -> WordClassEmbeddings:
        if isinstance(self.wce, WordClassEmbeddings):
            embeddings: WordClassEmbeddings = clone(self.wce)
            return embeddings
        given = dict(self.wce or {})
        if strange := sorted(given.keys() - WordClassEmbeddings().get_params().keys()):
            raise InputError(f"WordClassEmbeddings has no option {strange[0]!r}")
        return WordClassEmbeddings(**{**self._word_options(), "seed": self.seed, **given})

    def _vectorizer(self) -> DocumentVectorizer:
        """Return what makes X, unfitted."""
        if self.features in ("tfidf", "vectors"):
            return DocumentVectorizer(**self._word_options())
        embeddings = self._embeddings()
        return DocumentVectorizer(**{name: getattr(embeddings, name) for name in _WORD_OPTIONS})

    def _word_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _WORD_OPTIONS}

    def _analyzer(self) -> Analyze:
        return self._vectorizer().build_analyzer()

    def _check_options(self) -> None:
        _check_one_of("features", self.features, FEATURES)
        _check_one_of("scoring", self.scoring, SCORINGS)
        _check_one_of("class_weight", self.class_weight, ("balanced", None))
        _check_one_of("thresholds", self.thresholds, ("zero", "tuned"))
        is_number = isinstance(self.C, int | float | np.number) and not isinstance(self.C, bool)
        if self.C != "search" and not (is_number and 0 < self.C < np.inf):  # type: ignore[operator]
            raise InputError(f"C is {self.C!r}; expected a number above 0, or 'search'")
        if not isinstance(self.wce, WordClassEmbeddings | Mapping | None):
            raise InputError(f"wce is {self.wce!r}; expected WordClassEmbeddings, options or None")
        if self.vectors is not None and not isinstance(self.vectors, WordVectors):
            raise InputError(
                f"vectors is a {type(self.vectors).__name__}; expected WordVectors, such as "
                "WordVectors.load(path)"
            )
        if self.features.startswith("vectors") and self.vectors is None:
            raise InputError(
                f"features={self.features!r} needs vectors, such as WordVectors.load(path)"
            )

    # --- using ------------------------------------------------------------------------------

    def decision_function(self, texts: Iterable[str]) -> Floats32:
        """Return the score (n, m) of each class; also for two classes, unlike scikit-learn."""
        check_is_fitted(self)
        return self.scorer_.scores(texts)

    def _contributions(self, text: str) -> tuple[list[str], Floats32, Floats32]:
        return *self.scorer_.contributions(text), self.scorer_.intercept

    def _to_parts(self) -> Parts:
        return self.scorer_.to_parts() | Parts.of(C=self.C_)

    def _from_parts(self, parts: Parts) -> None:
        self.scorer_ = LinearScorer.from_parts(self._vectorizer(), parts)
        self.C_ = parts.take(C="float64 machines")["C"]


def _check_one_of(name: str, value: object, allowed: Sequence[str | None]) -> None:
    if value not in allowed:
        raise InputError(f"{name} is {value!r}; expected one of {', '.join(map(repr, allowed))}")


make = SvmClassifier
