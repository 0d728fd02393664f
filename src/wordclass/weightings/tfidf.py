"""Sublinear tf-idf with rows of length 1: the paper's weighting, and the default."""

import numpy as np
from scipy import sparse

from wordclass.arrays import Sparse, rows_of
from wordclass.vocabulary import Vocabulary


def weight(occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
    """Return (1 + ln tf) (ln((1 + n) / (1 + df)) + 1), each row divided by its L2 norm.

    A document without a known term keeps a row of zeros. Equal to scikit-learn's TfidfVectorizer
    with `sublinear_tf=True`.
    """
    idf = np.log((1 + vocabulary.n_docs) / (1 + vocabulary.doc_freq)) + 1  # (v,)
    weights = (1 + np.log(occurrences.data)) * idf[occurrences.indices]
    rows = rows_of(occurrences)
    lengths = np.sqrt(np.bincount(rows, weights**2, minlength=occurrences.shape[0]))
    # a row with a weight has a length: idf is at least 1 for the training documents, and above 0
    # for any others
    parts = (weights / lengths[rows], occurrences.indices, occurrences.indptr)
    return sparse.csr_matrix(parts, shape=occurrences.shape)
