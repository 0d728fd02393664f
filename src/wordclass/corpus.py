"""Labelled texts: what a corpus is, and how one is read from a file, a folder or a data set."""

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from wordclass import naming, storage
from wordclass.errors import InputError

Label = str | int


class Record(NamedTuple):
    """One text, its labels in the order of the file, and its split where it has one."""

    text: str
    labels: list[Label]
    split: str | None = None


@dataclass(frozen=True)
class LabelledCorpus:
    """Texts and what they are about, in the same order.

    `labels` holds one label per text, or, where `is_multilabel`, a list of labels (may be empty).
    """

    texts: list[str]
    labels: list[Label] | list[list[Label]]
    is_multilabel: bool

    @classmethod
    def of(cls, records: Iterable[Record], is_multilabel: bool) -> "LabelledCorpus":
        """Make a corpus of records, which need exactly one label each unless it is multilabel."""
        texts: list[str] = []
        labels: list[Any] = []
        for record in records:
            texts.append(record.text)
            labels.append(record.labels if is_multilabel else record.labels[0])
        return cls(texts, labels, is_multilabel)

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, chosen: Iterable[bool]) -> "LabelledCorpus":
        """Return the documents that are chosen (one flag per document)."""
        kept = [k for k, is_chosen in enumerate(chosen) if is_chosen]
        labels: list[Any] = [self.labels[k] for k in kept]
        return LabelledCorpus([self.texts[k] for k in kept], labels, self.is_multilabel)


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
    text_field, label_field : str, optional
        Names of columns. By default `text`, and `labels`, else `label`.
    label_separator : str, default=";"
        What stands between several labels in one cell of a CSV or TSV file.
    encoding : str, default="utf-8"
        Of text files. A byte order mark is dropped where it is UTF-8.
    format : str, optional
        The name of the format, where the ending does not tell.
    texts_only : bool, default=False
        Labels need not be there and are not read: all records have none.
    """

    text_field: str | None = None
    label_field: str | None = None
    label_separator: str = ";"
    encoding: str = "utf-8"
    format: str | None = None
    texts_only: bool = False


def read_corpus(
    path: str | PathLike[str],
    split: str | None = None,
    *,
    multilabel: bool | None = None,
    text_field: str | None = None,
    label_field: str | None = None,
    label_separator: str = ";",
    encoding: str = "utf-8",
    format: str | None = None,
) -> LabelledCorpus:
    """Read labelled texts from a file or folder.

    Parameters
    ----------
    path : path-like
        By its ending: .txt or .ft (fastText), .jsonl, .csv, .tsv, .parquet, each also with .gz or
        .zst behind it; or a folder with one folder per class.
    split : str, optional
        Keep the records whose field `split` has this value; None keeps all.
    multilabel : bool, optional
        True or False decides; None looks at the whole file, all splits: it is single-label where
        every document has exactly one label.
    text_field, label_field : str, optional
    label_separator : str, default=";"
    encoding : str, default="utf-8"
    format : str, optional
        See `ReadOptions`.
    """
    options = ReadOptions(text_field, label_field, label_separator, encoding, format)
    return CorpusReader(Path(path), options, split, multilabel=multilabel).read()


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
        Keep the records of this split; None keeps all.
    usual_split : str, optional
        The split to keep where the records have splits and `split` is None.
    multilabel : bool, optional
        As `read_corpus` has it.

    Attributes
    ----------
    n_docs, is_multilabel
        How many texts were given; and `multilabel`, or where that is None, whether any record of
        the file, of any split, has not exactly one label. Known when the iteration is over.
    """

    path: Path
    options: ReadOptions = field(default_factory=ReadOptions)
    split: str | None = None
    usual_split: str | None = None
    multilabel: bool | None = None
    n_docs: int = field(default=0, init=False)
    is_multilabel: bool = field(default=False, init=False)
    _state: tuple[int, int] | None = field(default=None, init=False, repr=False)

    def __iter__(self) -> Iterator[tuple[list[str], list[list[Label]]]]:
        for block in self._unchanged_blocks():
            yield [record.text for record in block], [record.labels for record in block]

    def read(self) -> LabelledCorpus:
        """Read all of it at once."""
        records = [record for block in self._unchanged_blocks() for record in block]
        return LabelledCorpus.of(records, self.is_multilabel)

    def texts(self) -> Iterator[list[str]]:
        """Read texts alone, with labels or without, block by block.

        Of a file of lines (.txt, .ft) blank lines are texts too: what is made of line k is line k.
        """
        for block in self._blocks(replace(self.options, texts_only=True)):
            yield [record.text for record in block]

    def _unchanged_blocks(self) -> Iterator[list[Record]]:
        # what is read the second time must be what was read the first time
        self._state = self._state or storage.state_of(self.path)
        storage.check_state(self.path, self._state)
        with storage.unchanged(self.path):
            yield from self._blocks(self.options)

    def _blocks(self, options: ReadOptions) -> Iterator[list[Record]]:
        """Give the records of the split, block by block, and look at the labels of all."""
        self.n_docs, self.is_multilabel = 0, bool(self.multilabel)
        splits: set[str | None] = set()
        storage.require(self.path)
        reader = naming.entry("corpus_formats", options.format or _format_of(self.path))
        for block in reader.read(self.path, options):
            if self.multilabel is None and not self.is_multilabel:
                self.is_multilabel = any(len(record.labels) != 1 for record in block)
            splits.update(record.split for record in block)
            chosen = self._chosen(block)
            if self.multilabel is False:
                self._check_single(chosen)
            if chosen:
                self.n_docs += len(chosen)
                yield chosen
        if not self.n_docs:
            known = ", ".join(sorted(map(repr, splits)))
            missing = self.split or self.usual_split
            raise InputError(f"no record is in split {missing!r}; there are: {known}")

    def _chosen(self, block: list[Record]) -> list[Record]:
        has_splits = block[0].split is not None
        split = self.split or (self.usual_split if has_splits else None)
        if split is None:
            return block
        if not has_splits:
            raise InputError(f"there is no split {split!r}: the records have no field 'split'")
        return [record for record in block if record.split == split]

    def _check_single(self, block: list[Record]) -> None:
        for number, record in enumerate(block, start=self.n_docs + 1):
            if len(record.labels) != 1:
                raise InputError(
                    f"record {number} has {len(record.labels)} labels, but a single-label corpus "
                    "has exactly one per document; read it as multilabel"
                )


def _format_of(path: Path) -> str:
    """Find the corpus format that claims the ending of a path."""
    if path.is_dir():
        return "folders"
    name = storage.uncompressed_name(path).lower()
    formats = {
        ending: format
        for format in naming.names("corpus_formats")
        for ending in naming.entry("corpus_formats", format).ENDINGS
    }
    for ending, format in formats.items():
        if name.endswith(ending):
            return format
    raise InputError(
        f"{path}: its ending names no corpus format; known: {', '.join(sorted(formats))}, each "
        "also with .gz or .zst, or a folder with one folder per class; format= decides otherwise"
    )


def load_dataset(
    name: str,
    home: str | PathLike[str] | None = None,
    *,
    download: bool = False,
    **options: object,
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
    entry = naming.entry("datasets", name)
    folder = Path(home) if home else storage.data_home()
    known = [*inspect.signature(entry.load).parameters][1:]
    if unknown := sorted(set(options) - set(known)):
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"the data set {name} has no option {unknown[0]!r}; {has}")
    if download and not entry.SOURCE.is_built and not entry.SOURCE.find(folder):
        entry.SOURCE.fetch(folder)
    dataset: Dataset = entry.load(folder, **options)
    return dataset
