"""Random projection: distances are kept about right, and nothing has to be learned."""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from wordclass.arrays import Floats


@dataclass
class RandomProjector:
    """Multiplies rows by a fixed matrix of normal numbers with deviation 1/sqrt(n_dims)."""

    n_dims: int
    seed: int

    def transform(self, S: Floats) -> Floats:
        """Return the coordinates (v, n_dims) of rows (v, m), the same for the same seed and m."""
        rows = np.asarray(S, dtype=np.float64)
        generator = np.random.default_rng(self.seed)
        directions = generator.standard_normal((rows.shape[1], self.n_dims))
        with threadpool_limits(1):
            return np.asarray(rows @ directions / np.sqrt(self.n_dims), dtype=np.float64)

    fit_transform = transform


make = RandomProjector
