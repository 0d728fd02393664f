"""Word-class vectors without one of their steps, to measure what the step contributes.

The paper divides the weight of a term in a class by all its weight (L1 normalization, eq. 2) and
standardizes each dimension (z-scores, eq. 3 to 5). The plan `ablations` puts vectors without one of
these steps beside GloVe in an SVM. They are learned from all training documents, as in the paper.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from wordclass.arrays import Floats
from wordclass.corpus.labels import read_labelled_texts
from wordclass.embedding.correlations import dot
from wordclass.embedding.counts import WordClassCounts
from wordclass.embedding.vectors import standardize
from wordclass.options import check_one_of
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.vectors.word_vectors import WordVectors


def _class_weights(counts: WordClassCounts) -> Floats:
    """Return the weight (v, m) of each term in each class: the dot product without division."""
    return counts.joint_weight


@dataclass(frozen=True)
class _Steps:
    correlate: Callable[[WordClassCounts], Floats]
    is_standardized: bool


# names of vectors in plans
ABLATIONS: Mapping[str, _Steps] = {
    "wce": _Steps(dot.correlate, is_standardized=True),
    "wce_without_z_scores": _Steps(dot.correlate, is_standardized=False),
    "wce_without_l1": _Steps(_class_weights, is_standardized=True),
    "wce_without_both": _Steps(_class_weights, is_standardized=False),
}


def ablated_vectors(texts: Iterable[str], labels: object, name: str) -> WordVectors:
    """Learn word-class vectors with some of their steps.

    Parameters
    ----------
    texts : iterable of str
        The training texts.
    labels : list or matrix
        One label per text, a list of labels per text, or a 0/1 matrix.
    name : str
        A name of `ABLATIONS`; "wce" has all steps.

    Returns
    -------
    WordVectors
        One dimension per class, in the order of the vocabulary.

    Examples
    --------
    >>> texts = ["moon orbit", "orbit moon", "rose soil", "soil rose"] * 3
    >>> labels = ["space", "space", "garden", "garden"] * 3
    >>> ablated_vectors(texts, labels, "wce_without_z_scores")["moon"].tolist()
    [0.0, 1.0]
    """
    check_one_of("name", name, tuple(ABLATIONS))
    steps = ABLATIONS[name]
    listed, encoded = read_labelled_texts(texts, labels, None)
    vectorizer = DocumentVectorizer()
    X = vectorizer.fit_transform(listed)
    counts = WordClassCounts.of(X, encoded.Y, dot.NEEDS)
    A = steps.correlate(counts)  # (v, m)
    vectors = standardize(A, counts.known) if steps.is_standardized else A
    return WordVectors.of(vectorizer.vocabulary_.terms, np.asarray(vectors, np.float32))
