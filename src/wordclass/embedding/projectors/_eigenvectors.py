"""Projection on the directions of largest variance, computed exactly and with fixed signs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits

from wordclass.arrays import Floats

_MAX_COLUMN_PRODUCTS = 1 << 13  # columns whose products are taken, even if rows are fewer
_BLOCK_COLUMNS = 1 << 12
_COPIES_OF_PRODUCTS = 3  # the sum, what is added to it, and what eigh changes


@dataclass
class EigenvectorProjector:
    """Projection on the eigenvectors of the m x m products of rows with the largest eigenvalues.

    Exact and deterministic, where a randomized method differs from run to run. Each direction
    points the way in which its largest component is positive. One thread does the sums, as more
    would add them up in another order.

    Parameters
    ----------
    n_dims : int
        Number of directions.
    is_centered : bool
        Whether the mean row is subtracted first, so that the products are covariances.
    """

    n_dims: int
    is_centered: bool
    mean_: Floats = field(init=False, repr=False)
    components_: Floats = field(init=False, repr=False)  # (m, n_dims)

    def fit(self, S: Floats) -> Self:
        """Compute the directions of the rows of S (v, m)."""
        rows = np.asarray(S, dtype=np.float64)
        n_rows, n_columns = rows.shape
        if self.needs_columns(n_rows, n_columns):
            starts = range(0, n_columns, _BLOCK_COLUMNS)
            return self.fit_columns(
                lambda: (rows[:, start : start + _BLOCK_COLUMNS] for start in starts)
            )
        self.mean_ = rows.mean(axis=0) if self.is_centered else np.zeros(n_columns)
        centered = rows - self.mean_
        with threadpool_limits(1):
            return self._find(centered.T @ centered)

    @staticmethod
    def needs_columns(n_rows: int, n_columns: int) -> bool:
        """Return True if products of rows are used because there are too many columns."""
        return n_columns > max(n_rows, _MAX_COLUMN_PRODUCTS)

    def n_bytes(self, n_rows: int, n_columns: int) -> int:
        """Return the additional bytes of memory that a fit on rows (v, m) needs."""
        n_products = n_rows if self.needs_columns(n_rows, n_columns) else n_columns
        return 8 * (_COPIES_OF_PRODUCTS * n_products**2 + 2 * n_columns * self.n_dims)

    def fit_blocks(self, blocks: Callable[[], Iterable[Floats]]) -> Self:
        """Compute the same directions from blocks of rows, which `blocks` yields on each call.

        Only the m x m products are held in memory.
        """
        n_rows = 0
        total = np.zeros(1)
        for rows in blocks() if self.is_centered else ():
            n_rows += len(rows)
            total = total + rows.sum(axis=0)
        self.mean_ = total / max(n_rows, 1)
        with threadpool_limits(1):
            products = sum((rows - self.mean_).T @ (rows - self.mean_) for rows in blocks())
            return self._find(np.asarray(products))

    def fit_columns(self, blocks: Callable[[], Iterable[Floats]]) -> Self:
        """Compute the same directions from blocks of columns.

        The eigenvectors of the v x v products of rows give those of the m x m products of columns:
        if S S' u = s^2 u, then S' u / s is the direction. Only these products are held in memory.
        """
        means = [
            block.mean(axis=0) if self.is_centered else np.zeros(block.shape[1])
            for block in blocks()
        ]
        self.mean_ = np.concatenate(means)

        def centered() -> Iterator[Floats]:
            return (block - mean for block, mean in zip(blocks(), means, strict=True))

        with threadpool_limits(1):
            products = sum(block @ block.T for block in centered())
            values, vectors = _strongest(np.asarray(products), self.n_dims)
            # a direction without variance becomes zero, so that rounding errors stay small
            is_real = values > len(vectors) * np.finfo(np.float64).eps * values.max(initial=0.0)
            inverse = np.where(is_real, 1 / np.sqrt(np.where(is_real, values, 1.0)), 0.0)
            parts = [block.T @ vectors * inverse for block in centered()]
        n_missing = self.n_dims - len(values)  # if there are fewer rows than dimensions
        directions = np.pad(np.concatenate(parts), ((0, 0), (0, n_missing)))
        self.components_ = _with_fixed_signs(directions)
        return self

    def _find(self, products: Floats) -> Self:
        """Compute the directions of products (m, m)."""
        with threadpool_limits(1):
            _, directions = _strongest(products, self.n_dims)
        self.components_ = _with_fixed_signs(directions)
        return self

    def transform(self, S: Floats) -> Floats:
        """Return the coordinates (v, n_dims) of rows (v, m)."""
        with threadpool_limits(1):
            return (np.asarray(S, dtype=np.float64) - self.mean_) @ self.components_

    def fit_transform(self, S: Floats) -> Floats:
        """Compute the directions of the rows, and return the coordinates of the rows."""
        return self.fit(S).transform(S)


def _strongest(products: Floats, n_dims: int) -> tuple[Floats, Floats]:
    """Return the largest eigenvalues of a symmetric matrix, descending, and their eigenvectors."""
    size = len(products)
    chosen = (size - min(n_dims, size), size - 1)
    values, vectors = linalg.eigh(products, subset_by_index=chosen)
    return values[::-1], vectors[:, ::-1]  # eigh sorts in ascending order


def _with_fixed_signs(directions: Floats) -> Floats:
    """Reverse directions whose largest component is negative."""
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(directions.shape[1])])
    turned: Floats = directions * signs
    return turned
