"""Where the documents of a data set come from, as shown to whoever asks for it."""

from dataclasses import dataclass
from pathlib import Path

from wordclass.datasets import _download, _places
from wordclass.datasets._download import Download
from wordclass.errors import InputError, MissingDataError


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
    name
        Of the data set, and of its folder below the home.
    title
        What the documents are, in one line.
    url
        A page that describes them.
    license
        Under which terms they may be used.
    how_to_get
        What a user has to do, or that nothing has to be done.
    sizes
        The published sizes, which the default options are to give; None where there are none.
    files
        Patterns of the archives, or of what is in them, the preferred one first; none where the
        data set is built from what is installed.
    companions
        Names of files that may lie beside the corpus and add to it.
    downloads
        What may be fetched without asking anybody.
    is_verified_here
        Whether the reader was run on the real corpus, not on samples only.
    """

    name: str
    title: str
    url: str
    license: str
    how_to_get: str
    sizes: Sizes | None = None
    files: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    downloads: tuple[Download, ...] = ()
    is_verified_here: bool = False

    @property
    def is_built(self) -> bool:
        """Whether the data set needs no files, and so is always here."""
        return not self.files

    @property
    def is_complete_download(self) -> bool:
        """Whether the corpus itself may be downloaded, not only what adds to it."""
        return any(download.file not in self.companions for download in self.downloads)

    def find(self, home: Path) -> list[Path]:
        """Return the files and folders that hold the corpus; none where it is not here."""
        return _places.find(self.name, self.files, home)

    def find_companion(self, home: Path) -> Path | None:
        """Return the first companion that is here."""
        found = _places.find(self.name, self.companions, home)
        return found[0] if found else None

    def require(self, home: Path) -> list[Path]:
        """Return the files and folders that hold the corpus, or say how to get them."""
        found = self.find(home)
        if not found:
            raise MissingDataError(
                f"the data set {self.name} is not here. {self.how_to_get}. Put it, packed or not, "
                f"into {home / self.name}, or into the folder that {_places.VARIABLE} names. "
                f"See {self.url}. License: {self.license}"
            )
        return found

    def download(self, home: Path) -> list[Path]:
        """Fetch what may be fetched into the folder below the home; return the files.

        Raises
        ------
        InputError
            Nothing of this data set may be downloaded; the message says how to get it.
        """
        if not self.downloads:
            raise InputError(f"{self.name} cannot be downloaded by wordclass: {self.how_to_get}")
        return [_download.fetch(each, home / self.name) for each in self.downloads]
