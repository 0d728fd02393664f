"""Damped counts times a factor for each term, rows of length 1: tf-idf, and others of its kind."""

from types import ModuleType

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Sparse, row_numbers
from wordclass.native import extension
from wordclass.text.vocabulary import damped_counts


def unit_rows(occurrences: Sparse, factors: Floats) -> Sparse:
    """Return (1 + ln tf) times the factors (v,) of the terms, each row divided by its L2 norm.

    A row without a weight above 0 stays zero.
    """
    if extension.engine is not None and occurrences.indices.dtype == np.int32:
        return _unit_rows_natively(extension.engine, occurrences, factors)
    weights = (1 + np.log(occurrences.data)) * factors[occurrences.indices]
    rows = row_numbers(occurrences)
    lengths = np.sqrt(np.bincount(rows, weights**2, minlength=occurrences.shape[0]))
    lengths[lengths == 0] = 1.0
    parts = (weights / lengths[rows], occurrences.indices, occurrences.indptr)
    return sparse.csr_matrix(parts, shape=occurrences.shape)


def _unit_rows_natively(engine: ModuleType, occurrences: Sparse, factors: Floats) -> Sparse:
    """Do the same in one pass. The logarithms are numpy's, so that the bits are the same."""
    counts = occurrences.data.astype(np.int32, copy=False)
    damped = damped_counts(int(counts.max(initial=0)))
    ends = occurrences.indptr.astype(np.int64)
    weights = engine.tfidf(counts, occurrences.indices, ends, factors, damped)
    parts = (weights, occurrences.indices, occurrences.indptr)
    return sparse.csr_matrix(parts, shape=occurrences.shape)
