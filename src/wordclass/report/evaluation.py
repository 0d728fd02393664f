"""How good a model is on a corpus: scores by class, as JSON or as a small table."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wordclass.corpus import Label, LabelledCorpus
from wordclass.errors import InputError
from wordclass.measures import ClassScores, DroppedLabelsWarning, Scores, evaluate
from wordclass.report.tables import aligned

_MEASURES = {"macro_f1": "macro F1", "micro_f1": "micro F1", "accuracy": "accuracy"}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What came out.

    Parameters
    ----------
    scores
        The counts and measures.
    n_shared
        How many of the documents the model was trained on.
    true, predicted
        The labels that were compared.
    """

    scores: Scores
    n_shared: int
    true: Sequence[Any]
    predicted: Sequence[Any]

    def to_dict(self, with_classes: bool = False) -> dict[str, Any]:
        """Return the measures, rounded to six digits."""
        scores = self.scores
        result: dict[str, Any] = {
            **{key: round(getattr(scores, key), 6) for key in _MEASURES},
            "n_docs": scores.n_docs,
            "n_classes": len(scores.classes),
            "n_dropped": scores.n_dropped,
            "n_trained_on": self.n_shared,
        }
        if with_classes:
            result["per_class"] = {
                str(label): asdict(each) for label, each in scores.per_class.items()
            }
        return result

    def to_text(self, n: int) -> str:
        """Write a small table: the measures, then the n best and the n worst classes."""
        scores = self.scores
        measures = [(name, f"{getattr(scores, key):.4f}") for key, name in _MEASURES.items()]
        sizes = [("documents", f"{scores.n_docs:,}"), ("classes", f"{len(scores.classes):,}")]
        lines = aligned([*measures, *sizes])
        if n > 0:
            heads = ("class", "    F1  precision  recall  documents")
            lines += ["", *aligned([heads, *self._class_rows(n)])]
        return "\n".join(lines)

    def _class_rows(self, n: int) -> list[tuple[str, str]]:
        """Return the n best classes, a gap, and the n worst ones; all if they are few.

        Best and worst are those of the classes that some document has; of equal ones, those of
        most documents.
        """
        found = self.scores.per_class
        chosen = sorted(found, key=lambda label: -found[label].f1)
        if len(chosen) > 2 * n:
            chosen = [label for label in chosen if found[label].n_true]
        if len(chosen) <= 2 * n:
            return [_row(label, found[label]) for label in chosen]
        best = sorted(chosen, key=lambda label: (-found[label].f1, -found[label].n_true))[:n]
        worst = sorted(chosen, key=lambda label: (found[label].f1, -found[label].n_true))[:n]
        first, last = ([_row(label, found[label]) for label in each] for each in (best, worst))
        return [*first, ("...", ""), *reversed(last)]


def evaluate_model(
    model: Any,  # noqa: ANN401 - any classifier of texts
    corpus: LabelledCorpus,
    *,
    strict: bool = False,
) -> Evaluation:
    """Let a model predict the labels of a corpus, and compare.

    Parameters
    ----------
    model
        A fitted classifier.
    corpus
        Labelled texts. Labels that training never saw are left out, and counted.
    strict
        Such labels are an error.
    """
    true, classes = corpus.labels, model.classes_.tolist()
    decisions = model.decide(model.class_scores(corpus.texts))
    predicted: list[Any] = [[classes[j] for j in np.flatnonzero(row)] for row in decisions]
    if not model.codeframe_.is_multilabel:
        predicted = [label for (label,) in predicted]
    if {type(label) for label in _flat(true)} - {type(classes[0])}:
        # a class that is a number in one file is a str in a CSV file
        true, predicted, classes = _as_text(true), _as_text(predicted), sorted(map(str, classes))
    if strict and (unknown := sorted({*_flat(true)} - {*classes})):
        shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise InputError(f"{len(unknown)} classes that training never saw: {shown}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedLabelsWarning)  # told by n_dropped
        scores = evaluate(true, predicted, classes)
    return Evaluation(scores, model.training_.n_shared(corpus.texts), true, predicted)


def _row(label: Label, scores: ClassScores) -> tuple[str, str]:
    shares = f"{scores.f1:.4f}     {scores.precision:.4f}  {scores.recall:.4f}"
    return str(label), f"{shares}  {scores.n_true:9,}"


def _flat(labels: Sequence[Any]) -> list[Label]:
    return [
        label
        for given in labels
        for label in (given if isinstance(given, list | tuple) else [given])
    ]


def _as_text(labels: Sequence[Any]) -> list[Any]:
    return [
        [str(label) for label in given] if isinstance(given, list | tuple) else str(given)
        for given in labels
    ]
