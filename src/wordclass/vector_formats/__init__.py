"""Vector formats, one file each: `read(path, terms)`, mostly `write(path, vectors)`, `ENDINGS`.

A format whose first bytes tell it apart has them in `MAGIC`; one that is slow to read names in
`sources(path)` the files it reads, and what was read is kept in a cache.
"""
