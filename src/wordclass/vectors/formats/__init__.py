"""Catalogue of vector formats, with one file per format.

Each file defines `ENDINGS` (a tuple of file name endings), `read(path, terms)` and, if the format
can be written, `write(path, vectors)`. A format whose first bytes identify it defines them as
`MAGIC`. The content of a large file is cached unless the format defines `IS_QUICK = True`.
"""
