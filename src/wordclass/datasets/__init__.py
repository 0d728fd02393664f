"""Data sets by name: one file each.

An entry defines `load(home) -> Dataset`, which reads or builds the data set below the folder
`home` and says what to do where something is missing, and `SOURCE`, a `Source`: what the documents
are, where they come from and under which license.
"""
