"""Where a corpus may be: below the home of wordclass, or in the folder the user names."""

import os
from pathlib import Path

# the folder that is looked into besides the home, for corpora that are kept elsewhere
VARIABLE = "WORDCLASS_DATA"


def folders(name: str, home: Path) -> list[Path]:
    """List the folders in which a corpus is looked for, the preferred one first."""
    found = [home / name, home]
    if given := os.environ.get(VARIABLE):
        data = Path(given).expanduser()
        found += [data / name, data, data / "raw" / name, data / "raw"]
    return found


def find(name: str, patterns: tuple[str, ...], home: Path) -> list[Path]:
    """Return the files and folders that together hold a corpus; none where it is not here.

    Parameters
    ----------
    name
        Of the data set, and of a folder of its own.
    patterns
        What to look for in a folder, the preferred one first: an archive, or what is in it. All
        that fits the first pattern that fits anything is the corpus.
    home
        Where wordclass keeps its corpora.
    """
    for folder in folders(name, home):
        for pattern in patterns:
            try:
                found = sorted(folder.glob(pattern))
            except OSError:  # a folder that may not be entered has nothing for us
                continue
            if found:
                return found
    return []
