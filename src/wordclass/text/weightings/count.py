"""How often a term occurs in a document, as it is."""

import numpy as np

from wordclass.arrays import Sparse
from wordclass.text.vocabulary import Vocabulary


def weight(occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
    """Return the occurrences as floats; the vocabulary plays no part."""
    return occurrences.astype(np.float64)
