"""The origin of a dataset, and the conversion of its records."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from wordclass.corpus.datasets import _download, _members
from wordclass.corpus.datasets._download import Download
from wordclass.corpus.datasets._members import Member, NameFilter
from wordclass.corpus.documents import Dataset, LabelledCorpus, Record
from wordclass.errors import FormatError, InputError, MissingDataError

# environment variable with another folder of corpora
_FOLDER_VARIABLE = "WORDCLASS_DATA"


@dataclass(frozen=True)
class Sizes:
    """Published numbers of documents and classes of a dataset."""

    n_train: int
    n_test: int
    n_classes: int


@dataclass(frozen=True)
class Source:
    """The origin of a dataset.

    Parameters
    ----------
    name : str
        Name of the dataset and of its folder below the home.
    title : str
        Description of the documents in one line.
    url : str
        A page that describes them.
    license : str
        Terms of use.
    advice : str, default=""
        Instructions for getting the dataset. By default, to download it from the last address.
    sizes : Sizes, optional
        Published sizes, which the default options reproduce.
    files : tuple of str, default=()
        Patterns of the archives or of their content, the preferred one first. All files that match
        the first successful pattern are the corpus. Empty if the dataset is built from installed
        packages.
    companions : tuple of str, default=()
        Names of optional files next to the corpus that add to it.
    download : Download, optional
        A file that may be downloaded without permission: the corpus or a companion.
    is_verified_here : bool, default=False
        Whether the reader was tested on the real corpus and not only on samples.
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
        """Instructions for getting the dataset."""
        if self.advice or self.download is None:
            return self.advice
        command = f"wordclass datasets {self.name} --download"
        return f"Run `{command}`, or download {self.download.file} from {self.download.urls[-1]}"

    @property
    def is_built(self) -> bool:
        """Whether the dataset needs no files and is always available."""
        return not self.files

    @property
    def is_complete_download(self) -> bool:
        """Whether the corpus itself may be downloaded, not only a companion."""
        return self.download is not None and self.download.file not in self.companions

    def find(self, home: Path) -> list[Path]:
        """Return the files and folders that hold the corpus, or none if it is missing."""
        return self._find(self.files, home)

    def find_companion(self, home: Path) -> Path | None:
        """Return the first companion that exists, or None."""
        return next(iter(self._find(self.companions, home)), None)

    def _find(self, patterns: tuple[str, ...], home: Path) -> list[Path]:
        folders = [home / self.name, home]
        if data_folder := os.environ.get(_FOLDER_VARIABLE):
            data = Path(data_folder).expanduser()
            folders += [data / self.name, data, data / "raw" / self.name, data / "raw"]
        for folder in folders:
            for pattern in patterns:
                with suppress(OSError):  # no permission to enter the folder
                    if paths := sorted(folder.glob(pattern)):
                        return paths
        return []

    def require(self, home: Path) -> list[Path]:
        """Return the files and folders of the corpus. The error says how to get a missing one."""
        paths = self.find(home)
        if not paths:
            raise MissingDataError(
                f"the dataset {self.name} is missing. {self.how_to_get}. Put it, packed or not, "
                f"into {home / self.name}, or into the folder that {_FOLDER_VARIABLE} names. "
                f"See {self.url}. License: {self.license}"
            )
        return paths

    def fetch(self, home: Path) -> Path:
        """Download the dataset, or the companion that may be downloaded, and return the file.

        Raises
        ------
        InputError
            Nothing of this dataset may be downloaded. The message says how to get it.
        """
        if self.download is None:
            raise InputError(f"{self.name} cannot be downloaded by wordclass", hint=self.how_to_get)
        return _download.fetch(self.download, home / self.name)

    def members(self, home: Path, accepts: NameFilter, step: str = "reading") -> Iterator[Member]:
        """Read the accepted files of the corpus, or raise an error that says how to get it."""
        return _members.read(self.require(home), accepts, f"{step} {self.name}")

    def to_dataset(
        self, home: Path, records: Iterable[tuple[Any, Record]], *, is_multilabel: bool
    ) -> Dataset:
        """Build a dataset from pairs of a sort key and a record.

        The splits of the records are "train" and "test". The classes are those of the training
        documents. Test documents keep other labels too, which `evaluate` drops and counts.

        Raises
        ------
        FormatError
            There are no training or no test documents, so this is not the whole corpus.
        """
        splits: dict[str | None, list[Record]] = {"train": [], "test": []}
        for _, record in sorted(records, key=itemgetter(0)):
            splits[record.split].append(record)
        for split, split_records in splits.items():
            if not split_records:
                kind = "training" if split == "train" else "test"
                problem = f"there are no {kind} documents of {self.name}"
                hint = "check that this is the whole corpus"
                raise FormatError(self.require(home)[0], None, problem, hint=hint)
        train = LabelledCorpus.of(splits["train"], is_multilabel)
        test = LabelledCorpus.of(splits["test"], is_multilabel)
        classes = sorted({label for record in splits["train"] for label in record.labels}, key=str)
        return Dataset(self.name, train, test, classes)
