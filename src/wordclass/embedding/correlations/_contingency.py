"""The four cells of the table "term present or absent" by "class yes or no", for all pairs."""

from dataclasses import dataclass

import numpy as np

from wordclass.arrays import Floats
from wordclass.embedding.counts import WordClassCounts


@dataclass(frozen=True)
class Contingency:
    """Numbers of documents (v, m) with and without each term, inside and outside each class."""

    tp: Floats  # with the term, in the class
    fp: Floats  # with the term, outside it
    fn: Floats  # without the term, in the class
    tn: Floats  # without the term, outside it
    n_docs: float

    @classmethod
    def of(cls, counts: WordClassCounts) -> "Contingency":
        """Derive the four cells from the joint counts and the margins."""
        tp = counts.joint_docs
        fp = counts.term_docs[:, None] - tp
        fn = counts.class_docs[None, :] - tp
        tn = counts.n_docs - tp - fp - fn
        return cls(tp, fp, fn, tn, counts.n_docs)

    @property
    def covariance(self) -> Floats:
        """Covariance of the two events (v, m), which is p(tp) p(tn) - p(fp) p(fn)."""
        difference = self.tp * self.tn - self.fp * self.fn
        return difference / max(self.n_docs, 1.0) ** 2


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient of arrays, or 0 if the denominator is 0."""
    out = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=out, where=denominator != 0)
