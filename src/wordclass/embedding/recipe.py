"""From sums to S: which correlation, how much shrinkage, then z-scores."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wordclass import naming
from wordclass.arrays import Floats, Sparse
from wordclass.counts import JOINTS, WordClassCounts
from wordclass.embedding.shrinkage import shrink
from wordclass.embedding.standardize import standardize
from wordclass.errors import InputError

Correlate = Callable[[WordClassCounts], Floats]


@dataclass(frozen=True)
class Recipe:
    """The steps from counts to S, with the sums they need."""

    correlate: Correlate
    needs: frozenset[str]
    shrinkage: float

    @classmethod
    def of(cls, correlation: str | Correlate, shrinkage: float) -> "Recipe":
        """Look up a correlation by name; a function of the user's may say what it `NEEDS`."""
        is_number = isinstance(shrinkage, int | float | np.number)
        if not is_number or not np.isfinite(shrinkage) or shrinkage < 0:
            raise InputError(f"shrinkage is {shrinkage!r}; expected a number from 0 up")
        if callable(correlation):
            needs = frozenset(getattr(correlation, "NEEDS", JOINTS))
            return cls(correlation, needs, float(shrinkage))
        entry = naming.entry("correlations", correlation)
        return cls(entry.correlate, entry.NEEDS, float(shrinkage))

    def count(self, X: Sparse, Y: Sparse) -> WordClassCounts:
        """Make the sums of these documents that the correlation needs."""
        return WordClassCounts.of(X, Y, self.needs)

    def embed(self, counts: WordClassCounts) -> Floats:
        """Return S (v, m): correlations of shrunken counts, standardized over the known terms."""
        A = np.asarray(self.correlate(shrink(counts, self.shrinkage)), dtype=np.float64)
        if A.shape != (counts.n_terms, counts.n_classes):
            raise InputError(
                f"the correlation returned an array of shape {A.shape}; expected "
                f"{(counts.n_terms, counts.n_classes)}: a row a term, a column a class"
            )
        if not np.isfinite(A).all():
            raise InputError("the correlation returned NaN or infinite values")
        return standardize(A, counts.known)
