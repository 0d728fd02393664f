"""Structural columns: correlations of terms with the presence of the most discriminative terms.

In a binary task word-class vectors have one informative dimension. The paper proposes more of them,
after the structural learning of Ando and Zhang: the presence of a discriminative term in a document
is treated as one more class. In the plan `binary` they do not help.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from wordclass.arrays import Floats32, Ints, Sparse, to_sparse
from wordclass.corpus.documents import Label
from wordclass.corpus.labels import Codeframe, EncodedLabels, read_labelled_texts
from wordclass.embedding.correlations import information_gain
from wordclass.embedding.counts import WordClassCounts
from wordclass.embedding.estimator import Labels, WordClassEmbeddings
from wordclass.options import check_int
from wordclass.reproduction.rivals.supervised_weighting import term_factors
from wordclass.text.vectorizer import DocumentVectorizer, shared_options


def find_discriminative_terms(X: Sparse, Y: Sparse, n_terms: int) -> list[int]:
    """Return the columns of X with the highest information gain, summed over the classes.

    Parameters
    ----------
    X : sparse matrix of shape (n, v)
        The weighted terms of documents.
    Y : sparse matrix of shape (n, m)
        Their labels.
    n_terms : int
        Number of columns to return.

    Returns
    -------
    list of int
        Column numbers, best first. Ties are in the order of the columns.
    """
    counts = WordClassCounts.of(X, Y, information_gain.NEEDS)
    gain = term_factors(counts, "information_gain", "sum")
    order = np.argsort(-gain.round(12), kind="stable")
    return [int(column) for column in order[:n_terms]]


def append_presence(X: Sparse, Y: Sparse, columns: Sequence[int]) -> Sparse:
    """Append a 0/1 column per chosen term to Y (n, m): 1 if the document has the term."""
    presence = X[:, list(columns)].copy()
    presence.data = (presence.data != 0).astype(np.float64)
    return to_sparse(sparse.hstack([Y, presence]))


def with_structural_columns(
    texts: Iterable[str],
    labels: object,
    n_columns: int,
    **options: Any,  # noqa: ANN401 - those of DocumentVectorizer
) -> tuple[Sparse, list[Label]]:
    """Append structural columns to labels.

    Parameters
    ----------
    texts : iterable of str
        The training texts.
    labels : iterable or matrix
        Labels in any form that `WordClassEmbeddings.fit` accepts.
    n_columns : int
        Number of columns to append.
    **options
        Options of `DocumentVectorizer`. They must be those of the embeddings.

    Returns
    -------
    Y : sparse matrix of shape (n, m + n_columns)
        The labels with the appended columns.
    class_names : list of str
        Names of the columns: the classes as str, then "has TERM".

    Examples
    --------
    >>> texts = ["moon orbit", "orbit moon", "rose soil", "soil rose"]
    >>> Y, names = with_structural_columns(texts, ["space", "space", "plants", "plants"], 2,
    ...                                    min_docs=1)
    >>> names
    ['plants', 'space', 'has moon', 'has orbit']
    >>> wce = WordClassEmbeddings(min_docs=1).fit(texts, Y, class_names=names)
    >>> wce.vectors_.shape
    (4, 4)
    """
    check_int("n_columns", n_columns, 0)
    listed, encoded = read_labelled_texts(texts, labels, None)
    vectorizer = DocumentVectorizer(**options)
    X = vectorizer.fit_transform(listed)
    columns = find_discriminative_terms(X, encoded.Y, n_columns)
    terms = vectorizer.vocabulary_.terms
    names: list[Label] = [str(name) for name in encoded.codeframe.classes]
    names += [f"has {terms[column]}" for column in columns]
    return append_presence(X, encoded.Y, columns), names


@dataclass(kw_only=True, eq=False, repr=False)
class StructuralEmbeddings(WordClassEmbeddings):
    """Word-class embeddings with structural columns, for the option `wce` of a classifier.

    The columns are classes of these embeddings, named "has TERM".

    Parameters
    ----------
    structural_problems : int, default=20
        Number of columns to append.
    **options
        Options of `WordClassEmbeddings`.

    Examples
    --------
    >>> from wordclass import classifier
    >>> model = classifier("svm", features="wce", wce=StructuralEmbeddings(structural_problems=20))
    """

    structural_problems: int = 20

    def fit(
        self, X: Iterable[str], y: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Self:
        """Learn the embeddings from labelled texts, as `WordClassEmbeddings.fit` does."""
        texts = list(X)
        return super().fit(texts, self._extend(texts, y))

    def fit_transform(
        self, X: Iterable[str], y: Labels, *, class_names: Iterable[Label] | None = None
    ) -> Floats32:
        """Learn the embeddings and return cross-fitted features of the texts."""
        texts = list(X)
        return super().fit_transform(texts, self._extend(texts, y))

    def fit_folds(self, texts: Iterable[str], labels: Labels, folds: Ints) -> Floats32:
        """Learn the embeddings and return the vectors without each fold."""
        listed = list(texts)
        return super().fit_folds(listed, self._extend(listed, labels), folds)

    def _extend(self, texts: list[str], labels: Labels) -> EncodedLabels:
        """Append structural columns to the labels, best term first."""
        options = shared_options(self, DocumentVectorizer)
        Y, names = with_structural_columns(texts, labels, self.structural_problems, **options)
        return EncodedLabels(Codeframe(tuple(names), "multilabel"), Y)
