"""Catalogue of projectors, which reduce the number of dimensions. It has one file per method.

Each file defines `make(n_dims, seed)`, which returns an object with `fit_transform(S)` and
`transform(S)`, both from (v, m) to (v, n_dims). `transform` must work on other matrices of m
columns, too: cross-fitting uses one projection, learned from all documents, for every fold.

Optional methods: `fit_blocks(blocks)` learns from an S whose rows come in blocks, and
`n_bytes(n_rows, n_columns)` estimates the memory that the projection needs in addition to S.
"""
