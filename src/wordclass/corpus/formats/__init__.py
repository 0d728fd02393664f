"""How labelled texts lie on disk: one file per format, its name the name of the format.

Each entry defines

- `ENDINGS`, the endings of file names it claims, in lower case and without .gz or .zst;
- `read(path, options)`, which gives the records of a file or folder as an iterator of lists of
  `Record`, or says in a `FormatError` which file and line it cannot take, and why; where bad
  records are to be skipped, such an error stands in the place of the record.

One whose files can be read in ranges also defines

- `cut(path, options, n_bytes)`, the ranges (start, end), of bytes or of rows, to be read apart;
  an empty list where it is all or nothing;
- `read(path, options, span)`, which reads a range alone; lines are counted from its start.
"""
