"""CSV, also with `;`, tabs or `|` between cells; labels in one cell are separated by `;`."""

from wordclass.corpus_formats import _cells

ENDINGS = (".csv",)

read, cut = _cells.read, _cells.cut
