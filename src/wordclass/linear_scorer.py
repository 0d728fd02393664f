"""Scores that are a weighted sum of a text's terms: what every linear classifier ends in.

Pretrained and word-class features of a text are themselves sums over its terms, so whatever weights
a linear model gives to them, they fold into one weight a term and class. Prediction is then one
sparse product, and the contribution of a term to a score is exact.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordclass import tensor_file
from wordclass.arrays import Floats32
from wordclass.corpus import list_texts
from wordclass.linear_solver.one_vs_rest import sparse_times_dense
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.vocabulary import Vocabulary

_BLOCK = 8192  # documents scored at once


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

    def packed(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything but the vectorizer's options, as facts and arrays."""
        vocabulary = self.vectorizer.vocabulary_
        terms, ends = tensor_file.pack_strings(vocabulary.terms)
        arrays: dict[str, NDArray[Any]] = {
            "terms": terms,
            "term_ends": ends,
            "doc_freq": vocabulary.doc_freq,
            "term_freq": vocabulary.term_freq,
            "weights": self.weights,
            "intercept": self.intercept,
        }
        return {"vocabulary_docs": vocabulary.n_docs}, arrays

    @classmethod
    def unpacked(
        cls, vectorizer: DocumentVectorizer, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> "LinearScorer":
        """Return the scorer that was packed; the vectorizer brings the options."""
        vocabulary = Vocabulary(
            tensor_file.unpack_strings(arrays["terms"], arrays["term_ends"]),
            arrays["doc_freq"],
            arrays["term_freq"],
            facts["vocabulary_docs"],
        )
        fitted = vectorizer.with_vocabulary(vocabulary)
        return cls(fitted, arrays["weights"], arrays["intercept"])
