"""Spread class probabilities among documents that use the same terms."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats, Floats32, Ints, Sparse

_BLOCK_ROWS = 500  # documents whose similarities to all others are in memory at once
_N_STEPS = 20  # later steps change little: .8 ** 20 = .01


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Similarities between documents and their nearest neighbors.

    Parameters
    ----------
    similarities : sparse matrix of shape (n, n)
        Symmetric, with an empty diagonal; each value is divided by the square root of the sums of
        its row and its column.
    """

    similarities: Sparse

    @classmethod
    def of(
        cls, X: Sparse, vectors: Floats32 | None = None, n_neighbors: int = 15
    ) -> "NeighborGraph":
        """Connect each document to the documents with the largest dot products.

        Parameters
        ----------
        X : sparse matrix of shape (n, v)
            Weights of terms, one row per document.
        vectors : array of shape (n, d), optional
            Dense vectors of the documents, such as those of a sentence encoder. Their dot products
            are added to those of X.
        n_neighbors : int, default=15
            Number of neighbors per document. A document has more if it is a neighbor of others.

        Returns
        -------
        NeighborGraph
            The graph. Building it takes time quadratic in the number of documents.

        Examples
        --------
        >>> X = sparse.csr_matrix([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
        >>> NeighborGraph.of(X, n_neighbors=1).similarities.toarray().round(2)
        array([[0.  , 0.65, 0.  ],
               [0.65, 0.  , 0.76],
               [0.  , 0.76, 0.  ]])
        """
        n_docs = X.shape[0]
        n_neighbors = min(n_neighbors, n_docs - 1)
        rows = X.astype(np.float32)
        columns = rows.T.tocsr()
        neighbors = np.zeros((n_docs, n_neighbors), np.int32)
        products = np.zeros((n_docs, n_neighbors), np.float32)
        for start in range(0, n_docs, _BLOCK_ROWS):
            block = (rows[start : start + _BLOCK_ROWS] @ columns).toarray()
            if vectors is not None:
                block += vectors[start : start + _BLOCK_ROWS] @ vectors.T
            np.maximum(block, 0, out=block)
            places = np.arange(len(block))
            block[places, start + places] = 0
            nearest = np.argpartition(-block, n_neighbors - 1, axis=1)[:, :n_neighbors]
            neighbors[start + places] = nearest
            products[start + places] = np.take_along_axis(block, nearest, axis=1)
        index = np.repeat(np.arange(n_docs), n_neighbors)
        directed = sparse.csr_matrix(
            (products.ravel(), (index, neighbors.ravel())), shape=(n_docs, n_docs)
        )
        directed.eliminate_zeros()
        symmetric = directed.maximum(directed.T).tocsr()
        degrees = np.asarray(symmetric.sum(axis=1), np.float64).ravel()
        scale = sparse.diags(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
        return cls((scale @ symmetric @ scale).tocsr())

    def spread(self, start: Floats, share: float) -> Floats:
        """Mix the row of each document repeatedly with the rows of its neighbors.

        Parameters
        ----------
        start : array of shape (n, m)
            Class probabilities of the documents, or their labels as 0 and 1.
        share : float
            The weight of the neighbors in each step. The document's row in `start` has the
            remaining weight.

        Returns
        -------
        array of shape (n, m)
            The mixed rows. A document whose neighbors all belong to one class gets close to it.
        """
        mixed = start
        for _ in range(_N_STEPS):
            mixed = share * (self.similarities @ mixed) + (1 - share) * start
        return mixed

    def part(self, rows: Ints) -> "NeighborGraph":
        """Return the graph of some of the documents, in the given order."""
        return NeighborGraph(self.similarities[rows][:, rows])
