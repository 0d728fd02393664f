"""CSV with a header line; several labels in one cell are separated by `;`."""

from collections.abc import Iterator
from pathlib import Path

from wordclass.corpus import LabelledCorpus, ReadOptions, Records
from wordclass.corpus_formats import _cells

ENDINGS = (".csv",)


def read(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Read the rows of a CSV file; all values are str, and an empty label cell is no label."""
    return _cells.read(path, options, delimiter=",")


def write(path: Path, corpus: LabelledCorpus) -> None:
    """Write a CSV file with the columns `text` and `labels`, or `label` where there is one each."""
    _cells.write(path, corpus, delimiter=",")
