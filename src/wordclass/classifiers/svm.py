"""Linear support vector machines, the baselines of the paper: tf-idf, or sums of word vectors."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Sparse
from wordclass.classifiers._options import (
    ENCODER,
    OTHER,
    PROBABILITIES,
    SEED,
    TARGET,
    VECTORS,
    WCE,
)
from wordclass.classifiers._svm_search import (
    SvmDocuments,
    search_by_class,
    search_in_common,
)
from wordclass.classifiers.base import TextClassifier, make_embeddings
from wordclass.corpus.labels import EncodedLabels
from wordclass.decision.measures import check_target
from wordclass.decision.scorers import EncoderScorer, LinearScorer, SumScorer
from wordclass.decision.thresholds import best_thresholds
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.matrix import EmbeddingMatrix, check_other_tasks
from wordclass.errors import InputError
from wordclass.options import Kind, Option, check_table, is_auto, n_threads, number, one_of
from wordclass.sentence.encoder import Encode, SentenceEncoder
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import Weight
from wordclass.text.term_weigher import TermWeigher
from wordclass.text.vectorizer_options import TEXT_OPTIONS
from wordclass.text.weighting import SupervisedWeight
from wordclass.vectors.word_vectors import WordVectors

# the values that `tune` chooses from, the most important option first
GRID: Mapping[str, Sequence[Any]] = MappingProxyType(
    {"ngrams": ((1, 1), (1, 2)), "min_docs": (2, 3, 5)}
)
_WORD_FEATURES = ("tfidf", "vectors", "vectors+wce", "wce")
FEATURES = (*_WORD_FEATURES, *(f"{name}+encoder" for name in _WORD_FEATURES), "encoder")
VALUES_OF_C = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # those of the paper
_DEFAULT_C = 1.0  # scikit-learn's, for a class too small to search
_BYTES_PER_TRIAL = 12  # of a score: of each value of C, in folds and in all
_BYTES_PER_WEIGHT = 12  # of a term for a class, with the memory of the solver


def _accepts_penalties(value: Any) -> bool:  # noqa: ANN401 - any value of a user
    accepts = number(above=0.0).accepts
    return all(accepts(penalty) for penalty in np.ravel(np.asarray(value, dtype=object)))


@dataclass(kw_only=True, eq=False, repr=False)
class SvmClassifier(TextClassifier):
    """Classifier with one linear support vector machine per class, as in the paper.

    The loss is the squared hinge, and the intercept is regularized, as in scikit-learn's LinearSVC.
    A single-label text gets the class with the highest score, a multilabel one all classes above
    their thresholds.

    As in the paper, the word-class vectors of `features="wce"` are learned from all training texts.
    So the texts held out in the search for C have their own labels in their features, and
    probabilities learned on them are too high. The classifier "linear" avoids this.

    Attributes
    ----------
    C_ : array of shape (m,)
        The C of each class.
    scorer_ : LinearScorer or SumScorer
        The weights of all terms, and those of the encoder's dimensions if there is an encoder.

    See Also
    --------
    LinearClassifier : Avoids the bias of word-class features, and chooses more settings.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["red apple", "green apple", "blue sky", "dark sky"]
    >>> model = wc.SvmClassifier(min_docs=1, C=1.0, probabilities=False)
    >>> model = model.fit(texts, ["food", "food", "air", "air"])
    >>> model.predict(["an apple", "the sky"]).tolist()
    ['food', 'air']
    """

    options: ClassVar[Mapping[str, Option]] = {
        "features": Option(
            'The features of a text. "tfidf": X, the weights of its terms. "vectors": X·U, the sum '
            'of the pretrained vectors of its words. "wce": X·S, the sum of their word-class '
            'vectors. "vectors+wce": both sums. With "+encoder", the vectors of the encoder are '
            'appended; "encoder": these alone.',
            one_of(*FEATURES),
        ),
        "vectors": replace(
            VECTORS, help="Pretrained word vectors. Terms without a vector count as zeros."
        ),
        "encoder": replace(
            ENCODER,
            help=f'{ENCODER.help} For `features` with "encoder"; the vectors are scaled to the '
            "mean length of the other features.",
        ),
        "wce": WCE,
        "other": OTHER,
        "C": Option(
            "Cost of errors relative to the size of the weights, for all classes or for each (such "
            'as the `C_` of another classifier). "auto": chosen from .001, .01, ... 1000 by '
            "five-fold cross-validation, in a multilabel task for each class (1 if it has fewer "
            "than five texts), otherwise for all classes together.",
            Kind("float above 0, array of shape (m,)", "a number above 0", _accepts_penalties),
            also=("auto",),
        ),
        "target": replace(
            TARGET,
            help=f"{TARGET.help} It decides about C. In a multilabel task each class has its own "
            'C, and all but "accuracy" mean its F1.',
        ),
        "class_weight": Option(
            'Cost of errors. "balanced": errors on a small class cost more; in a single-label task '
            "of more than two classes, those on its own documents only, as in LinearSVC. None: all "
            "errors cost the same.",
            one_of("balanced", None),
        ),
        "thresholds": Option(
            'The thresholds of a multilabel task. "zero": a text has a class if its score is above '
            '0. "tuned": the best threshold for each class on scores of held-out texts.',
            one_of("zero", "tuned"),
        ),
        "probabilities": replace(
            PROBABILITIES, help=f"{PROBABILITIES.help} If C is not searched, this takes five fits."
        ),
        "seed": replace(SEED, help="Seed of the projection of word-class embeddings, if any."),
        **TEXT_OPTIONS,
    }

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

    def check_options(self) -> None:
        """Raise an InputError if options have values that are not accepted, or contradictory ones.

        `fit` does this first.

        Examples
        --------
        >>> import wordclass as wc
        >>> wc.SvmClassifier(features="tfidf").check_options()
        """
        super().check_options()
        if self.other and self._word_features in ("tfidf", "encoder"):
            raise InputError(
                f"features={self.features!r} does not sum word vectors, so other has no effect",
                hint="use features='vectors', 'vectors+wce' or 'wce', or leave out other",
            )
        if "wce" in self.features and self.wce is False:
            problem = f"features={self.features!r} needs wce, which is False"
            raise InputError(problem, hint="use wce=True")

    def _check_inputs(self) -> None:
        """Raise an InputError if vectors or encoders that the features need are missing."""
        check_other_tasks(self.other)
        if self.features.startswith("vectors") and self.vectors is None:
            problem = f"features={self.features!r} needs vectors"
            raise InputError(problem, hint="use vectors=WordVectors.load(path)")
        if self._has_encoder and self.encoder is None:
            problem = f"features={self.features!r} needs an encoder"
            raise InputError(problem, hint="use encoder='minilm', or leave out '+encoder'")
        if self.encoder is not None and not self._has_encoder:
            problem = f"features={self.features!r} does not use the encoder"
            raise InputError(problem, hint=f"use features='{self.features}+encoder'")

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        self._check_inputs()
        Y = labels.Y
        is_multilabel = labels.codeframe.is_multilabel
        tunes_thresholds = is_multilabel and self.thresholds == "tuned"
        needs_scores = self.probabilities or tunes_thresholds
        if is_auto(self.C) or needs_scores:
            # in a single-label task, all values of C are tried on all classes together
            n_values = len(VALUES_OF_C) if is_auto(self.C) and not is_multilabel else 1
            self._check_training_scores(labels, len(texts), _BYTES_PER_TRIAL * n_values)
        documents = self._read_documents(texts, labels, sample_weight)
        C = self._penalties(Y.shape[1], is_common=needs_scores and not is_multilabel)
        threads = n_threads(self.n_jobs)
        scores = None
        if is_auto(self.C) or needs_scores:
            grid = np.array(VALUES_OF_C) if is_auto(self.C) else C[:1]
            search = search_by_class if is_multilabel else search_in_common
            C, scores = search(documents, Y, C, grid, check_target(self.target), threads)
        scorer = documents.solve(Y, C, threads)
        if needs_scores and scores is None:  # too few texts to hold any out
            scores = scorer.scores(texts)
        self.C_ = C
        self.scorer_ = scorer
        self.thresholds_ = np.zeros(Y.shape[1]) if is_multilabel else None
        self.calibration_ = self.share_calibration_ = None
        if scores is not None and tunes_thresholds:
            rows = np.arange(len(texts)) if sample_weight is None else np.flatnonzero(sample_weight)
            self.thresholds_ = best_thresholds(scores[rows], Y[rows])
        if scores is not None and self.probabilities:
            is_single_label = not is_multilabel
            self._calibrate(
                scores, Y, sample_weight, is_single_label=is_single_label, keeps_highest=False
            )

    def _read_documents(
        self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None
    ) -> SvmDocuments:
        """Return the features of the documents, if their weights fit into memory."""
        encoder = SentenceEncoder.of(self.encoder) if self._has_encoder else None  # type: ignore[arg-type]
        weigher, X, E = self._weigh_terms(texts, labels)
        n_classes = labels.Y.shape[1]
        if weigher is not None:
            doc_freq = weigher.vocabulary.doc_freq
            content = f"the weights of {len(doc_freq):,} terms by {n_classes:,} classes"
            check_table(content, doc_freq, _BYTES_PER_WEIGHT * n_classes)
        return SvmDocuments(
            weigher=weigher,
            X=X,
            E=E,
            encoder=encoder,
            encoded=None if encoder is None else encoder.vectors(texts, self.n_jobs),
            weights=sample_weight,
            is_balanced=self.class_weight == "balanced",
            # two classes that exclude each other are one problem with two sides
            has_two_sides=labels.codeframe.is_multilabel or n_classes == 2,
        )

    def _penalties(self, n_classes: int, *, is_common: bool) -> Floats:
        """Return the C (m,) of each class, or the default if it is searched.

        If `is_common`, they must be equal, because all classes are validated together.
        """
        C = np.asarray(_DEFAULT_C if is_auto(self.C) else self.C, dtype=np.float64)
        if C.ndim and (C.shape != (n_classes,) or is_common):
            raise InputError(
                f"C has shape {C.shape}",
                expected=f"one number, or one per class ({n_classes}), in a single-label task with "
                "probabilities=False",
            )
        return np.full(n_classes, C)

    def _weigh_terms(
        self, texts: list[str], labels: EncodedLabels
    ) -> tuple[TermWeigher | None, Sparse, Floats | None]:
        """Return the weigher, X (n, v), and the vectors E (v, d) to sum if there are any."""
        if self._word_features == "encoder":
            return None, sparse.csr_matrix((len(texts), 0)), np.zeros((0, 0))
        if self._word_features in ("tfidf", "vectors"):
            weigher, X = self._new_weigher().fit_transform(texts, labels)
            if self._word_features == "tfidf":
                return weigher, X, None
            terms = weigher.terms
            E = EmbeddingMatrix.of(
                self.vectors, other=self.other, vocabulary=terms, keep_unseen=False
            )
        else:
            embeddings = make_embeddings(self).fit(texts, labels)  # type: ignore[union-attr]
            weigher = embeddings.vectorizer_.weigher
            X = weigher.transform(texts)
            U = None if self._word_features == "wce" else self.vectors
            E = EmbeddingMatrix.of(U, embeddings, other=self.other, keep_unseen=False)
        return weigher, X, E.matrix[: X.shape[1]].astype(np.float64)

    @property
    def _word_features(self) -> str:
        """The features of words, or "encoder" if there are none."""
        return self.features.removesuffix("+encoder")

    @property
    def _has_encoder(self) -> bool:
        return self.features.endswith("encoder")

    def _to_state(self) -> ModelState:
        return super()._to_state() | ModelState.of(C=self.C_)

    def _restore_state(self, state: ModelState) -> None:
        words = encoder = None
        if self._has_encoder:
            encoder = EncoderScorer.from_state(
                self.encoder, self.n_jobs, state.strip_prefix("encoder")
            )
        if self._word_features != "encoder":
            weigher = self._new_weigher()
            if "wce" in self._word_features:
                embeddings = make_embeddings(self)
                weigher = TermWeigher.of(
                    **{name: getattr(embeddings, name) for name in TEXT_OPTIONS}
                )
            words = LinearScorer.from_state(weigher, state)
        self.scorer_ = SumScorer.of(words, None, encoder)
        self.C_ = state.take(C="float64 classes >=0")["C"]


make = SvmClassifier
