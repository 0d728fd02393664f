"""Labelled texts: what a corpus is, and how one is read from a file, a folder or a data set."""

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

_NO_LABEL = (
    "no label, in a single-label task; on_missing_label= (--on-missing-label) skip leaves such "
    "records out, empty makes the task multilabel"
)


class Record(NamedTuple):
    """One text, its labels in the order of the file, and its split where it has one.

    `place` is where it stands in the file: the number of a line, or a name such as "row 5". `row`
    has all its columns by name, where `ReadOptions.keep_rows` asks for them.
    """

    text: str
    labels: list[Label]
    split: str | None = None
    place: int | str | None = None
    row: dict[str, Any] | None = None


@dataclass(frozen=True, repr=False)
class LabelledCorpus:
    """Texts and what they are about, in the same order.

    `labels` holds one label per text, or, where `is_multilabel`, a list of labels (may be empty).
    `rows` has the columns of each text, where `ReadOptions.keep_rows` asked for them.
    """

    texts: list[str]
    labels: list[Label] | list[list[Label]]
    is_multilabel: bool
    rows: list[dict[str, Any]] = field(default_factory=list, compare=False)

    @classmethod
    def of(cls, records: Sequence[Record], is_multilabel: bool) -> "LabelledCorpus":
        """Make a corpus of records, which need exactly one label each unless it is multilabel."""
        labels: Any = [each.labels if is_multilabel else each.labels[0] for each in records]
        rows = [record.row for record in records if record.row is not None]
        return cls([record.text for record in records], labels, is_multilabel, rows)

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"LabelledCorpus({len(self):,} documents, {_kind(self.is_multilabel)})"

    def part(self, chosen: Iterable[bool]) -> "LabelledCorpus":
        """Return the documents that are chosen (one flag per document)."""
        flags = [*chosen]
        columns: list[list[Any]] = [self.texts, self.labels, self.rows]
        texts, labels, rows = ([*compress(column, flags)] for column in columns)
        return LabelledCorpus(texts, labels, self.is_multilabel, rows)


@dataclass(frozen=True)
class Dataset:
    """A corpus in two parts, with the classes that occur in the training part, sorted."""

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
    """How the records of a file are to be understood.

    Parameters
    ----------
    text_field, label_field : str or list of str, optional
        Names of columns. By default `text`, and `labels`, else `label`. Several columns of text are
        joined by line breaks; several columns of labels hold 0 and 1, and are the classes.
    label_separator : str or None, default=";"
        What stands between several labels in one cell of a CSV, TSV or XLSX file; None, or
        "none": nothing, a cell is one label.
    delimiter : str, optional
        What stands between the cells of a CSV or TSV file, such as ";" or "tab". By default a tab
        in TSV files; in CSV files that of `,` `;` tab and `|` which cuts the first lines into
        most cells.
    header : bool, default=True
        Whether the first line of a CSV, TSV or XLSX file names the columns; else their names are
        1, 2, 3, ...
    encoding : str, default="utf-8"
        Of text files. A byte order mark is dropped where it is UTF-8.
    format : str, optional
        The name of the format, where the ending does not tell.
    texts_only : bool, default=False
        Labels need not be there and are not read: all records have none.
    keep_rows : bool, default=False
        Records hold all their columns.
    are_remembered : bool, default=False
        The fields are those a model was trained with: a format that has none ignores them.
    has_split : bool, optional
        Whether all records have a field `split`; None: as the first one shows.
    on_bad_record : {"stop", "skip"}, default="stop"
        What becomes of a record that cannot be read: an error; or blocks hold the error in its
        place.
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
            given = getattr(self, option)
            is_list = option.endswith("field") and isinstance(given, list | tuple)
            if not all(isinstance(each, str | None) for each in (given if is_list else [given])):
                raise InputError(f"{option} is {given!r:.60}; expected a str")


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
    """Read labelled texts from a file or folder.

    Parameters
    ----------
    path : path-like
        By its ending: .txt or .ft (fastText), .jsonl, .json (an array of objects), .csv, .tsv,
        .parquet, .xlsx, each also with .gz or .zst behind it; or a folder with one folder per
        class.
    split : str, optional
        Keep the records whose field `split` has this value; None keeps all.
    multilabel : bool, optional
        True or False decides; None looks at the whole file, all splits: it is single-label where
        every document that has labels has exactly one.
    on_missing_label : {"error", "skip", "empty"}, default="error"
        What becomes of a document without labels ("", null, [] or a blank cell). "skip" leaves it
        out. In a multilabel task it has an empty list; in a single-label task it is an error,
        unless "empty" makes the task multilabel.
    text_field, label_field : str or list of str, optional
    label_separator : str or None, default=";"
    delimiter : str, optional
    header : bool, default=True
    encoding : str, default="utf-8"
    format : str, optional
        See `ReadOptions`.
    """
    options = ReadOptions(
        text_field, label_field, label_separator, delimiter, header, encoding, format
    )
    return CorpusReader(Path(path), options, split, None, multilabel, on_missing_label).read()


def describe_task(is_multilabel: bool, n_classes: int) -> str:
    """Name a task, such as "single-label, 20 classes"."""
    return f"{_kind(is_multilabel)}, {n_classes:,} classes"


def _kind(is_multilabel: bool) -> str:
    return "multilabel" if is_multilabel else "single-label"


@dataclass
class ReadSummary:
    """What was seen of the records of a corpus, or of a part of it: adds up, in their order.

    Parameters
    ----------
    n_docs, n_skipped
        How many texts were given, and how many records could not be read and were left out.
    splits, numbers
        Which splits there are, and how many labels the records have, of all splits.
    bare, bad
        The first record of the split that has no label, and the first one that was left out: as
        errors that tell where it is.
    """

    n_docs: int = 0
    n_skipped: int = 0
    splits: set[str | None] = field(default_factory=set)
    numbers: set[int] = field(default_factory=set)
    bare: FormatError | None = None
    bad: FormatError | None = None

    def __add__(self, other: "ReadSummary") -> "ReadSummary":
        return ReadSummary(
            self.n_docs + other.n_docs,
            self.n_skipped + other.n_skipped,
            self.splits | other.splits,
            self.numbers | other.numbers,
            self.bare or other.bare,
            self.bad or other.bad,
        )


@dataclass(frozen=True)
class Selection:
    """Which records of a corpus are taken, and how their labels are understood.

    Parameters
    ----------
    split : str, optional
        Keep the records of this split; None keeps all.
    usual_split : str, optional
        The split to keep where the records have splits and `split` is None.
    multilabel : bool, optional
    on_missing_label : str, default="error"
        As `read_corpus` has them.
    """

    split: str | None = None
    usual_split: str | None = None
    multilabel: bool | None = None
    on_missing_label: str = "error"

    def __post_init__(self) -> None:
        check_one_of("on_missing_label", self.on_missing_label, ("error", "skip", "empty"))
        if self.multilabel is False and self.on_missing_label == "empty":
            raise InputError("on_missing_label is 'empty', but the task is to be single-label")

    def blocks(
        self,
        path: Path | Address | str,
        blocks: Iterable[list[Any]],
        seen: ReadSummary,
        *,
        texts_only: bool,
    ) -> Iterator[list[Record]]:
        """Give the records of the split, block by block, and note what was seen of all."""
        for mixed in blocks:
            block = self._readable(mixed, seen)
            if not block:
                continue
            _, labels, split, *_ = zip(*block, strict=True)
            seen.splits.update(split)
            seen.numbers.update(map(len, labels))
            chosen = self._chosen(block)
            if 0 in seen.numbers and seen.bare is None:
                bare = next((record for record in chosen if not record.labels), None)
                seen.bare = None if bare is None else FormatError(path, bare.place, _NO_LABEL)
            if not texts_only:
                chosen = self._checked(chosen, seen.n_docs)
            if chosen:
                seen.n_docs += len(chosen)
                yield chosen

    @staticmethod
    def _readable(mixed: list[Any], seen: ReadSummary) -> list[Record]:
        """Return the records of a block, and note the others."""
        bad = [each for each in mixed if isinstance(each, FormatError)]
        if not bad:
            return mixed
        seen.bad = seen.bad or bad[0]
        seen.n_skipped += len(bad)
        return [each for each in mixed if not isinstance(each, FormatError)]

    def _chosen(self, block: list[Record]) -> list[Record]:
        has_splits = block[0].split is not None
        split = self.split or (self.usual_split if has_splits else None)
        if split is None:
            return block
        if not has_splits:
            raise InputError(f"there is no split {split!r}: the records have no field 'split'")
        return [record for record in block if record.split == split]

    def _checked(self, block: list[Record], n_before: int) -> list[Record]:
        """Return the records to be given; refuse several labels where there may be only one."""
        if self.on_missing_label == "skip":
            block = [record for record in block if record.labels]
        for number, record in enumerate(block, start=n_before + 1):
            if self.multilabel is False and len(record.labels) > 1:
                rule = "a single-label corpus has exactly one per document; read it as multilabel"
                raise InputError(f"record {number} has {len(record.labels)} labels, but {rule}")
        return block

    def check_found(self, seen: ReadSummary, name: object) -> None:
        """Refuse a corpus of which no record was taken, or could be read."""
        if seen.bad is not None and not seen.numbers:
            raise seen.bad
        if not seen.n_docs:
            known, missing = (
                list_some(sorted(map(str, seen.splits))),
                self.split or self.usual_split,
            )
            no_split = f"no record is in split {missing!r}; there are: {known}"
            raise InputError(f"{name}: no record has a label" if seen.bare else no_split)

    def conclude(self, seen: ReadSummary) -> bool:
        """Decide between single-label and multilabel: only the last record settles it."""
        is_multilabel = bool(self.multilabel)
        if self.multilabel is None:
            has_empty = 0 in seen.numbers and self.on_missing_label == "empty"
            is_multilabel = max(seen.numbers) > 1 or has_empty
        if seen.bare and not is_multilabel and self.on_missing_label == "error":
            raise seen.bare
        return is_multilabel


@dataclass
class CorpusReader:
    """The labelled texts of a file or folder.

    Iterating gives pairs of texts and lists of labels, a few thousand texts at a time, and reads
    the file anew each time.

    Parameters
    ----------
    path : Path
    options : ReadOptions
    split : str, optional
    usual_split : str, optional
    multilabel : bool, optional
    on_missing_label : str, default="error"
        As `Selection` has them.

    Attributes
    ----------
    n_docs, is_multilabel
        How many texts were given; and `multilabel`, or where that is None, what the labels of the
        whole file, all splits, say. Known when the iteration is over.
    """

    path: Path
    options: ReadOptions = field(default_factory=ReadOptions)
    split: str | None = None
    usual_split: str | None = None
    multilabel: bool | None = None
    on_missing_label: str = "error"
    n_docs: int = field(default=0, init=False)
    is_multilabel: bool = field(default=False, init=False)
    _state: storage.FileIdentity | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._selection()

    def _selection(self) -> Selection:
        return Selection(self.split, self.usual_split, self.multilabel, self.on_missing_label)

    def __iter__(self) -> Iterator[tuple[list[str], list[list[Label]]]]:
        for block in self._unchanged_blocks():
            yield [record.text for record in block], [record.labels for record in block]

    def read(self) -> LabelledCorpus:
        """Read all of it at once."""
        records = [record for block in self._unchanged_blocks() for record in block]
        return LabelledCorpus.of(records, self.is_multilabel)

    def records(self) -> Iterator[list[Record]]:
        """Read texts, labelled or not, with all columns they have and no labels, block by block.

        Of a file of lines (.txt, .ft) blank lines are texts too: what is made of line k is line k.
        """
        return self._blocks(replace(self.options, texts_only=True, keep_rows=True))

    def _unchanged_blocks(self) -> Iterator[list[Record]]:
        # what is read the second time must be what was read the first time
        self._state = self._state or storage.file_identity(self.path)
        storage.check_identity(self.path, self._state)
        with storage.require_unchanged(self.path):
            yield from self._blocks(self.options)

    def _blocks(self, options: ReadOptions) -> Iterator[list[Record]]:
        """Give the records of the split, block by block, and look at the labels of all."""
        self.n_docs, seen, selection = 0, ReadSummary(), self._selection()
        storage.require_existing(self.path)
        reader = catalogue.entry("corpus_formats", options.format or format_of(self.path))
        found = reader.read(self.path, options)
        for block in selection.blocks(self.path, found, seen, texts_only=options.texts_only):
            self.n_docs = seen.n_docs
            yield block
        selection.check_found(seen, self.path)
        if not options.texts_only:
            self.is_multilabel = selection.conclude(seen)


def format_of(path: Path | Address) -> str:
    """Find the corpus format that claims the ending of a path."""
    if path.is_dir():
        return "folders"
    name = storage.uncompressed_name(path).lower()
    known: list[str] = []
    for format in catalogue.names("corpus_formats"):
        endings = catalogue.entry("corpus_formats", format).ENDINGS
        if name.endswith(endings):
            return format
        known += endings
    files = f"{', '.join(sorted(known))}, each also with .gz or .zst"
    all_known = f"known: {files}, or a folder with one folder per class; format= decides otherwise"
    raise InputError(f"{path}: its ending names no corpus format; {all_known}")


def load_dataset(
    name: str, home: str | PathLike[str] | None = None, *, download: bool = False, **options: object
) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        A file name in `datasets/`, such as "docstrings".
    home : path-like, optional
        Where corpora and caches live; by default `WORDCLASS_HOME` or the platform's data folder.
    download : bool, default=False
        Fetch it first, where it is not here and its owner allows that.
    **options
        Those of the data set, such as `strip=("headers",)` for "newsgroups20".

    Raises
    ------
    MissingDataError
        It is not here; the message says how to get it and where to put it.
    """
    entry = catalogue.entry("datasets", name)
    folder = Path(home) if home else storage.data_home()
    known = [*inspect.signature(entry.load).parameters][1:]
    if unknown := sorted(set(options) - set(known)):
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"the data set {name} has no option {unknown[0]!r}; {has}")
    if download and not entry.SOURCE.is_built and not entry.SOURCE.find(folder):
        entry.SOURCE.fetch(folder)
    dataset: Dataset = entry.load(folder, **options)
    return dataset
