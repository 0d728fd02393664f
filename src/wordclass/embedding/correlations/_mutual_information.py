"""Mutual information of terms and classes, pointwise and averaged."""

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.correlations._contingency import Contingency, ratio
from wordclass.embedding.counts import WordClassCounts


def pointwise(counts: WordClassCounts, joint: Floats) -> Floats:
    """Return ln p(joint) / (p(t) p(c)) for joint document counts (v, m), or 0 for 0/0."""
    expected = counts.term_docs[:, None] * counts.class_docs[None, :]  # (v, m)
    quotient = ratio(joint * counts.n_docs, expected)
    return np.log(quotient, out=np.zeros_like(quotient), where=quotient > 0)


def average(counts: WordClassCounts) -> Floats:
    """Return the information gain in bits (v, m): sum over four cells of p log2 p/(row column)."""
    cells = Contingency.of(counts)
    present = counts.term_docs[:, None]  # (v, 1)
    inside = counts.class_docs[None, :]  # (1, m)
    absent = counts.n_docs - present
    outside = counts.n_docs - inside
    return (
        _bits(cells.tp, present * inside, counts.n_docs)
        + _bits(cells.fp, present * outside, counts.n_docs)
        + _bits(cells.fn, absent * inside, counts.n_docs)
        + _bits(cells.tn, absent * outside, counts.n_docs)
    )


def _bits(cell: Floats, margins: Floats, n_docs: float) -> Floats:
    """Return p log2(p / (p(row) p(column))) for one cell of the table, where 0 log 0 is 0."""
    quotient = ratio(cell * n_docs, margins)
    logarithm = np.log2(quotient, out=np.zeros_like(quotient), where=quotient > 0)
    return cell / max(n_docs, 1.0) * logarithm
