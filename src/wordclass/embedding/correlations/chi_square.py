"""Chi-square of the presence of a term and a class, divided by the number of documents."""

from wordclass.arrays import Floats
from wordclass.embedding.correlations._contingency import Contingency, ratio
from wordclass.embedding.counts import WordClassCounts

NEEDS = frozenset({"joint_docs"})


def correlate(counts: WordClassCounts) -> Floats:
    """Return (p(tp)p(tn) - p(fp)p(fn))^2 / (p(t) p(not t) p(c) p(not c)).

    Returns
    -------
    A : array of shape (v, m)
        The squared correlation of the two events, from 0 to 1, without a direction. It is 0 for a
        term or class with no documents or all documents (0/0).

    Examples
    --------
    >>> correlate(WordClassCounts.of([[3.0], [0.0]], [[1, 0], [0, 1]]))
    array([[1., 1.]])
    """
    n_docs = max(counts.n_docs, 1.0)
    present = (counts.term_docs / n_docs)[:, None]  # (v, 1)
    inside = (counts.class_docs / n_docs)[None, :]  # (1, m)
    variances = present * (1 - present) * inside * (1 - inside)
    return ratio(Contingency.of(counts).covariance ** 2, variances)
