"""When and how the columns of S are projected to fewer dimensions."""

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordclass import naming
from wordclass.arrays import Flags, Floats
from wordclass.errors import InputError


@dataclass
class Projection:
    """A projector that is used only where there are more columns than allowed.

    Parameters
    ----------
    projector
        A file name in `projectors/`, or an object with `fit_transform` and `transform`, which is
        copied, not changed.
    max_dims
        How many columns there may be; None: any number.
    """

    projector: Any
    max_dims: int | None
    seed: int
    _fitted: Any = field(init=False, default=None, repr=False)

    @property
    def is_used(self) -> bool:
        """Whether there were more columns than allowed."""
        return self._fitted is not None

    def fit(self, S: Floats, known: Flags) -> Floats:
        """Learn the projection of S (v, columns); return S itself, or its projection (v, r)."""
        projector = self._made()
        if self.max_dims is None or S.shape[1] <= self.max_dims:
            return S
        vectors = np.asarray(projector.fit_transform(S))
        self._fitted = projector
        return np.where(known[:, None], vectors, 0.0)

    def of(self, S: Floats, known: Flags) -> Floats:
        """Project another S with what was learned; terms that are not known keep zeros."""
        if not self.is_used:
            return S
        return np.where(known[:, None], np.asarray(self._fitted.transform(S)), 0.0)

    def _made(self) -> Any:  # noqa: ANN401 - any object with the two methods
        if self.max_dims is not None and (
            not isinstance(self.max_dims, int | np.integer) or self.max_dims < 1
        ):
            raise InputError(f"max_dims is {self.max_dims!r}; expected an int from 1 up, or None")
        if isinstance(self.projector, str):
            return naming.entry("projectors", self.projector).make(self.max_dims, self.seed)
        if not hasattr(self.projector, "fit_transform") or not hasattr(self.projector, "transform"):
            raise InputError(
                f"projector is {self.projector!r}; expected one of "
                f"{', '.join(naming.names('projectors'))}, or an object with fit_transform and "
                "transform"
            )
        return copy.deepcopy(self.projector)
