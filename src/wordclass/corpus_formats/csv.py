"""CSV with a header line; several labels in one cell are separated by `;`."""

from functools import partial

from wordclass.corpus_formats import _cells

ENDINGS = (".csv",)

read = partial(_cells.read, delimiter=",")
write = partial(_cells.write, delimiter=",")
