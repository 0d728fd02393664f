"""What all weightings that see labels share: how the factor of a term becomes its weight."""

from wordclass.arrays import Sparse
from wordclass.errors import InputError
from wordclass.vocabulary import Vocabulary
from wordclass.weightings._unit_rows import unit_rows


def weight(occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
    """Return (1 + ln tf) f, each row divided by its L2 norm, f the `factors` of the vocabulary.

    A term whose factor is 0 has no weight, and a document without others keeps a row of zeros.
    """
    if vocabulary.factors is None:
        raise InputError("the weighting sees labels, and the terms were learned without any")
    X = unit_rows(occurrences, vocabulary.factors).copy()  # which shares its columns so far
    X.eliminate_zeros()
    return X
