"""Weight 1 for every term that occurs in a document."""

import numpy as np
from scipy import sparse

from wordclass.arrays import Sparse
from wordclass.text.vocabulary import Vocabulary


def weight(occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
    """Return 1 for every term that occurs in a document. The vocabulary is not used."""
    csr_arrays = (np.ones(occurrences.nnz), occurrences.indices, occurrences.indptr)
    return sparse.csr_matrix(csr_arrays, shape=occurrences.shape)
