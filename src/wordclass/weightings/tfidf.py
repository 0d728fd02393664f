"""Sublinear tf-idf with rows of length 1: the paper's weighting, and the default."""

from types import ModuleType

import numpy as np
from scipy import sparse

from wordclass import native
from wordclass.arrays import Floats, Sparse, rows_of
from wordclass.vocabulary import Vocabulary


def weight(occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
    """Return (1 + ln tf) (ln((1 + n) / (1 + df)) + 1), each row divided by its L2 norm.

    A document without a known term keeps a row of zeros. Equal to scikit-learn's TfidfVectorizer
    with `sublinear_tf=True`.
    """
    idf = vocabulary.idf
    if native.engine is not None and occurrences.indices.dtype == np.int32:
        return _weight_natively(native.engine, occurrences, idf)
    weights = (1 + np.log(occurrences.data)) * idf[occurrences.indices]
    rows = rows_of(occurrences)
    lengths = np.sqrt(np.bincount(rows, weights**2, minlength=occurrences.shape[0]))
    # a row with a weight has a length: idf is at least 1 for the training documents, and above 0
    # for any others
    parts = (weights / lengths[rows], occurrences.indices, occurrences.indptr)
    return sparse.csr_matrix(parts, shape=occurrences.shape)


def damped_counts(largest: int) -> Floats:
    """Return 1 + ln tf for each tf up to the largest, or some more; 0 for 0."""
    return _FEW if largest < len(_FEW) else _damped(largest)


def _damped(largest: int) -> Floats:
    return np.append(0.0, 1 + np.log(np.arange(1, largest + 1)))


_FEW = _damped(255)  # what nearly every text needs


def _weight_natively(engine: ModuleType, occurrences: Sparse, idf: Floats) -> Sparse:
    """Do the same in one pass. The logarithms are numpy's, so that the bits are the same."""
    counts = occurrences.data.astype(np.int32, copy=False)
    damped = damped_counts(int(counts.max(initial=0)))
    ends = occurrences.indptr.astype(np.int64)
    weights = engine.tfidf(counts, occurrences.indices, ends, idf, damped)
    parts = (weights, occurrences.indices, occurrences.indptr)
    return sparse.csr_matrix(parts, shape=occurrences.shape)
