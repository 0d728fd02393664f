"""What the classifier `linear` sees of documents: X, word-class scores, pretrained vectors."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.embedding.cross_fit import FoldScores
from wordclass.embedding.matrix import EmbeddingMatrix
from wordclass.linear_scorer import LinearScorer
from wordclass.linear_solver.one_vs_rest import Costs, Features, OneVsRest, Solution
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.word_vectors import WordVectors

N_FOLDS = 10
_ENOUGH = 2  # documents a class needs to have a word-class column: one alone is never crossed


@dataclass(frozen=True)
class LinearSettings:
    """The few settings of the classifier."""

    ngrams: tuple[int, int]
    shrinkage: float
    block_weight: float
    vector_weight: float
    C: float

    def to_dict(self) -> dict[str, Any]:
        """Return them by name."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class LabelledDocuments:
    """Training documents: texts, labels Y (n, m), folds (n,) and maybe weights (n,)."""

    texts: list[str]
    Y: Sparse
    folds: Ints
    sample_weight: Floats | None
    is_multilabel: bool

    def rows(self, folds: tuple[int, ...], *, inside: bool) -> Ints:
        """Return the documents that are in these folds, or those that are not."""
        return np.flatnonzero(np.isin(self.folds, folds) == inside)

    def part(self, rows: Ints, folds: Ints) -> "LabelledDocuments":
        """Return some of the documents, with folds of their own."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        texts = [self.texts[k] for k in rows]
        return LabelledDocuments(texts, self.Y[rows], folds, weight, self.is_multilabel)


class LinearFeatures:
    """The features of labelled documents for one choice of n-grams.

    Parameters
    ----------
    documents
        To learn from.
    vectorizer
        With options, not fitted yet.
    vectors
        Pretrained ones, or None.
    class_weights
        (m,) factors for the costs of errors on the documents of a class; None: balanced.
    """

    def __init__(
        self,
        documents: LabelledDocuments,
        vectorizer: DocumentVectorizer,
        vectors: WordVectors | None,
        class_weights: Floats | None,
        n_threads: int,
    ) -> None:
        self.documents = documents
        self.vectorizer = vectorizer
        self._class_weights = class_weights
        self._n_threads = n_threads
        self.X: Sparse = vectorizer.fit_transform(documents.texts)
        self._features = {0.0: Features.of(self.X)}
        self._vectors = vectors
        self._own_scores: dict[tuple[int, ...], Floats32] = {}
        self._own_shrinkage: float | None = None

    @cached_property
    def _fold_scores(self) -> FoldScores:
        documents = self.documents
        return FoldScores(self.X, documents.Y, documents.folds, N_FOLDS, documents.sample_weight)

    @cached_property
    def _vector_rows(self) -> Floats32:
        """The pretrained vectors (v, q) of the vocabulary, stretched so that a document's is 1."""
        if self._vectors is None:
            return np.zeros((self.X.shape[1], 0), np.float32)
        E = EmbeddingMatrix.of(
            self._vectors, vocabulary=self.vectorizer.vocabulary_.terms, keep_unseen=False
        )
        rows = E.matrix[: self.X.shape[1]]
        length = np.sqrt(np.mean(np.sum((self.X @ rows) ** 2, axis=1)))
        return np.asarray(rows / max(float(length), 1e-12), dtype=np.float32)

    def problem(
        self, settings: LinearSettings, held_out: tuple[int, ...] = ()
    ) -> tuple[OneVsRest, float]:
        """Return the problem to solve, and the factor that made word-class scores its features.

        The documents held out are seen by nothing that was learned from labels.
        """
        documents = self.documents
        rows = documents.rows(held_out, inside=False)
        features, factor = self._with_vectors(settings.vector_weight), 0.0
        if settings.block_weight:
            own = self._own(settings.shrinkage, held_out)
            size = float(np.sqrt(np.sum(own[rows] ** 2) / max(own[rows].size, 1)))
            factor = settings.block_weight / size if size > 0 else 0.0
            features = features.with_own(own * np.float32(factor))
        return OneVsRest(features, documents.Y, self._costs(rows), self._n_threads), factor

    def _with_vectors(self, weight: float) -> Features:
        if weight not in self._features:
            block = np.asarray(self.X @ (self._vector_rows * np.float32(weight)), np.float32)
            self._features[weight] = self._features[0.0].with_block(block)
        return self._features[weight]

    def _own(self, shrinkage: float, held_out: tuple[int, ...]) -> Floats32:
        """Return the word-class scores (n, m), each document's without its own label."""
        if self._own_shrinkage != shrinkage:  # only the last one's are kept: they are large
            self._own_shrinkage, self._own_scores = shrinkage, {}
        if held_out not in self._own_scores:
            made = self._fold_scores.scores([shrinkage], held_out)[shrinkage]
            made[:, ~self._has_column(held_out)] = 0.0
            self._own_scores[held_out] = made
        return self._own_scores[held_out]

    def _has_column(self, held_out: tuple[int, ...]) -> Any:  # noqa: ANN401 - flags (m,)
        rows = self.documents.rows(held_out, inside=False)
        return np.asarray(self.documents.Y[rows].sum(axis=0)).ravel() >= _ENOUGH

    def _costs(self, rows: Ints) -> Costs:
        documents = self.documents
        if self._class_weights is None:
            return Costs.balanced(
                documents.Y, documents.sample_weight, rows, is_multilabel=documents.is_multilabel
            )
        equal = Costs.equal(*documents.Y.shape)
        weight = equal.docs if documents.sample_weight is None else documents.sample_weight
        return Costs(self._class_weights, equal.negative, weight)

    def solve(self, settings: LinearSettings) -> LinearScorer:
        """Learn from all documents, and fold everything into one weight a term and class."""
        problem, factor = self.problem(settings)
        solution = problem.solve(settings.C)
        weights = solution.weights
        if factor:
            S = self._fold_scores.embedding(settings.shrinkage)  # (v, m)
            S *= solution.own_weights * np.float32(factor)
            weights += S  # a class without a column has a weight of 0
        if settings.vector_weight:
            weights += self._folded_vectors(settings.vector_weight, solution)
        return LinearScorer(self.vectorizer, weights, solution.intercept)

    def _folded_vectors(self, weight: float, solution: Solution) -> Floats32:
        folded: Floats32 = self._vector_rows @ (solution.block_weights * np.float32(weight))
        return folded
