"""The corpus that a command reads: files, a folder, or `dataset:NAME`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from wordclass.cli.command import Settings
from wordclass.cli.completion import entry_names
from wordclass.errors import InputError
from wordclass.storage.addresses import Address
from wordclass.storage.files import COMPRESSIONS, path_exists, size_of

if TYPE_CHECKING:
    from wordclass.corpus.cells import Dialect
    from wordclass.corpus.columns import ColumnGuess
    from wordclass.corpus.documents import LabelledCorpus, Record
    from wordclass.corpus.reader import CorpusReader
    from wordclass.corpus.selection import ReadOptions, ReadSummary
    from wordclass.corpus.shards import ShardedCorpus

Multilabel = Annotated[
    bool | None,
    typer.Option(
        "--multilabel/--single-label",
        help="Whether a document may have any number of labels. Detected by default.",
    ),
]
Names = list[str] | None

DATASET_PREFIX = "dataset:"
_MAX_BYTES_IN_MEMORY = 64 << 20
_COMPRESSION_RATIO = 4  # of text, roughly
_FIELDS = ("text_field", "label_field", "label_separator", "delimiter", "header", "quote")


@dataclass(frozen=True, kw_only=True)
class BadRecordOptions:
    """The option that decides how unreadable records are handled."""

    SECTION: ClassVar[str] = "Reading options"
    on_bad_record: Annotated[
        str, "stop|skip", "Stop at a record that cannot be read, or skip and count it."
    ] = "stop"

    @property
    def engine_name(self) -> str | None:
        """The name of the requested engine, if any."""
        return None


@dataclass(frozen=True, kw_only=True)
class EngineOptions(BadRecordOptions):
    """The options that say which engine processes a corpus in shards."""

    SECTION: ClassVar[str] = "Engine options"
    engine: Annotated[
        str | None,
        entry_names("engines"),
        "Process the corpus in shards with in_sequence, processes, dask or spark.",
    ] = None
    scheduler: Annotated[
        str | None, "ADDRESS", "Dask scheduler to use. By default Dask starts on this machine."
    ] = None
    master: Annotated[
        str | None, "ADDRESS", "Spark master to use. By default Spark starts on this machine."
    ] = None

    @property
    def engine_name(self) -> str | None:
        """The name of the requested engine, if any."""
        return self.engine

    @contextmanager
    def open_engine(self, settings: Settings) -> Iterator[Any]:
        """Open the engine for the `with` block.

        --jobs sets the number of workers if the engine starts them.
        """
        from wordclass.engines import engine as engines

        name = self.engine or "in_sequence"
        addresses = {"scheduler": ("dask", self.scheduler), "master": ("spark", self.master)}
        options: dict[str, Any] = {}
        for option, (owner, address) in addresses.items():
            if address is None:
                continue
            if name != owner:
                raise InputError(
                    f"--{option} does not apply to the engine {name!r}",
                    hint=f"use it with --engine {owner}",
                )
            options[option] = address
        if settings.jobs > 1 and name != "in_sequence" and not options:
            options["n_workers"] = settings.jobs
        with engines.open_engine(name, **options) as engine:
            yield engine


def report_skipped(settings: Settings, summary: "ReadSummary") -> None:
    """Print how many records could not be read, and the first error."""
    if summary.n_skipped:
        count = f"skipped {summary.n_skipped:,} records that cannot be read"
        settings.say(f"{count}; the first: {summary.first_skipped}")


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """The options that say how texts are read from a corpus."""

    SECTION: ClassVar[str] = "Reading options"
    split: Annotated[
        str | None, "Split to read, such as train or test. Use all for every split."
    ] = None
    text_field: Annotated[Names, "Column of texts. Repeat the option to join several columns."] = (
        None
    )
    delimiter: Annotated[str | None, "CHAR", "Delimiter of CSV cells. Detected by default."] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line names the columns. If not, they are named 1, 2, ...",
        ),
    ] = None
    format: Annotated[
        str | None,
        entry_names("corpus_formats"),
        "Format: csv, tsv, jsonl, json, fasttext, annif, parquet, xlsx. Detected by default.",
    ] = None
    quote: Annotated[str | None, "CHAR", "Quote character of CSV cells, or none."] = None
    _guessed: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def fields(self) -> dict[str, Any]:
        """The options that a model remembers, with the columns that were guessed."""
        return {**self._guessed, **self._requested_fields}

    @property
    def _requested_fields(self) -> dict[str, Any]:
        values = {name: getattr(self, name, None) for name in _FIELDS}
        if columns := getattr(self, "label_fields", None):
            values["label_field"] = [name.strip() for name in columns.split(",")]
        return {name: value for name, value in values.items() if value not in (None, [])}

    def _remember(self, guess: "ColumnGuess | None") -> None:
        if guess is not None:
            self._guessed.update(text_field=guess.text_field, label_field=guess.label_field)


@dataclass(frozen=True, kw_only=True)
class LabelOptions(TextOptions):
    """The options that say how labelled texts are read from a corpus."""

    label_field: Annotated[Names, "Column of labels."] = None
    label_fields: Annotated[
        str | None, "A,B,C", "Columns of 0 and 1, one per label, separated by commas."
    ] = None
    label_separator: Annotated[
        str | None,
        "TEXT",
        "Separator of the labels in a CSV cell. By default ';'. Use none to keep cells whole.",
    ] = None
    on_missing_label: Annotated[
        str,
        "error|skip|empty",
        "What to do with a text without a label. With empty, the task becomes multilabel.",
    ] = "error"


@dataclass(frozen=True, kw_only=True)
class Texts(TextOptions):
    """A corpus whose texts are read, labelled or not."""

    data: Annotated[
        list[str], "DATA...", "Files, folders, patterns or addresses of a corpus, or dataset:NAME."
    ]

    def reader(
        self,
        default_split: str | None,
        encoding: str,
        is_multilabel: bool | None,
        model: Any = None,  # noqa: ANN401 - any classifier of texts
        *,
        keep_rows: bool = False,
    ) -> "CorpusReader":
        """Return a reader of the file or folder.

        Parameters
        ----------
        default_split : str or None
            The split to read if there are splits and none was requested. None reads all records.
        encoding : str
            The encoding of text files.
        is_multilabel : bool or None
            Whether a text may have several labels. None lets the corpus decide.
        model : estimator, optional
            A model, whose remembered fields replace those that were not given.
        keep_rows : bool, default=False
            Whether to keep all columns of the records.
        """
        from wordclass.corpus.reader import CorpusReader

        options = self._read_options(encoding, model, keep_rows=keep_rows)
        return CorpusReader(
            Path(self.name), options, *self._selection(default_split, is_multilabel)
        )

    def _read_options(self, encoding: str, model: Any, **options: Any) -> "ReadOptions":  # noqa: ANN401
        from wordclass.corpus.selection import ReadOptions

        remembered = getattr(model, "fields_", {})
        known = {name: remembered[name] for name in _FIELDS if name in remembered}
        return ReadOptions(
            **{**known, **self._requested_fields},
            encoding=encoding,
            format=self.format,
            are_remembered=not self._requested_fields.keys() & {"text_field", "label_field"},
            **options,
        )

    def _selection(
        self, default_split: str | None, is_multilabel: bool | None
    ) -> tuple[str | None, str | None, bool | None, str]:
        on_missing_label = getattr(self, "on_missing_label", "error")
        if self.split == "all":
            return None, None, is_multilabel, on_missing_label
        return self.split, default_split, is_multilabel, on_missing_label

    @property
    def name(self) -> str:
        """The corpus, which must be a single file, folder or dataset."""
        if len(self.data) > 1:
            raise InputError(
                f"{len(self.data)} files were given",
                expected="one file, folder or dataset",
                hint="put the files into a folder, or use --engine",
            )
        return self.data[0]

    def shards(
        self,
        options: BadRecordOptions,
        default_split: str | None,
        encoding: str,
        is_multilabel: bool | None,
        model: Any = None,  # noqa: ANN401 - any classifier of texts
        *,
        or_large: bool = False,
    ) -> "ShardedCorpus | None":
        """Return the corpus in shards, or None if it is one file or folder that fits into memory.

        The arguments are those of `reader`. With `or_large`, a single file that is large is in
        shards, too.
        """
        is_plain = not options.engine_name and options.on_bad_record == "stop"
        if is_plain and not self._has_several_files() and not (or_large and self.is_large):
            return None
        if any(name.startswith(DATASET_PREFIX) or name == "-" for name in self.data):
            raise InputError(
                "a dataset, or standard input, cannot be read in shards",
                hint="leave out --engine and --on-bad-record, or give files",
            )
        from wordclass.corpus.selection import Selection
        from wordclass.corpus.shards import ShardedCorpus

        read_options = self._read_options(
            encoding,
            model,
            on_bad_record=options.on_bad_record,
            texts_only=not isinstance(self, Corpus),
        )
        selection = Selection(*self._selection(default_split, is_multilabel))
        corpus = ShardedCorpus.find(self.data, read_options, selection)
        self._remember(corpus.guess)
        return corpus

    @property
    def is_large(self) -> bool:
        """Whether the corpus is a file that should not be held in memory."""
        path = Path(self.name)
        ratio = _COMPRESSION_RATIO if path.suffix.lower() in COMPRESSIONS else 1
        return (size_of(path) or 0) > _MAX_BYTES_IN_MEMORY // ratio

    def _has_several_files(self) -> bool:
        """Whether the corpus is several files, a pattern, an address, or a folder of files."""
        if len(self.data) > 1 or Address.matches(self.name):
            return True
        path = Path(self.name)
        if not path_exists(path):
            return any(sign in self.name for sign in "*?[")
        if not path.is_dir():
            return False
        from wordclass.corpus.shards import is_folder_of_shards

        return is_folder_of_shards(path)

    def dialect(self, encoding: str, model: Any) -> "Dialect | None":  # noqa: ANN401
        """Return delimiter, encoding and byte order mark if the corpus is a CSV or TSV file."""
        from wordclass.corpus.cells import detect_dialect
        from wordclass.corpus.file_formats import choose_format

        path = Path(self.name)
        if self._has_several_files() or not path.is_file():
            return None
        options = self._read_options(encoding, model)
        if choose_format(path, options) not in ("csv", "tsv"):
            return None
        return detect_dialect(path, options)

    def records(self, reader: "CorpusReader") -> "Iterator[list[Record]]":
        """Yield blocks of texts with all their columns, labelled or not.

        The default split of a dataset is the test split.
        """
        if not self.name.startswith(DATASET_PREFIX):
            return reader.records()
        from wordclass.corpus.documents import Record

        texts = self._read_dataset(reader.default_split or "test").texts
        return iter([[Record(text, []) for text in texts]])

    def _read_dataset(self, default_split: str) -> "LabelledCorpus":
        from wordclass.corpus.reader import load_dataset

        dataset = load_dataset(self.name.removeprefix(DATASET_PREFIX))
        split = self.split or default_split
        if split not in ("train", "test"):
            raise InputError(f"--split is {split!r}", expected="train or test for a dataset")
        return dataset.train if split == "train" else dataset.test


@dataclass(frozen=True, kw_only=True)
class Corpus(Texts, LabelOptions):
    """A corpus of labelled texts."""

    def read(self, default_split: str, *arguments: Any, **options: Any) -> "LabelledCorpus":  # noqa: ANN401
        """Read the whole corpus with the same arguments as `reader`."""
        if self.name.startswith(DATASET_PREFIX):
            return self._read_dataset(default_split)
        reader = self.reader(default_split, *arguments, **options)
        corpus = reader.read()
        self._remember(reader.guess)
        return corpus
