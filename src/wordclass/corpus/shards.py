"""Corpora in shards, each of which any machine that reaches the files can read alone.

A shard is a file, a span of a file, or a partition of a Dask or Spark table.
"""

import glob
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from wordclass import catalogue, progress
from wordclass.corpus import lines, records
from wordclass.corpus.columns import (
    ColumnGuess,
    UnclearColumnsError,
    resolve_columns,
)
from wordclass.corpus.documents import LabelledCorpus, Record
from wordclass.corpus.file_formats import choose_format, is_annif_folder
from wordclass.corpus.labels import Codeframe, EncodedLabels, encode_labels
from wordclass.corpus.partitions import columns_of_table, is_table, read_partition
from wordclass.corpus.records import MissingColumnError
from wordclass.corpus.selection import ColumnGuessWarning, ReadOptions, ReadSummary, Selection
from wordclass.engines.tasks import count_shards
from wordclass.errors import FormatError, InputError, MissingDataError, NoRecordsError
from wordclass.options import check_int
from wordclass.storage import files as storage
from wordclass.storage.files import Address, File

SHARD_BYTES = 32 << 20  # some ten thousand documents

_PATTERN_SIGNS = "*?["
_HIDDEN_PREFIXES = (".", "_")  # of files that Spark and others write next to their shards


@dataclass(frozen=True)
class Shard:
    """A file or a span of one.

    Parameters
    ----------
    path : Path or Address
        The file.
    format : str
        A file name in `corpus/formats/`.
    span : (int, int), optional
        The span, in bytes or rows as the format cuts its files. None for the whole file.
    state : tuple, optional
        The identity of the file when the shards were listed. The file must not change until it is
        read.
    """

    path: File
    format: str
    span: tuple[int, int] | None = None
    state: storage.FileIdentity | None = None

    def blocks(self, options: ReadOptions) -> Iterator[list[Any]]:
        """Yield the records block by block. An empty shard has no blocks."""
        if self.state is not None and not storage.path_exists(self.path):
            raise MissingDataError(
                f"{self.path}: the file has disappeared since the work began",
                hint="put it back and start again",
            )
        storage.check_identity(self.path, self.state)
        read = catalogue.entry("corpus_formats", self.format).read
        span = () if self.span is None else (self.span,)
        try:
            yield from read(self.path, options, *span)
        except NoRecordsError:
            return
        except FormatError as error:
            raise self.with_line_of_file(error) from None
        storage.check_identity(self.path, self.state)

    def with_line_of_file(self, error: FormatError) -> FormatError:
        """Return an error whose line is counted from the start of the file, not of the span."""
        if error.line is None or self.span is None or not isinstance(error.line, int):
            return error
        n_before = lines.count_lines_before(self.path, self.span[0])
        return FormatError(error.path, error.line + n_before, error.reason)


@dataclass(frozen=True)
class ShardedCorpus:
    r"""Labelled texts in shards that do not have to fit into memory. Use `ShardedCorpus.of`.

    Parameters
    ----------
    items : sequence of Shard, or a Dask bag or dataframe, or a Spark DataFrame
        The shards. A table is processed by its own engine only.
    options : ReadOptions
        How records are read. They name all columns, so that all shards use the same ones.
    selection : Selection
        The records to read, and the rules for their labels.
    guess : ColumnGuess, optional
        The columns that were guessed. None if there are default columns or the options name them.
    unclear : UnclearColumnsError, optional
        The error that reading labels raises if their column is not clear.

    See Also
    --------
    read_corpus : Read a corpus into memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import wordclass as wc
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("text,label\nWell made,positive\n")
    >>> _ = (folder / "b.csv").write_text("text,label\nIt broke,negative\n")
    >>> corpus = wc.ShardedCorpus.of(folder)
    >>> len(corpus), corpus.read().labels
    (2, ['positive', 'negative'])
    """

    items: Any
    options: ReadOptions = field(default_factory=ReadOptions)
    selection: Selection = field(default_factory=Selection)
    guess: ColumnGuess | None = None
    unclear: UnclearColumnsError | None = None

    @classmethod
    def of(
        cls,
        data: str | PathLike[str] | Iterable[str | PathLike[str]],
        split: str | None = None,
        *,
        multilabel: bool | None = None,
        text_field: str | Sequence[str] | None = None,
        label_field: str | Sequence[str] | None = None,
        on_missing_label: str = "error",
        on_bad_record: str = "stop",
        part_bytes: int = SHARD_BYTES,
        **options: Any,  # noqa: ANN401 - of `ReadOptions`
    ) -> "ShardedCorpus":
        r"""Find the shards of a corpus in files, folders, patterns and addresses.

        Parameters
        ----------
        data : str, path-like, or iterable of them
            Files in any format that `read_corpus` reads, folders of such files, patterns such as
            "docs/*.jsonl", and addresses that fsspec knows, such as
            "s3://bucket/docs/*.parquet". A folder with one folder per class is one shard. A
            Dask bag or dataframe, or a Spark DataFrame, is already a corpus in shards.
        split : str, optional
            Read the records whose field `split` has this value. By default all records are read.
        multilabel : bool, optional
            Whether a document may have any number of labels. By default the labels decide.
        text_field, label_field : str or list of str, optional
            Columns of texts and labels. By default `text`, and `labels`, else `label`.
        on_missing_label : {"error", "skip", "empty"}, default="error"
            Treatment of documents without labels, as in `read_corpus`.
        on_bad_record : {"stop", "skip"}, default="stop"
            Whether a record that cannot be read raises an error, or is left out and counted.
        part_bytes : int, default=32 MiB
            Approximate size of the shards into which files of JSON lines, CSV, TSV, fastText and
            Parquet are cut. Compressed files are not cut.
        **options
            More options of `read_corpus`: `label_separator`, `delimiter`, `header`, `quote`,
            `encoding`, `format`.

        Returns
        -------
        ShardedCorpus
            The shards in the order of the files, sorted by name within a folder or pattern.

        Raises
        ------
        InputError
            An option is invalid, or the first record lacks a column.
        MissingDataError
            There is no such file.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import wordclass as wc
        >>> path = Path(tempfile.mkdtemp(), "a.csv")
        >>> _ = path.write_text("text,label\nWell made,positive\nIt broke,negative\n")
        >>> len(wc.ShardedCorpus.of(path))
        1
        """
        read_options = ReadOptions(text_field, label_field, on_bad_record=on_bad_record, **options)
        selection = Selection(split, None, multilabel, on_missing_label)
        return cls.find(data, read_options, selection, part_bytes)

    @classmethod
    def find(
        cls,
        data: Any,  # noqa: ANN401 - names, or a table
        options: ReadOptions,
        selection: Selection,
        part_bytes: int = SHARD_BYTES,
    ) -> "ShardedCorpus":
        r"""Find the shards of a corpus.

        Parameters
        ----------
        data : str, path-like, iterable of them, or table
            See `ShardedCorpus.of`.
        options : ReadOptions
            How records are read.
        selection : Selection
            The records to read, and the rules for their labels.
        part_bytes : int, default=32 MiB
            Approximate size of a shard.

        Returns
        -------
        ShardedCorpus
            The shards, with options that name all columns.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from wordclass.corpus.selection import ReadOptions, Selection
        >>> from wordclass.corpus.shards import ShardedCorpus
        >>> path = Path(tempfile.mkdtemp(), "a.csv")
        >>> _ = path.write_text("text,label\nWell made,positive\nIt broke,negative\n")
        >>> ShardedCorpus.find(path, ReadOptions(), Selection()).options.text_field
        ['text']
        """
        check_int("part_bytes", part_bytes, 1)
        if is_table(data):
            chosen = _name_columns(columns_of_table(data), options, Path("the table"), None)
            return cls(data, chosen.options, selection)
        names = [data] if isinstance(data, str | PathLike) else [*data]
        if not names:
            raise InputError("no files were named", expected="at least one file or folder")
        files = [file for name in names for file in _find_files(fspath(name))]
        shards = [shard for file in files for shard in _cut_file(file, options, part_bytes)]
        with progress.on_progress(progress.ignore):  # reading the first record takes no time
            chosen = _choose_columns(shards, options)
        if chosen.guess is not None:
            message = f"{shards[0].path}: {chosen.guess.describe()}"
            warnings.warn(message, ColumnGuessWarning, stacklevel=3)
        return cls(shards, chosen.options, selection, chosen.guess, chosen.unclear)

    def __len__(self) -> int:
        return count_shards(self.items)

    def without_items(self) -> "ShardedCorpus":
        """Return the corpus without its shards, which is all that workers need.

        Returns
        -------
        ShardedCorpus
            The options and the selection.

        Examples
        --------
        >>> from wordclass.corpus.shards import Shard, ShardedCorpus
        >>> len(ShardedCorpus([Shard("docs.csv", "csv")]).without_items())
        0
        """
        return replace(self, items=())

    def records(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        summary: ReadSummary,
        *,
        texts_only: bool = False,
    ) -> Iterator[list[Record]]:
        """Yield the selected records of one shard, block by block, and update the summary.

        A file without any readable record is an error, also if bad records are skipped.

        Parameters
        ----------
        number : int
            Number of the shard, for error messages.
        item : Shard or partition
            One of `items`.
        summary : ReadSummary
            Changed in place.
        texts_only : bool, default=False
            Whether labels are ignored and all columns are kept.

        Yields
        ------
        list of Record
            A few thousand records.

        Examples
        --------
        >>> from wordclass.corpus.selection import ReadSummary
        >>> from wordclass.corpus.shards import ShardedCorpus
        >>> summary = ReadSummary()
        >>> partition = [{"text": "good", "label": "positive"}]
        >>> [[record]] = ShardedCorpus(()).records(0, partition, summary)
        >>> record.labels, summary.n_docs
        (['positive'], 1)
        """
        options = self.options
        shard_summary = ReadSummary()
        if self.unclear is not None and not texts_only:
            raise self.unclear
        if texts_only:
            options = replace(options, texts_only=True, keep_rows=True)
        if not isinstance(item, Shard):
            path = Path(f"partition {number}")
            blocks = read_partition(path, item, options)
            yield from self.selection.select(path, blocks, shard_summary, texts_only=texts_only)
        else:
            yield from self.selection.select(
                item.path, item.blocks(options), shard_summary, texts_only=texts_only
            )
            first_skipped = shard_summary.first_skipped
            if first_skipped and item.span is None and not shard_summary.label_counts:
                raise first_skipped
            if first_skipped and summary.first_skipped is None:
                shard_summary.first_skipped = item.with_line_of_file(first_skipped)
            if shard_summary.first_unlabelled is not None:
                # counting lines is slow: it is done only if the error is raised
                vars(shard_summary.first_unlabelled)["shard"] = item
        vars(summary).update(vars(summary + shard_summary))

    def blocks(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        summary: ReadSummary,
    ) -> Iterator[tuple[list[str], EncodedLabels]]:
        """Yield texts and encoded labels of one shard, block by block, and update the summary.

        Parameters
        ----------
        number : int
            Number of the shard, for error messages.
        item : Shard or partition
            One of `items`.
        summary : ReadSummary
            Changed in place.

        Yields
        ------
        (list of str, EncodedLabels)
            A few thousand texts with their labels.

        Examples
        --------
        >>> from wordclass.corpus.selection import ReadSummary
        >>> from wordclass.corpus.shards import ShardedCorpus
        >>> partition = [{"text": "good", "label": "positive"}]
        >>> [(texts, labels)] = ShardedCorpus(()).blocks(0, partition, ReadSummary())
        >>> texts, labels.codeframe.classes
        (['good'], ('positive',))
        """
        for block in self.records(number, item, summary):
            labels = encode_labels([record.labels for record in block])
            yield [record.text for record in block], labels

    def conclude(self, summary: ReadSummary, codeframe: Codeframe) -> Codeframe:
        """Return the codeframe of all shards, single-label if the task is.

        Parameters
        ----------
        summary : ReadSummary
            The summary of all shards.
        codeframe : Codeframe
            The classes of all shards.

        Returns
        -------
        Codeframe
            The same classes.

        Examples
        --------
        >>> from wordclass.corpus.labels import Codeframe
        >>> from wordclass.corpus.selection import ReadSummary
        >>> from wordclass.corpus.shards import ShardedCorpus
        >>> summary = ReadSummary(n_docs=2, label_counts={1})
        >>> ShardedCorpus(()).conclude(summary, Codeframe(("a", "b"), "multilabel")).kind
        'single'
        """
        return replace(codeframe, kind="multilabel" if self.is_multilabel(summary) else "single")

    def is_multilabel(self, summary: ReadSummary) -> bool:
        """Return whether the task is multilabel.

        Parameters
        ----------
        summary : ReadSummary
            The summary of all shards.

        Returns
        -------
        bool
            Whether a document may have any number of labels.

        Raises
        ------
        InputError
            No record is in the split, or no record has a label.
        FormatError
            A document of a single-label task has no label.

        Examples
        --------
        >>> from wordclass.corpus.selection import ReadSummary
        >>> from wordclass.corpus.shards import ShardedCorpus
        >>> ShardedCorpus(()).is_multilabel(ReadSummary(n_docs=3, label_counts={1, 2}))
        True
        """
        self.selection.check_not_empty(summary, "the corpus")
        try:
            return self.selection.conclude(summary)
        except FormatError as error:
            shard = getattr(error, "shard", None)
            raise error if shard is None else shard.with_line_of_file(error) from None

    def read(self, summary: ReadSummary | None = None) -> LabelledCorpus:
        """Read all shards into memory.

        Parameters
        ----------
        summary : ReadSummary, optional
            Changed in place, to get the number of skipped records.

        Returns
        -------
        LabelledCorpus
            Texts and labels of all shards.

        Examples
        --------
        >>> from wordclass.corpus.shards import ShardedCorpus
        >>> partition = [{"text": "good", "label": "positive"}]
        >>> ShardedCorpus([partition]).read().labels
        ['positive']
        """
        summary = ReadSummary() if summary is None else summary
        records: list[Record] = []
        for number, item in enumerate(self.items):
            for block in self.records(number, item, summary):
                records += block
        return LabelledCorpus.of(records, self.is_multilabel(summary))


# --- files ----------------------------------------------------------------------------------------


def _find_files(name: str) -> list[File]:
    """Return the files of a path, a pattern or an address, sorted."""
    if Address.matches(name):
        return _remote_files(Address(name))
    path = Path(name)
    if storage.path_exists(path):
        return _files_of_folder(path) if path.is_dir() else [path]
    is_pattern = any(sign in name for sign in _PATTERN_SIGNS)
    matches = sorted(glob.glob(name, recursive=True)) if is_pattern else []
    if not matches:
        raise MissingDataError(f"{name}: no such file or folder")
    return [file for match in matches for file in _find_files(match)]


def _files_of_folder(folder: Path) -> list[File]:
    """Return the files of a folder of shards. A folder with one folder per class is one shard."""
    if not is_folder_of_shards(folder):
        return [folder]
    return [
        *sorted(path for path in folder.iterdir() if not path.name.startswith(_HIDDEN_PREFIXES))
    ]


def is_folder_of_shards(path: Path) -> bool:
    """Return True if a path is a folder that holds files and no folders."""
    if not path.is_dir() or is_annif_folder(path):
        return False
    with storage.as_storage_error(path):
        members = _list_visible(path)
    return bool(members) and all(member.is_file() for member in members)


def _list_visible(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith(_HIDDEN_PREFIXES)]


def _remote_files(address: Address) -> list[File]:
    if any(sign in address.url for sign in "*[") or address.is_dir():
        files = [file for file in address.files() if not file.name.startswith(_HIDDEN_PREFIXES)]
        if files:
            return [*files]
    elif address.exists():
        return [address]
    raise MissingDataError(f"{address}: no such file or folder")


def _cut_file(path: File, options: ReadOptions, n_bytes: int) -> list[Shard]:
    """Return the shards of a file. A large file is cut into spans if its format allows it."""
    path = path.absolute() if isinstance(path, Path) else path  # workers may run in another folder
    name = choose_format(path, options)
    state = storage.file_identity(path)
    cut = getattr(catalogue.entry("corpus_formats", name), "cut", None)
    size = storage.size_of(path) or 0
    spans = cut(path, options, n_bytes) if cut is not None and size >= 2 * n_bytes else []
    return [Shard(path, name, span, state) for span in spans or [None]]


@dataclass(frozen=True)
class _ChosenColumns:
    """Options that name all columns, the guess that chose them, and the error of an unclear one."""

    options: ReadOptions
    guess: ColumnGuess | None = None
    unclear: UnclearColumnsError | None = None


def _choose_columns(shards: list[Shard], options: ReadOptions) -> _ChosenColumns:
    """Choose the columns of the first record for all shards."""
    peeking = replace(options, keep_rows=True, texts_only=True, on_bad_record="skip")
    problems: list[FormatError] = []
    for shard in shards:
        read = catalogue.entry("corpus_formats", shard.format).read
        try:
            for block in shard.blocks(peeking):
                for record in block:
                    if not isinstance(record, Record):
                        problems.append(record)
                        continue
                    if shard.format in ("annif", "fasttext", "folders"):
                        return _ChosenColumns(options)
                    present = [*(record.row or {})]
                    return _name_columns(present, options, shard.path, record.place, read)
        except MissingColumnError as error:
            return _name_columns([*error.present], options, shard.path, error.line, read)
    if problems:
        raise problems[0]
    raise NoRecordsError(shards[0].path, None, "no records in any file of the corpus")


def _name_columns(
    present: list[str],
    options: ReadOptions,
    path: File | Path,
    place: int | str | None,
    read: Callable[[File, ReadOptions], Iterable[list[Any]]] | None = None,
) -> _ChosenColumns:
    """Return options that name the columns. Without labels, only texts can be read."""
    guess: ColumnGuess | None = None
    unclear: UnclearColumnsError | None = None
    needed = options
    try:
        records.choose_fields(present, options, path, place)
    except MissingColumnError as error:
        try:
            if read is None:
                raise
            needed, guess = resolve_columns(path, options, error, read)
        except UnclearColumnsError as problem:
            unclear = problem
        except MissingColumnError:
            pass  # a table without labels
        if guess is None:
            needed = replace(options, texts_only=True)
            if read is not None and not options.text_field and "text" not in present:
                try:
                    needed, _ = resolve_columns(path, needed, error, read)
                except UnclearColumnsError:
                    raise (unclear or error) from None
    fields = records.choose_fields(present, needed, path, place)
    named = replace(
        options,
        text_field=fields.texts,
        label_field=fields.labels or options.label_field or "label",
        has_split=fields.split is not None,
        are_remembered=True,  # a shard in a format without columns ignores them
    )
    return _ChosenColumns(named, guess, unclear)
