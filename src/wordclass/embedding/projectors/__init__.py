"""From one dimension per class to fewer dimensions: one file per method.

Each file defines `make(n_dims, seed)`, which returns an object with `fit_transform(S)` and
`transform(S)`, both from (v, m) to (v, n_dims). `transform` must work on other matrices of m
columns too: cross-fitting projects the S of every fold with what was learned from all documents.

Optional methods: `fit_blocks(blocks)` learns from an S whose rows come some at a time, and
`n_bytes(n_rows, n_columns)` estimates the memory that the projection takes beside S.
"""
