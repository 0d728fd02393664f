"""One row of docs/results.md: learn from the training part, measure on the test part, once."""

import resource
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import measuring
import numpy as np
from results_rows import CORPORA, DATA, VECTORS, Row
from scipy import sparse

import wordclass as wc
from wordclass.measures import DroppedLabelsWarning, precision_at
from wordclass.storage.facts import storable

_EPOCHS = 200  # of fastText from random vectors, by default
_TOO_LONG = 900.0  # seconds


def measure(row: Row) -> dict[str, Any]:
    """Return all that was measured."""
    corpus = CORPORA[row.corpus]
    train, test = (
        wc.read_corpus(DATA / corpus.file, split=split, label_field=corpus.label_field)
        for split in ("train", "test")
    )
    options = dict(row.options)
    if "ngrams" in options:
        options["ngrams"] = tuple(options["ngrams"])
    if row.has_vectors:
        options["vectors"] = wc.WordVectors.load(VECTORS)
    n_jobs = row.n_jobs
    if row.classifier == "fasttext" and not row.has_vectors:
        n_jobs = _threads_for_fasttext(train, options)
    seconds: dict[str, float] = {}
    with _timed(seconds, "train"):
        model, settings = _trained(row, train, options, n_jobs)
    with _timed(seconds, "predict"):
        scores = model.class_scores(test.texts)
        decisions = model.decide(scores)
    return {
        **_quality(model, test, scores, decisions),
        **seconds,
        "settings": settings,
        "n_jobs": n_jobs,
        "n_train": len(train),
        "n_test": len(test),
        "n_classes": len(model.classes_),
        "peak_megabytes": measuring.peak_memory() / 1e6,
    }


def _trained(
    row: Row, train: wc.LabelledCorpus, options: dict[str, Any], n_jobs: int
) -> tuple[Any, dict[str, Any]]:
    """Return a fitted classifier, and the settings that training data chose."""
    if row.grid is None:
        model = wc.classifier(row.classifier, n_jobs=n_jobs, **options)
        model.fit(train.texts, train.labels)
        found = getattr(model, "settings_", None) or _chosen_penalty(model)
        return model, storable(found)
    start = {name: values[0] for name, values in row.grid.items()}
    tuned = wc.tune(
        train.texts, train.labels, row.classifier, grid=row.grid, start=start, options=options,
        n_jobs=n_jobs,
    )  # fmt: skip
    return tuned.model, storable(tuned.best)


def _chosen_penalty(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the C that an SVM chose; where it chose one a class, the lowest and the highest."""
    chosen = np.unique(np.atleast_1d(getattr(model, "C_", [])))
    if len(chosen) > 1:
        return {"C": f"{chosen.min():g} to {chosen.max():g}, one a class"}
    return {"C": float(chosen[0])} if len(chosen) else {}


def _quality(
    model: Any,  # noqa: ANN401
    test: wc.LabelledCorpus,
    scores: np.ndarray,
    decisions: np.ndarray,
) -> dict[str, Any]:
    predicted = model.codeframe_.to_labels(decisions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedLabelsWarning)  # told by n_dropped
        found = wc.evaluate(test.labels, predicted, model.classes_.tolist())
    quality = {
        "macro_f1": found.macro_f1,
        "micro_f1": found.micro_f1,
        "accuracy": found.accuracy,
        "n_dropped": found.n_dropped,
    }
    if found.is_multilabel:
        quality["macro_f1_with_positives"] = found.macro_f1_with_positives
        quality["precision_at_5"] = precision_at(5, _true_labels(model, test), scores)
    return quality


def _true_labels(model: Any, test: wc.LabelledCorpus) -> sparse.csr_matrix:  # noqa: ANN401
    """Return Y of the test part, without labels that training never saw."""
    index = model.codeframe_.index
    pairs = [
        (k, index[label]) for k, own in enumerate(test.labels) for label in own if label in index
    ]
    rows, columns = zip(*pairs, strict=True)
    shape = (len(test), len(index))
    return sparse.csr_matrix((np.ones(len(pairs)), (rows, columns)), shape=shape)


def _threads_for_fasttext(train: wc.LabelledCorpus, options: dict[str, Any]) -> int:
    """Return 2 where one thread would take too long, to judge by a few epochs."""
    spent = []
    for epochs in (1, 3):
        start = time.perf_counter()
        wc.classifier("fasttext", **{**options, "epochs": epochs}).fit(train.texts, train.labels)
        spent.append(time.perf_counter() - start)
    expected = spent[0] + (spent[1] - spent[0]) / 2 * (_EPOCHS - 1)
    return 2 if expected > _TOO_LONG else 1


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    start, start_cpu = time.perf_counter(), cpu_seconds()
    yield
    seconds[f"{step}_seconds"] = time.perf_counter() - start
    seconds[f"{step}_cpu_seconds"] = cpu_seconds() - start_cpu


def cpu_seconds() -> float:
    """Return the CPU time of this process, all its threads, and the processes it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
