"""Vector formats, one file each: `read(path, terms)`, mostly `write(path, vectors)`, `ENDINGS`.

A format whose first bytes tell it apart has them in `MAGIC`. What was read from a large file is
kept in a cache, unless the format says `IS_QUICK = True`.
"""
