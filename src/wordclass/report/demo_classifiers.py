"""The classifiers of the demo: the default, the baseline to beat, and the one without training."""

from dataclasses import dataclass
from typing import Any

from wordclass.classifiers import classifier
from wordclass.corpus import Dataset
from wordclass.measures import evaluate
from wordclass.report.explained_documents import ExplainedDocument, explained_documents
from wordclass.report.findings import ClassifierScores
from wordclass.report.stopwatch import Stopwatch

# the first one explains itself
_CLASSIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": ("linear", {}),
    "svm on tf-idf": ("svm", {"features": "tfidf"}),
    "nearest, shrinkage 20": ("nearest", {"shrinkage": 20.0}),
}


@dataclass(frozen=True)
class Comparison:
    """How good each is, which settings the first one chose, and two of its predictions."""

    classifiers: list[ClassifierScores]
    settings: dict[str, Any]
    explained: list[ExplainedDocument]


def compare(dataset: Dataset, watch: Stopwatch, seed: int, n_jobs: int) -> Comparison:
    """Train the classifiers on one part of a single-label data set, and test them on the other."""
    found, models = [], []
    for title, (name, options) in _CLASSIFIERS.items():
        with watch.step(step_of(title)):
            model = classifier(name, **options, seed=seed, n_jobs=n_jobs)
            model.fit(dataset.train.texts, dataset.train.labels)
            predicted = model.predict(dataset.test.texts)
        scores = evaluate(dataset.test.labels, predicted, dataset.classes)
        found.append(ClassifierScores.of(title, scores))
        models.append(model)
    first = models[0]
    return Comparison(found, first.settings_, explained_documents(first, dataset.test))


def step_of(title: str) -> str:
    """Return what the stopwatch calls the work with a classifier."""
    return f"classifying ({title})"
