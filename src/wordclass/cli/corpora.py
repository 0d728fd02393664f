"""The corpus that a command was given: a file, a folder, or `dataset:NAME`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from wordclass.corpus import CorpusReader, LabelledCorpus, ReadOptions, load_dataset
from wordclass.errors import InputError
from wordclass.storage import COMPRESSIONS, state_of

Split = Annotated[str | None, typer.Option(help="Part of the corpus: train, test, all.")]
TextField = Annotated[str | None, typer.Option(help="Column of the texts.")]
Multilabel = Annotated[bool | None, typer.Option("--multilabel/--single-label")]

_LARGE = 64 << 20  # bytes
_COMPRESSION = 4  # how much smaller a compressed text is, about


@dataclass(frozen=True)
class Corpus:
    """The arguments and options that say which corpus to read, and what part of it.

    To read it takes two more: the encoding, and whether a text has several labels; None: as the
    corpus itself shows.
    """

    data: Annotated[str, typer.Argument(help="A corpus file or folder, or dataset:NAME.")]
    split: Split = None
    text_field: TextField = None
    label_field: Annotated[str | None, typer.Option(help="Column of the labels.")] = None
    label_separator: Annotated[
        str, typer.Option(help="Between several labels in one CSV cell.")
    ] = ";"

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
        """Return the file or folder as something to be read block by block, or all at once.

        Where it has splits and none was chosen, the usual one is taken; None takes all.
        """
        options = ReadOptions(self.text_field, self.label_field, self.label_separator, encoding)
        split = self.split
        if split == "all":
            split = usual_split = None
        return CorpusReader(Path(self.data), options, split, usual_split, is_multilabel)

    def read(self, usual_split: str, encoding: str, is_multilabel: bool | None) -> LabelledCorpus:
        """Read the corpus; where it has splits and none was chosen, the usual one is taken."""
        if self.data.startswith("dataset:"):
            return self._part_of_dataset(usual_split)
        return self.blocks(usual_split, encoding, is_multilabel).read()

    def texts(self, encoding: str) -> Iterator[list[str]]:
        """Give the texts alone, labelled or not, block by block: all of them, or those of a split.

        A data set is split, and its test part is taken unless told otherwise.
        """
        if self.data.startswith("dataset:"):
            return iter([self._part_of_dataset("test").texts])
        return self.blocks(None, encoding, None).texts()

    def _part_of_dataset(self, usual_split: str) -> LabelledCorpus:
        dataset = load_dataset(self.data.removeprefix("dataset:"))
        split = self.split or usual_split
        if split not in ("train", "test"):
            raise InputError(f"a data set has the splits train and test, not {split!r}")
        return dataset.train if split == "train" else dataset.test
