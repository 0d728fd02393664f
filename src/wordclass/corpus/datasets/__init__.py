"""Catalogue of datasets. The name of a file is the name of a dataset.

An entry defines

- `load(home, **options) -> Dataset`, which reads or builds the dataset from the folder `home` or
  the folder of `WORDCLASS_DATA`. If something is missing, the error says how to get it;
- `SOURCE`, a `Source` that describes the documents, their origin and their license.
"""
