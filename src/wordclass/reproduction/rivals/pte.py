"""Word vectors from labelled texts by PTE, predictive text embedding (Tang, Qu, Mei, KDD 2015).

Three networks are embedded together: words that occur near each other, words and their documents,
words and the labels of their documents. The weight of an edge is the number of co-occurrences.
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

# on held-out texts of 20 Newsgroups, 20 give .01 to .02 less, and 70 give no more
SAMPLES_PER_TOKEN = 40
_NOISE_POWER = 0.75
_MIN_RELATIVE_RATE = 1e-4  # relative to the learning rate at the start
_MAX_NEGATIVES = 1_000
_MAX_DIMS = 10_000
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
    """Learn word vectors from labelled texts by PTE (predictive text embedding).

    Words that occur near each other, in the same documents, or with the same labels get similar
    vectors. Every classifier with an option `vectors` can read them. The vectors have seen the
    labels, so the documents that they were learned from look easier than new ones.

    Parameters
    ----------
    texts : iterable of str
        The training texts.
    labels : list, or matrix of shape (n, m)
        One label per text, a list of labels per text, or a 0/1 matrix. A text without labels (an
        empty list) contributes to the networks of words and documents.
    n_dims : int, default=100
        Number of dimensions of the vectors.
    window : int, default=5
        Maximum distance of two words that are near each other. Words outside the vocabulary do
        not count.
    n_samples : int, optional
        Total number of edges to draw, from each network in turn. None: 40 per occurrence of a
        word of the vocabulary.
    n_negatives : int, default=5
        Number of noise words per edge, drawn by their degrees to the power .75.
    learning_rate : float, default=0.025
        Learning rate at the start, from which it falls linearly.
    seed : int, default=0
        Random seed. The same seed gives the same bits.
    n_jobs : int, optional
        Number of threads that read the texts. None means one, -1 all cores. Training uses one.
    **options
        Options of `DocumentVectorizer` for single words, such as `min_docs` and `stop_words`.

    Returns
    -------
    WordVectors
        The vectors, in the order of the vocabulary.

    Raises
    ------
    InputError
        There are fewer than two classes, no document has both a label and a term, an option is
        invalid, or the vectors overflow.

    See Also
    --------
    WordClassEmbeddings : Vectors with one dimension per class, counted in one pass.
    WordVectors : Pretrained word vectors, and the type of the result.

    Examples
    --------
    >>> import wordclass as wc
    >>> texts = ["moon orbit", "orbit rocket", "rose soil", "soil seed"] * 5
    >>> labels = ["space", "space", "garden", "garden"] * 5
    >>> vectors = wc.pte(texts, labels, 8, n_samples=50_000, min_docs=1)
    >>> sorted(term for term, _ in vectors.nearest("moon", n=2))
    ['orbit', 'rocket']
    """
    check_int("n_dims", n_dims, 1, _MAX_DIMS)
    check_int("window", window, 1)
    if n_samples is not None:
        check_int("n_samples", n_samples, 1)
    check_int("n_negatives", n_negatives, 1, _MAX_NEGATIVES)
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
    # a word has two float32 vectors, and each is copied once
    row_bytes = 16 * n_dims
    context_bytes = 4 * n_dims * n_contexts
    check_table(f"vectors of {n_dims:,} dimensions", vocabulary.doc_freq, row_bytes, context_bytes)
    start = np.random.default_rng(seed).random((len(vocabulary), n_dims), np.float32)
    start = (start - np.float32(0.5)) / np.float32(n_dims)
    training_type: Any = PythonTraining if extension.pte is None else extension.pte.Training
    training = training_type(*training_arguments(start, networks, n_negatives, rate, n_steps, seed))
    for done in range(0, n_steps, _STEPS_PER_REPORT):
        progress.report(_STEP, done, n_steps)
        training.run(min(_STEPS_PER_REPORT, n_steps - done))
    progress.report(_STEP, n_steps, n_steps)
    vectors = training.word_vectors()
    if find_nonfinite_row(vectors) is not None:
        raise InputError(
            "the vectors grew without end",
            hint=f"lower learning_rate, which is {learning_rate}, or n_negatives",
        )
    return WordVectors.of(vocabulary.terms, vectors)


# --- networks -----------------------------------------------------------------------------------


def networks_of(columns: Indices, ends: Ints, Y: Sparse, n_terms: int, window: int) -> list[Sparse]:
    """Return the weights of edges between words and other words, documents and labels.

    Parameters
    ----------
    columns : int array
        The column of every token, -1 for a token outside the vocabulary.
    ends : int array of shape (n + 1,)
        Positions in `columns` at which texts start and end.
    Y : sparse matrix of shape (n, m)
        The labels.
    n_terms : int
        Size of the vocabulary.
    window : int
        Maximum distance of two words that are near each other.

    Returns
    -------
    list of sparse matrices
        Words by words (v, v), symmetric; words by documents (v, n); words by labels (v, m).

    Raises
    ------
    InputError
        No document has both a label and a term.
    """
    n_docs = len(ends) - 1
    documents = np.repeat(np.arange(n_docs), np.diff(ends))[columns >= 0]
    words = columns[columns >= 0]
    by_document = _counts(words, documents, (n_terms, n_docs))
    by_label = sparse.csr_matrix(by_document @ Y)
    if not by_label.nnz:
        raise InputError(
            "no document that has a label has a term of the vocabulary",
            hint="lower min_docs, or label more documents",
        )
    by_word: Sparse = sparse.csr_matrix((n_terms, n_terms))
    longest = int(np.diff(ends).max())
    for distance in range(1, min(window, longest - 1) + 1):
        is_near = documents[distance:] == documents[:-distance]
        pairs = words[:-distance][is_near], words[distance:][is_near]
        by_word = by_word + _counts(*pairs, by_word.shape)
    return [sparse.csr_matrix(by_word + by_word.T), by_document, by_label]


def _counts(rows: Any, columns: Any, shape: tuple[int, int]) -> Sparse:  # noqa: ANN401
    """Count each pair of row and column."""
    counts = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    counts.sum_duplicates()
    return counts


# --- training -----------------------------------------------------------------------------------


def training_arguments(
    vectors: Floats32,
    networks: Sequence[Sparse],
    n_negatives: int,
    rate: float,
    n_steps: int,
    seed: int,
) -> tuple[Any, ...]:
    """Return the arguments of a training of word vectors (v, d) on networks (v, c).

    The contexts of all networks are numbered consecutively. Networks without edges, such as words
    by words if every document has one word, are omitted.
    """
    offsets = np.cumsum([0, *(network.shape[1] for network in networks)])
    used = [
        (network, offset) for network, offset in zip(networks, offsets, strict=False) if network.nnz
    ]
    noise = [np.asarray(network.sum(axis=1)).ravel() ** _NOISE_POWER for network, _ in used]
    return (
        vectors,
        np.zeros((int(offsets[-1]), vectors.shape[1]), np.float32),
        np.concatenate([row_numbers(network) for network, _ in used]).astype(np.int32),
        np.concatenate([network.indices + offset for network, offset in used]).astype(np.int32),
        np.concatenate([network.data for network, _ in used]),
        np.cumsum([0, *(network.nnz for network, _ in used)]),
        np.array(noise),
        n_negatives,
        rate,
        n_steps,
        seed,
    )


class PythonTraining:
    """Python specification of the native training: the same up to rounding, 100 times slower.

    Parameters
    ----------
    word_vectors, context_vectors : float32 arrays of shapes (v, d) and (c, d)
        Vectors at the start.
    words, contexts : int32 arrays of shape (e,)
        The two ends of each edge, network after network.
    weights : float64 array of shape (e,)
        Weights of the edges.
    ends : int64 array
        Positions at which the edges of the networks start and end; the first is 0.
    noise : float64 array of shape (networks, v)
        Relative frequencies of words as noise.
    n_negatives, rate, n_steps, seed
        See `pte`. A step draws one edge.
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
        self._words = word_vectors.copy()
        self._contexts = context_vectors.copy()
        self._edges = np.column_stack([contexts, words])
        self._starts = ends[:-1].tolist()
        spans = zip(self._starts, ends[1:].tolist(), strict=True)
        self._edge_tables = [alias_table(weights[start:end]) for start, end in spans]
        self._noise_tables = [alias_table(frequencies) for frequencies in noise]
        self._n_negatives = n_negatives
        self._rate = rate
        self._seed = seed
        self._n_steps = n_steps
        self._n_done = 0

    def run(self, n_steps: int) -> None:
        """Continue the training by a number of steps."""
        for step in range(self._n_done, self._n_done + n_steps):
            context, *words = self._draw_edge(step)
            rate = self._rate * max(1 - step / self._n_steps, _MIN_RELATIVE_RATE)
            c = self._contexts[context]
            change = np.zeros_like(c)
            for target, word in zip([1, *[0] * self._n_negatives], words, strict=True):
                u = self._words[word]
                # gradient of log s(u.c) for the edge, of log s(-u.c) for noise
                slope = np.float32((target - _sigmoid(u @ c)) * rate)
                change += slope * u
                u += slope * c
            c += change
        self._n_done += n_steps

    def _draw_edge(self, step: int) -> list[int]:
        """Draw the context of an edge, its word, and words as noise."""
        network = step % len(self._starts)
        numbers = uniform(self._seed, step * (1 + self._n_negatives), 1 + self._n_negatives)
        (edge,) = draw(self._edge_tables[network], numbers[:1])
        noise_words = draw(self._noise_tables[network], numbers[1:])
        return [*self._edges[self._starts[network] + edge], *noise_words]

    def word_vectors(self) -> Floats32:
        """Return a copy of the current vectors of words (v, d)."""
        return self._words.copy()

    def context_vectors(self) -> Floats32:
        """Return a copy of the current vectors of contexts (c, d)."""
        return self._contexts.copy()


def _sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-np.float64(x))))


def uniform(seed: int, first: int, n: int) -> Floats:
    """Return n uniform numbers in [0, 1) of the generator SplitMix64, from number `first` on."""
    numbers = np.arange(1, n + 1, dtype=np.uint64) + np.uint64(first)
    bits = np.uint64(seed) + numbers * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def alias_table(weights: Floats) -> tuple[Floats32, Indices]:
    """Return Walker's alias table, which draws k by its weight in constant time (Vose's method).

    Returns
    -------
    thresholds : float32 array of shape (n,)
        All cells are drawn equally often. This share of cell k gives k.
    aliases : int32 array of shape (n,)
        The number that the other share of each cell gives.
    """
    n = len(weights)
    total = np.cumsum(weights)[-1]  # sums in the order of the native code
    shares = (weights * (n / total)).tolist()
    thresholds = [1.0] * n
    aliases = [*range(n)]
    small = [k for k in range(n) if shares[k] < 1]
    large = [k for k in range(n) if shares[k] >= 1]
    while small and large:
        low = small.pop()
        high = large[-1]
        thresholds[low] = shares[low]
        aliases[low] = high
        shares[high] -= 1 - shares[low]
        if shares[high] < 1:
            small.append(large.pop())
    return np.array(thresholds, np.float32), np.array(aliases, np.int32)


def draw(table: tuple[Floats32, Indices], numbers: Floats) -> Indices:
    """Draw from an alias table by uniform numbers in [0, 1)."""
    thresholds, aliases = table
    positions = numbers * len(thresholds)
    cells = positions.astype(np.int32)
    return np.where(positions - cells < thresholds[cells], cells, aliases[cells])
