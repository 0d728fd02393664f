"""BM25 weights, which saturate for repeated words, and sooner in long documents."""

import numpy as np
from scipy import sparse

from wordclass.arrays import Sparse, row_numbers
from wordclass.text.vocabulary import Vocabulary

_SATURATION = 1.5  # k1: with larger values, more repetitions of a word count
_LENGTH_SHARE = 0.75  # b: influence of the length of a document, from 0 to 1


def weight(occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
    """Return idf tf (k1 + 1) / (tf + k1 (1 - b + b length / average length)).

    idf is ln(1 + (n - df + 1/2) / (df + 1/2)), which is positive for every term; k1 = 1.5 and
    b = 0.75. The length of a document is its number of terms of the vocabulary. The average is
    that of the training documents.
    """
    doc_freq = vocabulary.doc_freq
    idf = np.log1p((vocabulary.n_docs - doc_freq + 0.5) / (doc_freq + 0.5))  # (v,)
    average_length = vocabulary.term_freq.sum() / vocabulary.n_docs
    frequencies = occurrences.data.astype(np.float64)
    rows = row_numbers(occurrences)
    lengths = np.bincount(rows, frequencies, minlength=occurrences.shape[0])  # (n,)
    half_saturation = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * lengths / average_length)
    saturated = frequencies * (_SATURATION + 1) / (frequencies + half_saturation[rows])
    csr_arrays = (idf[occurrences.indices] * saturated, occurrences.indices, occurrences.indptr)
    return sparse.csr_matrix(csr_arrays, shape=occurrences.shape)
