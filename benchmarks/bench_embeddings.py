"""Texts and labels to word-class embeddings: ours, scikit-learn's parts, the authors' way."""

import measuring
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler, normalize

import wordclass as wc

Labels = list[list[object]]


def fit(texts: list[str], labels: Labels | list[object]) -> np.ndarray:
    """Learn the embeddings with this package."""
    return wc.WordClassEmbeddings(max_dims=None).fit(texts, labels).vectors_


def fit_with_scikit_learn(texts: list[str], labels: Labels) -> np.ndarray:
    """Do the same with scikit-learn, reading the texts once."""
    X = measuring.peer().fit_transform(texts)
    Y = MultiLabelBinarizer(sparse_output=True).fit_transform(labels)
    A = (normalize(X, norm="l1", axis=0).T @ Y).toarray()
    deviation = A.std(axis=0, ddof=1)
    return ((A - A.mean(axis=0)) / np.maximum(deviation, 1e-5)).astype(np.float32)


def fit_as_the_authors_did(texts: list[str], labels: Labels) -> np.ndarray:
    """Do the same in the steps of the paper's code: mask, fit, transform, multiply, scale."""
    masked = [measuring.mask_numbers(text) for text in texts]
    vectorizer = TfidfVectorizer(min_df=5, sublinear_tf=True)
    vectorizer.fit(masked)
    X = vectorizer.transform(masked)
    Y = MultiLabelBinarizer().fit_transform(labels)
    A = np.asarray((X.T @ Y) / X.sum(axis=0).T)
    S = StandardScaler().fit_transform(A)
    return (S * np.sqrt((len(A) - 1) / len(A))).astype(np.float32)


def main() -> None:
    """Measure."""
    arguments = measuring.read_arguments()
    corpus = measuring.training_corpus(arguments.corpus)
    labels = corpus.labels if corpus.is_multilabel else [[label] for label in corpus.labels]
    contestants = {
        "wordclass": lambda: fit(corpus.texts, corpus.labels),
        "scikit_learn": lambda: fit_with_scikit_learn(corpus.texts, labels),
        "authors": lambda: fit_as_the_authors_did(corpus.texts, labels),
    }
    S, *others = (run() for run in contestants.values())
    seconds = measuring.best_seconds(contestants, arguments.repeats)
    measuring.print_result(
        "embeddings",
        **measuring.sizes(corpus.texts),
        n_terms=len(S),
        n_classes=S.shape[1],
        seconds=seconds,
        vs_scikit_learn=seconds["scikit_learn"] / seconds["wordclass"],
        vs_authors=seconds["authors"] / seconds["wordclass"],
        largest_difference=max(float(abs(S - other).max()) for other in others),
    )


if __name__ == "__main__":
    main()
