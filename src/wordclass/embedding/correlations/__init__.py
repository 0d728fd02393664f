"""Catalogue of correlations, the measures of association between terms and classes.

Each file defines `correlate(counts) -> array (v, m)` and `NEEDS`, the names of the v x m sums of
`WordClassCounts` that it reads (the sums of terms and of classes are always available). Each row
depends on its own term and on the sums over all documents only.
"""
