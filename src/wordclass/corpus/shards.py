"""A corpus in parts, each of which can be read by itself, on any machine that reaches it.

A part is a file, a range of a file, or a partition of a table that Dask or Spark holds.
"""

import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from wordclass import catalogue, progress
from wordclass.corpus import lines, records
from wordclass.corpus.labels import Codeframe, EncodedLabels, encode_labels
from wordclass.corpus.reader import (
    LabelledCorpus,
    ReadOptions,
    ReadSummary,
    Record,
    Selection,
    format_of,
)
from wordclass.engines.tasks import count_shards
from wordclass.errors import FormatError, InputError, MissingDataError, NoRecordsError
from wordclass.options import check_int
from wordclass.storage import files as storage
from wordclass.storage.files import Address, File

PART_BYTES = 32 << 20  # of a file that is cut: some ten thousand documents

_PATTERN = "*?["
_HIDDEN = (".", "_")  # what Spark and others write beside their parts


@dataclass(frozen=True)
class Shard:
    """A file, or a range of one.

    Parameters
    ----------
    path : Path or Address
    format : str
        A file name in `corpus_formats/`.
    span : (int, int), optional
        The range, of bytes or of rows, as the format cuts its files; None: all of it.
    state : tuple, optional
        Of the file when the parts were listed: it must not have changed when it is read.
    """

    path: File
    format: str
    span: tuple[int, int] | None = None
    state: storage.FileIdentity | None = None

    def blocks(self, options: ReadOptions) -> Iterator[list[Any]]:
        """Give the records, block by block; those of an empty part are none."""
        if self.state is not None and not storage.path_exists(self.path):
            raise MissingDataError(f"{self.path}: no longer there; it was when the work began")
        storage.check_identity(self.path, self.state)
        read = catalogue.entry("corpus_formats", self.format).read
        given = () if self.span is None else (self.span,)
        try:
            yield from read(self.path, options, *given)
        except NoRecordsError:
            return
        except FormatError as error:
            raise self.placed(error) from None
        storage.check_identity(self.path, self.state)

    def placed(self, error: FormatError) -> FormatError:
        """Return an error with the line of the file, where it has the line of the range."""
        if error.line is None or self.span is None or not isinstance(error.line, int):
            return error
        n_before = lines.n_lines_before(self.path, self.span[0])
        return FormatError(error.path, error.line + n_before, error.reason)


@dataclass(frozen=True)
class ShardedCorpus:
    """Labelled texts in parts; see `ShardedCorpus.of`.

    Parameters
    ----------
    items : sequence of Shard, or a Dask bag or dataframe, or a Spark DataFrame
        The parts. A table is worked on by its own engine only.
    options : ReadOptions
        How records are read; they name all columns, so that the parts cannot disagree on them.
    selection : Selection
        Which records are taken, and how their labels are understood.
    """

    items: Any
    options: ReadOptions = field(default_factory=ReadOptions)
    selection: Selection = field(default_factory=Selection)

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
        part_bytes: int = PART_BYTES,
        **options: Any,  # noqa: ANN401 - those of `ReadOptions`
    ) -> "ShardedCorpus":
        """Find the parts of a corpus in files, folders, patterns and addresses.

        Parameters
        ----------
        data : str, path, or several of them
            Files in any format that `read_corpus` reads; folders of such files (or with one folder
            per class, which is one part); patterns such as "docs/*.jsonl"; and addresses that
            fsspec knows, such as "s3://bucket/docs/*.parquet". A Dask bag or dataframe, or a Spark
            DataFrame, is a corpus in parts already.
        split, multilabel, text_field, label_field, on_missing_label
            As in `read_corpus`.
        on_bad_record : {"stop", "skip"}, default="stop"
            Whether a record that cannot be read ends the work, or is left out and counted.
        part_bytes : int, default=32 MiB
            Files of JSON lines, CSV, TSV, fastText and Parquet are cut into parts of about this
            size; compressed ones are not.
        **options
            Others of `ReadOptions`: `label_separator`, `delimiter`, `header`, `encoding`, `format`.
        """
        reading = ReadOptions(text_field, label_field, on_bad_record=on_bad_record, **options)
        selection = Selection(split, None, multilabel, on_missing_label)
        return cls.found(data, reading, selection, part_bytes)

    @classmethod
    def found(
        cls,
        data: Any,  # noqa: ANN401 - names, or a table
        options: ReadOptions,
        selection: Selection,
        part_bytes: int = PART_BYTES,
    ) -> "ShardedCorpus":
        """Find the parts of a corpus; see `of`."""
        check_int("part_bytes", part_bytes, 1)
        if is_table(data):
            return cls(data, _options_for_table(data, options), selection)
        names = [data] if isinstance(data, str | PathLike) else [*data]
        if not names:
            raise InputError("no files were named: a corpus has at least one part")
        files = [file for name in names for file in _files(fspath(name))]
        parts = [part for file in files for part in _cut(file, options, part_bytes)]
        with progress.on_progress(progress.ignore):  # a look at the first record is no news
            return cls(parts, _options_for_files(parts, options), selection)

    def __len__(self) -> int:
        return count_shards(self.items)

    def without_items(self) -> "ShardedCorpus":
        """Return how the parts are read, without the parts: what workers need."""
        return replace(self, items=())

    def records(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        seen: ReadSummary,
        *,
        texts_only: bool = False,
    ) -> Iterator[list[Record]]:
        """Give the records of one part that are taken, block by block, and note what was seen.

        A file none of whose records can be read is an error, also where such are skipped.
        """
        options, own = self.options, ReadSummary()
        if texts_only:
            options = replace(options, texts_only=True, keep_rows=True)
        if not isinstance(item, Shard):
            path = Path(f"partition {number}")
            found = _table_blocks(path, item, options)
            yield from self.selection.blocks(path, found, own, texts_only=texts_only)
        else:
            found = item.blocks(options)
            yield from self.selection.blocks(item.path, found, own, texts_only=texts_only)
            if own.bad is not None and item.span is None and not own.numbers:
                raise own.bad
            if own.bad is not None and seen.bad is None:
                own.bad = item.placed(own.bad)
            if own.bare is not None:
                vars(own.bare)["part"] = item  # its line is counted when it is told
        vars(seen).update(vars(seen + own))

    def blocks(
        self,
        number: int,
        item: Any,  # noqa: ANN401
        seen: ReadSummary,
    ) -> Iterator[tuple[list[str], EncodedLabels]]:
        """Give texts and their labels of one part, block by block."""
        for block in self.records(number, item, seen):
            yield [each.text for each in block], encode_labels([each.labels for each in block])

    def conclude(self, seen: ReadSummary, codeframe: Codeframe) -> Codeframe:
        """Return the codeframe of all parts, of single labels where that is the task."""
        return replace(codeframe, kind="multilabel" if self.is_multilabel(seen) else "single")

    def is_multilabel(self, seen: ReadSummary) -> bool:
        """Decide what kind of task it is, when all parts were read; or refuse the corpus."""
        self.selection.check_found(seen, "the corpus")
        try:
            return self.selection.conclude(seen)
        except FormatError as error:
            part = getattr(error, "part", None)
            raise error if part is None else part.placed(error) from None

    def read(self, seen: ReadSummary | None = None) -> LabelledCorpus:
        """Read all parts into memory, and note what was seen."""
        seen, records = ReadSummary() if seen is None else seen, list[Record]()
        for number, item in enumerate(self.items):
            for block in self.records(number, item, seen):
                records += block
        return LabelledCorpus.of(records, self.is_multilabel(seen))


# --- files ----------------------------------------------------------------------------------------


def _files(name: str) -> list[File]:
    """Return the files that a path, a pattern or an address stands for, sorted."""
    if Address.matches(name):
        return _remote_files(Address(name))
    path = Path(name)
    if storage.path_exists(path):
        return _files_of_folder(path) if path.is_dir() else [path]
    found = sorted(glob.glob(name, recursive=True)) if any(s in name for s in _PATTERN) else []
    if not found:
        raise MissingDataError(f"{name}: no such file or folder")
    return [file for each in found for file in _files(each)]


def _files_of_folder(folder: Path) -> list[File]:
    """Return the files of a folder of parts; one with a folder per class is a part itself."""
    if not is_folder_of_shards(folder):
        return [folder]
    return [*sorted(each for each in folder.iterdir() if not each.name.startswith(_HIDDEN))]


def is_folder_of_shards(path: Path) -> bool:
    """Whether a path is a folder that holds files and no folders."""
    if not path.is_dir():
        return False
    with storage.as_storage_error(path):
        found = [each for each in path.iterdir() if not each.name.startswith(_HIDDEN)]
    return bool(found) and all(each.is_file() for each in found)


def _remote_files(address: Address) -> list[File]:
    if any(sign in address.url for sign in "*[") or address.is_dir():
        files = [file for file in address.files() if not file.name.startswith(_HIDDEN)]
        if files:
            return [*files]
    elif address.exists():
        return [address]
    raise MissingDataError(f"{address}: no such file or folder")


def _cut(path: File, options: ReadOptions, n_bytes: int) -> list[Shard]:
    """Return the parts of a file: ranges, where its format has them and it is large."""
    path = path.absolute() if isinstance(path, Path) else path  # workers may be elsewhere
    name = options.format or format_of(path)
    state = storage.file_identity(path)
    cut = getattr(catalogue.entry("corpus_formats", name), "cut", None)
    size = storage.size_of(path) or 0
    spans = cut(path, options, n_bytes) if cut is not None and size >= 2 * n_bytes else []
    return [Shard(path, name, span, state) for span in spans or [None]]


def _options_for_files(parts: list[Shard], options: ReadOptions) -> ReadOptions:
    """Name the columns that the first record has, for all parts."""
    peeking = replace(options, keep_rows=True, texts_only=True, on_bad_record="skip")
    problems: list[FormatError] = []
    for part in parts:
        for block in part.blocks(peeking):
            for each in block:
                if not isinstance(each, Record):
                    problems.append(each)
                elif part.format in ("fasttext", "folders"):
                    return options
                else:
                    return _with_fields([*(each.row or {})], options, part.path, each.place)
    nothing = NoRecordsError(parts[0].path, None, "no records in any part of the corpus")
    raise problems[0] if problems else nothing


def _with_fields(
    present: list[str], options: ReadOptions, path: File | Path, place: int | str | None
) -> ReadOptions:
    has_labels = bool({"labels", "label", *_as_list(options.label_field)} & {*present})
    wanted = options if has_labels else replace(options, texts_only=True)
    fields = records.choose_fields(present, wanted, path, place)
    return replace(
        options,
        text_field=fields.texts,
        label_field=fields.labels or options.label_field or "label",
        has_split=fields.split is not None,
        are_remembered=True,  # a part in a format without columns has none of these
    )


def _as_list(names: str | Sequence[str] | None) -> Sequence[str]:
    return [names] if isinstance(names, str) else names or []


# --- tables of Dask and Spark ---------------------------------------------------------------------


def is_table(data: object) -> bool:
    """Whether this is a table that is in parts already: of Dask, or of Spark."""
    return type(data).__module__.partition(".")[0] in ("dask", "pyspark")


def _options_for_table(table: Any, options: ReadOptions) -> ReadOptions:  # noqa: ANN401
    """Name the columns of a table; those of a bag are told by its first record."""
    if hasattr(table, "columns"):
        present = [*map(str, table.columns)]
    else:
        (first,) = table.take(1, npartitions=-1) or (("", ""),)
        present = [*first] if isinstance(first, Mapping) else ["text", "labels"]
    return _with_fields(present, options, Path("the table"), None)


def _table_blocks(path: Path, table: Any, options: ReadOptions) -> Iterator[list[Any]]:  # noqa: ANN401
    """Give the records of one partition; an empty one has none."""
    rows = ((f"row {k}", row) for k, row in enumerate(_table_rows(table), start=1))
    try:
        yield from records.in_blocks(path, records.from_rows(path, rows, options))
    except NoRecordsError:
        return


def _table_rows(table: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - see below
    """Give the rows of a partition: a frame of pandas, batches of Arrow, dicts, or pairs."""
    if hasattr(table, "columns") and hasattr(table, "iloc"):
        names = [*map(str, table.columns)]
        columns = [[_plain(cell) for cell in table[name].tolist()] for name in table.columns]
        yield from (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
        return
    for row in table:
        if hasattr(row, "to_pylist"):  # a batch
            yield from row.to_pylist()
        elif isinstance(row, Mapping):
            yield row
        else:
            text, labels = row
            yield {"text": text, "labels": _plain(labels)}


def _plain(cell: Any) -> Any:  # noqa: ANN401 - whatever a frame holds
    """Return a cell as JSON would have it: a list for an array, None for what is missing."""
    if isinstance(cell, str):
        return cell
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, tuple | set | frozenset):
        return sorted(cell) if isinstance(cell, set | frozenset) else [*cell]
    is_missing = cell is None or (isinstance(cell, float) and cell != cell) or repr(cell) == "<NA>"
    return None if is_missing else cell
