"""Cells between tabs with a header line, quoted as in CSV; labels are separated by `;`."""

from collections.abc import Iterator
from pathlib import Path

from wordclass.corpus import LabelledCorpus, ReadOptions, Records
from wordclass.corpus_formats import _cells

ENDINGS = (".tsv",)


def read(path: Path, options: ReadOptions) -> Iterator[Records]:
    """Read the rows of a TSV file; all values are str, and an empty label cell is no label."""
    return _cells.read(path, options, delimiter="\t")


def write(path: Path, corpus: LabelledCorpus) -> None:
    """Write a TSV file with the columns `text` and `labels`, or `label` where there is one each."""
    _cells.write(path, corpus, delimiter="\t")
