"""The strongest directions of a set of rows, found exactly and with fixed signs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits

from wordclass.arrays import Floats


@dataclass
class EigenvectorProjector:
    """Projects rows on the eigenvectors of their m x m products that have the largest eigenvalues.

    Exact and deterministic, where a randomized method differs from run to run. Each direction
    points the way in which its largest component is positive. One thread does the sums, as more
    would add them up in another order.

    Parameters
    ----------
    n_dims
        How many directions to keep.
    is_centered
        Whether the mean row is taken off first (then the products are covariances).
    """

    n_dims: int
    is_centered: bool
    mean_: Floats = field(init=False, repr=False)
    components_: Floats = field(init=False, repr=False)  # (m, n_dims)

    def fit(self, S: Floats) -> Self:
        """Find the directions of the rows of S (v, m)."""
        rows = np.asarray(S, dtype=np.float64)
        self.mean_ = rows.mean(axis=0) if self.is_centered else np.zeros(rows.shape[1])
        centered = rows - self.mean_
        with threadpool_limits(1):
            return self._find(centered.T @ centered)

    def fit_blocks(self, blocks: Callable[[], Iterable[Floats]]) -> Self:
        """Find the same directions of rows that come some at a time, each time they are asked for.

        Nothing is held but the m x m products.
        """
        n_rows, total = 0, np.zeros(1)
        for rows in blocks() if self.is_centered else ():
            n_rows, total = n_rows + len(rows), total + rows.sum(axis=0)
        self.mean_ = total / max(n_rows, 1)
        with threadpool_limits(1):
            products = sum((rows - self.mean_).T @ (rows - self.mean_) for rows in blocks())
            return self._find(np.asarray(products))

    def _find(self, products: Floats) -> Self:
        """Find the directions of products (m, m)."""
        n_classes = len(products)
        with threadpool_limits(1):
            strongest = (n_classes - min(self.n_dims, n_classes), n_classes - 1)
            _, vectors = linalg.eigh(products, subset_by_index=strongest)
        directions = vectors[:, ::-1]  # eigh sorts upwards
        largest = np.abs(directions).argmax(axis=0)
        signs = np.sign(directions[largest, np.arange(directions.shape[1])])
        self.components_ = directions * signs
        return self

    def transform(self, S: Floats) -> Floats:
        """Return the coordinates (v, n_dims) of rows (v, m)."""
        with threadpool_limits(1):
            return (np.asarray(S, dtype=np.float64) - self.mean_) @ self.components_

    def fit_transform(self, S: Floats) -> Floats:
        """Find the directions of the rows, and return their coordinates."""
        return self.fit(S).transform(S)
