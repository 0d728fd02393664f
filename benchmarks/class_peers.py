# mypy: disable-error-code="import-not-found,import-untyped"
"""Train and test a peer on very many classes: for bench_classes.py, in an environment of its own.

Called with two paths: of a question in JSON (peer, texts, labels, test_texts) and of the answer:
the five best labels of each test text, and CPU seconds, from raw text on; imports are not timed.
All peers but fastText read the same tf-idf.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

K = 5
Top = Callable[[Sequence[str]], Any]  # from texts to the columns (n, K) of the best classes


def features(texts: Sequence[str]) -> tuple[TfidfVectorizer, Any]:
    """Return a fitted vectorizer, and what it makes of the texts."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    return vectorizer, vectorizer.fit_transform(texts)


def train_pecos(texts: Sequence[str], Y: Any) -> Top:  # noqa: ANN401 - a sparse matrix
    """Train XR-Linear of PECOS, with its defaults."""
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    vectorizer, X = features(texts)
    clusters = Indexer.gen(LabelEmbeddingFactory.create(Y, X, method="pifa"), threads=1)
    model = XLinearModel.train(X, Y, C=clusters, threads=1)

    def predict(tested: Sequence[str]) -> Any:  # noqa: ANN401
        made = model.predict(vectorizer.transform(tested), only_topk=K, threads=1)
        return [
            row.indices[np.argsort(-row.data, kind="stable")].tolist()
            for row in (made[k] for k in range(made.shape[0]))
        ]

    return predict


def train_omikuji(texts: Sequence[str], Y: Any) -> Top:  # noqa: ANN401
    """Train Omikuji, with its defaults: Parabel."""
    import omikuji

    vectorizer, X = features(texts)
    with open("train.txt", "w", encoding="ascii") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}\n")
        for k in range(X.shape[0]):
            labels = ",".join(map(str, Y[k].indices.tolist()))
            pairs = zip(X[k].indices.tolist(), X[k].data.tolist(), strict=True)
            file.write(f"{labels} {' '.join(f'{j}:{value:.6g}' for j, value in pairs)}\n")
    model = omikuji.Model.train_on_data("train.txt", n_threads=1)

    def predict(tested: Sequence[str]) -> Any:  # noqa: ANN401
        made = vectorizer.transform(tested)
        rows = (made[k] for k in range(made.shape[0]))
        pairs = ([*zip(row.indices.tolist(), row.data.tolist(), strict=True)] for row in rows)
        return [[label for label, _ in model.predict(each, top_k=K)] for each in pairs]

    return predict


def train_liblinear(texts: Sequence[str], Y: Any) -> Top:  # noqa: ANN401
    """Train one LinearSVC of scikit-learn per class."""
    from sklearn.svm import LinearSVC

    vectorizer, X = features(texts)
    columns = Y.tocsc()
    weights = np.zeros((X.shape[1] + 1, Y.shape[1]), np.float32)
    for j in range(Y.shape[1]):
        truth = np.zeros(X.shape[0], np.int8)
        truth[columns.indices[columns.indptr[j] : columns.indptr[j + 1]]] = 1
        machine = LinearSVC(C=1.0).fit(X, truth)
        weights[:-1, j], weights[-1, j] = machine.coef_[0], machine.intercept_[0]

    def predict(tested: Sequence[str]) -> Any:  # noqa: ANN401
        scores = vectorizer.transform(tested) @ weights[:-1] + weights[-1]
        return np.argsort(-scores, axis=1, kind="stable")[:, :K].tolist()

    return predict


def train_fasttext(texts: Sequence[str], Y: Any) -> Top:  # noqa: ANN401
    """Train fastText's classifier by its softmax: one sigmoid per class met a NaN."""
    import fasttext

    with open("train.txt", "w", encoding="utf-8") as file:
        for k, text in enumerate(texts):
            marks = " ".join(f"__label__{j}" for j in Y[k].indices.tolist())
            file.write(f"{marks} {' '.join(text.split())}\n")
    model = fasttext.train_supervised(
        "train.txt", epoch=25, lr=0.5, minCount=2, thread=1, verbose=0
    )

    def predict(tested: Sequence[str]) -> Any:  # noqa: ANN401
        found, _ = model.predict([" ".join(text.split()) for text in tested], k=K)
        return [[int(mark.removeprefix("__label__")) for mark in marks] for marks in found]

    return predict


PEERS = {
    "pecos": train_pecos,
    "omikuji": train_omikuji,
    "liblinear": train_liblinear,
    "fasttext": train_fasttext,
}


def _four_classes() -> Any:  # noqa: ANN401
    return sparse.csr_matrix(np.tile(np.eye(4, dtype=np.float32), (10, 1)))


def main(question: Path, answer: Path) -> None:
    """Answer a question."""
    asked = json.loads(question.read_text(encoding="utf-8"))
    names = sorted({label for own in asked["labels"] for label in own})
    place = {name: j for j, name in enumerate(names)}
    columns = [sorted(place[label] for label in own) for own in asked["labels"]]
    ends = np.cumsum([0, *map(len, columns)])
    flat = np.array([j for own in columns for j in own], np.int32)
    shape = len(columns), len(names)
    Y = sparse.csr_matrix((np.ones(len(flat), np.float32), flat, ends), shape=shape)
    # once on next to nothing, so that imports are done
    PEERS[asked["peer"]]([f"one two {k % 4}" for k in range(40)], _four_classes())
    start = time.process_time()
    predict = PEERS[asked["peer"]](asked["texts"], Y)
    middle = time.process_time()
    top = predict(asked["test_texts"])
    told = {
        "top": [[names[j] for j in own] for own in top],
        "fit": middle - start,
        "predict": time.process_time() - middle,
    }
    answer.write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
