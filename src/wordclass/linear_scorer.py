"""Scores that are a weighted sum of a text's terms: what every linear classifier ends in.

Pretrained and word-class features of a text are themselves sums over its terms, so whatever weights
a linear model gives to them, they fold into one weight a term and class. Prediction is then one
sparse product, and the contribution of a term to a score is exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from wordclass.arrays import Floats32
from wordclass.corpus import list_texts
from wordclass.linear_solver.one_vs_rest import sparse_times_dense
from wordclass.storage.parts import Parts
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.vocabulary import Vocabulary

_BLOCK = 8192  # documents scored at once
_LAYOUT = {"weights": "float32 terms classes", "intercept": "float32 classes"}


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """X times the weights, plus the intercept.

    Parameters
    ----------
    vectorizer
        Fitted: makes X (n, v).
    weights
        (v, m) of each term for each class.
    intercept
        (m,) what a text without a single term scores.
    """

    vectorizer: DocumentVectorizer
    weights: Floats32
    intercept: Floats32

    def scores(self, texts: Iterable[str]) -> Floats32:
        """Return the scores (n, m) of texts."""
        listed = list_texts(texts)
        scores = np.empty((len(listed), self.weights.shape[1]), np.float32)
        for start in range(0, len(listed), _BLOCK):
            X = self.vectorizer.transform(listed[start : start + _BLOCK])
            scores[start : start + _BLOCK] = sparse_times_dense(
                X, self.weights, self.intercept, self.vectorizer.n_jobs
            )
        return scores

    def contributions(self, text: str) -> tuple[list[str], Floats32]:
        """Return the terms of a text and what each adds to each score (terms, m).

        With the intercept, they sum to the scores of the text.
        """
        X = self.vectorizer.transform([text])
        terms = [self.vectorizer.vocabulary_.terms[j] for j in X.indices]
        added: Floats32 = X.data[:, None].astype(np.float32) * self.weights[X.indices]
        return terms, added

    def to_parts(self) -> Parts:
        """Return what is stored of it: everything but the vectorizer's options."""
        return self.vectorizer.vocabulary_.to_parts() | Parts.of_fields(self, _LAYOUT)

    @classmethod
    def from_parts(cls, vectorizer: DocumentVectorizer, parts: Parts) -> "LinearScorer":
        """Return the scorer that was stored; the vectorizer brings the options."""
        fitted = vectorizer.with_vocabulary(Vocabulary.from_parts(parts))
        return cls(fitted, **parts.take(**_LAYOUT))
