"""Scorers: from texts to one score per class, and the contribution of each term to it.

Every classifier predicts with a `Scorer`. This file has those that are linear in the terms of a
text or in the vector of an encoder; the others are `decision.tree_scorer.TreeScorer`,
`network.scorer.NetworkScorer` and the word average of the classifier "fasttext".
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Floats32, Ints, Sparse, select_top_k
from wordclass.corpus.documents import Label
from wordclass.decision.explanation import (
    ENCODER,
    Columns,
    Contributions,
    PathTo,
    words_of_characters,
)
from wordclass.embedding.counts import sparse_times_dense
from wordclass.options import list_texts
from wordclass.sentence.encoder import Encode, SentenceEncoder
from wordclass.storage.state import ModelState
from wordclass.text.analyzer import Analyze
from wordclass.text.term_weigher import TermWeigher
from wordclass.text.vocabulary import Vocabulary

_BLOCK_DOCS = 8192
MAX_BLOCK_SCORES = 1 << 24
_LINEAR_LAYOUT = {"weights": "float32 terms classes", "intercept": "float32 classes"}
_ENCODER_LAYOUT = {"weights": "float32 dimensions classes", "intercept": "float32 classes"}


class Scorer(Protocol):
    """A scorer computes the scores of texts for all classes.

    An implementation defines `n_classes`, `scores`, `contributions` and `to_state`, and a class
    method `from_state` that restores a scorer from its state. The other members describe the
    scorer, so that callers do not need to check its type; their defaults fit most scorers.
    """

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @abstractmethod
    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""

    @abstractmethod
    def contributions(self, text: str) -> Contributions:
        """Return the terms of a text and their contributions to the scores."""

    @abstractmethod
    def to_state(self) -> ModelState:
        """Return the state that a saved model stores."""

    def top(self, texts: Iterable[str], k: int) -> tuple[Ints, Floats32]:
        """Return the columns (n, k) and scores (n, k) of the best classes.

        Ties keep the order of the classes. Texts are scored in blocks, so that the scores of all
        texts for all classes are never in memory together.
        """
        listed = list_texts(texts)
        k = min(k, self.n_classes)
        columns = np.empty((len(listed), k), np.int64)
        scores = np.empty((len(listed), k), np.float32)
        every_column = np.arange(self.n_classes)[None]
        for rows in blocks(len(listed), self.n_classes):
            columns[rows], scores[rows] = select_top_k(every_column, self.scores(listed[rows]), k)
        return columns, scores

    def probabilities(self, scores: Floats | Floats32) -> Floats | None:
        """Return the probabilities of log scores, or None if scores need a calibration."""
        return None

    def path_to(self, text: str, classes: Sequence[Label]) -> PathTo | None:
        """Return a function from columns to paths in a tree of classes, or None without a tree."""
        return None

    @property
    def reads_every_text(self) -> bool:
        """Whether the scores of a text without known terms still depend on the text."""
        return False

    @cached_property
    def scores_of_empty_text(self) -> Floats32 | None:
        """The scores (m,) of a text without a known term, or None if every text is read."""
        return None if self.reads_every_text else self.scores([""])[0]

    @property
    def is_additive(self) -> bool:
        """Whether contributions are the exact summands of a score."""
        return True

    @property
    def has_log_scores(self) -> bool:
        """Whether scores are log probabilities, which may be minus infinity."""
        return False

    @property
    def analyze(self) -> Analyze | None:
        """The analyzer, or None if there are no terms."""
        return None

    @property
    def terms(self) -> Sequence[str]:
        """The terms that the scorer knows."""
        return ()

    @property
    def words(self) -> "LinearScorer | None":
        """The linear scorer of words that contributes to the scores, if any."""
        return None

    @property
    def encoder(self) -> "EncoderScorer | None":
        """The scorer of whole texts that contributes to the scores, if any."""
        return None

    @property
    def linear_scorers(self) -> "tuple[LinearScorer, ...]":
        """The linear scorers that sum to the scores, or an empty tuple."""
        return ()


def blocks(n_texts: int, n_classes: int) -> Iterable[slice]:
    """Cut texts into slices whose scores of all classes fit into memory."""
    step = max(1, min(_BLOCK_DOCS, MAX_BLOCK_SCORES // n_classes))
    return (slice(start, start + step) for start in range(0, n_texts, step))


@dataclass(frozen=True, eq=False)
class LinearScorer(Scorer):
    """Scorer that multiplies X by weights and adds an intercept.

    All linear classifiers predict with it.

    Pretrained and word-class features of a text are themselves sums over its terms. So the weights
    that a linear model gives to them fold into one weight per term and class. Prediction is then
    one sparse product, and the contribution of a term to a score is exact.

    Parameters
    ----------
    weigher : TermWeigher
        Computes X (n, v).
    weights : array of shape (v, m)
        The weight of each term for each class.
    intercept : array of shape (m,)
        The scores of a text without any term.
    """

    weigher: TermWeigher
    weights: Floats32
    intercept: Floats32

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.intercept)

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""
        listed = list_texts(texts)
        sums = self.weigher.weighted_sums(listed, self.weights, self.intercept)
        if sums is not None:
            return sums
        scores = np.empty((len(listed), self.weights.shape[1]), np.float32)
        for start in range(0, len(listed), _BLOCK_DOCS):
            X = self.weigher.transform(listed[start : start + _BLOCK_DOCS])
            scores[start : start + _BLOCK_DOCS] = sparse_times_dense(
                X, self.weights, self.intercept, self.weigher.n_jobs
            )
        return scores

    def contributions(self, text: str) -> Contributions:
        """Return the terms of a text and their contributions to the scores."""
        X = self.weigher.transform([text])
        terms = [self.weigher.terms[j] for j in X.indices]

        def columns(chosen: Columns) -> Floats32:
            rows: Floats32 = self.weights[:, chosen][X.indices]
            return X.data[:, None].astype(np.float32) * rows

        return Contributions(terms, self.intercept, columns)

    @property
    def analyze(self) -> Analyze:
        """The function from a text to its terms."""
        return self.weigher.analyze

    @property
    def terms(self) -> Sequence[str]:
        """The terms that have weights."""
        return self.weigher.terms

    @property
    def words(self) -> "LinearScorer":
        """The scorer itself."""
        return self

    @property
    def linear_scorers(self) -> "tuple[LinearScorer, ...]":
        """The scorer itself, alone."""
        return (self,)

    def to_state(self) -> ModelState:
        """Return the vocabulary and the weights."""
        return self.weigher.vocabulary.to_state() | ModelState.of_fields(self, _LINEAR_LAYOUT)

    @classmethod
    def from_state(cls, weigher: TermWeigher, state: ModelState) -> Self:
        """Return the stored scorer with the options of a weigher."""
        fitted = weigher.with_vocabulary(Vocabulary.from_state(state))
        return cls(fitted, **state.take(**_LINEAR_LAYOUT))


@dataclass(frozen=True, eq=False)
class EncoderScorer(Scorer):
    """Scorer that multiplies the vectors of a sentence encoder by weights and adds an intercept.

    Parameters
    ----------
    sentence_encoder : SentenceEncoder
        The encoder, which turns texts into vectors (n, d).
    weights : array of shape (d, m)
        The weight of each dimension for each class.
    intercept : array of shape (m,)
        The scores of a zero vector.
    n_jobs : int, optional
        The number of threads of the encoder.
    """

    sentence_encoder: SentenceEncoder
    weights: Floats32
    intercept: Floats32
    n_jobs: int | None = None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.intercept)

    @property
    def reads_every_text(self) -> bool:
        """True, because an encoder computes a vector for any text."""
        return True

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""
        vectors = self.sentence_encoder.vectors(texts, self.n_jobs)
        scores: Floats32 = vectors @ self.weights + self.intercept
        return scores

    def contributions(self, text: str) -> Contributions:
        """Return the contribution of the whole text, because scores are not sums over words."""
        added = self.scores([text]) - self.intercept
        return Contributions.of_table([ENCODER], added, self.intercept)

    @property
    def encoder(self) -> "EncoderScorer":
        """The scorer itself."""
        return self

    def to_state(self) -> ModelState:
        """Return the weights and the identity of the encoder."""
        return ModelState.of(self.sentence_encoder.to_metadata()) | ModelState.of_fields(
            self, _ENCODER_LAYOUT
        )

    @classmethod
    def from_state(
        cls, encoder: str | PathLike[str] | Encode | None, n_jobs: int | None, state: ModelState
    ) -> Self:
        """Return the stored scorer with the encoder that it was fitted with."""
        arrays = state.take(**_ENCODER_LAYOUT)
        sentence_encoder = SentenceEncoder.reopen(encoder, state.metadata, "encoder")
        if len(arrays["weights"]) != sentence_encoder.n_dims:
            raise ValueError("the number of weights is not the number of dimensions of the encoder")
        return cls(sentence_encoder, **arrays, n_jobs=n_jobs)


@dataclass(frozen=True, eq=False)
class SumScorer(Scorer):
    """Sum of the scores of words, of n-grams of characters, and of an encoder.

    Parameters
    ----------
    of_words : LinearScorer or None
        The scorer of words, with the intercept; None if words are not used.
    of_characters : LinearScorer, optional
        The scorer of n-grams of characters, without an intercept.
    of_encoder : EncoderScorer, optional
        The scorer of an encoder's vectors.
    """

    of_words: LinearScorer | None
    of_characters: LinearScorer | None = None
    of_encoder: EncoderScorer | None = None

    @classmethod
    def of(
        cls,
        words: LinearScorer | None,
        characters: LinearScorer | None,
        encoder: EncoderScorer | None,
    ) -> "LinearScorer | SumScorer":
        """Return the sum of scorers, or the scorer of words if it is the only one."""
        if words is not None and characters is None and encoder is None:
            return words
        return cls(words, characters, encoder)

    @property
    def _scorers(self) -> "list[LinearScorer | EncoderScorer]":
        scorers = (self.of_words, self.of_characters, self.of_encoder)
        return [scorer for scorer in scorers if scorer is not None]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self._scorers[0].n_classes

    @property
    def reads_every_text(self) -> bool:
        """Whether an encoder reads the texts."""
        return self.of_encoder is not None

    @property
    def words(self) -> LinearScorer | None:
        """The scorer of words."""
        return self.of_words

    @property
    def encoder(self) -> EncoderScorer | None:
        """The scorer of an encoder's vectors."""
        return self.of_encoder

    @property
    def weigher(self) -> TermWeigher:
        """The weigher of words."""
        if self.of_words is None:
            raise AttributeError("a scorer without words has no weigher")
        return self.of_words.weigher

    @property
    def analyze(self) -> Analyze | None:
        """The analyzer of words."""
        return None if self.of_words is None else self.of_words.analyze

    @property
    def terms(self) -> Sequence[str]:
        """The words that have weights."""
        return () if self.of_words is None else self.of_words.terms

    @property
    def linear_scorers(self) -> tuple[LinearScorer, ...]:
        """The scorers of words and characters, or none if there is also an encoder."""
        if self.of_encoder is not None:
            return ()
        scorers = (self.of_words, self.of_characters)
        return tuple(scorer for scorer in scorers if scorer is not None)

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""
        listed = list_texts(texts)
        first, *more_scorers = self._scorers
        scores = first.scores(listed)
        for scorer in more_scorers:
            scores += scorer.scores(listed)
        return scores

    def contributions(self, text: str) -> Contributions:
        """Return the terms of a text and their contributions to the scores.

        The contributions of n-grams of characters are added to the words that contain them.
        """
        encoded = None if self.of_encoder is None else self.of_encoder.contributions(text)
        if self.of_words is None:
            return encoded  # type: ignore[return-value]
        of_words = self.of_words.contributions(text)
        row_of = {term: row for row, term in enumerate(of_words.terms)}
        of_characters, shares = self._add_characters(text, self.of_words, row_of)
        intercept = of_words.intercept
        if encoded is not None:
            # a term of the text may have the same name: both contributions are added
            row_of.setdefault(ENCODER, len(row_of))
            intercept = intercept + encoded.intercept

        def columns(chosen: Columns) -> Floats32:
            first = of_words.columns(chosen)
            table = np.zeros((len(row_of), first.shape[1]), np.float32)
            table[: len(first)] = first
            if of_characters is not None:
                table[: shares.shape[0]] += shares @ of_characters.columns(chosen)
            if encoded is not None:
                table[row_of[ENCODER]] += encoded.columns(chosen)[0]
            return table

        return Contributions([*row_of], intercept, columns)

    def _add_characters(
        self, text: str, words: LinearScorer, row_of: dict[str, int]
    ) -> tuple[Contributions | None, Sparse]:
        """Return the contributions of n-grams, and their shares (w, g) in each word.

        Words that are not terms are appended to `row_of`.
        """
        if self.of_characters is None:
            return None, sparse.csr_matrix((0, 0))
        ngrams: Any = self.of_characters.analyze
        added = self.of_characters.contributions(text)
        tokens, shares = words_of_characters(text, words.analyze, ngrams, added.terms)
        rows = np.array([row_of.setdefault(token, len(row_of)) for token in tokens], np.int64)
        moved = shares.tocoo()
        cells = (rows[moved.row], moved.col)
        return added, sparse.csr_matrix((moved.data, cells), (len(row_of), shares.shape[1]))

    def to_state(self) -> ModelState:
        """Return the states of all scorers, with prefixes for characters and encoder."""
        state = ModelState.of() if self.of_words is None else self.of_words.to_state()
        if self.of_characters is not None:
            state |= self.of_characters.to_state().add_prefix("characters")
        if self.of_encoder is not None:
            state |= self.of_encoder.to_state().add_prefix("encoder")
        return state
