"""How labelled texts lie on disk: one file per format, its name the name of the format.

Each entry defines

- `ENDINGS`, the endings of file names it claims, in lower case and without .gz or .zst;
- `read(path, options)`, which gives the records of a file or folder as an iterator of lists of
  `Record`, or says in a `FormatError` which file and line it cannot take, and why.
"""
