"""Scores that are a mean over words, as fastText makes them, without fastText."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from wordclass.arrays import Floats, Floats32, Sparse
from wordclass.corpus import list_texts
from wordclass.linear_solver.one_vs_rest import sparse_times_dense
from wordclass.storage.parts import Parts
from wordclass.text.analyzer import Analyze
from wordclass.text.counting import count_known
from wordclass.vocabulary import Vocabulary

_BLOCK = 8192  # documents scored at once
_LAYOUT = {
    "word_vectors": "float32 words dimensions",
    "end_vector": "float32 dimensions",
    "class_vectors": "float32 classes dimensions",
    "offset": "float32 classes",
}


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

    def to_parts(self) -> Parts:
        """Return what is stored of it: everything but the analyzer."""
        return Parts.of(words=self.vocabulary.terms) | Parts.of_fields(self, _LAYOUT)

    @classmethod
    def from_parts(cls, analyze: Analyze, parts: Parts) -> "WordAverage":
        """Return what was stored; the analyzer comes from elsewhere."""
        words = parts.take(words="str words")["words"]
        return cls(analyze, fixed_vocabulary(words), **parts.take(**_LAYOUT))


def fixed_vocabulary(terms: list[str]) -> Vocabulary:
    """Return a vocabulary to count with, without frequencies."""
    nothing = np.zeros(len(terms), np.int64)
    return Vocabulary(terms, nothing, nothing, 0)


def _lengths(counted: Sparse) -> Floats:
    """Return how many words each text has (n,), its end included."""
    lengths: Floats = np.asarray(counted.sum(axis=1), np.float64).ravel() + 1
    return lengths
