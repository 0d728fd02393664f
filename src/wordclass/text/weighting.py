"""Weightings as functions: built-in ones, user-defined ones, and those that learn from labels."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from wordclass import catalogue
from wordclass.arrays import Sparse, to_sparse
from wordclass.errors import InputError
from wordclass.text.counting import Weight
from wordclass.text.vocabulary import Vocabulary
from wordclass.text.weightings import tfidf


@runtime_checkable
class SupervisedWeight(Protocol):
    """A weighting that learns from labels."""

    def fit(self, occurrences: Sparse, Y: Sparse) -> Any:  # noqa: ANN401 - see DocumentVectorizer
        """Learn from occurrences (n, v) and labels Y (n, m), and return the fitted weighting."""


@dataclass(frozen=True)
class CheckedWeight:
    """User-defined weighting whose results are checked.

    Parameters
    ----------
    function : callable
        Function from occurrences (n, v) and a vocabulary to the weights X (n, v).
    """

    function: Weight

    def __call__(self, occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
        """Return the weights X (n, v), or raise an InputError if they cannot be used."""
        X: object = self.function(occurrences, vocabulary)
        expected = f"a sparse matrix of shape {occurrences.shape}"
        if not sparse.issparse(X) and not isinstance(X, np.ndarray):
            raise InputError(f"the weighting returned a {type(X).__name__}", expected=expected)
        weights = to_sparse(X)
        if weights.shape != occurrences.shape:
            raise InputError(
                f"the weighting returned a matrix of shape {weights.shape}", expected=expected
            )
        if not np.isfinite(weights.data).all():
            raise InputError("the weighting returned NaN or infinity", expected="finite weights")
        weights.sort_indices()
        return weights


def make_weight(weighting: str | Weight | SupervisedWeight) -> Weight:
    """Return the function from occurrences (n, v) and a vocabulary to the weights X (n, v).

    Parameters
    ----------
    weighting : str, callable or object with "fit"
        Name in the catalogue of weightings, a user-defined function, or a weighting that learns
        from labels. The latter gives tf-idf here, because its own function is known only after it
        was fitted.
    """
    if isinstance(weighting, str):
        weight: Weight = catalogue.entry("weightings", weighting).weight
        return weight
    if isinstance(weighting, SupervisedWeight):
        return tfidf.weight
    return CheckedWeight(weighting)
