"""Cells between tabs with a header line, quoted as in CSV; labels are separated by `;`."""

from functools import partial

from wordclass.corpus_formats import _cells

ENDINGS = (".tsv",)

read, cut = partial(_cells.read, delimiter="\t"), _cells.cut
