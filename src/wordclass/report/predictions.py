"""What a model says of texts, one plain dict per text."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wordclass.arrays import Floats, Floats32
from wordclass.errors import InputError
from wordclass.prior_shift import PriorShift
from wordclass.thresholds import decide


def shown_scores(model: Any, scores: Floats32, *, strict: bool = False) -> Floats | Floats32:  # noqa: ANN401
    """Return the probabilities of scores (n, m); where a model has none, the scores themselves.

    Parameters
    ----------
    model
        A fitted classifier.
    scores
        What its `class_scores` returned.
    strict
        That it has none is an error.
    """
    try:
        probabilities: Floats = model.calibrated(scores)
    except InputError:
        if strict:
            raise
        return scores
    return probabilities


def predictions(
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
        Scores are probabilities, of all classes where `k` is None; an error where there are none.
    threshold
        Labels are the classes at least so probable; in a single-label task the most probable
        class, or none. None: as the model decides.
    shift
        Adjust probabilities and labels to the shares of classes that were estimated.
    scores
        With `shift`, what `class_scores` of the texts returned, where that is known.

    Returns
    -------
    For each text `labels`, and `scores`: probabilities where the model has them, else what its
    `class_scores` returns.
    """
    if shift is not None or (proba and k is None):
        columns = np.arange(len(model.classes_))[None]
        scores = model.class_scores(texts) if scores is None else scores
    else:
        columns, scores = model.scored_classes(texts, k or 1)  # (n, c)
    if shift is not None:
        shown, decisions = model.adjusted(scores, shift)
    else:
        own = None if model.thresholds_ is None else model.thresholds_[columns]
        decisions = decide(scores, own)
        shown = shown_scores(model, scores, strict=proba or threshold is not None)
    if threshold is not None:
        is_best = decide(shown, None) if not model.codeframe_.is_multilabel else True
        decisions = (shown >= threshold) & is_best
    names = model.classes_.tolist()
    made = []
    every = np.broadcast_to(columns, scores.shape)
    for own, values, decision in zip(every, shown, decisions, strict=True):
        order = np.argsort(-values, kind="stable")
        chosen = [j for j in order if decision[j]] if k is None and not proba else order[:k]
        labels = [names[j] for j in np.sort(own[decision])]
        named = {str(names[own[j]]): round(float(values[j]), 6) for j in chosen}
        made.append({"labels": labels, "scores": named})
    return made


def beside(row: Mapping[str, Any] | None, prediction: dict[str, Any]) -> dict[str, Any]:
    """Return a prediction behind the columns of its row.

    Columns of the row with the names of the prediction are kept under a name that begins with
    `given_`.

    Examples
    --------
    >>> beside({"id": 7, "labels": ["a"]}, {"labels": ["b"], "scores": {"b": 0.9}})
    {'id': 7, 'given_labels': ['a'], 'labels': ['b'], 'scores': {'b': 0.9}}
    """
    columns: dict[str, Any] = {}
    for name, value in (row or {}).items():
        while name in prediction or name in columns:
            name = f"given_{name}"
        columns[name] = value
    return columns | prediction
