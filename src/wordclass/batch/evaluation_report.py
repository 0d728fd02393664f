"""Evaluation as text: the main measures next to a baseline, and the best and worst classes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wordclass.arrays import Floats, Ints
from wordclass.corpus.documents import Label
from wordclass.decision.measures import ClassScores, Scores
from wordclass.tables import align_columns

if TYPE_CHECKING:
    from wordclass.batch.evaluation import Evaluation

_BASELINE = "most frequent class"
_SHOWN_RANKS = (1, 5)


def format_evaluation(evaluation: "Evaluation", n: int, *, with_paper: bool = False) -> str:
    """Format an evaluation as a table of measures and a table of classes.

    Parameters
    ----------
    evaluation : Evaluation
        The evaluation.
    n : int
        The number of best classes and of worst classes. 0 leaves out the table of classes.
    with_paper : bool, default=False
        Whether to show the macro F1 of the paper, where the F1 of a class without cases is 1.
    """
    scores = evaluation.scores
    rows = [("", "model", _BASELINE)]
    for name, value, base in _measures(evaluation, with_paper=with_paper):
        rows.append((name, f"{value:.4f}", f"{base:.4f}"))
    rows.append(("documents", f"{scores.n_docs:,}", ""))
    if evaluation.n_without_prediction:
        rows.append(("documents without a prediction", f"{evaluation.n_without_prediction:,}", ""))
    rows.append(("classes", f"{len(scores.classes):,}", ""))
    lines = align_columns(rows)
    if n_absent := int((scores.n_true == 0).sum()):
        effect = "they are left out of macro F1"
        if not scores.is_multilabel:
            effect = "their F1 counts as 0"
        lines.append(
            f"{n_absent:,} of {len(scores.classes):,} classes have no test document; {effect}"
        )
    if n > 0:
        header = ("class", "    F1  precision  recall  documents")
        lines += ["", *align_columns([header, *_class_rows(scores, n)])]
    return "\n".join(lines)


def summarize_scores(measures: Mapping[str, float], *, is_multilabel: bool) -> str:
    """Write the two main measures of a task in one line."""
    if is_multilabel:
        return f"micro F1 {measures['micro_f1']:.4f}, macro F1 {_occurring_macro_f1(measures):.4f}"
    return f"accuracy {measures['accuracy']:.4f}, macro F1 {measures['macro_f1']:.4f}"


def _occurring_macro_f1(measures: Mapping[str, float]) -> float:
    return measures.get("macro_f1_with_positives", measures["macro_f1"])


def _measures(evaluation: "Evaluation", *, with_paper: bool) -> list[tuple[str, float, float]]:
    """Return the name, the value and the value of the baseline of each measure."""
    scores = evaluation.scores
    frequencies: Floats | Ints = scores.n_true
    if evaluation.training_shares is not None:
        frequencies = evaluation.training_shares
    baseline = _predict_most_frequent(scores, frequencies)
    if not scores.is_multilabel:
        return [
            ("accuracy", scores.accuracy, baseline.accuracy),
            ("macro F1", scores.macro_f1, baseline.macro_f1),
        ]
    rows = [
        ("micro F1", scores.micro_f1, baseline.micro_f1),
        (
            "macro F1 of classes that occur",
            scores.macro_f1_with_positives,
            baseline.macro_f1_with_positives,
        ),
    ]
    rows += [
        (f"P@{k}", evaluation.ranking[f"P@{k}"], _precision_at(k, scores, frequencies))
        for k in _SHOWN_RANKS
        if f"P@{k}" in evaluation.ranking
    ]
    if with_paper:
        rows.append(("macro F1 of the paper", scores.macro_f1, baseline.macro_f1))
    return rows


def _predict_most_frequent(scores: Scores, frequencies: Floats | Ints) -> Scores:
    """Return the scores of always predicting the most frequent class."""
    j = int(np.argmax(frequencies))
    n_predicted = np.zeros_like(scores.n_true)
    n_predicted[j] = scores.n_docs
    true_positives = np.zeros_like(scores.n_true)
    true_positives[j] = scores.n_true[j]
    return replace(
        scores,
        n_predicted=n_predicted,
        true_positives=true_positives,
        n_exact=int(scores.n_true[j]),
    )


def _precision_at(k: int, scores: Scores, frequencies: Floats | Ints) -> float:
    """Return P@k of always ranking the classes by their frequency."""
    best = np.argsort(-frequencies, kind="stable")[:k]
    return float(scores.n_true[best].sum() / (k * scores.n_docs))


def _class_rows(scores: Scores, n: int) -> list[tuple[str, str]]:
    """Return rows of the n best classes, a gap and the n worst classes, or of all if few.

    If there are many classes, only those with documents are listed. Classes of equal F1 are sorted
    by their number of documents.
    """
    per_class = scores.per_class
    labels = sorted(per_class, key=lambda label: -per_class[label].f1)
    if len(labels) > 2 * n:
        labels = [label for label in labels if per_class[label].n_true]
    rows = {label: _format_class(label, per_class[label]) for label in labels}
    if len(labels) <= 2 * n:
        return [*rows.values()]
    labels.sort(key=lambda label: (-per_class[label].f1, -per_class[label].n_true))
    best = [rows[label] for label in labels[:n]]
    labels.sort(key=lambda label: (per_class[label].f1, -per_class[label].n_true))
    worst = [rows[label] for label in labels[:n]]
    return [*best, ("...", ""), *reversed(worst)]


def _format_class(label: Label, scores: ClassScores) -> tuple[str, str]:
    numbers = f"{scores.f1:.4f}     {scores.precision:.4f}  {scores.recall:.4f}"
    return str(label), f"{numbers}  {scores.n_true:9,}"
