"""How good a model is on a corpus: scores by class, as JSON or as a small table."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wordclass.corpus import Label, LabelledCorpus
from wordclass.errors import InputError
from wordclass.labels import Codeframe, Kind
from wordclass.measures import ClassScores, DroppedLabelsWarning, Scores, evaluate


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
            "macro_f1": round(scores.macro_f1, 6),
            "micro_f1": round(scores.micro_f1, 6),
            "accuracy": round(scores.accuracy, 6),
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
        lines = [
            f"macro F1   {scores.macro_f1:.4f}",
            f"micro F1   {scores.micro_f1:.4f}",
            f"accuracy   {scores.accuracy:.4f}",
            f"documents  {scores.n_docs:,}",
            f"classes    {len(scores.classes):,}",
        ]
        n = max(n, 0)
        if n:
            width = max(5, *(len(str(label)) for label in scores.classes))
            lines += ["", f"{'class':<{width}}      F1  precision  recall  documents"]
            for each in self._shown_classes(n):
                lines.append("..." if each is None else _row(each, width))
        return "\n".join(lines)

    def _shown_classes(self, n: int) -> list[tuple[Label, ClassScores] | None]:
        """Return the n best classes, None for a gap, and the n worst ones; all if they are few.

        Best and worst are those of the classes that some document has; of equal ones, those of
        most documents.
        """
        ranked = sorted(self.scores.per_class.items(), key=lambda each: -each[1].f1)
        if len(ranked) <= 2 * n:
            return [*ranked]
        known = [each for each in ranked if each[1].n_true]
        if len(known) <= 2 * n:
            return [*known]
        best = sorted(known, key=lambda each: (-each[1].f1, -each[1].n_true))[:n]
        worst = sorted(known, key=lambda each: (each[1].f1, -each[1].n_true))[:n]
        return [*best, None, *reversed(worst)]


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
    kind: Kind = "multilabel" if model.codeframe_.is_multilabel else "single"
    decisions = model.decide(model.decision_function(corpus.texts))
    predicted = list(Codeframe(tuple(classes), kind).to_labels(decisions))
    if kind == "single":
        predicted = [label.item() if hasattr(label, "item") else label for label in predicted]
    if _kinds(true) and _kinds(true) != {type(classes[0])}:
        # a class that is a number in one file is a str in a CSV file
        true, predicted, classes = _as_text(true), _as_text(predicted), sorted(map(str, classes))
    if strict and (unknown := sorted({*_flat(true)} - {*classes})):
        shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise InputError(f"{len(unknown)} classes that training never saw: {shown}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedLabelsWarning)  # told by n_dropped
        scores = evaluate(true, predicted, classes)
    return Evaluation(scores, model.training_.n_shared(corpus.texts), true, predicted)


def _row(scored: tuple[Label, ClassScores], width: int) -> str:
    label, each = scored
    return (
        f"{label!s:<{width}}  {each.f1:.4f}     {each.precision:.4f}  {each.recall:.4f}  "
        f"{each.n_true:9,}"
    )


def _flat(labels: Sequence[Any]) -> list[Label]:
    return [
        label
        for given in labels
        for label in (given if isinstance(given, list | tuple) else [given])
    ]


def _kinds(labels: Sequence[Any]) -> set[type]:
    return {type(label) for label in _flat(labels)}


def _as_text(labels: Sequence[Any]) -> list[Any]:
    return [
        [str(label) for label in given] if isinstance(given, list | tuple) else str(given)
        for given in labels
    ]
