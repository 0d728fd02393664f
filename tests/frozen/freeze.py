"""Freeze entries again, and print what changed.

    python tests/frozen/freeze.py NAME ...     these entries; patterns such as 'linear*' are fine
    python tests/frozen/freeze.py --all        all of them
    python tests/frozen/freeze.py --list       names, and whether each has a saved file
    python tests/frozen/freeze.py --saved ...  also write the saved files of these entries again

A change that is meant to change numbers freezes exactly the entries concerned, in a commit of its
own that names them. Saved files stay as they are then: they show that files of earlier code load.
"""

import argparse
import os
import shutil
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from frozen.entries import CATALOGUE
from frozen.observation import observe_loaded
from frozen.store import ARRAYS, SAVED, differences, pack, read, write


def freeze(entry, *, with_saved):
    """Fit an entry, write its arrays, and maybe its saved file, and print what changed."""
    if missing := entry.missing_packages():
        raise SystemExit(f"{entry.name} needs {', '.join(missing)}: install the extra first")
    subject = entry.fit()
    _replace(ARRAYS / f"{entry.name}.npz", entry.observe(subject), entry.name)
    if with_saved and entry.is_saved:
        SAVED.mkdir(exist_ok=True)
        subject.save(entry.saved_path)
        _replace(SAVED / f"{entry.name}.npz", observe_loaded(subject), f"{entry.name} (saved)")


def _replace(path, arrays, title):
    """Write arrays if any byte differs from the file, and print how they differ."""
    stored = pack(arrays)
    expected = read(path)
    if expected is None:
        print(f"{title}: new, {len(stored)} arrays")
    else:
        lines = differences(stored, expected, exact=True)
        if not lines:
            print(f"{title}: unchanged")
            return
        print(f"{title}: changed")
        for line in lines:
            print(f"    {line}")
    write(path, stored)


def remove_unknown():
    """Remove the files of entries that the catalogue no longer has."""
    for folder in (ARRAYS, SAVED):
        for path in sorted(folder.iterdir()):
            entry = CATALOGUE.get(path.stem)
            if entry is None or (folder == SAVED and not entry.is_saved):
                print(f"{path.name}: removed, as there is no such entry")
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def choose(patterns):
    """Return the entries that match any of the patterns, in the order of the catalogue."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in CATALOGUE):
            raise SystemExit(f"no entry matches {pattern!r}; --list prints their names")
    matches = [name for name in CATALOGUE if any(fnmatchcase(name, each) for each in patterns)]
    return [CATALOGUE[name] for name in matches]


def main():
    summary, _, details = __doc__.partition("\n")
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=summary, epilog=details, formatter_class=formatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="Entries, or patterns of them.")
    parser.add_argument("--all", action="store_true", help="Freeze all entries.")
    parser.add_argument("--list", action="store_true", help="List the entries.")
    parser.add_argument("--saved", action="store_true", help="Write saved files again, too.")
    arguments = parser.parse_args()
    if arguments.list:
        for entry in CATALOGUE.values():
            print(f"{entry.name}{' (saved)' if entry.is_saved else ''}")
        return
    if bool(arguments.names) == arguments.all:
        parser.error("name the entries to freeze, or give --all")
    with tempfile.TemporaryDirectory() as home:
        os.environ["WORDCLASS_HOME"] = home  # no cached vectors of other runs
        for entry in choose(["*"] if arguments.all else arguments.names):
            freeze(entry, with_saved=arguments.saved)
    if arguments.all:
        remove_unknown()


if __name__ == "__main__":
    main()
