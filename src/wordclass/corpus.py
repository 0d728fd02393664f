"""Labelled texts: what a corpus is, and how one is read from a file, a folder or a data set."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from wordclass import naming
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
    """

    text_field: str | None = None
    label_field: str | None = None
    label_separator: str = ";"
    encoding: str = "utf-8"


@dataclass(frozen=True)
class Records:
    """What a corpus format reads: three columns of equal length, or no splits at all."""

    texts: list[str]
    labels: list[list[Label]]
    splits: list[str] | None = None

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
    require(path)
    reader = naming.entry("corpus_formats", format or _format_of(path))
    records: Records = reader.read(path, options)
    return records


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


def load_dataset(name: str, home: str | PathLike[str] | None = None) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name
        A file name in `datasets/`, such as "docstrings".
    home
        Where corpora and caches live; by default `WORDCLASS_HOME` or the platform's data folder.
    """
    dataset: Dataset = naming.entry("datasets", name).load(Path(home) if home else data_home())
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
    if texts is None or not isinstance(texts, Iterable):
        raise InputError(f"texts is {_described(texts)}; expected an iterable of str")
    # an Arrow column iterates over scalars of its own
    listed = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
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
