"""Supervised term weighting: a correlation with the classes replaces idf.

Debole and Sebastiani (2003) use information gain and chi-square, Lan and others (2009) relevance
frequency, Soucy and Mineau (2005) ConfWeight. The plan `rivals` measures them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from wordclass import catalogue
from wordclass.arrays import Floats, Sparse
from wordclass.embedding.counts import WordClassCounts
from wordclass.options import check_one_of
from wordclass.text.vocabulary import Vocabulary
from wordclass.text.weightings import tfidf

# names of the literature, which plans use, and the correlation of each
CORRELATIONS: Mapping[str, str] = {
    "tf_ig": "information_gain",
    "tf_chi": "chi_square",
    "tf_rf": "relevance_frequency",
    "tf_conf_weight": "conf_weight",
}
OVER_CLASSES: Mapping[str, Callable[..., Floats]] = {"max": np.max, "sum": np.sum}

_MAX_CELLS = 1 << 22  # terms times classes in one block


def term_factors(counts: WordClassCounts, correlation: str, over_classes: str) -> Floats:
    """Return one number (v,) per term: its largest correlation with a class, or the sum of all.

    Parameters
    ----------
    counts : WordClassCounts
        Counts with the sums that the correlation needs.
    correlation : str
        The name of an entry in `correlations/`.
    over_classes : "max" or "sum"
        How the correlations with all classes become one number.
    """
    correlate = catalogue.entry("correlations", correlation).correlate
    n_terms_per_block = max(1, _MAX_CELLS // max(counts.n_classes, 1))
    factors = [np.zeros(0)]
    for start in range(0, counts.n_terms, n_terms_per_block):
        A = correlate(counts.of_terms(slice(start, start + n_terms_per_block)))  # (terms, m)
        factors.append(OVER_CLASSES[over_classes](A, axis=1))
    return np.maximum(np.concatenate(factors), 0.0)  # values below zero are rounding errors


@dataclass(frozen=True)
class SupervisedWeighting:
    """Supervised weighting for the option `weighting` of vectorizers and linear classifiers.

    Training documents are weighted by the factors of all documents, their own labels included, as
    usual in the literature.

    Parameters
    ----------
    name : str
        A name of `CORRELATIONS`.
    over_classes : "max" or "sum", default="max"
        Whether the factor of a term is its largest correlation with a class, or the sum of all.

    Examples
    --------
    >>> from wordclass import DocumentVectorizer
    >>> vectorizer = DocumentVectorizer(weighting=SupervisedWeighting("tf_rf"), min_docs=1)
    >>> X = vectorizer.fit_transform(["moon orbit", "rose soil"], ["space", "plants"])
    >>> X.shape
    (2, 4)
    """

    name: str
    over_classes: str = "max"

    def fit(self, occurrences: Sparse, Y: Sparse) -> "TermFactors":
        """Learn the factors of the terms from occurrences (n, v) and labels Y (n, m)."""
        check_one_of("weighting", self.name, tuple(CORRELATIONS))
        check_one_of("over_classes", self.over_classes, tuple(OVER_CLASSES))
        correlation = CORRELATIONS[self.name]
        needs = catalogue.entry("correlations", correlation).NEEDS
        counts = WordClassCounts.of(occurrences, Y, needs)
        return TermFactors(term_factors(counts, correlation, self.over_classes))


@dataclass(frozen=True, eq=False)
class TermFactors:
    """Weighting that multiplies damped counts by a fixed factor (v,) per term."""

    factors: Floats

    def __call__(self, occurrences: Sparse, vocabulary: Vocabulary) -> Sparse:
        """Return (1 + ln tf) times the factors, each row divided by its L2 norm.

        A term with a factor of 0 has no weight. A document with only such terms has a row of zeros.
        """
        return tfidf.weight(occurrences, replace(vocabulary, factors=self.factors))
