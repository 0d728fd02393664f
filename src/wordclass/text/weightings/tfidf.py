"""Sublinear tf-idf with rows of length 1: the weighting of the paper, and the default."""

from wordclass.arrays import Sparse
from wordclass.text.vocabulary import Vocabulary
from wordclass.text.weightings._unit_rows import unit_rows


def weight(occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
    """Return (1 + ln tf) (ln((1 + n) / (1 + df)) + 1), with each row divided by its L2 norm.

    The weights equal those of scikit-learn's TfidfVectorizer with `sublinear_tf=True`. A document
    without known terms has a row of zeros. If the vocabulary has `factors`, they replace idf, and
    a term with factor 0 has no weight.
    """
    X = unit_rows(occurrences, vocabulary.idf)
    if vocabulary.factors is not None:
        X = X.copy()  # X shares its index arrays with occurrences, which must not change
        X.eliminate_zeros()
    return X
