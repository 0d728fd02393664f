"""The corpus that a command was given: a file, a folder, or `dataset:NAME`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wordclass.corpus import CorpusReader, LabelledCorpus, ReadOptions, load_dataset
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

    def blocks(self, usual_split: str | None) -> CorpusReader:
        """Return the file or folder as something to be read block by block, or all at once.

        Where it has splits and none was chosen, the usual one is taken; None takes all.
        """
        options = ReadOptions(
            self.text_field, self.label_field, self.label_separator, self.encoding
        )
        split = self.split
        if split == "all":
            split = usual_split = None
        return CorpusReader(Path(self.place), options, split, usual_split, self.is_multilabel)

    def read(self, usual_split: str) -> LabelledCorpus:
        """Read the corpus; where it has splits and none was chosen, the usual one is taken."""
        if self.place.startswith("dataset:"):
            return self._part_of_dataset(usual_split)
        return self.blocks(usual_split).read()

    def texts(self) -> Iterator[list[str]]:
        """Give the texts alone, labelled or not, block by block: all of them, or those of a split.

        A data set is split, and its test part is taken unless told otherwise.
        """
        if self.place.startswith("dataset:"):
            return iter([self._part_of_dataset("test").texts])
        return self.blocks(usual_split=None).texts()

    def _part_of_dataset(self, usual_split: str) -> LabelledCorpus:
        dataset = load_dataset(self.place.removeprefix("dataset:"))
        split = self.split or usual_split
        if split not in ("train", "test"):
            raise InputError(f"a data set has the splits train and test, not {split!r}")
        return dataset.train if split == "train" else dataset.test
