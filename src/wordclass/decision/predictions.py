"""The result of a prediction: one type for Python, commands, service, explorer, Dask and Spark."""

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
        Which classes each text has.
    calibrate : callable
        Turns the scores into probabilities (n, m), or raises InputError.
    allowed : array of shape (m,), optional
        False for classes without training documents, which are never predicted. By default all
        classes are allowed.

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
            The classifier was fitted without probabilities.
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
        """The probabilities (n, m), or the scores if the classifier has no probabilities."""
        return self.probabilities if self.has_probabilities else self.scores

    @property
    def labels(self) -> Any:  # noqa: ANN401 - see Codeframe.to_labels
        """The labels in the form that `predict` returns.

        A single-label text that lost its label by `filter` has None.
        """
        labels = self.codeframe.to_labels(self.decisions)
        if self.codeframe.is_multilabel or self.decisions.any(axis=1).all():
            return labels
        return np.where(self.decisions.any(axis=1), labels.astype(object), None)

    @property
    def label_lists(self) -> list[list[Label]]:
        """The labels of each text as a list, sorted."""
        classes = self.codeframe.classes
        return [[classes[column] for column in np.flatnonzero(row)] for row in self.decisions]

    def best_columns(self, k: int) -> Ints:
        """Return the columns (n, k) of the best classes, best first.

        They are sorted by probability, or by score if there are no probabilities; of equals, the
        class that comes first in `classes_`. The label of a single-label text is always the first.
        """
        check_int("k", k, 1)
        n_classes = len(self.codeframe.classes)
        values: Any = self.values
        if not self.codeframe.is_multilabel:
            values = np.where(self.decisions, np.inf, values)
        columns, _ = select_top_k(np.arange(n_classes)[None], values, min(k, n_classes))
        return columns

    def top(self, k: int) -> list[list[tuple[Label, float]]]:
        """Return the k best classes of each text with their probabilities, best first.

        Without probabilities, the scores are returned. For the order see `best_columns`.
        """
        columns = self.best_columns(k)
        values = np.take_along_axis(self.values, columns, axis=1)
        classes = self.codeframe.classes
        return [
            [(classes[column], value) for column, value in zip(*row, strict=True)]
            for row in zip(columns.tolist(), values.tolist(), strict=True)
        ]

    def filter(self, threshold: float) -> "Predictions":
        """Return predictions whose labels are the classes with at least this probability.

        In a single-label task only the most probable class may be the label. Classes without
        training documents are never labels.
        """
        check_number("threshold", threshold)
        decisions = self.probabilities >= threshold
        if not self.codeframe.is_multilabel:
            decisions &= decide(self.probabilities, None)
        if self.allowed is not None:
            decisions &= self.allowed
        return replace(self, decisions=decisions)

    def to_dicts(self, k: int | None = None) -> list[dict[str, Any]]:
        """Return a dict per text as the commands print it: `labels`, and `scores` by class.

        Parameters
        ----------
        k : int, optional
            The number of classes with a score, best first. By default those that are labels.

        Returns
        -------
        Scores are probabilities, or scores if the classifier has no probabilities, rounded to six
        digits.
        """
        classes = self.codeframe.classes
        values = self.values
        labels_first = map(_sorted_columns, self.decisions, values)
        shown: Iterable[Ints] = labels_first if k is None else self.best_columns(k)
        return [
            {
                "labels": labels,
                "scores": {str(classes[j]): round(float(own[j]), _DIGITS) for j in columns},
            }
            for labels, columns, own in zip(self.label_lists, shown, values, strict=True)
        ]

    def to_polars(self) -> Any:  # noqa: ANN401 - polars.DataFrame
        """Return a polars data frame with the columns `predicted` and `probability`.

        One row per text; in a multilabel task both columns hold lists. Without probabilities, the
        second column is `score`.
        """
        polars: Any = catalogue.import_extra("polars", "for Predictions.to_polars")
        return polars.DataFrame(self._columns())

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas.DataFrame
        """Return a pandas data frame with the columns of `to_polars`."""
        pandas: Any = catalogue.import_extra("pandas", "for Predictions.to_pandas", "dask")
        return pandas.DataFrame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        labels: list[Any] = self.label_lists
        values: list[Any] = [
            own[row].tolist() for own, row in zip(self.values, self.decisions, strict=True)
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
