"""The corpus that a command was given: a file, a folder, or `dataset:NAME`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from wordclass.corpus import CorpusReader, LabelledCorpus, ReadOptions, Record, load_dataset
from wordclass.errors import InputError
from wordclass.storage import COMPRESSIONS, state_of

Multilabel = Annotated[bool | None, typer.Option("--multilabel/--single-label")]

_LARGE = 64 << 20  # bytes
_COMPRESSION = 4  # how much smaller a compressed text is, about
_FIELDS = ("text_field", "label_field", "label_separator", "delimiter", "no_header")
_DELIMITERS = {"tab": "\t", "\\t": "\t"}  # that are hard to write


@dataclass(frozen=True)
class Texts:
    """The arguments and options that say which texts to read, and how.

    To read them takes more: the encoding; and, where there is one, the model they are for, which
    remembers the fields it was trained with.
    """

    data: Annotated[str, typer.Argument(help="A corpus file or folder, or dataset:NAME.")]
    split: Annotated[str | None, typer.Option(help="Part of the corpus: train, test, all.")] = None
    text_field: Annotated[
        list[str] | None, typer.Option(help="Column of the texts; several are joined.")
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(help="Between CSV cells, such as ; or tab; else found out.")
    ] = None
    no_header: Annotated[
        bool | None, typer.Option("--no-header/--header", help="Columns are named 1, 2, ...")
    ] = None

    @property
    def fields(self) -> dict[str, Any]:
        """What a model remembers of these options."""
        given = {name: getattr(self, name, None) for name in _FIELDS}
        return {name: value for name, value in given.items() if value not in (None, [])}

    def records(
        self,
        usual_split: str | None,
        encoding: str,
        model: Any,  # noqa: ANN401 - any classifier
    ) -> Iterator[list[Record]]:
        """Give texts with all their columns, labelled or not, block by block.

        A data set is split, and its test part is taken unless told otherwise.
        """
        if self.data.startswith("dataset:"):
            texts = self._part_of_dataset(usual_split or "test").texts
            return iter([[Record(text, []) for text in texts]])
        return self._reader(usual_split, self.options(encoding, model)).records()

    def options(self, encoding: str, model: Any = None, **others: bool) -> ReadOptions:  # noqa: ANN401
        """Return how to read a file; what was not given is as it was when the model was trained."""
        chosen = {**getattr(model, "fields_", {}), **self.fields}
        separator, delimiter = chosen.get("label_separator", ";"), chosen.get("delimiter")
        return ReadOptions(
            text_field=chosen.get("text_field"),
            label_field=chosen.get("label_field"),
            label_separator=None if separator == "none" else separator,
            delimiter=_DELIMITERS.get(str(delimiter), delimiter),
            header=not chosen.get("no_header"),
            encoding=encoding,
            are_remembered=not self.fields.keys() & {"text_field", "label_field"},
            **others,
        )

    def _reader(
        self,
        usual_split: str | None,
        options: ReadOptions,
        *labels: Any,  # noqa: ANN401
    ) -> CorpusReader:
        split = self.split
        if split == "all":
            split = usual_split = None
        return CorpusReader(Path(self.data), options, split, usual_split, *labels)

    def _part_of_dataset(self, usual_split: str) -> LabelledCorpus:
        dataset = load_dataset(self.data.removeprefix("dataset:"))
        split = self.split or usual_split
        if split not in ("train", "test"):
            raise InputError(f"a data set has the splits train and test, not {split!r}")
        return dataset.train if split == "train" else dataset.test


@dataclass(frozen=True)
class Corpus(Texts):
    """The arguments and options that say which corpus to read, and what part of it.

    To read it takes one more: whether a text has several labels; None: as the corpus itself shows.
    """

    label_field: Annotated[
        list[str] | None, typer.Option(help="Column of the labels; several hold 0 and 1.")
    ] = None
    label_separator: Annotated[
        str | None,
        typer.Option(help="Between labels in one CSV cell; none: nothing.  [default: ;]"),
    ] = None
    on_missing_label: Annotated[
        str, typer.Option(help="Where a text has none, and the others one: error, skip, empty.")
    ] = "error"

    @property
    def is_large(self) -> bool:
        """Whether this is a file that had better not be held in memory."""
        path = Path(self.data)
        is_compressed = path.suffix.lower() in COMPRESSIONS
        limit = _LARGE // _COMPRESSION if is_compressed else _LARGE
        n_bytes, *_ = state_of(path) or (0,)
        return n_bytes > limit and path.is_file()

    def blocks(
        self, usual_split: str | None, encoding: str, is_multilabel: bool | None
    ) -> CorpusReader:
        """Return the file or folder as something to be read block by block.

        Where it has splits and none was chosen, the usual one is taken; None takes all.
        """
        options = self.options(encoding)
        return self._reader(usual_split, options, is_multilabel, self.on_missing_label)

    def read(
        self,
        usual_split: str,
        encoding: str,
        is_multilabel: bool | None,
        model: Any = None,  # noqa: ANN401 - any classifier of texts
        *,
        keep_rows: bool = False,
    ) -> LabelledCorpus:
        """Read the corpus; where it has splits and none was chosen, the usual one is taken."""
        if self.data.startswith("dataset:"):
            return self._part_of_dataset(usual_split)
        options = self.options(encoding, model, keep_rows=keep_rows)
        labels = is_multilabel, self.on_missing_label
        return self._reader(usual_split, options, *labels).read()
