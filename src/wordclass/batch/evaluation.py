"""How good a model is on a corpus: scores by class, as JSON or as a small table."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordclass import progress
from wordclass.arrays import Floats, Floats32
from wordclass.batch.row_files import open_row_writer
from wordclass.corpus.labels import encode_labels
from wordclass.corpus.reader import Label, LabelledCorpus
from wordclass.decision import measures
from wordclass.decision.measures import ClassScores, DroppedLabelsWarning, Scores
from wordclass.decision.predictions import Predictions
from wordclass.decision.prior_shift import clear_shift
from wordclass.errors import InputError
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
    """What came out.

    Parameters
    ----------
    scores
        The counts and measures.
    n_shared
        How many of the documents the model was trained on.
    true, predicted
        The labels that were compared.
    ranking
        In a multilabel task, precision and nDCG of the 1, 3 and 5 best-scored classes.
    trained
        The share of each class in training, in the order of the scores' classes; None: not known.
    """

    scores: Scores
    n_shared: int
    true: Sequence[Any]
    predicted: Sequence[Any]
    ranking: dict[str, float]
    trained: Floats | None = None

    def __add__(self, other: "Evaluation") -> "Evaluation":
        n_docs = self.scores.n_docs, other.scores.n_docs
        return Evaluation(
            self.scores + other.scores,
            self.n_shared + other.n_shared,
            [*self.true, *other.true],
            [*self.predicted, *other.predicted],
            {
                name: (value * n_docs[0] + other.ranking[name] * n_docs[1]) / sum(n_docs)
                for name, value in self.ranking.items()
            },
            self.trained,
        )

    def shifted_classes(self) -> list[tuple[str, float, float]]:
        """Return classes, their shares in training and here, most changed first, where clear.

        See `clear_shift`.
        """
        scores, trained = self.scores, self.trained
        # a document whose one label is none of training's has no part in their shares
        n_docs = scores.n_docs - (0 if scores.is_multilabel else scores.n_dropped)
        if trained is None or not n_docs:
            return []
        changed = clear_shift(trained, scores.n_true, n_docs).tolist()
        shares = scores.n_true / n_docs
        return [(str(scores.classes[j]), float(trained[j]), float(shares[j])) for j in changed]

    def checked(self) -> "Evaluation":
        """Return this evaluation, or refuse one that compared with nothing."""
        self.scores.checked()
        if not self.scores.n_true.any():
            raise InputError(
                "not one of these documents has a label: there is nothing to compare with"
            )
        return self

    def to_dict(self, with_classes: bool = False) -> dict[str, Any]:
        """Return the measures, rounded to six digits."""
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
            per_class = scores.per_class.items()
            result["per_class"] = {str(label): asdict(each) for label, each in per_class}
        return result

    def to_text(self, n: int) -> str:
        """Write a small table: the measures, then the n best and the n worst classes."""
        scores = self.scores
        names = _MEASURES | {"accuracy": accuracy_name(scores.is_multilabel)}
        rows = [(name, f"{getattr(scores, key):.4f}") for key, name in names.items()]
        rows += [(name, f"{value:.4f}") for name, value in self.ranking.items()]
        sizes = [("documents", f"{scores.n_docs:,}"), ("classes", f"{len(scores.classes):,}")]
        lines = align_columns([*rows, *sizes])
        if n_empty := int((scores.n_true == 0).sum()):
            lines.append(
                f"{n_empty:,} of {len(scores.classes):,} classes have no test document; where none "
                f"was predicted either, the F1 (0/0) is {int(scores.is_multilabel)}"
            )
        if n > 0:
            heads = ("class", "    F1  precision  recall  documents")
            lines += ["", *align_columns([heads, *self._class_rows(n)])]
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


def evaluate_model(model: Any, corpus: LabelledCorpus, *, strict: bool = False) -> Evaluation:  # noqa: ANN401
    """Let a model predict the labels of a corpus, and compare; see `evaluate_part`.

    Raises
    ------
    InputError
        The documents have no label at all, or none that the model knows.
    """
    return evaluate_part(model, corpus, strict=strict).checked()


def evaluate_part(model: Any, corpus: LabelledCorpus, *, strict: bool = False) -> Evaluation:  # noqa: ANN401
    """Let a model predict the labels of some documents, and compare; what it returns adds up.

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
    predictions: Predictions = model.predictions(corpus.texts)
    predicted: list[Any] = predictions.label_lists
    if not model.codeframe_.is_multilabel:
        predicted = [label for (label,) in predicted]
    if {type(label) for label in _flat(true)} - {type(classes[0])}:
        # a class that is a number in one file is a str in a CSV file
        true, predicted, classes = _as_text(true), _as_text(predicted), [*map(str, classes)]
    if strict and (unknown := sorted({*_flat(true)} - {*classes})):
        shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise InputError(f"{len(unknown)} classes that training never saw: {shown}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedLabelsWarning)  # told by n_dropped
        measured = measures.score(*measures.align_labels(true, predicted, classes))
    ranking = _ranking(true, classes, predictions.scores) if measured.is_multilabel else {}
    n_shared, trained = model.training_.n_shared(corpus.texts), model.training_.shares
    if trained is not None:  # classes that are numbers may be in another order as text
        by_name = dict(zip(map(str, model.classes_.tolist()), trained, strict=True))
        trained = np.array([by_name[str(each)] for each in measured.classes])
    return Evaluation(measured, n_shared, true, predicted, ranking, trained)


def write_errors(
    path: Path,
    model: Any,  # noqa: ANN401
    corpus: LabelledCorpus,
    found: Evaluation,
    *,
    escape_formulas: bool = False,
) -> int:
    """Write a row for each document whose labels are not exactly right; return their number.

    The id is the column of that name, else the number of the document. The probability of each
    predicted label is its score where the model has no probabilities. The words are those that
    spoke most for labels that are wrong, and against labels that are missing.
    """
    both = [*zip(map(_listed, found.true), map(_listed, found.predicted), strict=True)]
    wrong = [k for k, (true, predicted) in enumerate(both) if {*true} != {*predicted}]
    all_told = model.predictions([corpus.texts[k] for k in wrong]).to_dicts()
    with open_row_writer(path, _ERROR_COLUMNS, escape_formulas=escape_formulas) as write:
        for k, told in zip(progress.track(wrong, "explaining errors"), all_told, strict=True):
            true, predicted = ([*map(str, each)] for each in both[k])
            shares = [told["scores"][label] for label in predicted]
            row = (
                corpus.rows[k].get("id", k + 1) if corpus.rows else k + 1,
                corpus.texts[k],
                found.true[k],
                found.predicted[k],
                shares if found.scores.is_multilabel else shares[0],
                model.explanation(corpus.texts[k]).tipping(predicted, true),
            )
            write([dict(zip(_ERROR_COLUMNS, row, strict=True))])
    return len(wrong)


def accuracy_name(is_multilabel: bool) -> str:
    """Return what the share of documents whose labels are exactly right is called."""
    return "subset accuracy" if is_multilabel else "accuracy"


def _ranking(
    true: Sequence[Any], classes: list[Label], scores: Floats | Floats32
) -> dict[str, float]:
    """Return P@k and nDCG@k of scores (n, m) whose columns are the classes."""
    known = {*classes}
    Y = encode_labels(
        [[label for label in _listed(given) if label in known] for given in true], classes
    ).Y
    in_order = scores[:, sorted(range(len(classes)), key=classes.__getitem__)]
    ranks = [k for k in _RANKS if k <= len(classes)]
    found = {f"P@{k}": measures.precision_at(k, Y, in_order) for k in ranks}
    return found | {f"nDCG@{k}": measures.ndcg_at(k, Y, in_order) for k in ranks}


def _row(label: Label, scores: ClassScores) -> tuple[str, str]:
    shares = f"{scores.f1:.4f}     {scores.precision:.4f}  {scores.recall:.4f}"
    return str(label), f"{shares}  {scores.n_true:9,}"


def _listed(given: Any) -> Sequence[Label]:  # noqa: ANN401 - a label, or several
    return given if isinstance(given, list | tuple) else [given]


def _flat(labels: Sequence[Any]) -> list[Label]:
    return [label for given in labels for label in _listed(given)]


def _as_text(labels: Sequence[Any]) -> list[Any]:
    return [[*map(str, each)] if isinstance(each, list | tuple) else str(each) for each in labels]
