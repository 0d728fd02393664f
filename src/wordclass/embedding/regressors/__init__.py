"""From the pretrained vector of a term to its word-class vector: one file per kind.

Each file defines `make(**options)`, which returns an object with `fit(U, S)`, which learns from the
vectors (v, q) and (v, r) of the same terms and returns the object, and `predict(U)`, from (k, q) to
float32 (k, r). A prediction depends on its own row alone. All take `seed`; one that draws nothing
ignores it.
"""
