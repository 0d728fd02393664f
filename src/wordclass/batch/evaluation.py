"""Evaluation of a model on a corpus, as JSON or as a small table."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats, Floats32
from wordclass.batch.row_files import open_row_writer
from wordclass.corpus.documents import Label, LabelledCorpus
from wordclass.corpus.labels import encode_labels
from wordclass.decision import measures
from wordclass.decision.measures import ClassScores, DroppedLabelsWarning, Scores
from wordclass.decision.predictions import Predictions
from wordclass.decision.prior_shift import clear_shift
from wordclass.errors import InputError, list_some
from wordclass.tables import align_columns

_ERROR_COLUMNS = ("id", "text", "true", "predicted", "probability", "words")
_RANKS = (1, 3, 5)
_MEASURES = {
    "macro_f1": "macro F1",
    "macro_f1_with_positives": "macro F1 of classes with test documents",
    "micro_f1": "micro F1",
    "accuracy": "accuracy",
}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of comparing predicted labels with true ones.

    Parameters
    ----------
    scores : Scores
        Counts and measures.
    n_shared : int
        Number of documents that the model was trained on.
    true, predicted : sequence
        The labels that were compared.
    ranking : dict of str to float
        In a multilabel task, precision and nDCG at 1, 3 and 5.
    training_shares : array of shape (m,), optional
        The share of each class in training, in the order of the classes of the scores. None if
        the model does not know it.
    """

    scores: Scores
    n_shared: int
    true: Sequence[Any]
    predicted: Sequence[Any]
    ranking: dict[str, float]
    training_shares: Floats | None = None

    def __add__(self, other: "Evaluation") -> "Evaluation":
        scores = self.scores + other.scores
        weight = self.scores.n_docs
        other_weight = other.scores.n_docs
        ranking = {
            name: (value * weight + other.ranking[name] * other_weight) / (weight + other_weight)
            for name, value in self.ranking.items()
        }
        return Evaluation(
            scores=scores,
            n_shared=self.n_shared + other.n_shared,
            true=[*self.true, *other.true],
            predicted=[*self.predicted, *other.predicted],
            ranking=ranking,
            training_shares=self.training_shares,
        )

    def shifted_classes(self) -> list[tuple[str, float, float]]:
        """Return classes whose share clearly changed, with their shares in training and here.

        The classes are sorted by the change. See `clear_shift`.
        """
        scores = self.scores
        training_shares = self.training_shares
        # a document whose only label is unknown to the model does not count for the shares
        n_docs = scores.n_docs - (0 if scores.is_multilabel else scores.n_dropped)
        if training_shares is None or not n_docs:
            return []
        shares = scores.n_true / n_docs
        return [
            (str(scores.classes[j]), float(training_shares[j]), float(shares[j]))
            for j in clear_shift(training_shares, scores.n_true, n_docs).tolist()
        ]

    def checked(self) -> "Evaluation":
        """Return this evaluation, or refuse it if no document has a label."""
        self.scores.checked()
        if not self.scores.n_true.any():
            raise InputError(
                "none of the documents has a label", expected="labels to compare predictions with"
            )
        return self

    def to_dict(self, with_classes: bool = False) -> dict[str, Any]:
        """Return the measures as a dict of numbers rounded to six digits."""
        scores = self.scores
        result: dict[str, Any] = {
            **{key: round(getattr(scores, key), 6) for key in _MEASURES},
            **{key: round(value, 6) for key, value in self.ranking.items()},
            "n_docs": scores.n_docs,
            "n_classes": len(scores.classes),
            "n_classes_without_docs": int((scores.n_true == 0).sum()),
            "n_dropped": scores.n_dropped,
            "n_trained_on": self.n_shared,
        }
        if with_classes:
            per_class = self.scores.per_class.items()
            result["per_class"] = {str(label): asdict(scores) for label, scores in per_class}
        return result

    def to_text(self, n: int) -> str:
        """Format a table of the measures and of the n best and n worst classes."""
        scores = self.scores
        names = _MEASURES | {"accuracy": accuracy_name(scores.is_multilabel)}
        rows = [(name, f"{getattr(scores, key):.4f}") for key, name in names.items()]
        rows += [(name, f"{value:.4f}") for name, value in self.ranking.items()]
        sizes = [("documents", f"{scores.n_docs:,}"), ("classes", f"{len(scores.classes):,}")]
        lines = align_columns([*rows, *sizes])
        if n_empty := int((scores.n_true == 0).sum()):
            lines.append(
                f"{n_empty:,} of {len(scores.classes):,} classes have no test document; if such a "
                f"class was never predicted, its F1 (0/0) is {int(scores.is_multilabel)}"
            )
        if n > 0:
            header = ("class", "    F1  precision  recall  documents")
            lines += ["", *align_columns([header, *self._class_rows(n)])]
        return "\n".join(lines)

    def _class_rows(self, n: int) -> list[tuple[str, str]]:
        """Return rows of the n best classes, a gap and the n worst classes, or of all if few.

        If there are many classes, only those with documents are listed. Classes of equal F1 are
        sorted by their number of documents.
        """
        per_class = self.scores.per_class
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


def evaluate_model(model: Any, corpus: LabelledCorpus, *, strict: bool = False) -> Evaluation:  # noqa: ANN401
    """Compare the labels that a model predicts with the true labels of a corpus.

    Raises
    ------
    InputError
        No document has a label that the model knows.
    """
    return evaluate_block(model, corpus, strict=strict).checked()


def evaluate_block(model: Any, corpus: LabelledCorpus, *, strict: bool = False) -> Evaluation:  # noqa: ANN401
    """Compare predicted with true labels for a block of documents. The results add up.

    Parameters
    ----------
    model : classifier
        A fitted classifier.
    corpus : LabelledCorpus
        Labelled texts. Labels unknown to the model are left out and counted.
    strict : bool, default=False
        Whether such labels are an error.
    """
    true: Sequence[Any] = corpus.labels
    classes = model.classes_.tolist()
    predictions: Predictions = model.predictions(corpus.texts)
    predicted: list[Any] = predictions.label_lists
    if not model.codeframe_.is_multilabel:
        predicted = [label for (label,) in predicted]
    if {type(label) for label in _flatten(true)} - {type(classes[0])}:
        # a class that is a number in one file is a str in a CSV file
        true = _to_strings(true)
        predicted = _to_strings(predicted)
        classes = [*map(str, classes)]
    if strict and (unknown := sorted({*_flatten(true)} - {*classes})):
        raise InputError(
            f"{len(unknown)} classes that the model does not know: {list_some(unknown)}",
            hint="leave --strict-labels out to ignore these labels",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedLabelsWarning)  # n_dropped has their number
        scores = measures.score(*measures.align_labels(true, predicted, classes))
    ranking = _rank(true, classes, predictions.scores) if scores.is_multilabel else {}
    training_shares = model.training_.shares
    if training_shares is not None:  # numbers may be sorted differently as strings
        by_name = dict(zip(map(str, model.classes_.tolist()), training_shares, strict=True))
        training_shares = np.array([by_name[str(label)] for label in scores.classes])
    return Evaluation(
        scores=scores,
        n_shared=model.training_.n_shared(corpus.texts),
        true=true,
        predicted=predicted,
        ranking=ranking,
        training_shares=training_shares,
    )


def write_errors(
    path: Path,
    model: Any,  # noqa: ANN401
    corpus: LabelledCorpus,
    evaluation: Evaluation,
    *,
    escape_formulas: bool = False,
) -> int:
    """Write a row for each document whose labels are not exactly right, and return their number.

    The id is the column of that name, else the number of the document. If the model has no
    probabilities, the scores of the predicted labels take their place. The words are those that
    contributed most to wrong labels, or against missing ones.
    """
    true_labels = [*map(_to_list, evaluation.true)]
    predicted_labels = [*map(_to_list, evaluation.predicted)]
    pairs = zip(true_labels, predicted_labels, strict=True)
    wrong = [k for k, (true, predicted) in enumerate(pairs) if {*true} != {*predicted}]
    predictions = model.predictions([corpus.texts[k] for k in wrong]).to_dicts()
    with open_row_writer(path, _ERROR_COLUMNS, escape_formulas=escape_formulas) as write:
        steps = progress.track(wrong, "explaining errors")
        for k, prediction in zip(steps, predictions, strict=True):
            true = [*map(str, true_labels[k])]
            predicted = [*map(str, predicted_labels[k])]
            probabilities = [prediction["scores"][label] for label in predicted]
            is_multilabel = evaluation.scores.is_multilabel
            row = {
                "id": corpus.rows[k].get("id", k + 1) if corpus.rows else k + 1,
                "text": corpus.texts[k],
                "true": evaluation.true[k],
                "predicted": evaluation.predicted[k],
                "probability": probabilities if is_multilabel else probabilities[0],
                "words": model.explanation(corpus.texts[k]).tipping(predicted, true),
            }
            write([row])
    return len(wrong)


def accuracy_name(is_multilabel: bool) -> str:
    """Return the name of the share of documents whose labels are exactly right."""
    return "subset accuracy" if is_multilabel else "accuracy"


def _rank(true: Sequence[Any], classes: list[Label], scores: Floats | Floats32) -> dict[str, float]:
    """Return P@k and nDCG@k of scores (n, m) whose columns are the classes."""
    known = {*classes}
    known_labels = [[label for label in _to_list(item) if label in known] for item in true]
    Y = encode_labels(known_labels, classes).Y
    in_order = scores[:, sorted(range(len(classes)), key=classes.__getitem__)]
    ranks = [k for k in _RANKS if k <= len(classes)]
    precisions = {f"P@{k}": measures.precision_at(k, Y, in_order) for k in ranks}
    return precisions | {f"nDCG@{k}": measures.ndcg_at(k, Y, in_order) for k in ranks}


def _format_class(label: Label, scores: ClassScores) -> tuple[str, str]:
    numbers = f"{scores.f1:.4f}     {scores.precision:.4f}  {scores.recall:.4f}"
    return str(label), f"{numbers}  {scores.n_true:9,}"


def _to_list(item: Any) -> Sequence[Label]:  # noqa: ANN401 - a label or several
    return item if isinstance(item, list | tuple) else [item]


def _flatten(labels: Sequence[Any]) -> list[Label]:
    return [label for item in labels for label in _to_list(item)]


def _to_strings(labels: Sequence[Any]) -> list[Any]:
    return [[*map(str, item)] if isinstance(item, list | tuple) else str(item) for item in labels]
