"""The classifier without training: a text gets the class that its word vectors point to."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np

from wordclass.arrays import Floats, Floats32, Sparse, normalize_rows
from wordclass.classifiers._options import (
    CORRELATION,
    ENCODER,
    FOLDS,
    PROBABILITIES,
    SEED,
    SHRINKAGE,
)
from wordclass.classifiers.base import TextClassifier
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import Split, cross_fit, fold_numbers, fold_splits
from wordclass.decision.scorers import EncoderScorer, LinearScorer, SumScorer
from wordclass.decision.thresholds import best_thresholds, score_decisions
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.vectors import Correlate
from wordclass.errors import InputError
from wordclass.linear.search import Documents
from wordclass.options import Option, is_auto, number
from wordclass.sentence.encoder import Encode, SentenceEncoder
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import TEXT_OPTIONS, DocumentVectorizer, shared_options

# the values that `tune` chooses from, the most important option first
GRID: Mapping[str, Sequence[Any]] = MappingProxyType(
    {
        "shrinkage": (2.0, 5.0, 10.0, 20.0, 50.0),
        "ngrams": ((1, 1), (1, 2), (1, 3)),
        "min_docs": (1, 2, 3, 5),
        "correlation": ("dot", "relevance_frequency", "ppmi"),
    }
)
_NEIGHBOR_NGRAMS = (1, 2)
_NEIGHBOR_MIN_DOCS = 2
_ENCODER_WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(kw_only=True, eq=False, repr=False)
class NearestClassifier(TextClassifier):
    """Classifier that scores a text with X·S, the sum of its weighted word-class vectors.

    A single-label text gets the class with the highest score; of equal scores, the first. A
    multilabel text gets the classes whose scores are above their thresholds. Thresholds and
    probabilities are learned from cross-fitted scores of the training texts.

    With an encoder, the similarity between the vector of the text and the mean vector of the texts
    of a class is added to the score of the class.

    Attributes
    ----------
    embeddings_ : WordClassEmbeddings
        The fitted word-class embeddings.
    scorer_ : LinearScorer or SumScorer
        The weights of the terms, and those of the encoder's dimensions if there is an encoder.

    See Also
    --------
    LinearClassifier : Learns weights of the terms beside the word-class scores.
    WordClassEmbeddings : The vectors that this classifier uses.

    Examples
    --------
    >>> import wordclass as wc
    >>> model = wc.NearestClassifier(min_docs=1)
    >>> model = model.fit(["red apple", "blue sky"], ["food", "air"])
    >>> model.predict(["an apple", "the sky"]).tolist()
    ['food', 'air']
    """

    options: ClassVar[Mapping[str, Option]] = {
        "correlation": CORRELATION,
        "shrinkage": SHRINKAGE,
        "encoder": ENCODER,
        "encoder_weight": Option(
            "Weight of the similarity beside the words, if both are scaled by their root mean "
            'square. "auto" tries 1, 2, 4, 8 and 16 on cross-fitted scores.',
            number(),
            also=("auto",),
        ),
        "probabilities": PROBABILITIES,
        "folds": FOLDS,
        "seed": SEED,
        **TEXT_OPTIONS,
    }

    correlation: str | Correlate = "dot"
    weighting: str | Weight = "tfidf"
    shrinkage: float = 0.0
    min_docs: int | float = 5
    ngrams: tuple[int, int] = (1, 1)
    mask_numbers: bool = True
    analyzer: Analyze | str | None = None
    stop_words: str | Collection[str] | None = None
    folds: int = 10
    seed: int = 0
    probabilities: bool = True
    encoder: str | PathLike[str] | Encode | None = None
    encoder_weight: float | Literal["auto"] = "auto"
    n_jobs: int | None = None

    name = "nearest"

    def _learn(self, texts: list[str], labels: EncodedLabels, sample_weight: Floats | None) -> None:
        if sample_weight is not None:
            problem = "sample_weight has no effect on the classifier 'nearest'"
            raise InputError(problem, hint="leave it out")
        embeddings = self._new_embeddings()
        is_multilabel = labels.codeframe.is_multilabel
        self.thresholds_ = self.calibration_ = self.share_calibration_ = None
        if is_multilabel or self.probabilities or self.encoder is not None:
            self._check_training_scores(labels, len(texts))
            scores = embeddings.fit_transform(texts, labels)
            encoder = None
            if self.encoder is not None:
                encoder, similarities = self._compare_with_classes(texts, labels, scores)
                scores = scores + similarities
            self.scorer_ = self._build_scorer(embeddings, encoder)
            if is_multilabel:
                self.thresholds_ = best_thresholds(scores, labels.Y)
            if self.probabilities:
                self._calibrate(
                    scores, labels.Y, is_single_label=not is_multilabel, keeps_highest=False
                )
        else:
            self.scorer_ = self._build_scorer(embeddings.fit(texts, labels), None)
        self.embeddings_ = embeddings

    # --- unlabelled texts ---------------------------------------------------------------------

    _max_few_shot_docs_per_class = 4

    def _make_student(self) -> "NearestClassifier":
        """Return an unfitted copy, which can learn from fractional labels."""
        return self._make_teacher()

    def _neighbor_features(self, texts: list[str]) -> tuple[Sparse, Floats32 | None]:
        """Return the weighted words and pairs of words (n, v) that decide which texts are similar.

        Parameters
        ----------
        texts : list of str
            The texts.

        Returns
        -------
        X : sparse matrix of shape (n, v)
            Weights of words and pairs of words.
        vectors : None
            There are no dense vectors.
        """
        options = shared_options(self, DocumentVectorizer)
        if self.analyzer is None:
            options["ngrams"] = _NEIGHBOR_NGRAMS
        options["min_docs"] = _NEIGHBOR_MIN_DOCS
        return DocumentVectorizer(**options).fit_transform(texts), None

    def _learn_documents(self, documents: Documents) -> None:
        distinct, places = documents.distinct()
        weights = documents.weights
        if weights is None or places is None:
            super()._learn_documents(documents)
            return
        if self.encoder is not None:
            problem = "'nearest' with an encoder cannot learn from unlabelled texts"
            raise InputError(problem, hint="use 'linear' with this encoder")
        labels = documents.labels
        is_multilabel = labels.codeframe.is_multilabel
        embeddings = self._new_embeddings()
        scores = embeddings.fit_fractional(distinct.texts, labels, weights, places)
        labelled = slice(documents.n_labelled)
        Y = labels.Y[labelled]
        self.thresholds_ = best_thresholds(scores[labelled], Y) if is_multilabel else None
        self._calibrate(
            scores[labelled],
            Y,
            weights[labelled],
            is_single_label=not is_multilabel,
            keeps_highest=False,
        )
        self.scorer_ = self._build_scorer(embeddings, None)
        self.embeddings_ = embeddings

    def _add_documents(self, documents: Documents) -> None:
        self.embeddings_ = self.embeddings_.with_fractional(
            documents.texts, documents.labels, documents.weights
        )
        self.scorer_ = self._build_scorer(self.embeddings_, None)

    def _compare_with_classes(
        self, texts: list[str], labels: EncodedLabels, scores: Floats32
    ) -> tuple[EncoderScorer, Floats32]:
        """Return a scorer by the similarity of texts to classes, and cross-fitted scores (n, m).

        Both have the weight that is best beside the scores (n, m) of words.
        """
        encoder = SentenceEncoder.of(self.encoder)  # type: ignore[arg-type]
        vectors = encoder.vectors(texts, self.n_jobs)
        Y = labels.Y

        def compare(split: Split) -> Floats32:
            if not len(split.train):  # all texts are in one fold, so none can be learned from
                return np.zeros(Y.shape, np.float32)
            directions, intercept = _class_directions(vectors[split.train], Y[split.train])
            return vectors[split.held_out] @ directions + intercept

        folds = fold_numbers(texts, self.folds, self.seed)
        similarities = cross_fit(fold_splits(folds), compare, n_docs=len(texts)).scores
        size = _root_mean_square(scores) / max(_root_mean_square(similarities), 1e-12)

        def measure_quality(weight: float) -> float:
            summed = scores + np.float32(weight * size) * similarities
            measures = score_decisions(summed, Y, labels.codeframe)
            return measures.macro_f1 + measures.micro_f1

        if is_auto(self.encoder_weight):
            weight = max(_ENCODER_WEIGHTS, key=measure_quality)
        else:
            weight = float(self.encoder_weight)
        factor = np.float32(size * weight)
        directions, intercept = _class_directions(vectors, Y)
        scorer = EncoderScorer(encoder, directions * factor, intercept * factor, self.n_jobs)
        return scorer, similarities * factor

    def _new_embeddings(self) -> WordClassEmbeddings:
        """Return unfitted embeddings with the options of the classifier."""
        return WordClassEmbeddings(max_dims=None, **shared_options(self, WordClassEmbeddings))

    def _build_scorer(
        self, embeddings: WordClassEmbeddings, encoder: EncoderScorer | None
    ) -> LinearScorer | SumScorer:
        # files of older versions may have further columns, which are not classes
        S = embeddings.vectors_[:, : len(embeddings.classes_)]  # (v, m)
        intercept = np.zeros(S.shape[1], np.float32)
        words = LinearScorer(embeddings.vectorizer_.weigher, S, intercept)
        return SumScorer.of(words, None, encoder)

    def _to_state(self) -> ModelState:
        state = self.embeddings_.to_state()
        encoder = self.scorer_.encoder
        return state if encoder is None else state | encoder.to_state().add_prefix("encoder")

    def _restore_state(self, state: ModelState) -> None:
        self.embeddings_ = self._new_embeddings().from_state(self.codeframe_, state)
        encoder = None
        if "encoder.name" in state.metadata:
            encoder = EncoderScorer.from_state(
                self.encoder, self.n_jobs, state.strip_prefix("encoder")
            )
        self.scorer_ = self._build_scorer(self.embeddings_, encoder)


def _class_directions(vectors: Floats32, Y: Sparse) -> tuple[Floats32, Floats32]:
    """Return a direction of length 1 for each class (d, m), and intercepts (m,).

    It leads from the mean of all texts to the mean of the texts of the class. With the intercept,
    a text is measured from the mean of all, too.
    """
    class_sizes = np.maximum(np.asarray(Y.sum(axis=0)).ravel(), 1)
    mean = vectors.mean(axis=0)
    class_means = np.asarray(Y.T @ vectors, np.float64) / class_sizes[:, None]
    directions = normalize_rows(class_means - mean).T
    return directions.astype(np.float32), (-mean @ directions).astype(np.float32)


def _root_mean_square(values: Floats32) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64)))) if values.size else 0.0


make = NearestClassifier
