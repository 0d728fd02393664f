"""The corpus that a command was given: a file, a folder, or `dataset:NAME`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from wordclass.corpus import CorpusReader, LabelledCorpus, ReadOptions, Record, load_dataset
from wordclass.errors import InputError
from wordclass.storage import COMPRESSIONS, size_of

Multilabel = Annotated[bool | None, typer.Option("--multilabel/--single-label")]
Names = list[str] | None

_LARGE = 64 << 20  # bytes
_COMPRESSION = 4  # how much smaller a compressed text is, about
_FIELDS = ("text_field", "label_field", "label_separator", "delimiter", "header")


@dataclass(frozen=True)
class Texts:
    """The arguments and options that say which texts to read, and how; None: not given."""

    data: Annotated[str, typer.Argument(help="A corpus file or folder, or dataset:NAME.")]
    split: Annotated[str | None, "Part of the corpus: train, test, all."] = None
    text_field: Annotated[Names, "Column of texts; several are joined."] = None
    delimiter: Annotated[str | None, "Between CSV cells; else found out."] = None
    header: Annotated[bool | None, "Or columns are named 1, 2, ..."] = None

    @property
    def fields(self) -> dict[str, Any]:
        """What a model remembers of these options."""
        given = {name: getattr(self, name, None) for name in _FIELDS}
        return {name: value for name, value in given.items() if value not in (None, [])}

    def blocks(
        self,
        usual_split: str | None,
        encoding: str,
        is_multilabel: bool | None,
        model: Any = None,  # noqa: ANN401 - any classifier of texts
        *,
        keep_rows: bool = False,
    ) -> CorpusReader:
        """Return the file or folder as something to be read block by block, or all at once.

        Parameters
        ----------
        usual_split
            What is taken where there are splits and none was chosen; None takes all.
        encoding, keep_rows
            See `ReadOptions`.
        is_multilabel
            Whether a text has several labels; None: as the corpus itself shows.
        model
            Remembers the fields it was trained with, for what was not given.
        """
        remembered = getattr(model, "fields_", {})
        chosen = {name: remembered[name] for name in _FIELDS if name in remembered}
        options = ReadOptions(
            **{**chosen, **self.fields},
            encoding=encoding,
            keep_rows=keep_rows,
            are_remembered=not self.fields.keys() & {"text_field", "label_field"},
        )
        split, missing = self.split, getattr(self, "on_missing_label", "error")
        if split == "all":
            split = usual_split = None
        path = Path(self.data)
        return CorpusReader(path, options, split, usual_split, is_multilabel, missing)

    def records(self, reader: CorpusReader) -> Iterator[list[Record]]:
        """Give texts with all their columns, labelled or not, block by block.

        A data set is split, and its test part is taken unless told otherwise.
        """
        if not self.data.startswith("dataset:"):
            return reader.records()
        texts = self._part_of_dataset(reader.usual_split or "test").texts
        return iter([[Record(text, []) for text in texts]])

    def _part_of_dataset(self, usual_split: str) -> LabelledCorpus:
        dataset = load_dataset(self.data.removeprefix("dataset:"))
        split = self.split or usual_split
        if split not in ("train", "test"):
            raise InputError(f"a data set has the splits train and test, not {split!r}")
        return dataset.train if split == "train" else dataset.test


@dataclass(frozen=True)
class Corpus(Texts):
    """The arguments and options that say which labelled texts to read, and how."""

    label_field: Annotated[Names, "Column of labels; several hold 0, 1."] = None
    label_separator: Annotated[
        str | None, "Between labels in a CSV cell, else ;  none: nothing."
    ] = None
    on_missing_label: Annotated[str, "Where the others have one label: error, skip or empty."] = (
        "error"
    )

    @property
    def is_large(self) -> bool:
        """Whether this is a file that had better not be held in memory."""
        path = Path(self.data)
        limit = _LARGE // _COMPRESSION if path.suffix.lower() in COMPRESSIONS else _LARGE
        return (size_of(path) or 0) > limit

    def read(self, usual_split: str, *arguments: Any, **options: Any) -> LabelledCorpus:  # noqa: ANN401
        """Read the corpus at once; the arguments are those of `blocks`."""
        if self.data.startswith("dataset:"):
            return self._part_of_dataset(usual_split)
        return self.blocks(usual_split, *arguments, **options).read()
