"""Vector formats, one file each: `read(path, terms)`, mostly `write(path, vectors)`, `ENDINGS`."""
