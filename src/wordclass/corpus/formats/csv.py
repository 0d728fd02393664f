"""CSV, also with `;`, tabs or `|` between cells; labels in one cell are separated by `;`."""

from wordclass.corpus import cells

ENDINGS = (".csv",)

read, cut = cells.read, cells.cut
