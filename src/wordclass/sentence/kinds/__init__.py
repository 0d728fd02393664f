"""Kinds of sentence encoders, which are models in files of the user. One file per kind.

Each file defines three functions. `recognizes(path)` returns True if the files of a folder, or a
single file, are a model of this kind and of no other. `files(path)` returns the files that the
vectors depend on. `make(path)` loads the model and returns an object with the method `encode(texts,
n_threads)`, from a list of texts to an array (n, d). If the kind has vectors of subwords in
context, the object also has the method `encode_tokens`. Nothing is downloaded, and no code in the
folder is executed.
"""
