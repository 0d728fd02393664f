"""Damped counts times a factor per term, with rows of length 1, as in tf-idf."""

from types import ModuleType

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Sparse, row_numbers
from wordclass.native import extension
from wordclass.text.vocabulary import damped_counts


def unit_rows(occurrences: Sparse, factors: Floats) -> Sparse:
    """Return (1 + ln tf) times the factors of the terms, with each row divided by its L2 norm.

    Parameters
    ----------
    occurrences : sparse matrix of shape (n, v)
        Number of occurrences of each term in each document.
    factors : array of shape (v,)
        Factor of each term.

    Returns
    -------
    X : sparse float64 matrix of shape (n, v)
        Rows of length 1. A row without a weight above 0 stays zero.
    """
    if extension.engine is not None and occurrences.indices.dtype == np.int32:
        return _unit_rows_natively(extension.engine, occurrences, factors)
    weights = (1 + np.log(occurrences.data)) * factors[occurrences.indices]
    rows = row_numbers(occurrences)
    lengths = np.sqrt(np.bincount(rows, weights**2, minlength=occurrences.shape[0]))
    lengths[lengths == 0] = 1.0
    csr_arrays = (weights / lengths[rows], occurrences.indices, occurrences.indptr)
    return sparse.csr_matrix(csr_arrays, shape=occurrences.shape)


def _unit_rows_natively(engine: ModuleType, occurrences: Sparse, factors: Floats) -> Sparse:
    """Compute the same in a single pass, with the logarithms of numpy to get the same bits."""
    counts = occurrences.data.astype(np.int32, copy=False)
    damped = damped_counts(int(counts.max(initial=0)))
    ends = occurrences.indptr.astype(np.int64)
    weights = engine.tfidf(counts, occurrences.indices, ends, factors, damped)
    csr_arrays = (weights, occurrences.indices, occurrences.indptr)
    return sparse.csr_matrix(csr_arrays, shape=occurrences.shape)
