"""The features of documents for support vector machines, and the search for C.

The search decides as scikit-learn's GridSearchCV does, but each machine starts from the solution
for the C before.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse, root_mean_square_length
from wordclass.corpus.splits import Split, cross_fit, fold_splits, scikit_learn_folds
from wordclass.decision.scorers import EncoderScorer, LinearScorer, SumScorer
from wordclass.linear.newton import DenseOneVsRest, in_threads
from wordclass.linear.one_vs_rest import TOLERANCE, OneVsRest
from wordclass.linear.problem import Costs, Features, Problem
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.text.term_weigher import TermWeigher

_N_FOLDS = 5
_STEP = "choosing C"


@dataclass(frozen=True, eq=False)
class SvmDocuments:
    """The features of documents for a support vector machine.

    Parameters
    ----------
    weigher : TermWeigher or None
        Computes X, or None if X has no columns.
    X : sparse matrix of shape (n, v)
        The weights of the terms.
    E : array of shape (v, d) or None
        Vectors of the terms. With them, the features are X·E, the weighted sums of these vectors.
    encoder : SentenceEncoder or None
        The encoder of whole texts.
    encoded : array of shape (n, k) or None
        Its vectors, which are appended to the other features.
    weights : array of shape (n,) or None
        The weight of each document.
    is_balanced : bool
        Whether errors on small classes cost more.
    has_two_sides : bool
        The option `is_multilabel` of `Costs.balanced`.
    """

    weigher: TermWeigher | None
    X: Sparse
    E: Floats | None
    encoder: SentenceEncoder | None
    encoded: Floats32 | None
    weights: Floats | None
    is_balanced: bool
    has_two_sides: bool

    def validate(
        self, Y: Sparse, C: Floats, rows: Ints, held_out: Ints, n_threads: int
    ) -> Floats32:
        """Return the scores (values of C, held-out rows, m) by machines of other rows.

        The values of C rise.
        """
        costs = self._costs(Y, rows)
        if self.E is not None:
            dense = DenseOneVsRest(Problem(self._sums, Y, costs), n_threads)
            return dense.validate(C, rows, held_out)
        # as tight as scikit-learn's, because neighboring values of C often have similar scores
        machines = OneVsRest(Problem(self._features, Y, costs), n_threads)
        return machines.validate(C, rows, held_out, TOLERANCE)

    def solve(self, Y: Sparse, C: Floats, n_threads: int) -> LinearScorer | SumScorer:
        """Learn from all documents with a C (m,) for each class."""
        costs = self._costs(Y, None)
        encoder_weights: Floats | Floats32
        if self.E is None:
            solution = OneVsRest(Problem(self._features, Y, costs), n_threads).solve(C)
            intercept = solution.intercept
            term_weights = solution.weights
            encoder_weights = solution.block_weights
        else:
            problem = Problem(self._sums, Y, costs)
            weights, wide_intercept = DenseOneVsRest(problem, n_threads).solve(C)
            n_dims = self.E.shape[1]
            intercept = wide_intercept.astype(np.float32)
            # one weight per term: (X·E)·weights is X·(E·weights)
            term_weights = (self.E @ weights[:n_dims]).astype(np.float32)
            encoder_weights = weights[n_dims:]
        words = encoder = None
        if self.weigher is not None:
            words = LinearScorer(self.weigher, term_weights, intercept)
        if self.encoder is not None:
            scaled_weights = np.asarray(encoder_weights * self._encoder_scale, np.float32)
            encoder_intercept = np.zeros_like(intercept) if self.weigher else intercept
            encoder = EncoderScorer(self.encoder, scaled_weights, encoder_intercept, n_threads)
        return SumScorer.of(words, None, encoder)

    def _costs(self, Y: Sparse, rows: Ints | None) -> Costs:
        """Return the costs of errors on some rows."""
        if self.is_balanced:
            return Costs.balanced(Y, self.weights, rows, is_multilabel=self.has_two_sides)
        return Costs.equal(*Y.shape, self.weights)

    @cached_property
    def _features(self) -> Features:
        encoded = None if self.encoded is None else self.encoded * self._encoder_scale
        return Features.of(self.X, encoded)

    @cached_property
    def _sums(self) -> Floats:
        sums = np.asarray(self.X @ np.asarray(self.E))  # (n, d)
        if self.encoded is None:
            return sums
        return np.hstack([sums, self.encoded * self._encoder_scale])

    @cached_property
    def _encoder_scale(self) -> np.float32:
        """The mean length of the other features, as the vectors of the encoder have length 1."""
        if self.weigher is None or self.E is None:
            return np.float32(1)
        return np.float32(root_mean_square_length(self.X @ self.E))


def search_in_common(
    documents: SvmDocuments, Y: Sparse, default: Floats, grid: Floats, target: str, n_threads: int
) -> tuple[Floats, Floats32 | None]:
    """Choose one C for all classes of a single-label task.

    Parameters
    ----------
    documents : SvmDocuments
        The documents.
    Y : sparse matrix of shape (n, m)
        Their labels.
    default : array of shape (m,)
        The result if too few documents can be held out.
    grid : array
        The values of C, rising.
    target : str
        The measure to maximize.
    n_threads : int
        Number of threads.

    Returns
    -------
    C : array of shape (m,)
        The C of each class.
    scores : array of shape (n, m) or None
        The scores of the documents when they were held out, or None if they were not.
    """
    classes = np.asarray(Y.argmax(axis=1)).ravel()  # (n,)
    splits = list_splits(classes)
    if not splits:
        return default, None
    C, scores = _search(
        documents, Y, classes, grid, target=target, splits=splits, n_threads=n_threads, step=_STEP
    )
    return np.full(Y.shape[1], C), scores


def search_by_class(
    documents: SvmDocuments, Y: Sparse, default: Floats, grid: Floats, target: str, n_threads: int
) -> tuple[Floats, Floats32 | None]:
    """Choose a C for each class of a multilabel task.

    Every class has its own folds. A class with fewer documents than folds has the default C. For
    parameters and results see `search_in_common`.
    """
    n_docs, n_classes = Y.shape
    if n_docs < 3:  # of three, two are on the same side
        return default, None
    columns = Y.tocsc()
    chosen = np.empty(n_classes)
    scores = np.empty(Y.shape, np.float32)

    def choose(j: int) -> tuple[float, Floats32]:
        column = columns[:, [j]].tocsr()
        truth = column.toarray().ravel().astype(np.int64)
        is_searched = len(grid) > 1 and truth.sum() >= _N_FOLDS
        values = grid if is_searched else default[[j]]
        splits = list_splits(truth)
        return _search(
            documents, column, truth, values, target=target, splits=splits, n_threads=1, step=None
        )

    progress.report(_STEP, 0, n_classes)
    # the limits of BLAS are those of the whole process, so they are set once for all threads
    with (
        threadpool_limits(1, user_api="blas"),
        closing(in_threads(choose, range(n_classes), n_threads)) as results,
    ):
        for j, (value, class_scores) in enumerate(results):
            chosen[j] = value
            scores[:, j] = class_scores[:, 0]
            progress.report(_STEP, j + 1, n_classes)
    return chosen, scores


def _search(
    documents: SvmDocuments,
    Y: Sparse,
    classes: Ints,
    grid: Floats,
    *,
    target: str,
    splits: Sequence[Split],
    n_threads: int,
    step: str | None,
) -> tuple[float, Floats32]:
    """Return the best C, and the scores (n, m) of held-out documents.

    `classes` (n,) has the class of each document, or 1 and 0 if Y has one column. Progress is
    reported under the name `step`, if it is given.
    """
    qualities: list[list[float]] = []

    def validate(split: Split) -> Floats32:
        candidates = documents.validate(Y, grid, split.train, split.held_out, n_threads)
        truth = classes[split.held_out]
        qualities.append([measure_quality(truth, scores, target) for scores in candidates])
        return candidates

    scores = cross_fit(splits, validate, n_docs=Y.shape[0], step=step).scores
    # as in GridSearchCV, all folds count the same, and the first of equals is the best
    best = int(np.argmax(np.mean(qualities, axis=0)))
    return float(grid[best]), scores[best]


def measure_quality(classes: Ints, scores: Floats32, target: str) -> float:
    """Return the quality of scores (n, m): that of one class is its accuracy or its F1.

    Parameters
    ----------
    classes : array of shape (n,)
        The class of each document, or 1 and 0 if there is one column of scores.
    scores : array of shape (n, m)
        The scores.
    target : str
        The measure.
    """
    is_one_class = scores.shape[1] == 1
    predicted = (scores[:, 0] > 0).astype(np.int64) if is_one_class else scores.argmax(axis=1)
    accuracy = float(np.mean(classes == predicted))
    if target == "accuracy":
        return accuracy
    average = "binary" if is_one_class else "macro"
    f1 = float(f1_score(classes, predicted, average=average, zero_division=0.0))
    if is_one_class or target == "macro_f1":
        return f1
    # the micro F1 of single labels is their accuracy
    return accuracy if target == "micro_f1" else (f1 + accuracy) / 2


def list_splits(classes: Ints) -> list[Split]:
    """Return the splits of `StratifiedKFold`, or an empty list if no class has two documents."""
    n_folds = min(_N_FOLDS, int(np.bincount(classes).max()))
    return [] if n_folds < 2 else fold_splits(scikit_learn_folds(classes, n_folds))
