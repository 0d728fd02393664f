"""Catalogue of regressors, which predict word-class vectors from pretrained vectors.

Each file defines `make(**options)`. It returns an object with `fit(U, S)`, which learns from the
vectors (v, q) and (v, r) of the same terms and returns the object, and `predict(U)`, from (k, q) to
float32 (k, r). A prediction depends only on its own row. All regressors accept `seed`.
"""
