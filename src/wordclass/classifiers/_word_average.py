"""Scores that are a mean over words, as fastText makes them, without fastText."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordclass import tensor_file
from wordclass.arrays import Floats, Floats32, Sparse
from wordclass.corpus import list_texts
from wordclass.linear_solver.one_vs_rest import sparse_times_dense
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import count_known
from wordclass.vocabulary import Vocabulary

_BLOCK = 8192  # documents scored at once


@dataclass(frozen=True, eq=False)
class WordAverage:
    """The mean of the vectors of a text's words, times the vectors of the classes.

    Every text ends with one more word, the end of the text, so that none is empty; words outside
    the vocabulary do not count.

    Parameters
    ----------
    analyze
        What cuts a text into words.
    vocabulary
        The v words that have a vector.
    word_vectors
        (v, d)
    end_vector
        (d,) of the end of the text.
    class_vectors
        (m, d)
    offset
        (m,) added to every score: 0, or far below it for a class without training texts.
    """

    analyze: Analyze
    vocabulary: Vocabulary
    word_vectors: Floats32
    end_vector: Floats32
    class_vectors: Floats32
    offset: Floats32

    def scores(self, texts: Iterable[str], n_jobs: int | None = None) -> Floats32:
        """Return the scores (n, m) of texts."""
        listed = list_texts(texts)
        scores = np.empty((len(listed), len(self.class_vectors)), np.float32)
        classes = self.class_vectors.T.astype(np.float64)
        for start in range(0, len(listed), _BLOCK):
            counted = self._count(listed[start : start + _BLOCK], n_jobs)
            sums = sparse_times_dense(counted, self.word_vectors, self.end_vector, n_jobs)
            # in float64, the size of a block leaves no trace in what is rounded to float32
            means = sums / _lengths(counted)[:, None]  # (block, d)
            scores[start : start + _BLOCK] = means @ classes + self.offset
        return scores

    def contributions(self, text: str) -> tuple[list[str], Floats32, Floats32]:
        """Return the words of a text, what each adds to each score (t, m), and the rest (m,)."""
        counted = self._count([text], None)
        words = [self.vocabulary.terms[j] for j in counted.indices]
        share = counted.data[:, None] / _lengths(counted)
        added = share * (self.word_vectors[counted.indices] @ self.class_vectors.T)
        rest = self.end_vector @ self.class_vectors.T / _lengths(counted) + self.offset
        return words, added.astype(np.float32), rest.astype(np.float32)

    def _count(self, texts: list[str], n_jobs: int | None) -> Sparse:
        return count_known(texts, self.analyze, self.vocabulary, n_jobs)

    def packed(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything but the analyzer, as facts and arrays."""
        words, ends = tensor_file.pack_strings(self.vocabulary.terms)
        arrays: dict[str, NDArray[Any]] = {
            "words": words,
            "word_ends": ends,
            "word_vectors": self.word_vectors,
            "end_vector": self.end_vector,
            "class_vectors": self.class_vectors,
            "offset": self.offset,
        }
        return {}, arrays

    @classmethod
    def unpacked(
        cls, analyze: Analyze, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> "WordAverage":
        """Return what was packed; the analyzer comes from elsewhere."""
        words = tensor_file.unpack_strings(arrays["words"], arrays["word_ends"])
        names = ("word_vectors", "end_vector", "class_vectors", "offset")
        return cls(analyze, fixed_vocabulary(words), *(arrays[name] for name in names))


def fixed_vocabulary(terms: list[str]) -> Vocabulary:
    """Return a vocabulary to count with, without frequencies."""
    nothing = np.zeros(len(terms), np.int64)
    return Vocabulary(terms, nothing, nothing, 0)


def _lengths(counted: Sparse) -> Floats:
    """Return how many words each text has (n,), its end included."""
    lengths: Floats = np.asarray(counted.sum(axis=1), np.float64).ravel() + 1
    return lengths
