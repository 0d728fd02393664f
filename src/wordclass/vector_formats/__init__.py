"""Vector formats, one file each: `read(path, terms)`, mostly `write(path, vectors)`, `ENDINGS`.

A format whose first bytes tell it apart has them in `MAGIC`; of one that says `IS_SLOW = True`,
what was read from a large file is kept in a cache.
"""
