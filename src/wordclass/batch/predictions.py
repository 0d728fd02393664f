"""What a model says of texts, one plain dict per text: what the commands write."""

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
    """Return the labels of each text, with scores of classes, best first.

    Parameters
    ----------
    model
        A fitted classifier.
    texts
        The texts.
    k
        How many classes get a score, whatever was predicted. None: those predicted.
    proba
        Scores are probabilities, of all classes if `k` is None; an error if there are none.
    threshold
        Labels are the classes at least so probable; in a single-label task the most probable
        class, or none. None: as the model decides.
    shift
        Adjust probabilities and labels to the shares of classes that were estimated.
    scores
        With `shift`, what `class_scores` of the texts returned, if that is known.

    Returns
    -------
    For each text `labels`, and `scores`: see `Predictions.to_dicts`.
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


def merge_prediction(row: Mapping[str, Any] | None, prediction: dict[str, Any]) -> dict[str, Any]:
    """Return a prediction behind the columns of its row.

    Columns of the row with the names of the prediction are kept under a name that begins with
    `given_`.

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
