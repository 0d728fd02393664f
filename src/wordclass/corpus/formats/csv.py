"""CSV files with `,` `;` tab or `|` as delimiter. Labels in one cell are separated by `;`."""

from wordclass.corpus import cells

ENDINGS = (".csv",)

read = cells.read
cut = cells.cut
