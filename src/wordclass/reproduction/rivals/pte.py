"""Word vectors from labelled texts by PTE, predictive text embedding (Tang, Qu, Mei, KDD 2015).

Three networks are embedded together: words that occur near each other, words and the documents they
are in, words and the labels of these documents. An edge's weight is how often that happens.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordclass import progress
from wordclass.arrays import Floats, Floats32, Ints, Sparse, find_nonfinite_row, row_numbers
from wordclass.corpus.labels import check_class_count, read_labelled_texts
from wordclass.errors import InputError
from wordclass.native import extension
from wordclass.options import check_int, check_number, check_table
from wordclass.text.counting import index_texts
from wordclass.text.vectorizer import DocumentVectorizer
from wordclass.vectors.word_vectors import WordVectors

SAMPLES_PER_TOKEN = 40  # 20 score .01 to .02 lower on held-out texts of 20 Newsgroups, 70 no higher
_NOISE_POWER = 0.75
_LOWEST_RATE = 1e-4  # of the learning rate at the start
_MOST_NEGATIVES, _MOST_DIMS = 1_000, 10_000
_STEPS_PER_REPORT = 500_000
_STEP = "training vectors"

Indices = NDArray[np.int32]


def pte(
    texts: Iterable[str],
    labels: object,
    n_dims: int = 100,
    *,
    window: int = 5,
    n_samples: int | None = None,
    n_negatives: int = 5,
    learning_rate: float = 0.025,
    seed: int = 0,
    n_jobs: int | None = None,
    **options: Any,  # noqa: ANN401 - those of DocumentVectorizer
) -> WordVectors:
    """Learn word vectors from labelled texts, by PTE.

    Words that occur near each other, in the same documents, or with the same labels get similar
    vectors. These are ordinary word vectors, for every classifier that reads some; but they have
    seen the labels, so documents that they were learned from look easier than others.

    Parameters
    ----------
    texts : iterable of str
    labels : list, or matrix of shape (n, m)
        One label per text, a list of labels per text, or a 0/1 matrix. A text without labels (an
        empty list) is learned from too: its words are near each other, and in one document.
    n_dims : int, default=100
        Of the vectors.
    window : int, default=5
        Words are near each other where one is at most the so-manyth after the other; words
        outside the vocabulary are not counted.
    n_samples : int, optional
        How many edges are drawn in all, from each network in turn. None: forty for every word of
        the vocabulary that the texts have, as often as they have it.
    n_negatives : int, default=5
        How many words are drawn as noise beside every edge, by their degrees to the power .75.
    learning_rate : float, default=0.025
        At the start; it falls linearly.
    seed : int, default=0
        The same seed gives the same bits.
    n_jobs : int, optional
        Number of threads that read the texts; None is one, -1 all cores. Training has one.
    **options
        Of `DocumentVectorizer`, which finds the terms: `min_docs`, `stop_words`, ...; single words
        only.

    Returns
    -------
    vectors : WordVectors
        In the order of the vocabulary.

    Raises
    ------
    InputError
        There are fewer than two classes, or no document has both a label and a term.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["moon orbit", "orbit rocket", "rose soil", "soil seed"] * 5
    >>> labels = ["space", "space", "garden", "garden"] * 5
    >>> vectors = wc.pte(texts, labels, 8, n_samples=50_000, min_docs=1)
    >>> sorted(term for term, _ in vectors.nearest("moon", n=2))
    ['orbit', 'rocket']
    """
    check_int("n_dims", n_dims, 1, _MOST_DIMS)
    check_int("window", window, 1)
    if n_samples is not None:
        check_int("n_samples", n_samples, 1)
    check_int("n_negatives", n_negatives, 1, _MOST_NEGATIVES)
    rate = check_number("learning_rate", learning_rate, above=0, below=1)
    check_int("seed", seed, 0)
    vectorizer = DocumentVectorizer(n_jobs=n_jobs, **options).checked()
    listed, encoded = read_labelled_texts(texts, labels, None)
    check_class_count(encoded.codeframe)
    vectorizer.choose_terms(vectorizer.count(listed))
    vocabulary = vectorizer.vocabulary_
    columns, ends = index_texts(listed, vectorizer.build_analyzer(), vocabulary, n_jobs)
    networks = networks_of(columns, ends, encoded.Y, len(vocabulary), window)
    n_contexts = sum(network.shape[1] for network in networks)
    n_steps = n_samples or SAMPLES_PER_TOKEN * int(networks[1].sum())
    # a word has two vectors, of float32, and each is held twice at some time
    row_bytes = 16 * n_dims
    more = 4 * n_dims * n_contexts
    check_table(f"vectors of {n_dims:,} dimensions", vocabulary.doc_freq, row_bytes, more)
    start = np.random.default_rng(seed).random((len(vocabulary), n_dims), np.float32)
    start = (start - np.float32(0.5)) / np.float32(n_dims)
    kind: Any = PythonTraining if extension.pte is None else extension.pte.Training
    training = kind(*training_arguments(start, networks, n_negatives, rate, n_steps, seed))
    for done in range(0, n_steps, _STEPS_PER_REPORT):
        progress.report(_STEP, done, n_steps)
        training.run(min(_STEPS_PER_REPORT, n_steps - done))
    progress.report(_STEP, n_steps, n_steps)
    vectors = training.word_vectors()
    if find_nonfinite_row(vectors) is not None:
        told = f"lower learning_rate, which is {learning_rate}, or n_negatives"
        raise InputError(f"the vectors grew without end; {told}")
    return WordVectors.of(vocabulary.terms, vectors)


# --- networks -----------------------------------------------------------------------------------


def networks_of(columns: Indices, ends: Ints, Y: Sparse, n_terms: int, window: int) -> list[Sparse]:
    """Return the weights of edges between words and other words, documents and labels.

    Parameters
    ----------
    columns, ends : int arrays
        The column of every token, -1 where it is outside the vocabulary, and where texts end.
    Y : sparse matrix of shape (n, m)
    n_terms, window : int

    Returns
    -------
    networks : list of sparse matrices
        (v, v), symmetric; (v, n) and (v, m).

    Raises
    ------
    InputError
        No document that has a label has a term.
    """
    n_docs = len(ends) - 1
    documents = np.repeat(np.arange(n_docs), np.diff(ends))[columns >= 0]
    words = columns[columns >= 0]
    by_document = _counts(words, documents, (n_terms, n_docs))
    by_label = sparse.csr_matrix(by_document @ Y)
    if not by_label.nnz:
        raise InputError(
            "no document that has a label has a term of the vocabulary; lower min_docs, or give "
            "labels"
        )
    by_word: Sparse = sparse.csr_matrix((n_terms, n_terms))
    longest = int(np.diff(ends).max())
    for distance in range(1, min(window, longest - 1) + 1):
        is_near = documents[distance:] == documents[:-distance]
        pairs = words[:-distance][is_near], words[distance:][is_near]
        by_word = by_word + _counts(*pairs, by_word.shape)
    return [sparse.csr_matrix(by_word + by_word.T), by_document, by_label]


def _counts(rows: Any, columns: Any, shape: tuple[int, int]) -> Sparse:  # noqa: ANN401
    """Return how often each pair of row and column occurs."""
    counted = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    counted.sum_duplicates()
    return counted


# --- training -----------------------------------------------------------------------------------


def training_arguments(
    vectors: Floats32,
    networks: Sequence[Sparse],
    n_negatives: int,
    rate: float,
    n_steps: int,
    seed: int,
) -> tuple[Any, ...]:
    """Return what a training of word vectors (v, d) on networks (v, c) is made with.

    The contexts of all networks are numbered one after the other; networks without an edge, as that
    of words in documents of one word, are left out.
    """
    firsts = np.cumsum([0, *(network.shape[1] for network in networks)])
    used = [
        (network, first) for network, first in zip(networks, firsts, strict=False) if network.nnz
    ]
    noise = [np.asarray(network.sum(axis=1)).ravel() ** _NOISE_POWER for network, _ in used]
    return (
        vectors,
        np.zeros((int(firsts[-1]), vectors.shape[1]), np.float32),
        np.concatenate([row_numbers(network) for network, _ in used]).astype(np.int32),
        np.concatenate([network.indices + first for network, first in used]).astype(np.int32),
        np.concatenate([network.data for network, _ in used]),
        np.cumsum([0, *(network.nnz for network, _ in used)]),
        np.array(noise),
        n_negatives,
        rate,
        n_steps,
        seed,
    )


class PythonTraining:
    """What the native training does, to rounding, some hundred times slower.

    Parameters
    ----------
    word_vectors, context_vectors : float32 arrays of shapes (v, d) and (c, d)
        At the start.
    words, contexts : int32 arrays of shape (e,)
        What the edges join, network after network.
    weights : float64 array of shape (e,)
    ends : int64 array
        Where the edges of each network end; the first is 0.
    noise : float64 array of shape (networks, v)
        How often words are drawn as noise, in proportion.
    n_negatives, rate, n_steps, seed
        See `pte`; a step is an edge that is drawn.
    """

    def __init__(
        self,
        word_vectors: Floats32,
        context_vectors: Floats32,
        words: Indices,
        contexts: Indices,
        weights: Floats,
        ends: Ints,
        noise: Floats,
        n_negatives: int,
        rate: float,
        n_steps: int,
        seed: int,
    ) -> None:
        self._words, self._contexts = word_vectors.copy(), context_vectors.copy()
        self._edges = np.column_stack([contexts, words])
        self._starts = ends[:-1].tolist()
        parts = zip(self._starts, ends[1:].tolist(), strict=True)
        self._by_weight = [alias_table(weights[start:end]) for start, end in parts]
        self._noise = [alias_table(each) for each in noise]
        self._n_negatives, self._rate, self._seed = n_negatives, rate, seed
        self._n_steps, self._n_done = n_steps, 0

    def run(self, n_steps: int) -> None:
        """Do some more steps."""
        for step in range(self._n_done, self._n_done + n_steps):
            context, *words = self._drawn(step)
            rate = self._rate * max(1 - step / self._n_steps, _LOWEST_RATE)
            c, change = self._contexts[context], np.zeros_like(self._contexts[context])
            for label, word in zip([1, *[0] * self._n_negatives], words, strict=True):
                u = self._words[word]
                # of log s(u.c) for the edge, of log s(-u.c) for noise
                slope = np.float32((label - _sigmoid(u @ c)) * rate)
                change += slope * u
                u += slope * c
            c += change
        self._n_done += n_steps

    def _drawn(self, step: int) -> list[int]:
        """Draw the context of an edge, its word, and words as noise."""
        which = step % len(self._starts)
        numbers = uniform(self._seed, step * (1 + self._n_negatives), 1 + self._n_negatives)
        (edge,) = draw(self._by_weight[which], numbers[:1])
        return [*self._edges[self._starts[which] + edge], *draw(self._noise[which], numbers[1:])]

    def word_vectors(self) -> Floats32:
        """Return the vectors of words (v, d) as they are now."""
        return self._words.copy()

    def context_vectors(self) -> Floats32:
        """Return those of contexts (c, d)."""
        return self._contexts.copy()


def _sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-np.float64(x))))


def uniform(seed: int, first: int, n: int) -> Floats:
    """Return n numbers from 0 to below 1 of the generator SplitMix64, from the first on."""
    numbers = np.arange(1, n + 1, dtype=np.uint64) + np.uint64(first)
    bits = np.uint64(seed) + numbers * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def alias_table(weights: Floats) -> tuple[Floats32, Indices]:
    """Return Walker's table for drawing k by its weight, in constant time, as Vose makes it.

    Returns
    -------
    thresholds : float32 array of shape (n,)
        Each cell is drawn alike; this share of it is its own number's.
    others : int32 array of shape (n,)
        Who has the rest.
    """
    n, total = len(weights), np.cumsum(weights)[-1]  # one after the other, as the native one
    left = (weights * (n / total)).tolist()
    thresholds, others = [1.0] * n, [*range(n)]
    small = [k for k in range(n) if left[k] < 1]
    large = [k for k in range(n) if left[k] >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        thresholds[low], others[low] = left[low], high
        left[high] -= 1 - left[low]
        if left[high] < 1:
            small.append(large.pop())
    return np.array(thresholds, np.float32), np.array(others, np.int32)


def draw(table: tuple[Floats32, Indices], numbers: Floats) -> Indices:
    """Draw from a table, by numbers from 0 to below 1."""
    thresholds, others = table
    places = numbers * len(thresholds)
    cells = places.astype(np.int32)
    return np.where(places - cells < thresholds[cells], cells, others[cells])
