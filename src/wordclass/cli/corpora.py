"""The corpus that a command was given: a file, a folder, or `dataset:NAME`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wordclass.corpus import (
    CorpusBlocks,
    LabelledCorpus,
    ReadOptions,
    load_dataset,
    read_records,
    read_texts,
)
from wordclass.errors import InputError
from wordclass.storage import COMPRESSIONS, state_of

_LARGE = 64 << 20  # bytes
_COMPRESSION = 4  # how much smaller a compressed text is, about


@dataclass(frozen=True)
class CorpusChoice:
    """What the user said about the corpus; None where nothing was said."""

    place: str
    split: str | None
    text_field: str | None
    label_field: str | None
    label_separator: str
    encoding: str
    is_multilabel: bool | None

    @property
    def is_large(self) -> bool:
        """Whether this is a file that had better not be held in memory."""
        path = Path(self.place)
        is_compressed = path.suffix.lower() in COMPRESSIONS
        limit = _LARGE // _COMPRESSION if is_compressed else _LARGE
        n_bytes, _ = state_of(path) or (0, 0)
        return n_bytes > limit and path.is_file()

    def blocks(self, usual_split: str) -> CorpusBlocks:
        """Return the corpus as something to be read block by block."""
        return CorpusBlocks(
            Path(self.place),
            self._options,
            self.split,
            usual_split,
            multilabel=self.is_multilabel,
        )

    @property
    def _options(self) -> ReadOptions:
        return ReadOptions(self.text_field, self.label_field, self.label_separator, self.encoding)

    def read(self, usual_split: str) -> LabelledCorpus:
        """Read the corpus; where it has splits and none was chosen, the usual one is taken."""
        if self.place.startswith("dataset:"):
            return self._part_of_dataset(usual_split)
        records = read_records(Path(self.place), self._options)
        is_multilabel = records.is_multilabel if self.is_multilabel is None else self.is_multilabel
        split = self.split or (usual_split if records.splits is not None else None)
        if split is not None and split != "all":
            records = records.part(split)
        return records.to_corpus(is_multilabel)

    def texts(self) -> Iterator[list[str]]:
        """Give the texts alone, labelled or not, block by block: all of them, or those of a split.

        A data set is split, and its test part is taken unless told otherwise.
        """
        if self.place.startswith("dataset:"):
            return iter([self._part_of_dataset("test").texts])
        split = None if self.split == "all" else self.split
        return read_texts(Path(self.place), self._options, split)

    def _part_of_dataset(self, usual_split: str) -> LabelledCorpus:
        dataset = load_dataset(self.place.removeprefix("dataset:"))
        split = self.split or usual_split
        if split not in ("train", "test"):
            raise InputError(f"a data set has the splits train and test, not {split!r}")
        return dataset.train if split == "train" else dataset.test
