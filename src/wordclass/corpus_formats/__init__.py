"""How labelled texts lie on disk: one file per format, its name the name of the format.

Each entry defines

- `ENDINGS`, the endings of file names it claims, in lower case and without .gz or .zst;
- `read(path, options)`, which gives the records of a file or folder as an iterator of lists of
  `Record`, or says in a `FormatError` which file and line it cannot take, and why;
- `write(path, corpus)`, unless the format is only read, which writes a `LabelledCorpus` so that
  reading it gives the same corpus, whole or not at all. What the format cannot express is an
  `InputError`.
"""
