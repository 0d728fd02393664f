"""Pull the counts of rare terms toward what is known of all terms, before they are compared."""

from dataclasses import replace

import numpy as np

from wordclass.arrays import Matrix
from wordclass.counts import WordClassCounts


def shrink(counts: WordClassCounts, strength: float) -> WordClassCounts:
    """Give every term `strength` more occurrences that know nothing of the term.

    Each has the mean non-zero weight w of X and is spread over the classes as everything is: the
    weights as the classes share all weight, p, the documents as the classes share all documents.
    For the dot product this is A = (X'Y + m w p) / (colsum + m w), with m the strength; the other
    correlations see the same documents added. A term with many occurrences hardly moves, a term
    with few tells little, whatever the chance of its few occurrences was.

    Returns
    -------
    counts : WordClassCounts
        With dense joint sums; unchanged where the strength is 0.
    """
    if strength == 0 or not counts.term_docs.any():
        return counts
    mean_weight = counts.term_weight.sum() / counts.term_docs.sum()
    class_share = counts.class_docs / counts.n_docs  # (m,)
    joints: dict[str, Matrix] = {}
    if "joint_weight" in counts.joints:
        joint_weight = counts.joint_weight
        weight_share = joint_weight.sum(axis=0) / counts.term_weight.sum()  # (m,)
        joints["joint_weight"] = joint_weight + strength * mean_weight * weight_share
    if "joint_docs" in counts.joints:
        joints["joint_docs"] = counts.joint_docs + strength * class_share
    return replace(
        counts,
        n_docs=counts.n_docs + strength,
        class_docs=counts.class_docs + strength * class_share,
        term_docs=np.where(counts.known, counts.term_docs + strength, 0.0),
        term_weight=counts.term_weight + strength * mean_weight,
        term_squares=counts.term_squares + strength * mean_weight**2,
        joints=joints,
    )
