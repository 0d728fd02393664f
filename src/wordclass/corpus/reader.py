"""Labelled texts: the type of a corpus, and readers of files, folders and datasets."""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from wordclass import catalogue
from wordclass.errors import FormatError, InputError, list_some
from wordclass.options import check_one_of
from wordclass.storage import files as storage
from wordclass.storage.addresses import Address

Label = str | int

_NO_LABEL = "no label, in a single-label task"
_NO_LABEL_HINT = (
    "use on_missing_label='skip' (--on-missing-label skip) to leave such records out, "
    "or 'empty' to make the task multilabel"
)


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
        >>> from wordclass.corpus.reader import LabelledCorpus, Record
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
        """Whether a document may have any number of labels."""
        return self.train.is_multilabel


@dataclass(frozen=True)
class ReadOptions:
    """Options that say how the records of a file are read.

    Parameters
    ----------
    text_field, label_field : str or list of str, optional
        Names of columns. By default `text`, and `labels`, else `label`. Several text columns are
        joined by line breaks. Several label columns hold 0 and 1 and are named after the classes.
    label_separator : str or None, default=";"
        Separator of several labels in one cell of a CSV, TSV or XLSX file. With None or "none", a
        cell is one label.
    delimiter : str, optional
        Delimiter of the cells of a CSV or TSV file, such as ";" or "tab". By default a tab in TSV
        files. In CSV files, the one of `,` `;` tab and `|` that splits the first lines into the
        most cells.
    header : bool, default=True
        Whether the first line of a CSV, TSV or XLSX file names the columns. If False, the columns
        are named 1, 2, 3, ...
    encoding : str, default="utf-8"
        Encoding of text files. A byte order mark of UTF-8 is dropped.
    format : str, optional
        Name of the format. By default the ending of the file decides.
    texts_only : bool, default=False
        Whether labels are ignored. They may then be missing, and no record has labels.
    keep_rows : bool, default=False
        Whether records hold all their columns.
    are_remembered : bool, default=False
        Whether the fields are those that a model was trained with. A format without fields ignores
        them.
    has_split : bool, optional
        Whether all records have a field `split`. By default the first record decides.
    on_bad_record : {"stop", "skip"}, default="stop"
        Whether a record that cannot be read raises an error, or the error takes its place in the
        block.
    """

    text_field: str | Sequence[str] | None = None
    label_field: str | Sequence[str] | None = None
    label_separator: str | None = ";"
    delimiter: str | None = None
    header: bool = True
    encoding: str = "utf-8"
    format: str | None = None
    texts_only: bool = False
    keep_rows: bool = False
    are_remembered: bool = False
    has_split: bool | None = None
    on_bad_record: str = "stop"

    def __post_init__(self) -> None:
        check_one_of("on_bad_record", self.on_bad_record, ("stop", "skip"))
        for option in ("text_field", "label_field", "label_separator", "delimiter"):
            value = getattr(self, option)
            is_list = option.endswith("field") and isinstance(value, list | tuple)
            values = value if is_list else [value]
            if not all(isinstance(item, str | None) for item in values):
                raise InputError(f"{option} is {value!r:.60}", expected="a str")


def read_corpus(
    path: str | PathLike[str],
    split: str | None = None,
    *,
    multilabel: bool | None = None,
    text_field: str | Sequence[str] | None = None,
    label_field: str | Sequence[str] | None = None,
    on_missing_label: str = "error",
    label_separator: str | None = ";",
    delimiter: str | None = None,
    header: bool = True,
    encoding: str = "utf-8",
    format: str | None = None,
) -> LabelledCorpus:
    r"""Read labelled texts from a file or folder.

    Parameters
    ----------
    path : path-like
        A folder with one folder per class, or a file whose ending names its format: .txt or .ft
        (fastText), .jsonl, .json (an array of objects), .csv, .tsv, .parquet or .xlsx. Each may
        be followed by .gz or .zst.
    split : str, optional
        Read the records whose field `split` has this value. By default all records are read.
    multilabel : bool, optional
        Whether a document may have any number of labels. By default the whole file with all its
        splits decides: it is single-label if every document that has labels has exactly one.
    on_missing_label : {"error", "skip", "empty"}, default="error"
        Treatment of documents without labels ("", null, [] or a blank cell). "skip" leaves them
        out. In a multilabel task they have an empty list. In a single-label task they are an error,
        unless "empty" makes the task multilabel.
    text_field : str or list of str, optional
        Column of texts. By default `text`. Several columns are joined by line breaks.
    label_field : str or list of str, optional
        Column of labels. By default `labels`, else `label`. Several columns hold 0 and 1 and are
        named after the classes.
    label_separator : str or None, default=";"
        Separator of several labels in one cell of a CSV, TSV or XLSX file. With None, a cell is
        one label.
    delimiter : str, optional
        Delimiter of the cells of a CSV or TSV file, such as ";" or "tab". Detected by default.
    header : bool, default=True
        Whether the first line of a CSV, TSV or XLSX file names the columns. If False, the columns
        are named 1, 2, 3, ...
    encoding : str, default="utf-8"
        Encoding of text files.
    format : str, optional
        Name of the format. By default the ending of the file decides.

    Returns
    -------
    LabelledCorpus
        Texts and labels in the order of the file.

    Raises
    ------
    InputError
        An option is invalid, or the file has no such format, split or label.
    FormatError
        The file is damaged, or a record cannot be read. The message names the line.
    MissingDataError
        There is no such file.

    See Also
    --------
    load_dataset : Load a published dataset by name.
    ShardedCorpus.of : Read files that do not fit into memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import wordclass as wc
    >>> path = Path(tempfile.mkdtemp(), "reviews.csv")
    >>> _ = path.write_text("text,label\nWell made,positive\nIt broke,negative\n")
    >>> corpus = wc.read_corpus(path)
    >>> corpus.texts, corpus.labels
    (['Well made', 'It broke'], ['positive', 'negative'])
    """
    options = ReadOptions(
        text_field=text_field,
        label_field=label_field,
        label_separator=label_separator,
        delimiter=delimiter,
        header=header,
        encoding=encoding,
        format=format,
    )
    reader = CorpusReader(
        Path(path),
        options,
        split=split,
        multilabel=multilabel,
        on_missing_label=on_missing_label,
    )
    return reader.read()


def describe_task(is_multilabel: bool, n_classes: int) -> str:
    """Name a task, such as "single-label, 20 classes"."""
    return f"{_task_type(is_multilabel)}, {n_classes:,} classes"


def _task_type(is_multilabel: bool) -> str:
    return "multilabel" if is_multilabel else "single-label"


@dataclass
class ReadSummary:
    """Facts about the records of a corpus or shard. Summaries add up in the order of the shards.

    Parameters
    ----------
    n_docs, n_skipped : int
        Number of texts that were read, and of records that could not be read and were left out.
    splits : set of str
        Names of the splits.
    label_counts : set of int
        The numbers of labels that records have, in all splits.
    first_unlabelled, first_skipped : FormatError, optional
        The first record of the split without a label, and the first record that was left out.
        Each is an error that names its line.
    """

    n_docs: int = 0
    n_skipped: int = 0
    splits: set[str | None] = field(default_factory=set)
    label_counts: set[int] = field(default_factory=set)
    first_unlabelled: FormatError | None = None
    first_skipped: FormatError | None = None

    def __add__(self, other: "ReadSummary") -> "ReadSummary":
        return ReadSummary(
            n_docs=self.n_docs + other.n_docs,
            n_skipped=self.n_skipped + other.n_skipped,
            splits=self.splits | other.splits,
            label_counts=self.label_counts | other.label_counts,
            first_unlabelled=self.first_unlabelled or other.first_unlabelled,
            first_skipped=self.first_skipped or other.first_skipped,
        )


@dataclass(frozen=True)
class Selection:
    """The records of a corpus to read, and the rules for their labels.

    Parameters
    ----------
    split : str, optional
        Read the records of this split. By default all records are read.
    default_split : str, optional
        The split to read if the records have splits and `split` is None.
    multilabel : bool, optional
        See `read_corpus`.
    on_missing_label : str, default="error"
        See `read_corpus`.
    """

    split: str | None = None
    default_split: str | None = None
    multilabel: bool | None = None
    on_missing_label: str = "error"

    def __post_init__(self) -> None:
        check_one_of("on_missing_label", self.on_missing_label, ("error", "skip", "empty"))
        if self.multilabel is False and self.on_missing_label == "empty":
            raise InputError(
                "on_missing_label is 'empty' in a single-label task",
                expected="'error' or 'skip'",
                hint="use multilabel=True (--multilabel) for documents without a label",
            )

    def select(
        self,
        path: Path | Address | str,
        blocks: Iterable[list[Any]],
        summary: ReadSummary,
        *,
        texts_only: bool,
    ) -> Iterator[list[Record]]:
        """Yield the records of the split, block by block, and update the summary of all records."""
        for block_with_errors in blocks:
            block = self._without_errors(block_with_errors, summary)
            if not block:
                continue
            summary.splits.update(record.split for record in block)
            summary.label_counts.update(len(record.labels) for record in block)
            chosen = self._in_split(block)
            if 0 in summary.label_counts and summary.first_unlabelled is None:
                summary.first_unlabelled = _find_unlabelled(path, chosen)
            if not texts_only:
                chosen = self._check_labels(chosen, summary.n_docs)
            if chosen:
                summary.n_docs += len(chosen)
                yield chosen

    @staticmethod
    def _without_errors(block: list[Any], summary: ReadSummary) -> list[Record]:
        """Return the records of a block, and count the errors in the summary."""
        errors = [record for record in block if isinstance(record, FormatError)]
        if not errors:
            return block
        summary.first_skipped = summary.first_skipped or errors[0]
        summary.n_skipped += len(errors)
        return [record for record in block if not isinstance(record, FormatError)]

    def _in_split(self, block: list[Record]) -> list[Record]:
        has_splits = block[0].split is not None
        split = self.split or (self.default_split if has_splits else None)
        if split is None:
            return block
        if not has_splits:
            raise InputError(
                f"there is no split {split!r}: the records have no field 'split'",
                hint="leave --split (split=) out to read all records",
            )
        return [record for record in block if record.split == split]

    def _check_labels(self, block: list[Record], n_before: int) -> list[Record]:
        """Return the records to keep. Refuse several labels in a single-label task."""
        if self.on_missing_label == "skip":
            block = [record for record in block if record.labels]
        for number, record in enumerate(block, start=n_before + 1):
            if self.multilabel is False and len(record.labels) > 1:
                raise InputError(
                    f"record {number} has {len(record.labels)} labels",
                    expected="exactly one per document in a single-label corpus",
                    hint="use multilabel=True (--multilabel)",
                )
        return block

    def check_not_empty(self, summary: ReadSummary, name: object) -> None:
        """Refuse a corpus without a readable record in the split."""
        if summary.first_skipped is not None and not summary.label_counts:
            raise summary.first_skipped
        if summary.n_docs:
            return
        if summary.first_unlabelled:
            raise InputError(f"{name}: no record has a label")
        split = self.split or self.default_split
        splits = list_some(sorted(map(str, summary.splits)))
        raise InputError(f"no record is in split {split!r}", expected=f"one of {splits}")

    def conclude(self, summary: ReadSummary) -> bool:
        """Return whether the task is multilabel, which depends on all records."""
        is_multilabel = bool(self.multilabel)
        if self.multilabel is None:
            has_empty = 0 in summary.label_counts and self.on_missing_label == "empty"
            is_multilabel = max(summary.label_counts) > 1 or has_empty
        if summary.first_unlabelled and not is_multilabel and self.on_missing_label == "error":
            raise summary.first_unlabelled
        return is_multilabel


def _find_unlabelled(path: Path | Address | str, records: list[Record]) -> FormatError | None:
    """Return an error that names the first record without a label, or None."""
    for record in records:
        if not record.labels:
            return FormatError(path, record.place, _NO_LABEL, hint=_NO_LABEL_HINT)
    return None


@dataclass
class CorpusReader:
    """Reader of the labelled texts of a file or folder.

    Iterating yields pairs of texts and lists of labels, a few thousand texts at a time. Each
    iteration reads the file again.

    Parameters
    ----------
    path : Path
        The file or folder.
    options : ReadOptions
        How records are read.
    split, default_split, multilabel, on_missing_label
        See `Selection`.

    Attributes
    ----------
    n_docs : int
        Number of texts. Known when the iteration has ended.
    is_multilabel : bool
        The option `multilabel`. If it is None, the labels of the whole file with all its splits
        decide. Known when the iteration has ended.
    """

    path: Path
    options: ReadOptions = field(default_factory=ReadOptions)
    split: str | None = None
    default_split: str | None = None
    multilabel: bool | None = None
    on_missing_label: str = "error"
    n_docs: int = field(default=0, init=False)
    is_multilabel: bool = field(default=False, init=False)
    _state: storage.FileIdentity | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._selection()

    def _selection(self) -> Selection:
        return Selection(self.split, self.default_split, self.multilabel, self.on_missing_label)

    def __iter__(self) -> Iterator[tuple[list[str], list[list[Label]]]]:
        for block in self._unchanged_blocks():
            yield [record.text for record in block], [record.labels for record in block]

    def read(self) -> LabelledCorpus:
        """Read the whole corpus into memory."""
        records = [record for block in self._unchanged_blocks() for record in block]
        return LabelledCorpus.of(records, self.is_multilabel)

    def records(self) -> Iterator[list[Record]]:
        """Yield blocks of texts with all their columns and without labels.

        In a file of lines (.txt, .ft) blank lines are texts too, so that result k belongs to
        line k.
        """
        return self._blocks(replace(self.options, texts_only=True, keep_rows=True))

    def _unchanged_blocks(self) -> Iterator[list[Record]]:
        # the second reading must see the same content as the first
        self._state = self._state or storage.file_identity(self.path)
        storage.check_identity(self.path, self._state)
        with storage.require_unchanged(self.path):
            yield from self._blocks(self.options)

    def _blocks(self, options: ReadOptions) -> Iterator[list[Record]]:
        """Yield the records of the split, block by block, and examine the labels of all records."""
        self.n_docs = 0
        summary = ReadSummary()
        selection = self._selection()
        storage.require_existing(self.path)
        reader = catalogue.entry("corpus_formats", options.format or format_of(self.path))
        blocks = reader.read(self.path, options)
        for block in selection.select(self.path, blocks, summary, texts_only=options.texts_only):
            self.n_docs = summary.n_docs
            yield block
        selection.check_not_empty(summary, self.path)
        if not options.texts_only:
            self.is_multilabel = selection.conclude(summary)


def format_of(path: Path | Address) -> str:
    """Return the name of the corpus format that has the ending of a path."""
    if path.is_dir():
        return "folders"
    name = storage.uncompressed_name(path).lower()
    all_endings: list[str] = []
    for format in catalogue.names("corpus_formats"):
        endings = catalogue.entry("corpus_formats", format).ENDINGS
        if name.endswith(endings):
            return format
        all_endings += endings
    raise InputError(
        f"{path}: its ending names no corpus format",
        expected=f"{', '.join(sorted(all_endings))}, each also with .gz or .zst, "
        "or a folder with one folder per class",
        hint="use format= to name the format",
    )


def load_dataset(
    name: str, home: str | PathLike[str] | None = None, *, download: bool = False, **options: object
) -> Dataset:
    """Load a dataset by name.

    Parameters
    ----------
    name : str
        Name of the dataset, such as "docstrings" or "newsgroups20". The command
        `wordclass datasets` lists all of them.
    home : path-like, optional
        Folder of corpora and caches. By default the environment variable `WORDCLASS_HOME`, else
        the data folder of the platform.
    download : bool, default=False
        Whether to download the dataset if it is missing and its owner allows that.
    **options
        Options of the dataset, such as `strip=("headers",)` for "newsgroups20".

    Returns
    -------
    Dataset
        Training and test documents.

    Raises
    ------
    MissingDataError
        The dataset is missing. The message says how to get it and where to put it.
    InputError
        There is no dataset of this name, or it has no such option.

    See Also
    --------
    read_corpus : Read labelled texts from a file or folder.

    Examples
    --------
    >>> import wordclass as wc
    >>> wc.load_dataset("docstrings", strip=())
    Traceback (most recent call last):
        ...
    wordclass.errors.InputError: the dataset docstrings has no option 'strip'; it has no options
    """
    entry = catalogue.entry("datasets", name)
    folder = Path(home) if home else storage.data_home()
    known = [*inspect.signature(entry.load).parameters][1:]
    if unknown := sorted(set(options) - set(known)):
        raise InputError(
            f"the dataset {name} has no option {unknown[0]!r}",
            expected=", ".join(known) if known else None,
            hint=None if known else "it has no options",
        )
    if download and not entry.SOURCE.is_built and not entry.SOURCE.find(folder):
        entry.SOURCE.fetch(folder)
    dataset: Dataset = entry.load(folder, **options)
    return dataset
