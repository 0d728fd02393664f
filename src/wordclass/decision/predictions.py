"""The result of a prediction, as used by Python, commands, service, explorer, Dask and Spark."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from wordclass import catalogue
from wordclass.arrays import Flags, Floats, Floats32, Ints, select_top_k
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import Codeframe
from wordclass.decision.thresholds import decide
from wordclass.errors import InputError
from wordclass.options import check_int, check_number

_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of a classifier for some texts.

    Parameters
    ----------
    codeframe : Codeframe
        The classes: the columns of all arrays.
    scores : array of shape (n, m)
        The score of each class.
    decisions : array of shape (n, m)
        True for the classes that are predicted labels.
    calibrate : callable
        Function that turns scores into probabilities (n, m), or raises InputError.
    allowed : array of shape (m,), optional
        False for classes without training documents, which are never predicted. By default all
        classes are allowed.

    See Also
    --------
    Explanation : The contribution of each term to a score.

    Examples
    --------
    >>> import wordclass as wc
    >>> model = wc.classifier("nearest", min_docs=1).fit(["red apple", "blue sky"], ["food", "air"])
    >>> predictions = model.predictions(["apple", "sky"])
    >>> predictions.labels.tolist()
    ['food', 'air']
    >>> [label for label, probability in predictions.top(2)[0]]
    ['food', 'air']
    """

    codeframe: Codeframe
    scores: Floats | Floats32
    decisions: Flags
    calibrate: Callable[[Floats | Floats32], Floats]
    allowed: Flags | None = None

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.scores)

    @cached_property
    def probabilities(self) -> Floats:
        """The probability (n, m) of each class.

        Raises
        ------
        InputError
            If the classifier was fitted without probabilities.
        """
        return self.calibrate(self.scores)

    @cached_property
    def has_probabilities(self) -> bool:
        """Whether the classifier has probabilities."""
        try:
            return len(self.probabilities) == len(self)
        except InputError:
            return False

    @property
    def values(self) -> Floats | Floats32:
        """The probabilities (n, m), or the scores if the classifier has no probabilities.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.predictions(["apple"]).values.shape
        (1, 2)
        """
        return self.probabilities if self.has_probabilities else self.scores

    @property
    def labels(self) -> Any:  # noqa: ANN401 - see Codeframe.to_labels
        """The labels in the form that `predict` returns.

        The label is None for a single-label text whose label was removed by `filter`.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.predictions(["apple"]).labels.tolist()
        ['food']
        """
        labels = self.codeframe.to_labels(self.decisions)
        if self.codeframe.is_multilabel or self.decisions.any(axis=1).all():
            return labels
        return np.where(self.decisions.any(axis=1), labels.astype(object), None)

    @property
    def label_lists(self) -> list[list[Label]]:
        """The labels of each text as a list, sorted.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.predictions(["apple"]).label_lists
        [['food']]
        """
        classes = self.codeframe.classes
        return [[classes[column] for column in np.flatnonzero(row)] for row in self.decisions]

    def best_columns(self, k: int) -> Ints:
        """Return the columns of the best classes, best first.

        Classes are sorted by probability, or by score if there are no probabilities; ties keep the
        order of `classes_`. The label of a single-label text always comes first.

        Parameters
        ----------
        k : int
            The number of classes per text.

        Returns
        -------
        array of shape (n, k)
            Positions in the codeframe; fewer columns if there are fewer classes.

        Raises
        ------
        InputError
            If `k` is not a positive int.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.predictions(["apple"]).best_columns(1).tolist()
        [[1]]
        """
        check_int("k", k, 1)
        n_classes = len(self.codeframe.classes)
        values: Any = self.values
        if not self.codeframe.is_multilabel:
            values = np.where(self.decisions, np.inf, values)
        columns, _ = select_top_k(np.arange(n_classes)[None], values, min(k, n_classes))
        return columns

    def top(self, k: int) -> list[list[tuple[Label, float]]]:
        """Return the best classes of each text with their probabilities, best first.

        Parameters
        ----------
        k : int
            The number of classes per text.

        Returns
        -------
        list of list of (str or int, float)
            Classes and probabilities, in the order of `best_columns`. Without probabilities, the
            numbers are scores.

        Raises
        ------
        InputError
            If `k` is not a positive int.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> [[label for label, probability in best] for best in model.predictions(["sky"]).top(2)]
        [['air', 'food']]
        """
        columns = self.best_columns(k)
        values = np.take_along_axis(self.values, columns, axis=1)
        classes = self.codeframe.classes
        return [
            [(classes[column], value) for column, value in zip(*row, strict=True)]
            for row in zip(columns.tolist(), values.tolist(), strict=True)
        ]

    def filter(self, threshold: float) -> "Predictions":
        """Return predictions whose labels have at least a given probability.

        In a single-label task, only the most probable class may be the label. Classes without
        training documents are never labels.

        Parameters
        ----------
        threshold : float
            The smallest probability of a label.

        Returns
        -------
        Predictions
            New predictions with the same scores.

        Raises
        ------
        InputError
            If the threshold is negative or not a number, or the classifier has no probabilities.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.predictions(["apple"]).filter(1.0).labels.tolist()
        [None]
        """
        check_number("threshold", threshold)
        decisions = self.probabilities >= threshold
        if not self.codeframe.is_multilabel:
            decisions &= decide(self.probabilities, None)
        if self.allowed is not None:
            decisions &= self.allowed
        return replace(self, decisions=decisions)

    def to_dicts(self, k: int | None = None) -> list[dict[str, Any]]:
        """Return one dict per text, as the commands print it.

        Parameters
        ----------
        k : int, optional
            The number of classes with a score, best first. By default, the predicted labels have a
            score.

        Returns
        -------
        list of dict
            "labels" is the list of labels. "scores" maps classes to probabilities, or to scores if
            the classifier has no probabilities, rounded to six digits.

        Raises
        ------
        InputError
            If `k` is not a positive int.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.predictions(["apple"]).to_dicts()[0]["labels"]
        ['food']
        """
        classes = self.codeframe.classes
        values = self.values
        labels_first = map(_sorted_columns, self.decisions, values)
        shown: Iterable[Ints] = labels_first if k is None else self.best_columns(k)
        return [
            {
                "labels": labels,
                "scores": {str(classes[j]): round(float(row[j]), _DIGITS) for j in columns},
            }
            for labels, columns, row in zip(self.label_lists, shown, values, strict=True)
        ]

    def to_polars(self) -> Any:  # noqa: ANN401 - polars.DataFrame
        """Return a polars data frame with one row per text.

        Returns
        -------
        polars.DataFrame
            The columns are `predicted` and `probability`, or `score` if there are no probabilities.
            In a multilabel task, both columns contain lists.

        Raises
        ------
        MissingExtraError
            If polars is not installed.

        See Also
        --------
        Predictions.to_pandas : The same as a pandas data frame.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.predictions(["apple"]).to_polars()["predicted"].to_list()
        ['food']
        """
        polars: Any = catalogue.import_extra("polars", "for Predictions.to_polars")
        return polars.DataFrame(self._columns())

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas.DataFrame
        """Return a pandas data frame with one row per text.

        Returns
        -------
        pandas.DataFrame
            The columns are those of `to_polars`.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.

        See Also
        --------
        Predictions.to_polars : The same as a polars data frame.

        Examples
        --------
        >>> import wordclass as wc
        >>> model = wc.classifier("nearest", min_docs=1).fit(["an apple", "a sky"], ["food", "air"])
        >>> model.predictions(["apple"]).to_pandas()["predicted"].tolist()
        ['food']
        """
        pandas: Any = catalogue.import_extra("pandas", "for Predictions.to_pandas", "dask")
        return pandas.DataFrame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        labels: list[Any] = self.label_lists
        values: list[Any] = [
            row[is_label].tolist()
            for row, is_label in zip(self.values, self.decisions, strict=True)
        ]
        if not self.codeframe.is_multilabel:
            labels = [next(iter(names), None) for names in labels]
            values = [next(iter(numbers), None) for numbers in values]
        name = "probability" if self.has_probabilities else "score"
        return {"predicted": labels, name: values}


def _sorted_columns(is_label: Flags, values: Floats | Floats32) -> Ints:
    """Return the columns of the labels of a text, sorted by descending value."""
    columns = np.flatnonzero(is_label)
    return columns[np.argsort(-values[columns], kind="stable")]
