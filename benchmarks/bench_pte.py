"""Training of PTE's word vectors: edges per second, against gensim's word2vec and plain Python.

One thread, 100 dimensions, 5 words of noise beside every edge or pair. An edge of PTE and a pair of
skip-gram are the same work: one vector, six that it is multiplied with, all of them changed. But
gensim walks along the texts, and so finds most of what it needs in the cache; edges are drawn from
anywhere. The documents are those of 20 Newsgroups in WORDCLASS_DATA, or the docstrings.
"""

from functools import partial
from itertools import pairwise

import measuring
import numpy as np
from gensim.models import Word2Vec

import wordclass as wc
from wordclass.corpus.labels import encode_labels
from wordclass.native import extension
from wordclass.reproduction.rivals.pte import PythonTraining, networks_of, training_arguments
from wordclass.text.counting import index_texts

N_DIMS, N_NEGATIVES, WINDOW, RATE = 100, 5, 5, 0.025
N_STEPS, N_PYTHON_STEPS = 2_000_000, 2_000
_CORPUS = measuring.DATA / "20ng_bydate_stripped.jsonl.zst"


def main() -> None:
    """Measure."""
    arguments = measuring.read_arguments()
    default = str(_CORPUS) if _CORPUS.exists() else None
    train = measuring.training_corpus(arguments.corpus or default)
    vectorizer = wc.DocumentVectorizer()
    vectorizer.choose_terms(vectorizer.count(train.texts))
    terms = vectorizer.vocabulary_.terms
    columns, ends = index_texts(train.texts, vectorizer.build_analyzer(), vectorizer.vocabulary_)
    networks = networks_of(columns, ends, encode_labels(train.labels).Y, len(terms), WINDOW)
    vectors = np.random.default_rng(0).random((len(terms), N_DIMS), np.float32) - np.float32(0.5)
    given = training_arguments(vectors / N_DIMS, networks, N_NEGATIVES, RATE, 10**9, 0)
    trainings = {"wordclass": extension.pte.Training(*given), "python": PythonTraining(*given)}
    documents = [
        [terms[column] for column in columns[start:end] if column >= 0]
        for start, end in pairwise(ends)
    ]
    documents = documents[: len(documents) // 4]  # which is enough
    n_pairs = sum(
        2 * max(len(words) - distance, 0)
        for words in documents
        for distance in range(1, WINDOW + 1)
    )
    gensim = Word2Vec(
        vector_size=N_DIMS, window=WINDOW, negative=N_NEGATIVES, sg=1, min_count=1, sample=0,
        workers=1, shrink_windows=False, alpha=RATE, batch_words=10_000,
    )  # fmt: skip
    gensim.build_vocab(documents)
    n_done = {"wordclass": N_STEPS, "python": N_PYTHON_STEPS, "gensim": n_pairs}
    contestants = {
        name: partial(training.run, n_done[name]) for name, training in trainings.items()
    }
    contestants["gensim"] = partial(
        gensim.train, documents, total_examples=len(documents), epochs=1
    )
    seconds = measuring.best_seconds(contestants, arguments.repeats)
    per_second = {name: n_done[name] / spent for name, spent in seconds.items()}
    measuring.print_result(
        "pte",
        **measuring.sizes(train.texts),
        n_terms=len(terms),
        n_edges=[network.nnz for network in networks],
        edges_per_second=per_second,
        vs_gensim=per_second["wordclass"] / per_second["gensim"],
        vs_python=per_second["wordclass"] / per_second["python"],
    )


if __name__ == "__main__":
    main()
