"""The corpus that a command was given: a file, a folder, or `dataset:NAME`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordclass.cli.command import Settings
from wordclass.corpus.documents import LabelledCorpus, Record
from wordclass.corpus.reader import CorpusReader, load_dataset
from wordclass.corpus.selection import ReadOptions, ReadSummary, Selection
from wordclass.errors import InputError
from wordclass.storage.files import COMPRESSIONS, Address, path_exists, size_of

if TYPE_CHECKING:
    from wordclass.corpus.cells import Dialect
    from wordclass.corpus.columns import ColumnGuess
    from wordclass.corpus.shards import ShardedCorpus

Multilabel = Annotated[bool | None, typer.Option("--multilabel/--single-label")]
Names = list[str] | None

_LARGE = 64 << 20  # bytes
_COMPRESSION = 4  # how much smaller a compressed text is, about
_FIELDS = ("text_field", "label_field", "label_separator", "delimiter", "header", "quote")


@dataclass(frozen=True)
class InParts:
    """The options that say by which engine a corpus is worked on in parts; None: in memory."""

    engine: Annotated[
        str | None, "Work on parts of the corpus: in_sequence, processes, dask or spark."
    ] = None
    scheduler: Annotated[str | None, "Address of a Dask scheduler; else Dask runs here."] = None
    master: Annotated[str | None, "Address of a Spark master; else Spark runs here."] = None
    on_bad_record: Annotated[str, "A record that cannot be read: stop, or skip and count."] = "stop"

    @contextmanager
    def opened(self, settings: Settings) -> Iterator[Any]:
        """Give the engine; --jobs is the number of its workers, where they are started here."""
        from wordclass.engines import engine as engines

        name = self.engine or "in_sequence"
        given = {"scheduler": ("dask", self.scheduler), "master": ("spark", self.master)}
        options: dict[str, Any] = {}
        for option, (owner, address) in given.items():
            if address is not None and name != owner:
                raise InputError(f"--{option} is for --engine {owner}, not for {name}")
            options |= {} if address is None else {option: address}
        if settings.jobs > 1 and name != "in_sequence" and not options:
            options["n_workers"] = settings.jobs
        with engines.open_engine(name, **options) as engine:
            yield engine


def tell_skipped(settings: Settings, seen: ReadSummary) -> None:
    """Tell how many records could not be read, and where the first of them is."""
    if seen.n_skipped:
        settings.say(f"skipped {seen.n_skipped:,} records; the first: {seen.first_skipped}")


@dataclass(frozen=True)
class Texts:
    """The arguments and options that say which texts to read, and how; None: not given."""

    data: Annotated[
        list[str],
        typer.Argument(help="Corpus files, folders, patterns, addresses; or dataset:NAME."),
    ]
    split: Annotated[str | None, "Part of the corpus: train, test, all."] = None
    text_field: Annotated[Names, "Column of texts; several are joined."] = None
    delimiter: Annotated[str | None, "Between CSV cells; else found out."] = None
    header: Annotated[bool | None, "Or columns are named 1, 2, ..."] = None

    format: Annotated[
        str | None, "Format of the corpus: csv, tsv, jsonl, json, fasttext, annif, parquet, xlsx."
    ] = None
    quote: Annotated[str | None, "Quote character of CSV cells, or none."] = None
    _guessed: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def fields(self) -> dict[str, Any]:
        """The options that a model remembers, with the columns that were guessed."""
        return {**self._guessed, **self._named_fields}

    @property
    def _named_fields(self) -> dict[str, Any]:
        values = {name: getattr(self, name, None) for name in _FIELDS}
        if flags := getattr(self, "label_fields", None):
            values["label_field"] = [name.strip() for name in flags.split(",")]
        return {name: value for name, value in values.items() if value not in (None, [])}

    def _remember(self, guess: "ColumnGuess | None") -> None:
        if guess is not None:
            self._guessed.update(text_field=guess.text_field, label_field=guess.label_field)

    def blocks(
        self,
        default_split: str | None,
        encoding: str,
        is_multilabel: bool | None,
        model: Any = None,  # noqa: ANN401 - any classifier of texts
        *,
        keep_rows: bool = False,
    ) -> CorpusReader:
        """Return the file or folder as something to be read block by block, or all at once.

        Parameters
        ----------
        default_split
            What is taken where there are splits and none was chosen; None takes all.
        encoding, keep_rows
            See `ReadOptions`.
        is_multilabel
            Whether a text has several labels; None: as the corpus itself shows.
        model
            Remembers the fields it was trained with, for what was not given.
        """
        options = self._options(encoding, model, keep_rows=keep_rows)
        return CorpusReader(self._path, options, *self._selected(default_split, is_multilabel))

    def _options(self, encoding: str, model: Any, **options: Any) -> ReadOptions:  # noqa: ANN401
        remembered = getattr(model, "fields_", {})
        chosen = {name: remembered[name] for name in _FIELDS if name in remembered}
        return ReadOptions(
            **{**chosen, **self._named_fields},
            encoding=encoding,
            format=self.format,
            are_remembered=not self._named_fields.keys() & {"text_field", "label_field"},
            **options,
        )

    def _selected(
        self, default_split: str | None, is_multilabel: bool | None
    ) -> tuple[str | None, str | None, bool | None, str]:
        missing = getattr(self, "on_missing_label", "error")
        if self.split == "all":
            return None, None, is_multilabel, missing
        return self.split, default_split, is_multilabel, missing

    @property
    def name(self) -> str:
        """The one corpus that was named; several are a corpus in parts."""
        if len(self.data) > 1:
            told = "several files are a corpus in parts, for fit, train, evaluate and predict"
            raise InputError(f"{told}; give one")
        return self.data[0]

    @property
    def _path(self) -> Path:
        return Path(self.name)

    def parts(
        self,
        in_parts: "InParts",
        default_split: str | None,
        encoding: str,
        is_multilabel: bool | None,
        model: Any = None,  # noqa: ANN401 - any classifier of texts
        *,
        or_large: bool = False,
    ) -> "ShardedCorpus | None":
        """Return the corpus in parts, or None where it is one file or folder, and to be read so.

        The arguments are those of `blocks`; `or_large`: one file that had better not be held in
        memory is in parts, too.
        """
        is_plain = not in_parts.engine and in_parts.on_bad_record == "stop"
        if is_plain and not self._is_in_parts() and not (or_large and self.is_large):
            return None
        if any(name.startswith("dataset:") or name == "-" for name in self.data):
            raise InputError("a data set, or standard input, is no corpus in parts")
        from wordclass.corpus.shards import ShardedCorpus

        options = self._options(
            encoding,
            model,
            on_bad_record=in_parts.on_bad_record,
            texts_only=not isinstance(self, Corpus),
        )
        selection = Selection(*self._selected(default_split, is_multilabel))
        corpus = ShardedCorpus.find(self.data, options, selection)
        self._remember(corpus.guess)
        return corpus

    @property
    def is_large(self) -> bool:
        """Whether this is a file that had better not be held in memory."""
        path = self._path
        limit = _LARGE // _COMPRESSION if path.suffix.lower() in COMPRESSIONS else _LARGE
        return (size_of(path) or 0) > limit

    def _is_in_parts(self) -> bool:
        """Whether several files were named, or a pattern, an address, or a folder of files."""
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
        """Return delimiter, encoding and mark of the corpus if it is one CSV or TSV file."""
        from wordclass.corpus.cells import detect_dialect
        from wordclass.corpus.file_formats import choose_format

        if self._is_in_parts() or not self._path.is_file():
            return None
        options = self._options(encoding, model)
        if choose_format(self._path, options) not in ("csv", "tsv"):
            return None
        return detect_dialect(self._path, options)

    def records(self, reader: CorpusReader) -> Iterator[list[Record]]:
        """Give texts with all their columns, labelled or not, block by block.

        A data set is split, and its test part is taken unless told otherwise.
        """
        if not self.name.startswith("dataset:"):
            return reader.records()
        texts = self._part_of_dataset(reader.default_split or "test").texts
        return iter([[Record(text, []) for text in texts]])

    def _part_of_dataset(self, default_split: str) -> LabelledCorpus:
        dataset = load_dataset(self.name.removeprefix("dataset:"))
        split = self.split or default_split
        if split not in ("train", "test"):
            raise InputError(f"a data set has the splits train and test, not {split!r}")
        return dataset.train if split == "train" else dataset.test


@dataclass(frozen=True)
class Corpus(Texts):
    """The arguments and options that say which labelled texts to read, and how."""

    label_field: Annotated[Names, "Column of labels; several hold 0, 1."] = None
    label_fields: Annotated[
        str | None, "Columns of 0 and 1 with one label each, separated by commas."
    ] = None
    label_separator: Annotated[
        str | None, "Between labels in a CSV cell, else ;  none: nothing."
    ] = None
    on_missing_label: Annotated[str, "Where the others have one label: error, skip or empty."] = (
        "error"
    )

    def read(self, default_split: str, *arguments: Any, **options: Any) -> LabelledCorpus:  # noqa: ANN401
        """Read the corpus at once; the arguments are those of `blocks`."""
        if self.name.startswith("dataset:"):
            return self._part_of_dataset(default_split)
        reader = self.blocks(default_split, *arguments, **options)
        corpus = reader.read()
        self._remember(reader.guess)
        return corpus
