"""Documents as a support vector machine sees them: weighted terms, or sums of their vectors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.linear_scorer import LinearScorer
from wordclass.linear_solver.newton import DenseOneVsRest
from wordclass.linear_solver.one_vs_rest import TOLERANCE, Costs, Features, OneVsRest
from wordclass.text.vectorizer import DocumentVectorizer


@dataclass(frozen=True, eq=False)
class TermDocuments:
    """X (n, v), and the fitted vectorizer that made it."""

    vectorizer: DocumentVectorizer
    X: Sparse

    def validate(
        self, Y: Sparse, costs: Costs, C: Floats, rows: Ints, held_out: Ints, n_threads: int
    ) -> Floats32:
        """Learn from some rows with each C, and score others; see `PenaltySearch`."""
        # as tight as scikit-learn's: the values of C are often close to each other
        problem = OneVsRest(self._features, Y, costs, n_threads)
        return problem.validate(C, rows, held_out, TOLERANCE)

    def scorer(self, Y: Sparse, costs: Costs, C: Floats, n_threads: int) -> LinearScorer:
        """Learn from all rows with a C (m,) for each class."""
        solution = OneVsRest(self._features, Y, costs, n_threads).solve(C)
        return LinearScorer(self.vectorizer, solution.weights, solution.intercept)

    @cached_property
    def _features(self) -> Features:
        return Features.of(self.X)


@dataclass(frozen=True, eq=False)
class SummedDocuments:
    """X·E (n, d): the weighted sums of the vectors E (v, d) of a document's terms."""

    vectorizer: DocumentVectorizer
    X: Sparse
    E: Floats

    def validate(
        self, Y: Sparse, costs: Costs, C: Floats, rows: Ints, held_out: Ints, n_threads: int
    ) -> Floats32:
        """Learn from some rows with each C, and score others; see `PenaltySearch`."""
        return DenseOneVsRest(self._sums, Y, costs, n_threads).validate(C, rows, held_out)

    def scorer(self, Y: Sparse, costs: Costs, C: Floats, n_threads: int) -> LinearScorer:
        """Learn from all rows with a C (m,) for each class."""
        weights, intercept = DenseOneVsRest(self._sums, Y, costs, n_threads).solve(C)
        # a weight a term: (X·E)·weights is X·(E·weights)
        folded = (self.E @ weights).astype(np.float32)
        return LinearScorer(self.vectorizer, folded, intercept.astype(np.float32))

    @cached_property
    def _sums(self) -> Floats:
        return np.asarray(self.X @ self.E)  # (n, d)
