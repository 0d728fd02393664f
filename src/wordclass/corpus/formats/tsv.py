"""Cells between tabs with a header line, quoted as in CSV; labels are separated by `;`."""

from functools import partial

from wordclass.corpus import cells

ENDINGS = (".tsv",)

read, cut = partial(cells.read, delimiter="\t"), cells.cut
