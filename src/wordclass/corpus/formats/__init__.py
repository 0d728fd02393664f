"""Catalogue of corpus formats. The name of a file is the name of a format.

Each entry defines

- `ENDINGS`, the endings of its file names, in lower case and without .gz or .zst;
- `read(path, options)`, which yields the records of a file or folder as lists of `Record`. A
  record that cannot be read raises a `FormatError` that names the file and the line. If bad
  records are skipped, the error takes the place of the record.

If files of the format can be read in spans, the entry also defines

- `cut(path, options, n_bytes)`, which returns the spans (start, end) of bytes or rows that can be
  read alone, or an empty list if the file must stay whole;
- `read(path, options, span)`, which reads a span alone and counts lines from its start.
"""
