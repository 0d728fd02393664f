"""Labelled texts in memory: records, corpora and datasets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple

Label = str | int


class Record(NamedTuple):
    """One text with its labels in the order of the file, and its split if it has one.

    `place` is the position in the file: a line number, or a name such as "row 5". `row` holds all
    columns by name if `ReadOptions.keep_rows` is True.
    """

    text: str
    labels: list[Label]
    split: str | None = None
    place: int | str | None = None
    row: dict[str, Any] | None = None


@dataclass(frozen=True, repr=False)
class LabelledCorpus:
    """Texts and their labels, in the same order.

    Parameters
    ----------
    texts : list of str
        The texts.
    labels : list
        One label per text. If `is_multilabel`, one list of labels per text, which may be empty.
    is_multilabel : bool
        Whether a text may have any number of labels.
    rows : list of dict, default=[]
        All columns of each text, by name. Only some commands read them.

    See Also
    --------
    read_corpus : Read labelled texts from a file or folder.
    Dataset : A training and a test corpus.

    Examples
    --------
    >>> import wordclass as wc
    >>> corpus = wc.LabelledCorpus(["good", "bad"], ["positive", "negative"], is_multilabel=False)
    >>> len(corpus), corpus.labels[0]
    (2, 'positive')
    """

    texts: list[str]
    labels: list[Label] | list[list[Label]]
    is_multilabel: bool
    rows: list[dict[str, Any]] = field(default_factory=list, compare=False)

    @classmethod
    def of(cls, records: Sequence[Record], is_multilabel: bool) -> "LabelledCorpus":
        """Make a corpus from records.

        Parameters
        ----------
        records : sequence of Record
            The records. In a single-label corpus, each has exactly one label.
        is_multilabel : bool
            Whether a text may have any number of labels.

        Returns
        -------
        LabelledCorpus
            Texts, labels and rows of the records.

        Examples
        --------
        >>> from wordclass.corpus.documents import LabelledCorpus, Record
        >>> LabelledCorpus.of([Record("good", ["positive"])], is_multilabel=False).labels
        ['positive']
        """
        labels: Any = [record.labels if is_multilabel else record.labels[0] for record in records]
        rows = [record.row for record in records if record.row is not None]
        return cls([record.text for record in records], labels, is_multilabel, rows)

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"LabelledCorpus({len(self):,} documents, {_task_type(self.is_multilabel)})"

    def part(self, chosen: Iterable[bool]) -> "LabelledCorpus":
        """Return the chosen documents.

        Parameters
        ----------
        chosen : iterable of bool
            One flag per document.

        Returns
        -------
        LabelledCorpus
            The documents whose flag is True, in the same order.

        Examples
        --------
        >>> import wordclass as wc
        >>> corpus = wc.LabelledCorpus(["good", "bad"], ["positive", "negative"], False)
        >>> corpus.part([False, True]).texts
        ['bad']
        """
        flags = [*chosen]
        columns: list[list[Any]] = [self.texts, self.labels, self.rows]
        texts, labels, rows = ([*compress(column, flags)] for column in columns)
        return LabelledCorpus(texts, labels, self.is_multilabel, rows)


@dataclass(frozen=True)
class Dataset:
    """A training corpus and a test corpus with the classes of the training corpus.

    Parameters
    ----------
    name : str
        Name of the dataset.
    train, test : LabelledCorpus
        Training and test documents.
    classes : list
        The classes that occur in the training corpus, sorted.

    See Also
    --------
    load_dataset : Load a dataset by name.

    Examples
    --------
    >>> import wordclass as wc
    >>> train = wc.LabelledCorpus(["good", "bad"], ["positive", "negative"], False)
    >>> test = wc.LabelledCorpus(["very good"], ["positive"], False)
    >>> wc.Dataset("reviews", train, test, ["negative", "positive"]).is_multilabel
    False
    """

    name: str
    train: LabelledCorpus
    test: LabelledCorpus
    classes: list[Label]

    @property
    def is_multilabel(self) -> bool:
        """Whether a document may have any number of labels.

        Examples
        --------
        >>> import wordclass as wc
        >>> corpus = wc.LabelledCorpus(["good", "bad"], ["positive", "negative"], False)
        >>> wc.Dataset("reviews", corpus, corpus, ["negative", "positive"]).is_multilabel
        False
        """
        return self.train.is_multilabel


def describe_task(is_multilabel: bool, n_classes: int) -> str:
    """Name a task, such as "single-label, 20 classes"."""
    return f"{_task_type(is_multilabel)}, {n_classes:,} classes"


def _task_type(is_multilabel: bool) -> str:
    return "multilabel" if is_multilabel else "single-label"
