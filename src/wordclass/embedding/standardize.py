"""A to S: every class column gets mean 0 and deviation 1 over the terms."""

import numpy as np

from wordclass.arrays import Flags, Floats

SMALLEST_DEVIATION = 1e-5  # the paper's runs divided by no less


def standardize(A: Floats, known: Flags) -> Floats:
    """Return the z-scores of each column of A (v, m), deviations with v - 1 (eq. 3 to 5).

    Terms that are not `known` (they occur in none of the documents at hand) get zeros and stay out
    of mean and deviation. A constant column becomes zeros.
    """
    S = np.zeros_like(A)
    values = A[known]
    if len(values) < 2:  # one term has no deviation
        return S
    values -= values.mean(axis=0)
    deviation = np.sqrt((values**2).sum(axis=0) / (len(values) - 1))
    # a constant column differs from its mean by rounding only, which must not be blown up
    is_constant = deviation <= 1e-13 * np.abs(A).max(axis=0, initial=0)
    S[known] = np.where(is_constant, 0.0, values / np.maximum(deviation, SMALLEST_DEVIATION))
    return S
