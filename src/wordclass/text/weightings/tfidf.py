"""Sublinear tf-idf with rows of length 1: the paper's weighting, and the default."""

from wordclass.arrays import Sparse
from wordclass.text.vocabulary import Vocabulary
from wordclass.text.weightings._unit_rows import unit_rows


def weight(occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
    """Return (1 + ln tf) (ln((1 + n) / (1 + df)) + 1), each row divided by its L2 norm.

    A document without a known term keeps a row of zeros. Equal to scikit-learn's TfidfVectorizer
    with `sublinear_tf=True`. If the vocabulary has `factors`, they stand in the place of idf, and a
    term whose factor is 0 has no weight.
    """
    X = unit_rows(occurrences, vocabulary.idf)
    if vocabulary.factors is not None:
        X = X.copy()  # its indexes are those of occurrences
        X.eliminate_zeros()
    return X
