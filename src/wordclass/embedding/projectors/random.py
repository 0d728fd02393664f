"""Random projection, which preserves distances approximately and learns nothing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from threadpoolctl import threadpool_limits

from wordclass.arrays import Floats


@dataclass
class RandomProjector:
    """Projection by a fixed matrix of normal numbers with deviation 1/sqrt(n_dims)."""

    n_dims: int
    seed: int
    _directions: Floats | None = field(init=False, default=None, repr=False)

    def transform(self, S: Floats) -> Floats:
        """Return the coordinates (v, n_dims) of rows (v, m). They depend on the seed and m only."""
        rows = np.asarray(S, dtype=np.float64)
        directions = self._directions
        if directions is None or len(directions) != rows.shape[1]:
            generator = np.random.default_rng(self.seed)
            directions = generator.standard_normal((rows.shape[1], self.n_dims))
            self._directions = directions
        with threadpool_limits(1):
            return np.asarray(rows @ directions / np.sqrt(self.n_dims), dtype=np.float64)

    fit_transform = transform

    def fit_blocks(self, blocks: Callable[[], Iterable[Floats]]) -> Self:
        """Return the projector itself, because nothing is learned from the rows."""
        return self

    def n_bytes(self, n_rows: int, n_columns: int) -> int:
        """Return the additional bytes of memory that the projection of rows (v, m) needs."""
        return 8 * n_columns * self.n_dims


make = RandomProjector
