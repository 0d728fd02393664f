"""Labelled texts: what a corpus is, and how one is read from a file, a folder or a data set."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from wordclass import naming, storage
from wordclass.errors import InputError
from wordclass.storage import data_home, require, uncompressed_name

Label = str | int


@dataclass(frozen=True)
class LabelledCorpus:
    """Texts and what they are about, in the same order.

    `labels` holds one label a text, or, where `is_multilabel`, a list of labels (may be empty).
    """

    texts: list[str]
    labels: list[Label] | list[list[Label]]
    is_multilabel: bool

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, chosen: Iterable[bool]) -> "LabelledCorpus":
        """Return the documents that are chosen (a flag a document)."""
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
    """How the records of a file are to be understood; None means the defaults of the format.

    Parameters
    ----------
    text_field, label_field
        Names of columns. By default `text`, and `labels`, else `label`.
    label_separator
        What stands between several labels in one cell of a CSV or TSV file.
    encoding
        Of text files. A byte order mark is dropped where it is UTF-8.
    texts_only
        Labels need not be there and are not read: all records have none.
    """

    text_field: str | None = None
    label_field: str | None = None
    label_separator: str = ";"
    encoding: str = "utf-8"
    texts_only: bool = False


@dataclass(frozen=True)
class Records:
    """What a corpus format reads: three columns of equal length, or no splits at all."""

    texts: list[str]
    labels: list[list[Label]]
    splits: list[str] | None = None

    @classmethod
    def joined(cls, blocks: "Iterable[Records]") -> "Records":
        """Put blocks of records one behind the other."""
        texts: list[str] = []
        labels: list[list[Label]] = []
        splits: list[str] = []
        for block in blocks:
            texts += block.texts
            labels += block.labels
            splits += block.splits or []
        return cls(texts, labels, splits or None)

    @property
    def is_multilabel(self) -> bool:
        """False where every record has exactly one label."""
        return any(len(labels) != 1 for labels in self.labels)

    def part(self, split: str) -> "Records":
        """Return the records of one split."""
        if self.splits is None:
            raise InputError(f"there is no split {split!r}: the records have no field 'split'")
        kept = [k for k, name in enumerate(self.splits) if name == split]
        if not kept:
            known = ", ".join(repr(name) for name in sorted(set(self.splits)))
            raise InputError(f"no record is in split {split!r}; there are: {known or 'none'}")
        return Records([self.texts[k] for k in kept], [self.labels[k] for k in kept])

    def to_corpus(self, is_multilabel: bool) -> LabelledCorpus:
        """Return the corpus; single-label needs exactly one label in every record."""
        if is_multilabel:
            return LabelledCorpus(self.texts, self.labels, is_multilabel=True)
        for k, labels in enumerate(self.labels):
            if len(labels) != 1:
                raise InputError(
                    f"record {k + 1} has {len(labels)} labels, but a single-label corpus has "
                    "exactly one a document; read it as multilabel"
                )
        return LabelledCorpus(self.texts, [labels[0] for labels in self.labels], False)


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
    path
        By its ending: .txt or .ft (fastText), .jsonl, .csv, .tsv, .parquet, each also with .gz or
        .zst behind it; or a folder with one folder a class.
    split
        Keep the records whose field `split` has this value; None keeps all.
    multilabel
        True or False decides; None looks at the whole file, all splits: it is single-label where
        every document has exactly one label.
    text_field, label_field, label_separator, encoding
        See `ReadOptions`.
    format
        The name of the format, where the ending does not tell.
    """
    options = ReadOptions(text_field, label_field, label_separator, encoding)
    records = read_records(Path(path), options, format)
    is_multilabel = records.is_multilabel if multilabel is None else multilabel
    chosen = records if split is None else records.part(split)
    return chosen.to_corpus(is_multilabel)


def read_records(path: Path, options: ReadOptions, format: str | None = None) -> Records:
    """Read all records of a file or folder, whatever their split."""
    with storage.unchanged(path):
        return Records.joined(read_blocks(path, options, format))


def read_blocks(path: Path, options: ReadOptions, format: str | None = None) -> Iterator[Records]:
    """Read the records of a file or folder block by block, so that not all are held at once."""
    require(path)
    reader = naming.entry("corpus_formats", format or _format_of(path))
    blocks: Iterator[Records] = reader.read(path, options)
    return blocks


def read_texts(path: Path, options: ReadOptions, split: str | None = None) -> Iterator[list[str]]:
    """Read texts alone, with labels or without, block by block.

    Of a file of lines (.txt, .ft) blank lines are texts too: what is made of line k is line k.

    Parameters
    ----------
    path, options
        See `read_corpus` and `ReadOptions`.
    split
        Keep the texts whose record has this split; None keeps all.
    """
    n_texts = 0
    for block in read_blocks(path, replace(options, texts_only=True)):
        is_elsewhere = split is not None and block.splits is not None and split not in block.splits
        chosen = block if split is None or is_elsewhere else block.part(split)
        if not is_elsewhere:
            n_texts += len(chosen.texts)
            yield chosen.texts
    if not n_texts:
        raise InputError(f"{path}: no record is in split {split!r}")


def _format_of(path: Path) -> str:
    """Find the corpus format that claims the ending of a path."""
    if path.is_dir():
        return "folders"
    name = uncompressed_name(path).lower()
    endings: list[str] = []
    for format in naming.names("corpus_formats"):
        for ending in naming.entry("corpus_formats", format).ENDINGS:
            if name.endswith(ending):
                return format
            endings.append(ending)
    raise InputError(
        f"{path}: its ending names no corpus format; known: {', '.join(sorted(endings))}, each "
        "also with .gz or .zst, or a folder with one folder a class; format= decides otherwise"
    )


@dataclass
class CorpusBlocks:
    """The labelled texts of a file or folder, read anew each time it is iterated over.

    Gives pairs of texts and lists of labels, a few thousand texts at a time.

    Parameters
    ----------
    path, options, format
        As `read_corpus` has them.
    split
        Keep the records of this split; "all" keeps all; None keeps `usual_split` where the
        records have splits.

    Attributes
    ----------
    n_docs, is_multilabel
        How many texts were given; and `multilabel`, or where that is None, whether any record of
        the file, of any split, has not exactly one label. Known when the iteration is over.
    """

    path: Path
    options: ReadOptions
    split: str | None = None
    usual_split: str = "train"
    format: str | None = None
    multilabel: bool | None = None
    n_docs: int = field(default=0, init=False)
    is_multilabel: bool = field(default=False, init=False)
    _state: tuple[int, int] | None = field(default=None, init=False, repr=False)

    def __iter__(self) -> Iterator[tuple[list[str], list[list[Label]]]]:
        self.n_docs, self.is_multilabel = 0, bool(self.multilabel)
        # what is read the second time must be what was read the first time
        self._state = self._state or storage.state_of(self.path)
        storage.check_state(self.path, self._state)
        yield from self._blocks()
        storage.check_state(self.path, self._state)

    def _blocks(self) -> Iterator[tuple[list[str], list[list[Label]]]]:
        splits: set[str] = set()
        for block in read_blocks(self.path, self.options, self.format):
            self._look_at_labels(block)
            split = self.split or (self.usual_split if block.splits is not None else "all")
            splits.update(block.splits or [])
            if split != "all" and block.splits is not None and split not in block.splits:
                continue
            chosen = block if split == "all" else block.part(split)
            self.n_docs += len(chosen.texts)
            yield chosen.texts, chosen.labels
        if not self.n_docs:
            known = ", ".join(repr(name) for name in sorted(splits))
            missing = self.split or self.usual_split
            raise InputError(f"no record is in split {missing!r}; there are: {known}")

    def _look_at_labels(self, block: Records) -> None:
        if self.multilabel is None:
            self.is_multilabel = self.is_multilabel or block.is_multilabel
        elif not self.multilabel:
            block.to_corpus(is_multilabel=False)  # an error, where it is not


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
    name
        A file name in `datasets/`, such as "docstrings".
    home
        Where corpora and caches live; by default `WORDCLASS_HOME` or the platform's data folder.
    download
        Fetch it first, where it is not here and its owner allows that.
    options
        Those of the data set, such as `strip=("headers",)` for "newsgroups20".

    Raises
    ------
    MissingDataError
        It is not here; the message says how to get it and where to put it.
    """
    entry = naming.entry("datasets", name)
    folder = Path(home) if home else data_home()
    known = [*inspect.signature(entry.load).parameters][1:]
    if unknown := sorted(set(options) - set(known)):
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"the data set {name} has no option {unknown[0]!r}; {has}")
    if download and not entry.SOURCE.is_built and not entry.SOURCE.find(folder):
        entry.SOURCE.download(folder)
    dataset: Dataset = entry.load(folder, **options)
    return dataset


def list_texts(texts: Iterable[str]) -> list[str]:
    """Read texts of any kind (list, Series, array, generator) once, and check that each is a str.

    Raises
    ------
    InputError
        One of them is None, bytes, a number; or `texts` is itself one str.
    """
    if isinstance(texts, str | bytes):
        raise InputError(f"texts is one {type(texts).__name__}; expected a list of str: [text]")
    # a table or a dict would give its column names or keys
    is_table = getattr(texts, "ndim", 1) != 1 or isinstance(texts, Mapping)
    if texts is None or is_table or not isinstance(texts, Iterable):
        raise InputError(f"texts is {_described(texts)}; expected an iterable of str")
    # an Arrow column iterates over scalars of its own
    listed = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
    if set(map(type, listed)) <= {str}:
        return listed  # nearly always: no need to look at them one by one
    for k, text in enumerate(listed):
        if not isinstance(text, str):
            hint = "; decode it first" if isinstance(text, bytes | bytearray) else ""
            raise InputError(f"text {k} is {_described(text)}, not a str{hint}")
    return listed


def check_lengths(texts: Sequence[str], n_labels: int) -> None:
    """Refuse texts and labels of different number, or none at all."""
    if len(texts) != n_labels:
        raise InputError(f"{len(texts)} texts but {n_labels} labels: expected one a text")
    if not texts:
        raise InputError("the corpus is empty: there are no texts")


def _described(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
