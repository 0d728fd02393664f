"""Number of occurrences of a term in a document as its weight."""

import numpy as np

from wordclass.arrays import Sparse
from wordclass.text.vocabulary import Vocabulary


def weight(occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
    """Return the numbers of occurrences as floats. The vocabulary is not used."""
    return occurrences.astype(np.float64)
