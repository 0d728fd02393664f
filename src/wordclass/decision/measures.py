"""How good predictions are: F1 by class, macro and micro F1, accuracy; ranking measures."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from wordclass.arrays import Flags, Floats, Ints, Sparse, to_sparse
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import Codeframe, EncodedLabels, encode_labels, move_columns
from wordclass.errors import InputError, list_some
from wordclass.options import check_one_of

Target = Literal["both", "macro_f1", "micro_f1", "accuracy"]
_SUMS = ("true_positives", "n_true", "n_predicted", "n_docs", "n_exact", "n_dropped")
_BLOCK = 1024  # documents whose classes are sorted at once


def check_target(given: str) -> Target:
    """Return what is to be high; "macro" and "micro" are short for "macro_f1" and "micro_f1"."""
    target: Any = {"macro": "macro_f1", "micro": "micro_f1"}.get(str(given), given)
    check_one_of("target", target, get_args(Target))
    return cast("Target", target)


class DroppedLabelsWarning(UserWarning):
    """True labels outside the codeframe were left out of an evaluation."""


@dataclass(frozen=True)
class ClassScores:
    """The scores of one class."""

    f1: float
    precision: float
    recall: float
    n_true: int
    n_predicted: int


@dataclass(frozen=True, eq=False)
class Scores:
    """Counts of right and wrong decisions, and the measures made of them.

    The counts are sums over documents, so the scores of batches add up to the scores of all.

    F1 is 2 tp / (2 tp + fp + fn). Where a class has none of the three (0/0), it is 1 in a
    multilabel task, since rightly nothing was said, and 0 in a single-label one, as in
    scikit-learn. So classes without a true document may raise the macro F1 of a multilabel task,
    where scikit-learn's `zero_division=0` lowers it; `macro_f1_with_positives` leaves them out.
    """

    classes: tuple[Label, ...]
    is_multilabel: bool
    true_positives: Ints  # (m,)
    n_true: Ints  # (m,)
    n_predicted: Ints  # (m,)
    n_docs: int
    n_exact: int
    n_dropped: int

    def __add__(self, other: "Scores") -> "Scores":
        if (self.classes, self.is_multilabel) != (other.classes, other.is_multilabel):
            raise InputError("scores of different classes do not add up")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in _SUMS})

    def checked(self) -> "Scores":
        """Return these scores, or refuse those of labels none of which is among the classes."""
        if self.n_dropped and not self.n_true.any():
            told = f"not one of the {self.n_dropped:,} true labels is among the classes"
            raise InputError(f"{told} {list_some(self.classes)}")
        return self

    @property
    def f1(self) -> Floats:
        """(m,) F1 of each class."""
        return self._share(2 * self.true_positives, self.n_true + self.n_predicted)

    @property
    def macro_f1(self) -> float:
        """The mean of the classes' F1."""
        # the exact sum does not depend on the order of the classes
        return math.fsum(self.f1) / len(self.f1)

    @property
    def macro_f1_with_positives(self) -> float:
        """The mean F1 of the classes that some document has; NaN where there are none."""
        has_positives = self.n_true > 0
        return float(self.f1[has_positives].mean()) if has_positives.any() else float("nan")

    @property
    def micro_f1(self) -> float:
        """F1 of all decisions together."""
        hits, all_positives = self.true_positives.sum(), (self.n_true + self.n_predicted).sum()
        return float(self._share(np.array([2 * hits]), np.array([all_positives]))[0])

    def of(self, target: Target) -> float:
        """Return macro F1, micro F1, the mean of the two ("both"), or accuracy."""
        if target == "both":
            return (self.macro_f1 + self.micro_f1) / 2
        return float(getattr(self, target))

    @property
    def accuracy(self) -> float:
        """The share of documents whose labels are exactly right."""
        return self.n_exact / self.n_docs

    @property
    def per_class(self) -> dict[Label, ClassScores]:
        """F1, precision, recall and sizes of each class."""
        precision = self._share(self.true_positives, self.n_predicted)
        recall = self._share(self.true_positives, self.n_true)
        columns = (self.f1, precision, recall, self.n_true, self.n_predicted)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {name: ClassScores(*row) for name, row in zip(self.classes, rows, strict=True)}

    def _share(self, part: Ints, whole: Ints) -> Floats:
        nothing = 1.0 if self.is_multilabel else 0.0
        shares: Floats = np.divide(part, whole, out=np.full(len(whole), nothing), where=whole > 0)
        return shares


def evaluate(
    true_labels: Any,  # noqa: ANN401 - all the forms that labels.encode reads
    predicted_labels: Any,  # noqa: ANN401
    classes: Iterable[Label] | None = None,
) -> Scores:
    """Compare predicted with true labels, in any of their forms.

    Parameters
    ----------
    true_labels, predicted_labels : iterable or matrix
        Single labels, lists of labels, or 0/1 matrices with the same columns. Where only one of two
        matrices has names, as a data frame has, they are the names of both.
    classes : iterable of str or int, optional
        The codeframe. True labels outside it are dropped, with a warning, and counted in
        `n_dropped`; predicted ones are an error. None: the classes that occur in either.

    Raises
    ------
    InputError
        There are true labels, but not one of them is among `classes`.
    """
    return score(*align_labels(true_labels, predicted_labels, classes)).checked()


def has_exact_labels(
    true_labels: object, predicted_labels: object, classes: Iterable[Label]
) -> Flags:
    """Tell for each document whether its predicted labels are the true ones; see `evaluate`."""
    Y, decisions, _, _ = align_labels(true_labels, predicted_labels, classes)
    return _are_equal(Y, decisions)


def align_labels(
    true_labels: object, predicted_labels: object, classes: Iterable[Label] | None
) -> tuple[Sparse, Sparse, Codeframe, int]:
    """Return true and predicted Y over one codeframe, and how many true labels are not in it.

    See `evaluate`.
    """
    encoded = encode_labels(true_labels), encode_labels(predicted_labels)
    true = _with_names_of(encoded[1], encoded[0], true_labels)
    predicted = _with_names_of(encoded[0], encoded[1], predicted_labels)
    if true.Y.shape[0] != predicted.Y.shape[0]:
        raise InputError(f"{true.Y.shape[0]} true labels but {predicted.Y.shape[0]} predicted ones")
    if not true.Y.shape[0]:
        raise InputError("there are no labels to evaluate")
    union = true.codeframe | predicted.codeframe
    if classes is None or true.codeframe.kind == predicted.codeframe.kind == "matrix":
        return true.align_to(union), predicted.align_to(union), union, 0
    codeframe = Codeframe(tuple(sorted(classes)), union.kind)
    known_true, n_dropped = _restricted(true, codeframe)
    if n_dropped:
        warnings.warn(
            f"{n_dropped} true labels are outside the codeframe and were left out",
            DroppedLabelsWarning,
            stacklevel=3,
        )
    return known_true, predicted.align_to(codeframe), codeframe, n_dropped


def score(Y: Sparse, predicted: Sparse | Flags, codeframe: Codeframe, n_dropped: int = 0) -> Scores:
    """Compare two 0/1 matrices (n, m) over the same codeframe."""
    decisions = sparse.csr_matrix(predicted, dtype=np.float64)
    hits = Y.multiply(decisions)
    sums = (np.asarray(each.sum(axis=0), np.int64).ravel() for each in (hits, Y, decisions))
    true_positives, n_true, n_predicted = sums
    kind = codeframe.classes, codeframe.is_multilabel
    n_exact = int(_are_equal(Y, decisions).sum())
    return Scores(*kind, true_positives, n_true, n_predicted, Y.shape[0], n_exact, n_dropped)


def _are_equal(Y: Sparse, decisions: Sparse) -> Flags:
    """Tell for each row of two 0/1 matrices whether it is the same in both."""
    return np.asarray(abs(Y - decisions).sum(axis=1) == 0).ravel()


def precision_at(k: int, Y: ArrayLike | Sparse, scores: ArrayLike) -> float:
    """Return the mean share of the k best-scored classes of a document that are true.

    `Y` and `scores` are (n, m); documents without a true label count as 0.
    """
    return float(_ranked_hits(k, Y, scores).mean(axis=1).mean())


def ndcg_at(k: int, Y: ArrayLike | Sparse, scores: ArrayLike) -> float:
    """Return the mean normalized discounted cumulative gain of the k best-scored classes.

    `Y` and `scores` are (n, m); documents without a true label count as 0.
    """
    hits = _ranked_hits(k, Y, scores)
    discounts = 1 / np.log2(np.arange(2, hits.shape[1] + 2))
    n_true = np.asarray(to_sparse(Y).sum(axis=1)).ravel().astype(int)
    # without a true label there is no gain, whatever it is divided by
    best = np.concatenate(([1.0], np.cumsum(discounts)))[np.minimum(n_true, hits.shape[1])]
    return float((hits @ discounts / best).mean())


def macro_f1(classifier: Any, texts: Iterable[str], labels: Any) -> float:  # noqa: ANN401
    """Return macro F1 of a fitted classifier: a scorer for GridSearchCV and its like."""
    return evaluate(labels, classifier.predict(texts), classifier.classes_).macro_f1


def micro_f1(classifier: Any, texts: Iterable[str], labels: Any) -> float:  # noqa: ANN401
    """Return micro F1 of a fitted classifier: a scorer for GridSearchCV and its like."""
    return evaluate(labels, classifier.predict(texts), classifier.classes_).micro_f1


def _with_names_of(named: EncodedLabels, other: EncodedLabels, given: object) -> EncodedLabels:
    """Return the other labels; where a matrix without names was given, with those beside it."""
    columns, own = named.codeframe.matrix_columns, other.codeframe
    numbers = tuple(range(len(own.classes)))
    has_names = hasattr(given, "columns") or not own.classes == own.matrix_columns == numbers
    if has_names or columns is None or len(columns) != len(numbers):
        return other
    return EncodedLabels(named.codeframe, move_columns(other.Y, columns, len(columns)))


def _restricted(encoded: EncodedLabels, codeframe: Codeframe) -> tuple[Sparse, int]:
    """Return Y over a codeframe, and how many labels are not in it."""
    is_strange = np.array([name not in codeframe.index for name in encoded.codeframe.classes], bool)
    Y = encoded.Y[:, np.flatnonzero(~is_strange)]
    kept = EncodedLabels(encoded.codeframe.without(is_strange), Y)
    return kept.align_to(codeframe), int(encoded.Y.nnz - Y.nnz)


def _ranked_hits(k: int, Y: ArrayLike | Sparse, scores: ArrayLike) -> Floats:
    """Return (n, k) whether the classes are true, best score first, ties by class."""
    values, truth = np.asarray(scores), to_sparse(Y)
    if truth.shape != values.shape:
        raise InputError(f"labels of shape {truth.shape} but scores of shape {values.shape}")
    if not 1 <= k <= values.shape[1]:
        raise InputError(f"k is {k}; expected a number from 1 to the {values.shape[1]} classes")
    hits = np.empty((len(values), k))
    for start in range(0, len(values), _BLOCK):  # the whole order would take as much as scores
        rows = slice(start, start + _BLOCK)
        best = np.argsort(-values[rows].astype(np.float64), axis=1, kind="stable")[:, :k]
        hits[rows] = np.take_along_axis(truth[rows].toarray(), best, axis=1)
    return hits
