"""TSV files with a header line and quotes as in CSV. Labels are separated by `;`."""

from functools import partial

from wordclass.corpus import cells

ENDINGS = (".tsv",)

read = partial(cells.read, delimiter="\t")
cut = cells.cut
