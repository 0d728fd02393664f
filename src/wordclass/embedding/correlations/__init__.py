"""How strongly a term speaks for a class: one file per measure.

Each file defines `correlate(counts) -> array (v, m)` and `NEEDS`, the names of the v x m sums of
`WordClassCounts` that it reads (the sums over terms and over classes are always there). Each row
depends on its own term and on the sums over all documents only.
"""
