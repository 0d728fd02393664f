"""Readers of labelled texts in files, folders and datasets."""

import inspect
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from wordclass import catalogue
from wordclass.corpus import columns
from wordclass.corpus.documents import Dataset, Label, LabelledCorpus, Record
from wordclass.corpus.file_formats import choose_format
from wordclass.corpus.records import MissingColumnError
from wordclass.corpus.selection import ColumnGuessWarning, ReadOptions, ReadSummary, Selection
from wordclass.errors import InputError
from wordclass.storage import files as storage


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
    quote: str | None = '"',
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
    text_field : str or list of str, optional
        Column of texts. By default `text`, or a column that is recognized by its name or content.
        Several columns are joined by line breaks.
    label_field : str or list of str, optional
        Column of labels. By default `labels`, else `label`, or a column that is recognized by its
        name or content. Several columns hold 0 and 1 and are named after the classes.
    on_missing_label : {"error", "skip", "empty"}, default="error"
        Treatment of documents without labels ("", null, [] or a blank cell). "skip" leaves them
        out. In a multilabel task they have an empty list. In a single-label task they are an error,
        unless "empty" makes the task multilabel.
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
        Name of the format: "csv", "tsv", "jsonl", "json", "fasttext", "annif", "parquet", "xlsx" or
        "folders". By default the ending and the content of the file decide.
    quote : str or None, default='"'
        Quote character of a CSV or TSV file. With None, no cell is quoted. In a TSV file a quote is
        part of the text unless the cell starts and ends with it.

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
        quote=quote,
    )
    reader = CorpusReader(
        Path(path),
        options,
        split=split,
        multilabel=multilabel,
        on_missing_label=on_missing_label,
    )
    return reader.read()


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
    guess : ColumnGuess, optional
        The columns that were guessed. None if the file has the default columns or the options name
        them.
    """

    path: Path
    options: ReadOptions = field(default_factory=ReadOptions)
    split: str | None = None
    default_split: str | None = None
    multilabel: bool | None = None
    on_missing_label: str = "error"
    n_docs: int = field(default=0, init=False)
    is_multilabel: bool = field(default=False, init=False)
    guess: columns.ColumnGuess | None = field(default=None, init=False)
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
        blocks = self._read_blocks(options)
        for block in selection.select(self.path, blocks, summary, texts_only=options.texts_only):
            self.n_docs = summary.n_docs
            yield block
        selection.check_not_empty(summary, self.path)
        if not options.texts_only:
            self.is_multilabel = selection.conclude(summary)

    def _read_blocks(self, options: ReadOptions) -> Iterator[list[Any]]:
        """Yield all records block by block, with guessed columns if there are no default ones."""
        read = catalogue.entry("corpus_formats", choose_format(self.path, options)).read
        try:
            blocks = read(self.path, options)
            first = next(blocks, None)
        except MissingColumnError as error:
            if storage.is_stream(self.path):  # it cannot be read twice
                raise
            options, self.guess = columns.resolve_columns(self.path, options, error, read)
            message = f"{self.path}: {self.guess.describe()}"
            warnings.warn(message, ColumnGuessWarning, stacklevel=2)
            yield from read(self.path, options)
            return
        if first is not None:
            yield first
        yield from blocks


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
