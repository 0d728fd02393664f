"""Evaluation of a model on a corpus."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats, Floats32, to_sparse
from wordclass.batch.evaluation_report import format_evaluation
from wordclass.batch.row_files import open_row_writer
from wordclass.corpus.documents import Label, LabelledCorpus
from wordclass.corpus.labels import encode_labels
from wordclass.decision import measures
from wordclass.decision.measures import DroppedLabelsWarning, Scores
from wordclass.decision.predictions import Predictions
from wordclass.decision.prior_shift import clear_shift
from wordclass.errors import InputError, list_some

_ERROR_COLUMNS = ("id", "text", "true", "predicted", "probability", "words")
_RANKS = (1, 3, 5)
_MEASURES = ("macro_f1", "macro_f1_with_positives", "micro_f1", "accuracy")


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
    n_without_prediction : int, default=0
        Number of documents for which no label was predicted.
    """

    scores: Scores
    n_shared: int
    true: Sequence[Any]
    predicted: Sequence[Any]
    ranking: dict[str, float]
    training_shares: Floats | None = None
    n_without_prediction: int = 0

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
            n_without_prediction=self.n_without_prediction + other.n_without_prediction,
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
        if self.n_without_prediction:
            result["n_without_prediction"] = self.n_without_prediction
        if with_classes:
            per_class = self.scores.per_class.items()
            result["per_class"] = {str(label): asdict(scores) for label, scores in per_class}
        return result

    def to_text(self, n: int, *, paper: bool = False) -> str:
        """Format the main measures, and the n best and n worst classes.

        See `format_evaluation`.
        """
        return format_evaluation(self, n, with_paper=paper)


def evaluate_model(
    model: Any,  # noqa: ANN401
    corpus: LabelledCorpus,
    *,
    strict: bool = False,
    threshold: float | None = None,
) -> Evaluation:
    """Compare the labels that a model predicts with the true labels of a corpus.

    The arguments are those of `evaluate_block`.

    Raises
    ------
    InputError
        No document has a label that the model knows.
    """
    return evaluate_block(model, corpus, strict=strict, threshold=threshold).checked()


def evaluate_block(
    model: Any,  # noqa: ANN401
    corpus: LabelledCorpus,
    *,
    strict: bool = False,
    threshold: float | None = None,
) -> Evaluation:
    """Compare predicted with true labels for a block of documents. The results add up.

    Parameters
    ----------
    model : classifier
        A fitted classifier.
    corpus : LabelledCorpus
        Labelled texts. Labels unknown to the model are left out and counted.
    strict : bool, default=False
        Whether such labels are an error.
    threshold : float, optional
        Predict the classes with at least this probability. In a single-label task, a document may
        then have no prediction, which counts as wrong.
    """
    true: Sequence[Any] = corpus.labels
    classes = model.classes_.tolist()
    predictions: Predictions = model.predictions(corpus.texts)
    chosen = predictions if threshold is None else predictions.filter(threshold)
    is_multilabel = model.codeframe_.is_multilabel
    has_prediction = np.asarray(chosen.decisions.any(axis=1))
    if is_multilabel:
        predicted: list[Any] = chosen.label_lists
    else:  # of a document without a prediction, the label is needed only to compare the others
        predicted = [label for (label,) in predictions.label_lists]
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
        Y, decisions, codeframe, n_dropped = measures.align_labels(true, predicted, classes)
    if not is_multilabel:
        decisions = to_sparse(decisions.multiply(has_prediction[:, None]))
        predicted = [
            label if is_predicted else None
            for label, is_predicted in zip(predicted, has_prediction, strict=True)
        ]
    scores = measures.score(Y, decisions, codeframe, n_dropped)
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
        n_without_prediction=int((~has_prediction).sum()),
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

    The rows are sorted by the highest probability of a predicted label, so that confident errors,
    which may be wrong labels of the corpus, come first. The id is the column of that name, else the
    number of the document. If the model has no probabilities, the scores of the predicted labels
    take their place. The words are those that contributed most to wrong labels, or against missing
    ones.
    """
    true_labels = [*map(_to_list, evaluation.true)]
    predicted_labels = [*map(_to_list, evaluation.predicted)]
    pairs = zip(true_labels, predicted_labels, strict=True)
    wrong = [k for k, (true, predicted) in enumerate(pairs) if {*true} != {*predicted}]
    probabilities = _probabilities_of_labels(
        model, [corpus.texts[k] for k in wrong], [predicted_labels[k] for k in wrong]
    )
    order = sorted(range(len(wrong)), key=lambda i: -max(probabilities[i], default=-np.inf))
    is_multilabel = evaluation.scores.is_multilabel
    with open_row_writer(path, _ERROR_COLUMNS, escape_formulas=escape_formulas) as write:
        for i in progress.track(order, "explaining errors"):
            k = wrong[i]
            true = [*map(str, true_labels[k])]
            predicted = [*map(str, predicted_labels[k])]
            row = {
                "id": corpus.rows[k].get("id", k + 1) if corpus.rows else k + 1,
                "text": corpus.texts[k],
                "true": evaluation.true[k],
                "predicted": evaluation.predicted[k],
                "probability": probabilities[i]
                if is_multilabel
                else next(iter(probabilities[i]), None),
                "words": model.explanation(corpus.texts[k]).tipping(predicted, true),
            }
            write([row])
    return len(wrong)


def _probabilities_of_labels(
    model: Any,  # noqa: ANN401
    texts: list[str],
    labels: list[Sequence[Label]],
) -> list[list[float]]:
    """Return the probabilities, or scores, of some labels of each text, rounded to six digits."""
    column_of = {str(label): column for column, label in enumerate(model.classes_.tolist())}
    values = model.predictions(texts).values
    return [
        [round(float(row[column_of[str(label)]]), 6) for label in row_labels]
        for row, row_labels in zip(values, labels, strict=True)
    ]


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


def _to_list(item: Any) -> Sequence[Label]:  # noqa: ANN401 - a label, several or None
    if item is None:
        return []
    return item if isinstance(item, list | tuple) else [item]


def _flatten(labels: Sequence[Any]) -> list[Label]:
    return [label for item in labels for label in _to_list(item)]


def _to_strings(labels: Sequence[Any]) -> list[Any]:
    return [[*map(str, item)] if isinstance(item, list | tuple) else str(item) for item in labels]
