"""Predictions as one plain dict per text, as the commands write them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wordclass.arrays import Floats32
from wordclass.decision.predictions import Predictions
from wordclass.decision.prior_shift import PriorShift


def predict_rows(
    model: Any,  # noqa: ANN401 - any classifier of texts
    texts: Sequence[str],
    k: int | None = None,
    *,
    proba: bool = False,
    threshold: float | None = None,
    shift: PriorShift | None = None,
    scores: Floats32 | None = None,
) -> list[dict[str, Any]]:
    """Return the labels of each text with the scores of classes, best first.

    Parameters
    ----------
    model : classifier
        A fitted classifier.
    texts : sequence of str
        The texts.
    k : int, optional
        Number of classes with a score. By default the predicted classes.
    proba : bool, default=False
        Whether scores are probabilities, of all classes if `k` is None. A model without
        probabilities is then an error.
    threshold : float, optional
        Labels are the classes with at least this probability. In a single-label task the label is
        the most probable class or none. By default the model decides.
    shift : PriorShift, optional
        Adjust probabilities and labels to the estimated shares of the classes.
    scores : array of shape (n, m), optional
        The result of `class_scores` for the texts, if it is known. Used with `shift` only.

    Returns
    -------
    list of dict
        `labels` and `scores` of each text, as in `Predictions.to_dicts`.
    """
    blocks: Iterable[Predictions]
    if shift is None:
        blocks = model.prediction_blocks(texts)
    else:
        scores = model.class_scores(texts) if scores is None else scores
        blocks = [model.predictions_of(scores, shift)]
    n_shown = len(model.classes_) if proba and k is None else k
    rows: list[dict[str, Any]] = []
    for block in blocks:
        if proba:
            block.probabilities  # noqa: B018 - raises an error if there are none
        chosen = block if threshold is None else block.filter(threshold)
        rows += chosen.to_dicts(n_shown)
    return rows


def flatten_prediction(
    prediction: Mapping[str, Any], *, is_ranked: bool, is_multilabel: bool, score_name: str
) -> dict[str, Any]:
    """Return a prediction as columns for a spreadsheet.

    Parameters
    ----------
    prediction : mapping
        `labels` and `scores` of one text, as `predict_rows` returns them.
    is_ranked : bool
        Whether each of the scored classes has its own columns, best first. Otherwise the
        predicted labels share one column.
    is_multilabel : bool
        Whether several labels may be predicted. With ranks, they are in a column of their own.
    score_name : str
        Name of the columns of scores.

    Examples
    --------
    >>> prediction = {"labels": ["a"], "scores": {"a": 0.7, "b": 0.2}}
    >>> options = {"is_multilabel": False, "score_name": "probability"}
    >>> flatten_prediction(prediction, is_ranked=True, **options)
    {'predicted': 'a', 'probability': 0.7, 'predicted_2': 'b', 'probability_2': 0.2}
    >>> flatten_prediction(prediction, is_ranked=False, **options)
    {'predicted': ['a'], 'probability': [0.7]}
    """
    labels = prediction["labels"]
    scores = prediction["scores"]
    if not is_ranked:
        return {"predicted": labels, score_name: [scores.get(str(label)) for label in labels]}
    columns: dict[str, Any] = {"labels": labels} if is_multilabel else {}
    for rank, (label, score) in enumerate(scores.items(), start=1):
        suffix = "" if rank == 1 else f"_{rank}"
        columns[f"predicted{suffix}"] = label
        columns[f"{score_name}{suffix}"] = score
    return columns


class RowMaker:
    """Function that adds a prediction to the columns of a row.

    Parameters
    ----------
    model : classifier
        A fitted classifier.
    is_flat : bool, default=False
        Whether the rows are for a spreadsheet, with columns such as `predicted` and `probability`.
        Otherwise they have `labels` and `scores`.
    is_ranked : bool, default=False
        Whether each of the scored classes has its own columns in a spreadsheet.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401 - any classifier of texts
        *,
        is_flat: bool = False,
        is_ranked: bool = False,
    ) -> None:
        self.is_flat = is_flat
        self.is_ranked = is_ranked
        self.is_multilabel = model.codeframe_.is_multilabel
        has_probabilities = is_flat and model.predictions([""]).has_probabilities
        self.score_name = "probability" if has_probabilities else "score"

    def __call__(self, row: Mapping[str, Any] | None, prediction: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of the row and of its prediction."""
        if self.is_flat:
            prediction = flatten_prediction(
                prediction,
                is_ranked=self.is_ranked,
                is_multilabel=self.is_multilabel,
                score_name=self.score_name,
            )
        return merge_prediction(row, prediction)


def merge_prediction(row: Mapping[str, Any] | None, prediction: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a row followed by its prediction.

    Columns of the row that have a name of the prediction get a name that starts with `given_`.

    Examples
    --------
    >>> merge_prediction({"id": 7, "labels": ["a"]}, {"labels": ["b"], "scores": {"b": 0.9}})
    {'id': 7, 'given_labels': ['a'], 'labels': ['b'], 'scores': {'b': 0.9}}
    """
    columns: dict[str, Any] = {}
    for name, value in (row or {}).items():
        while name in prediction or name in columns:
            name = f"given_{name}"
        columns[name] = value
    return columns | prediction
