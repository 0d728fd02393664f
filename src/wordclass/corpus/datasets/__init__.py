"""Data sets by name: one file each.

An entry defines `load(home, **options) -> Dataset`, which reads or builds the data set, found below
the folder `home` or in that of `WORDCLASS_DATA`, and says what to do where something is missing;
and `SOURCE`, a `Source`: what the documents are, where they come from and under which license.
"""
