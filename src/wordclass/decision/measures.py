"""Measures of predictions: F1 per class, macro and micro F1, accuracy, and ranking measures."""

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
_BLOCK_DOCS = 1024  # documents whose classes are sorted together


def check_target(name: str) -> Target:
    """Return the name of the measure to maximize, with "macro" and "micro" written in full.

    Raises
    ------
    InputError
        If the name is unknown.
    """
    target: Any = {"macro": "macro_f1", "micro": "micro_f1"}.get(str(name), name)
    check_one_of("target", target, get_args(Target))
    return cast("Target", target)


class DroppedLabelsWarning(UserWarning):
    """True labels outside the codeframe were left out of an evaluation."""


@dataclass(frozen=True)
class ClassScores:
    """The scores of one class.

    Parameters
    ----------
    f1, precision, recall : float
        The measures of the class.
    n_true : int
        The number of documents that have the class.
    n_predicted : int
        The number of documents for which the class was predicted.

    Examples
    --------
    >>> import wordclass as wc
    >>> wc.evaluate(["a", "b"], ["a", "a"]).per_class["a"]
    ClassScores(f1=0.6666666666666666, precision=0.5, recall=1.0, n_true=1, n_predicted=2)
    """

    f1: float
    precision: float
    recall: float
    n_true: int
    n_predicted: int


@dataclass(frozen=True, eq=False)
class Scores:
    """Counts of right and wrong decisions, with the measures computed from them.

    The counts are sums over documents, so the scores of batches add up to the scores of all.

    F1 is 2 tp / (2 tp + fp + fn). If all three counts of a class are 0, its F1 is 1 in a multilabel
    task, because every decision was right, and 0 in a single-label task, as in scikit-learn. So
    classes without a true document may raise the macro F1 of a multilabel task, while
    `zero_division=0` of scikit-learn lowers it; `macro_f1_with_positives` leaves them out.

    Parameters
    ----------
    classes : tuple of str or int
        The m classes.
    is_multilabel : bool
        Whether a document may have any number of labels.
    true_positives, n_true, n_predicted : array of shape (m,)
        For each class, the number of documents that have it and for which it was predicted, that
        have it, and for which it was predicted.
    n_docs : int
        The number of documents.
    n_exact : int
        The number of documents whose predicted labels are exactly the true ones.
    n_dropped : int
        The number of true labels outside the codeframe, which were left out.

    See Also
    --------
    evaluate : Compares predicted with true labels.

    Examples
    --------
    >>> import wordclass as wc
    >>> first = wc.evaluate(["a", "b"], ["a", "b"], classes=["a", "b"])
    >>> second = wc.evaluate(["a", "b"], ["a", "a"], classes=["a", "b"])
    >>> (first + second).accuracy
    0.75
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
        """Return the scores of both sets of documents together."""
        if (self.classes, self.is_multilabel) != (other.classes, other.is_multilabel):
            raise InputError(
                "these scores have different classes", hint="evaluate with the same classes"
            )
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in _SUMS})

    def checked(self) -> "Scores":
        """Return these scores if at least one true label is among the classes.

        Returns
        -------
        Scores
            The same object.

        Raises
        ------
        InputError
            If none of the true labels is among the classes.

        Examples
        --------
        >>> import wordclass as wc
        >>> scores = wc.evaluate(["a", "b"], ["a", "a"])
        >>> scores.checked() is scores
        True
        """
        if self.n_dropped and not self.n_true.any():
            raise InputError(
                f"none of the {self.n_dropped:,} true labels is a known class",
                expected=f"some of {list_some(self.classes)}",
                hint="check that the labels and the model belong to the same task",
            )
        return self

    @property
    def f1(self) -> Floats:
        """The F1 (m,) of each class.

        Examples
        --------
        >>> import wordclass as wc
        >>> wc.evaluate(["a", "b"], ["a", "a"]).f1.round(3).tolist()
        [0.667, 0.0]
        """
        return self._ratio(2 * self.true_positives, self.n_true + self.n_predicted)

    @property
    def macro_f1(self) -> float:
        """The mean F1 of all classes.

        Examples
        --------
        >>> import wordclass as wc
        >>> round(wc.evaluate(["a", "b"], ["a", "a"]).macro_f1, 3)
        0.333
        """
        # the exact sum does not depend on the order of the classes
        return math.fsum(self.f1) / len(self.f1)

    @property
    def macro_f1_with_positives(self) -> float:
        """The mean F1 of the classes that occur among the true labels, or NaN if none occurs.

        Examples
        --------
        >>> import wordclass as wc
        >>> scores = wc.evaluate(["a", "a"], ["a", "a"], classes=["a", "b"])
        >>> scores.macro_f1, scores.macro_f1_with_positives
        (0.5, 1.0)
        """
        has_positives = self.n_true > 0
        return float(self.f1[has_positives].mean()) if has_positives.any() else float("nan")

    @property
    def micro_f1(self) -> float:
        """F1 of all decisions together.

        Examples
        --------
        >>> import wordclass as wc
        >>> wc.evaluate(["a", "b"], ["a", "a"]).micro_f1
        0.5
        """
        n_hits = self.true_positives.sum()
        n_positives = (self.n_true + self.n_predicted).sum()
        return float(self._ratio(np.array([2 * n_hits]), np.array([n_positives]))[0])

    def of(self, target: Target) -> float:
        """Return one measure by name.

        Parameters
        ----------
        target : {"both", "macro_f1", "micro_f1", "accuracy"}
            The measure; "both" is the mean of macro and micro F1.

        Returns
        -------
        float
            The value of the measure.

        Examples
        --------
        >>> import wordclass as wc
        >>> wc.evaluate(["a", "b"], ["a", "a"]).of("accuracy")
        0.5
        """
        if target == "both":
            return (self.macro_f1 + self.micro_f1) / 2
        return float(getattr(self, target))

    @property
    def accuracy(self) -> float:
        """The share of documents whose predicted labels are exactly the true ones.

        Examples
        --------
        >>> import wordclass as wc
        >>> wc.evaluate(["a", "b"], ["a", "a"]).accuracy
        0.5
        """
        return self.n_exact / self.n_docs

    @property
    def per_class(self) -> dict[Label, ClassScores]:
        """The scores of each class.

        Examples
        --------
        >>> import wordclass as wc
        >>> wc.evaluate(["a", "b"], ["a", "a"]).per_class["a"].recall
        1.0
        """
        precision = self._ratio(self.true_positives, self.n_predicted)
        recall = self._ratio(self.true_positives, self.n_true)
        columns = (self.f1, precision, recall, self.n_true, self.n_predicted)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {name: ClassScores(*row) for name, row in zip(self.classes, rows, strict=True)}

    def _ratio(self, numerator: Ints, denominator: Ints) -> Floats:
        value_without_cases = 1.0 if self.is_multilabel else 0.0
        ratios: Floats = np.divide(
            numerator,
            denominator,
            out=np.full(len(denominator), value_without_cases),
            where=denominator > 0,
        )
        return ratios


def evaluate(
    true_labels: Any,  # noqa: ANN401 - all forms that encode_labels reads
    predicted_labels: Any,  # noqa: ANN401
    classes: Iterable[Label] | None = None,
) -> Scores:
    """Compare predicted with true labels.

    Parameters
    ----------
    true_labels, predicted_labels : iterable or matrix
        Single labels, lists of labels, or 0/1 matrices with the same columns. If only one of two
        matrices has column names, as a data frame has, they apply to both.
    classes : iterable of str or int, optional
        The codeframe. True labels outside it are dropped with a warning and counted in
        `n_dropped`; predicted labels outside it are an error. By default, the classes that occur
        in either.

    Returns
    -------
    Scores
        The measures: `macro_f1`, `micro_f1`, `accuracy`, `per_class` and others.

    Raises
    ------
    InputError
        If the numbers of labels differ, there are no labels, or none of the true labels is among
        `classes`.

    See Also
    --------
    macro_f1 : Macro F1 as a scorer for scikit-learn.
    micro_f1 : Micro F1 as a scorer for scikit-learn.

    Examples
    --------
    >>> import wordclass as wc
    >>> scores = wc.evaluate(["food", "air", "air"], ["food", "air", "food"])
    >>> round(scores.accuracy, 3), round(scores.macro_f1, 3)
    (0.667, 0.667)
    >>> scores.per_class["food"].precision
    0.5
    """
    return score(*align_labels(true_labels, predicted_labels, classes)).checked()


def has_exact_labels(
    true_labels: object, predicted_labels: object, classes: Iterable[Label]
) -> Flags:
    """Return a mask of the documents whose predicted labels are exactly the true ones.

    The arguments are those of `evaluate`.
    """
    Y, decisions, _, _ = align_labels(true_labels, predicted_labels, classes)
    return _are_rows_equal(Y, decisions)


def align_labels(
    true_labels: object, predicted_labels: object, classes: Iterable[Label] | None
) -> tuple[Sparse, Sparse, Codeframe, int]:
    """Return true and predicted Y over one codeframe, and the number of true labels outside it.

    The arguments are those of `evaluate`.
    """
    encoded_true = encode_labels(true_labels)
    encoded_predicted = encode_labels(predicted_labels)
    true = _with_names_of(encoded_predicted, encoded_true, true_labels)
    predicted = _with_names_of(encoded_true, encoded_predicted, predicted_labels)
    if true.Y.shape[0] != predicted.Y.shape[0]:
        raise InputError(
            f"there are {true.Y.shape[0]} true labels but {predicted.Y.shape[0]} predicted ones",
            expected="one of each per text",
        )
    if not true.Y.shape[0]:
        raise InputError("there are no labels to evaluate", expected="at least one")
    union = true.codeframe | predicted.codeframe
    if classes is None or true.codeframe.kind == predicted.codeframe.kind == "matrix":
        return true.align_to(union), predicted.align_to(union), union, 0
    codeframe = Codeframe(tuple(sorted(classes)), union.kind)
    known_true, n_dropped = _restrict(true, codeframe)
    if n_dropped:
        warnings.warn(
            f"{n_dropped} true labels are outside the codeframe and were left out",
            DroppedLabelsWarning,
            stacklevel=3,
        )
    return known_true, predicted.align_to(codeframe), codeframe, n_dropped


def score(Y: Sparse, predicted: Sparse | Flags, codeframe: Codeframe, n_dropped: int = 0) -> Scores:
    """Compare true and predicted 0/1 matrices (n, m) over the same codeframe."""
    decisions = sparse.csr_matrix(predicted, dtype=np.float64)
    return Scores(
        classes=codeframe.classes,
        is_multilabel=codeframe.is_multilabel,
        true_positives=_column_sums(Y.multiply(decisions)),
        n_true=_column_sums(Y),
        n_predicted=_column_sums(decisions),
        n_docs=Y.shape[0],
        n_exact=int(_are_rows_equal(Y, decisions).sum()),
        n_dropped=n_dropped,
    )


def _column_sums(matrix: Sparse) -> Ints:
    return np.asarray(matrix.sum(axis=0), np.int64).ravel()


def _are_rows_equal(Y: Sparse, decisions: Sparse) -> Flags:
    """Return a mask of the rows that are the same in two 0/1 matrices."""
    return np.asarray(abs(Y - decisions).sum(axis=1) == 0).ravel()


def precision_at(k: int, Y: ArrayLike | Sparse, scores: ArrayLike) -> float:
    """Return the mean share of true classes among the k classes with the highest scores.

    Documents without a true label count as 0.

    Parameters
    ----------
    k : int
        The number of classes per document.
    Y : array or sparse matrix of shape (n, m)
        The true classes.
    scores : array of shape (n, m)
        The scores of the classes.

    Returns
    -------
    float
        The mean over all documents.
    """
    return float(_ranked_hits(k, Y, scores).mean(axis=1).mean())


def ndcg_at(k: int, Y: ArrayLike | Sparse, scores: ArrayLike) -> float:
    """Return the mean normalized discounted cumulative gain of the k classes with highest scores.

    Documents without a true label count as 0. The arguments are those of `precision_at`.
    """
    hits = _ranked_hits(k, Y, scores)
    discounts = 1 / np.log2(np.arange(2, hits.shape[1] + 2))
    n_true = np.asarray(to_sparse(Y).sum(axis=1)).ravel().astype(int)
    # without a true label the gain is 0, so any divisor does
    best = np.concatenate(([1.0], np.cumsum(discounts)))[np.minimum(n_true, hits.shape[1])]
    return float((hits @ discounts / best).mean())


def macro_f1(classifier: Any, texts: Iterable[str], labels: Any) -> float:  # noqa: ANN401
    """Return the macro F1 of a fitted classifier: a scorer for `GridSearchCV` and the like.

    Parameters
    ----------
    classifier : estimator
        A fitted classifier of texts.
    texts : iterable of str
        The texts.
    labels : iterable or matrix
        The true labels of the texts.

    Returns
    -------
    float
        The macro F1 of the predicted labels.

    Raises
    ------
    InputError
        If none of the labels is a class of the classifier.

    See Also
    --------
    micro_f1 : Micro F1 as a scorer.
    evaluate : All measures at once.

    Examples
    --------
    >>> import wordclass as wc
    >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
    >>> wc.macro_f1(model, ["apple", "sky"], ["food", "air"])
    1.0
    """
    return evaluate(labels, classifier.predict(texts), classifier.classes_).macro_f1


def micro_f1(classifier: Any, texts: Iterable[str], labels: Any) -> float:  # noqa: ANN401
    """Return the micro F1 of a fitted classifier: a scorer for `GridSearchCV` and the like.

    Parameters
    ----------
    classifier : estimator
        A fitted classifier of texts.
    texts : iterable of str
        The texts.
    labels : iterable or matrix
        The true labels of the texts.

    Returns
    -------
    float
        The micro F1 of the predicted labels.

    Raises
    ------
    InputError
        If none of the labels is a class of the classifier.

    See Also
    --------
    macro_f1 : Macro F1 as a scorer.
    evaluate : All measures at once.

    Examples
    --------
    >>> import wordclass as wc
    >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
    >>> wc.micro_f1(model, ["apple", "sky"], ["food", "air"])
    1.0
    """
    return evaluate(labels, classifier.predict(texts), classifier.classes_).micro_f1


def _with_names_of(named: EncodedLabels, encoded: EncodedLabels, labels: object) -> EncodedLabels:
    """Return encoded labels with the column names of another matrix if they have none."""
    columns = named.codeframe.matrix_columns
    codeframe = encoded.codeframe
    numbers = tuple(range(len(codeframe.classes)))
    is_unnamed_matrix = codeframe.classes == codeframe.matrix_columns == numbers
    has_names = hasattr(labels, "columns") or not is_unnamed_matrix
    if has_names or columns is None or len(columns) != len(numbers):
        return encoded
    return EncodedLabels(named.codeframe, move_columns(encoded.Y, columns, len(columns)))


def _restrict(encoded: EncodedLabels, codeframe: Codeframe) -> tuple[Sparse, int]:
    """Return Y over a codeframe, and the number of labels outside it."""
    is_unknown = np.array([name not in codeframe.index for name in encoded.codeframe.classes], bool)
    Y = encoded.Y[:, np.flatnonzero(~is_unknown)]
    known = EncodedLabels(encoded.codeframe.without(is_unknown), Y)
    return known.align_to(codeframe), int(encoded.Y.nnz - Y.nnz)


def _ranked_hits(k: int, Y: ArrayLike | Sparse, scores: ArrayLike) -> Floats:
    """Return 1 or 0 (n, k) for the k best classes, true or not, best first, ties by class."""
    values = np.asarray(scores)
    truth = to_sparse(Y)
    if truth.shape != values.shape:
        raise InputError(
            f"labels have the shape {truth.shape}", expected=f"{values.shape}, the shape of scores"
        )
    if not 1 <= k <= values.shape[1]:
        raise InputError(
            f"k is {k}", expected=f"an int from 1 to {values.shape[1]}, the number of classes"
        )
    hits = np.empty((len(values), k))
    # the order of all documents at once would need as much memory as the scores
    for start in range(0, len(values), _BLOCK_DOCS):
        rows = slice(start, start + _BLOCK_DOCS)
        best = np.argsort(-values[rows].astype(np.float64), axis=1, kind="stable")[:, :k]
        hits[rows] = np.take_along_axis(truth[rows].toarray(), best, axis=1)
    return hits
