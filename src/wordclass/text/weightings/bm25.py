"""BM25: repeated words count less and less, and less again in a long document."""

import numpy as np
from scipy import sparse

from wordclass.arrays import Sparse, row_numbers
from wordclass.text.vocabulary import Vocabulary

_SATURATION = 1.5  # k1: how soon a repeated word stops counting
_LENGTH_SHARE = 0.75  # b: how much a long document is held back


def weight(occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
    """Return idf tf (k1 + 1) / (tf + k1 (1 - b + b length / average length)).

    idf is ln(1 + (n - df + 1/2) / (df + 1/2)), which is above 0 for every term; k1 = 1.5 and
    b = .75. Lengths are counted in terms of the vocabulary, averaged over the training documents.
    """
    doc_freq = vocabulary.doc_freq
    idf = np.log1p((vocabulary.n_docs - doc_freq + 0.5) / (doc_freq + 0.5))  # (v,)
    average = vocabulary.term_freq.sum() / vocabulary.n_docs
    frequency = occurrences.data.astype(np.float64)
    rows = row_numbers(occurrences)
    lengths = np.bincount(rows, frequency, minlength=occurrences.shape[0])  # (n,)
    held_back = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * lengths / average)
    saturated = frequency * (_SATURATION + 1) / (frequency + held_back[rows])
    parts = (idf[occurrences.indices] * saturated, occurrences.indices, occurrences.indptr)
    return sparse.csr_matrix(parts, shape=occurrences.shape)
