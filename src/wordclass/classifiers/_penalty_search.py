"""Choosing C by cross-validation, as scikit-learn's GridSearchCV does it, but on warm starts."""

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse
from wordclass.linear_solver.one_vs_rest import Costs

SCORINGS = ("accuracy", "f1")
_N_FOLDS = 5
_STEP = "choosing C"

# (Y, costs, values of C, rows to learn from, rows to score, threads) -> (values of C, rows, m)
Validate = Callable[[Sparse, Costs, Floats, Ints, Ints, int], Floats32]
Split = tuple[Ints, Ints]  # rows to learn from, rows held out
# (Y, rows) -> what errors on these rows cost
Weigh = Callable[[Sparse, Ints], Costs]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The C (m,) of each class, and what documents (n, m) score with it where they were held out.

    There are no scores where nobody was held out.
    """

    C: Floats
    scores: Floats32 | None


@dataclass(frozen=True, eq=False)
class PenaltySearch:
    """Five folds, stratified and in the order of the documents; the first of equally good C wins.

    Parameters
    ----------
    validate
        Learns from some documents, and scores others.
    weigh
        What errors cost, made again for the documents of each fold.
    grid
        The values of C, rising.
    default
        The C where there are too few documents to choose.
    scoring
        "accuracy", or "f1": of the class, or of a single-label task the mean over classes.
    n_threads
        At most so many problems are solved at the same time; the choice does not depend on it.
    """

    validate: Validate
    weigh: Weigh
    grid: Floats
    default: float
    scoring: str
    n_threads: int

    def for_all(self, Y: Sparse) -> Chosen:
        """Choose one C for all classes of a single-label task."""
        own = np.asarray(Y.argmax(axis=1)).ravel()  # (n,)
        splits = _splits(own)
        if not splits:
            return Chosen(np.full(Y.shape[1], self.default), None)
        C, scores = self._searched(Y, own, self.grid, progress.over(splits, _STEP), self.n_threads)
        return Chosen(np.full(Y.shape[1], C), scores)

    def for_each(self, Y: Sparse) -> Chosen:
        """Choose a C for each class, or the default where it has fewer documents than folds.

        Every class has folds of its own.
        """
        n_docs, n_classes = Y.shape
        if n_docs < 3:  # of three, two are on the same side
            return Chosen(np.full(n_classes, self.default), None)
        by_class = Y.tocsc()
        values, scores = np.empty(n_classes), np.empty((n_docs, n_classes), np.float32)

        def choose(j: int) -> tuple[float, Floats32]:
            alone = by_class[:, [j]].tocsr()
            truth = alone.toarray().ravel().astype(np.int64)
            grid = self.grid if truth.sum() >= _N_FOLDS else np.array([self.default])
            return self._searched(alone, truth, grid, _splits(truth), 1)

        progress.report(_STEP, 0, n_classes)
        # the limits that solvers set are those of the whole process: here they have one frame
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(self.n_threads) as pool:
            for j, (value, made) in enumerate(pool.map(choose, range(n_classes))):
                values[j], scores[:, j] = value, made[:, 0]
                progress.report(_STEP, j + 1, n_classes)
        return Chosen(values, scores)

    def _searched(
        self, Y: Sparse, own: Ints, grid: Floats, splits: Iterable[Split], n_threads: int
    ) -> tuple[float, Floats32]:
        """Return the best C, and the scores (n, m) of documents held out.

        `own` has the class of each document; where Y has one column, whether it has that class.
        """
        scores = np.empty((len(grid), *Y.shape), np.float32)
        quality = []
        for rows, held_out in splits:
            made = self.validate(Y, self.weigh(Y, rows), grid, rows, held_out, n_threads)
            quality.append([self._quality(own[held_out], each) for each in made])
            scores[:, held_out] = made
        # as GridSearchCV has it: all folds count the same, and the first of equals is the best
        best = int(np.argmax(np.mean(quality, axis=0)))
        return float(grid[best]), scores[best]

    def _quality(self, own: Ints, scores: Floats32) -> float:
        """Return how good scores (n, m) are."""
        is_alone = scores.shape[1] == 1
        predicted = (scores[:, 0] > 0).astype(np.int64) if is_alone else scores.argmax(axis=1)
        if self.scoring == "accuracy":
            return float(np.mean(own == predicted))
        f1 = _f1(own, predicted, max(scores.shape[1], 2))
        return float(np.nan_to_num(f1[1]) if is_alone else np.nanmean(f1))


def _f1(true: Ints, predicted: Ints, n_classes: int) -> Floats:
    """Return the F1 of each class; NaN where it is neither true nor predicted."""
    hits = np.bincount(true[true == predicted], minlength=n_classes)
    both = np.bincount(true, minlength=n_classes) + np.bincount(predicted, minlength=n_classes)
    shares: Floats = np.divide(2 * hits, both, out=np.full(n_classes, np.nan), where=both > 0)
    return shares


def _splits(classes: Ints) -> list[Split]:
    """Return rows to learn from and rows held out, fold by fold; none where no class has two."""
    n_folds = min(_N_FOLDS, int(np.bincount(classes).max()))
    if n_folds < 2:
        return []
    with warnings.catch_warnings():
        # a class with fewer documents than folds is missing from some
        warnings.simplefilter("ignore", UserWarning)
        return list(StratifiedKFold(n_folds).split(classes, classes))
