"""Where the documents of a data set come from, and how they become one."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from wordclass.corpus.datasets import _download, _members
from wordclass.corpus.datasets._download import Download
from wordclass.corpus.datasets._members import Member, Wanted
from wordclass.corpus.documents import Dataset, LabelledCorpus, Record
from wordclass.errors import FormatError, InputError, MissingDataError

# names a folder that is looked into besides the home, for corpora that are kept elsewhere
_VARIABLE = "WORDCLASS_DATA"


@dataclass(frozen=True)
class Sizes:
    """How many documents and classes a data set is known to have."""

    n_train: int
    n_test: int
    n_classes: int


@dataclass(frozen=True)
class Source:
    """The origin of a data set.

    Parameters
    ----------
    name : str
        Of the data set, and of its folder below the home.
    title : str
        What the documents are, in one line.
    url : str
        A page that describes them.
    license : str
        Under which terms they may be used.
    advice : str, default=""
        What a user has to do to get it, or that nothing has to be done. By default, to download
        it; the last link then has the name of the file.
    sizes : Sizes, optional
        The published sizes, which the default options are to give; None where there are none.
    files : tuple of str, default=()
        Patterns of the archives, or of what is in them, the preferred one first: all that fits the
        first pattern that fits anything is the corpus. None where the data set is built from what
        is installed.
    companions : tuple of str, default=()
        Names of files that may lie beside the corpus and add to it.
    download : Download, optional
        What may be fetched without asking anybody: the corpus, or a companion.
    is_verified_here : bool, default=False
        Whether the reader was run on the real corpus, not on samples only.
    """

    name: str
    title: str
    url: str
    license: str
    advice: str = ""
    sizes: Sizes | None = None
    files: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    download: Download | None = None
    is_verified_here: bool = False

    @property
    def how_to_get(self) -> str:
        """What a user has to do."""
        if self.advice or self.download is None:
            return self.advice
        file, link = self.download.file, self.download.urls[-1]
        return f"Run `wordclass datasets {self.name} --download`, or fetch {file} from {link}"

    @property
    def is_built(self) -> bool:
        """Whether the data set needs no files, and so is always here."""
        return not self.files

    @property
    def is_complete_download(self) -> bool:
        """Whether the corpus itself may be downloaded, not only what adds to it."""
        return self.download is not None and self.download.file not in self.companions

    def find(self, home: Path) -> list[Path]:
        """Return the files and folders that together hold the corpus; none where it is not here."""
        return self._find(self.files, home)

    def find_companion(self, home: Path) -> Path | None:
        """Return the first companion that is here."""
        return next(iter(self._find(self.companions, home)), None)

    def _find(self, patterns: tuple[str, ...], home: Path) -> list[Path]:
        folders = [home / self.name, home]
        if given := os.environ.get(_VARIABLE):
            data = Path(given).expanduser()
            folders += [data / self.name, data, data / "raw" / self.name, data / "raw"]
        for folder in folders:
            for pattern in patterns:
                with suppress(OSError):  # a folder that may not be entered has nothing for us
                    if found := sorted(folder.glob(pattern)):
                        return found
        return []

    def require(self, home: Path) -> list[Path]:
        """Return the files and folders that hold the corpus, or say how to get them."""
        if not (found := self.find(home)):
            raise MissingDataError(
                f"the data set {self.name} is not here. {self.how_to_get}. Put it, packed or not, "
                f"into {home / self.name}, or into the folder that {_VARIABLE} names. "
                f"See {self.url}. License: {self.license}"
            )
        return found

    def fetch(self, home: Path) -> Path:
        """Fetch what may be fetched into the folder below the home; return the file.

        Raises
        ------
        InputError
            Nothing of this data set may be downloaded; the message says how to get it.
        """
        if self.download is None:
            raise InputError(f"{self.name} cannot be downloaded by wordclass: {self.how_to_get}")
        return _download.fetch(self.download, home / self.name)

    def members(self, home: Path, wanted: Wanted, step: str = "reading") -> Iterator[Member]:
        """Read the wanted files of the corpus, or say how to get it."""
        return _members.read(self.require(home), wanted, f"{step} {self.name}")

    def to_dataset(
        self, home: Path, records: Iterable[tuple[Any, Record]], *, is_multilabel: bool
    ) -> Dataset:
        """Put records together, sorted by what is given beside each of them.

        Their splits are "train" and "test". The classes are those of the training part: test
        documents keep other labels too, which `evaluate` drops and counts.

        Raises
        ------
        FormatError
            One of the parts is empty: this is not the corpus, or not all of it.
        """
        parts: dict[str | None, list[Record]] = {"train": [], "test": []}
        for _, record in sorted(records, key=itemgetter(0)):
            parts[record.split].append(record)
        for split, part in parts.items():
            if not part:
                missing = f"{'training' if split == 'train' else split} documents of {self.name}"
                reason = f"there are no {missing}: another corpus, or part of it"
                raise FormatError(self.require(home)[0], None, reason)
        train, test = (LabelledCorpus.of(part, is_multilabel) for part in parts.values())
        classes = sorted({label for record in parts["train"] for label in record.labels}, key=str)
        return Dataset(self.name, train, test, classes)
