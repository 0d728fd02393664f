"""Models that turn a text into one vector, read from files of the user's: one file per kind.

Each file defines `recognizes(path)`, which tells from the files of a folder (or from the name of a
file) whether it is a model of this kind, and of no other; `files(path)`, those that its vectors
depend on; and `make(path)`, which reads it and returns an object with `encode(texts, n_threads)`,
from a list of texts to an array (n, d). Nothing is downloaded and no code of the folder is
executed. A kind that sees tokens in their context has `encode_tokens` too.
"""
